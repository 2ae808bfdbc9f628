//! What a proof file holds; docs/proof-format.md explains every field. Numbers are proposals unless they are part of the statement.

use serde::Deserialize;

/// The version of the format.
pub const SCHEMA: &str = "rw-adv-proof/2";

/// A proof file.
#[derive(Clone, Debug, Deserialize)]
pub struct ProofFile {
    /// [`SCHEMA`].
    pub schema: String,
    /// SHA-256 of the model's file, in hexadecimal.
    pub model_sha256: String,
    /// What the claims are about.
    #[serde(flatten)]
    pub statement: Statement,
    /// Bounds with their proofs.
    pub claims: Vec<Claim>,
}

/// A set of inputs and a linear function of the outputs.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Statement {
    /// `y_target − y_predicted` near an image.
    Image(ImageStatement),
    /// A linear function over bounds and constraints.
    Domain(DomainStatement),
}

/// An image, two labels and a budget.
#[derive(Clone, Debug, Deserialize)]
pub struct ImageStatement {
    /// Index of the image in some data set: a hint only.
    pub image: usize,
    /// The image.
    pub original: Vec<f32>,
    /// The label whose logit is subtracted.
    pub predicted: usize,
    /// The label whose logit counts.
    pub target: usize,
    /// What the budget is measured in.
    pub norm: Norm,
    /// The budget.
    pub delta: f64,
}

/// A norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The sum of all changes.
    L1,
    /// The largest change.
    Linf,
}

/// A linear function of the outputs over bounds and constraints. Claims leave its constant out.
#[derive(Clone, Debug, Deserialize)]
pub struct DomainStatement {
    /// The point that splits are told from.
    pub centre: Vec<f64>,
    /// The least value of each input.
    pub lower: Vec<f64>,
    /// The largest value of each input.
    pub upper: Vec<f64>,
    /// What else has to hold.
    pub constraints: Vec<ConstraintStatement>,
    /// The inputs that take whole numbers only.
    #[serde(default)]
    pub integers: Vec<usize>,
    /// Inputs that count as further outputs.
    #[serde(default)]
    pub inputs: Vec<usize>,
    /// One weight for each output.
    pub weights: Vec<f64>,
    /// What the function adds to that.
    pub constant: f64,
}

/// `lower ≤ Σ weight · x_i ≤ upper`.
#[derive(Clone, Debug, Deserialize)]
pub struct ConstraintStatement {
    /// Inputs and their weights.
    pub terms: Vec<(usize, f64)>,
    /// The lower side, if there is one.
    pub lower: Option<f64>,
    /// The upper side, if there is one.
    pub upper: Option<f64>,
}

/// A bound and its proof.
#[derive(Clone, Debug, Deserialize)]
pub struct Claim {
    /// Whether it is about the file run in f32, or about its function over the real numbers.
    pub f32: bool,
    /// No point of the set has a larger value.
    pub bound: f64,
    /// Parts in which all neurons are bounded, each behind its parent. The first one is the whole set.
    pub parts: Vec<BoundedPart>,
    /// Parts that cover the set.
    pub leaves: Vec<Leaf>,
}

/// A part in which all neurons are bounded.
#[derive(Clone, Debug, Deserialize)]
pub struct BoundedPart {
    /// The part whose intervals hold here, too: a place in the list.
    pub parent: Option<usize>,
    /// The splits that lead to it: those of its parent, and more. Signs of neurons are followed by a cut by multipliers.
    pub sides: Vec<Side>,
    /// How the neurons of lower layers are relaxed in the lines of deeper ones, by layer.
    pub guide: Option<Vec<GuideLayer>>,
    /// What narrows the parent's intervals. The sides are those of the parent then, and for multipliers maybe more signs of neurons.
    pub cut: Option<Cut>,
}

/// How the neurons of a layer are relaxed in the lines of deeper ones.
#[derive(Clone, Debug, Deserialize)]
pub struct GuideLayer {
    /// Those with slope 1 below; the others have 0.
    pub on: Vec<usize>,
    /// Those with the envelope above; the others have the chord.
    pub envelope: Vec<usize>,
}

/// A cut toward a goal: only points whose value is at least the goal count, and a bound is at least the goal.
#[derive(Clone, Debug, Deserialize)]
pub struct Cut {
    /// The goal.
    pub goal: f64,
    /// Lines or multipliers: what gives a linear function above the objective.
    #[serde(flatten)]
    pub by: Evidence,
}

/// For an unstable neuron: its index, the slope below, the share of the envelope above, and the envelope's `θ`.
pub type LineEntry = (usize, f64, f64, f64);

/// A part of the set, and why the bound holds there.
#[derive(Clone, Debug, Deserialize)]
pub struct Leaf {
    /// The splits that lead to it.
    pub sides: Vec<Side>,
    /// The first so many sides are enough for the bound.
    pub needs: usize,
    /// Where its neurons are bounded: a place in the claim's parts, whose sides are its first ones.
    pub part: usize,
    /// Why.
    #[serde(flatten)]
    pub evidence: Evidence,
}

/// One side of a split.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// A pixel moves by at least an amount, beyond what it has moved already.
    AtLeast(Share),
    /// A pixel moves by at most an amount, beyond what it has moved already; by at most the amount less 1 if it takes whole numbers only.
    AtMost(Share),
    /// A neuron's pre-activation is at least 0.
    On(Neuron),
    /// A neuron's pre-activation is at most 0.
    Off(Neuron),
}

impl Side {
    /// The other side of the same split.
    pub fn opposite(self) -> Self {
        match self {
            Self::AtLeast(share) => Self::AtMost(share),
            Self::AtMost(share) => Self::AtLeast(share),
            Self::On(neuron) => Self::Off(neuron),
            Self::Off(neuron) => Self::On(neuron),
        }
    }

    /// The neuron and whether it is on, if the split is by a sign.
    pub fn sign(self) -> Option<(Neuron, bool)> {
        match self {
            Self::On(neuron) => Some((neuron, true)),
            Self::Off(neuron) => Some((neuron, false)),
            _ => None,
        }
    }
}

/// How far a pixel moves.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Share {
    /// The pixel.
    pub pixel: usize,
    /// Upwards or downwards.
    pub up: bool,
    /// By how much.
    pub amount: f64,
}

/// A hidden neuron.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Neuron {
    /// Hidden layer, base 0.
    pub layer: usize,
    /// Place in it, base 0.
    pub neuron: usize,
}

/// What a bound is made of. Lists have an entry for each hidden layer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The lines of unstable neurons.
    Lines(Vec<Vec<LineEntry>>),
    /// Multipliers of weak duality.
    Multipliers {
        /// For neurons: index, multiplier of the pre-activation, multiplier of the envelope.
        neurons: Vec<Vec<(usize, f64, f64)>>,
        /// Multipliers of the set's constraints.
        #[serde(default)]
        prices: Vec<f64>,
    },
    /// The part is empty.
    Empty {},
}
