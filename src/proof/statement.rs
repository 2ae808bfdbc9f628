//! What a proof is about: the set and the objective, in the words of the front end that asked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::network::{Label, Network};
use crate::problem::{Objective, Problem};
use crate::sets::{Constraint, Domain, InputSet, Norm, PixelRange};
use crate::tolerance;

/// What a proof is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Statement {
    /// The margin of a target within a distance of an image.
    Image(ImageStatement),
    /// An objective over bounds and constraints.
    Domain(DomainStatement),
}

/// An image, two labels and a budget.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImageStatement {
    /// Index of the image in the data.
    pub image: usize,
    /// The image as the model sees it.
    pub original: Vec<f32>,
    /// The label the model gives.
    pub predicted: usize,
    /// The label an adversary should get.
    pub target: usize,
    /// The norm, as on the command line.
    pub norm: String,
    /// The budget.
    pub delta: f64,
}

/// Bounds and constraints of the inputs, and a linear function of the outputs. Claims leave its constant out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DomainStatement {
    /// The point that splits are told from: inside the bounds, and it keeps the constraints.
    pub centre: Vec<f64>,
    /// The least value of each input.
    pub lower: Vec<f64>,
    /// The largest value of each input.
    pub upper: Vec<f64>,
    /// What else has to hold.
    pub constraints: Vec<ConstraintStatement>,
    /// The inputs that take whole numbers only. Their bounds and their centre are such numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub integers: Vec<usize>,
    /// Inputs that count as further outputs, behind those of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<usize>,
    /// One weight for each output.
    pub weights: Vec<f64>,
    /// What the objective adds to that.
    pub constant: f64,
}

/// `lower ≤ Σ weight · x_i ≤ upper`, the largest weight being 1 or −1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConstraintStatement {
    /// Inputs and their weights.
    pub terms: Vec<(usize, f64)>,
    /// The lower side, if there is one.
    pub lower: Option<f64>,
    /// The upper side, if there is one.
    pub upper: Option<f64>,
}

impl Statement {
    /// The problem that the proof is about.
    ///
    /// # Errors
    /// What makes no sense, or does not fit the network.
    pub fn problem(&self, network: &Arc<Network>) -> Result<Problem, String> {
        match self {
            Self::Image(image) => image.problem(network),
            Self::Domain(domain) => domain.problem(network),
        }
    }
}

impl ImageStatement {
    fn problem(&self, network: &Arc<Network>) -> Result<Problem, String> {
        let Self { original, predicted, target, delta, .. } = self;
        if original.len() != network.inputs() || !original.iter().all(|x| (0.0..=1.0).contains(x)) {
            return Err("its image does not fit the model".into());
        }
        if (*target).max(*predicted) >= network.outputs() || target == predicted {
            return Err(format!("{target} is not a valid target"));
        }
        if !(*delta > 0.0 && delta.is_finite()) {
            return Err(format!("{delta} is not a valid budget"));
        }
        let norm: Norm = self.norm.parse().map_err(|_| format!("{:?} is not a norm", self.norm))?;
        let set = InputSet::ball(norm, original, *delta, PixelRange::UNIT);
        Ok(Problem::margin(network, set, Label(*predicted), Label(*target)))
    }
}

impl DomainStatement {
    /// A problem over a domain. These inputs are the last outputs of its network.
    pub fn new(problem: &Problem, inputs: &[usize]) -> Self {
        let (set, domain) = (&problem.set, problem.set.domain());
        let side = |side: f64| Some(side).filter(|side| side.is_finite());
        let constraint = |constraint: &Constraint| ConstraintStatement {
            terms: constraint.terms().to_vec(),
            lower: side(constraint.lower()),
            upper: side(constraint.upper()),
        };
        Self {
            centre: set.centre().to_vec(),
            lower: domain.lower.clone(),
            upper: domain.upper.clone(),
            constraints: set.constraints().iter().map(constraint).collect(),
            integers: domain.integers.clone(),
            inputs: inputs.to_vec(),
            weights: problem.question.weights.clone(),
            constant: problem.question.constant,
        }
    }

    fn problem(&self, network: &Arc<Network>) -> Result<Problem, String> {
        let Self { centre, lower, upper, constraints, integers, inputs, weights, constant } = self;
        let lengths = [centre, lower, upper].map(Vec::len);
        if inputs.iter().any(|&input| input >= network.inputs()) {
            return Err("its objective is not about the model's inputs".into());
        }
        let network = &match inputs[..] {
            [] => Arc::clone(network),
            _ => Arc::new(network.with_inputs(inputs)),
        };
        if lengths != [network.inputs(); 3] || weights.len() != network.outputs() {
            return Err("its numbers of inputs and outputs do not fit the model".into());
        }
        if !weights.iter().chain([constant]).all(|number| number.is_finite()) {
            return Err("its objective is not finite".into());
        }
        let in_order = |i: usize| lower[i] <= centre[i] && centre[i] <= upper[i];
        let finite = |i: usize| lower[i].is_finite() && upper[i].is_finite();
        if !(0..centre.len()).all(|i| in_order(i) && finite(i)) {
            return Err("its centre is not within its bounds".into());
        }
        let constraints = constraints.iter().map(|constraint| constraint.read(centre.len()));
        let constraints = constraints.collect::<Result<Vec<_>, _>>()?;
        // The certified support takes for granted that the centre keeps the constraints.
        if constraints.iter().any(|c| c.violation(centre) > tolerance::CONSTRAINT) {
            return Err("its centre breaks a constraint".into());
        }
        let bounds = Domain {
            lower: lower.clone(),
            upper: upper.clone(),
            constraints,
            integers: Vec::new(),
        };
        let is_input = |&input: &usize| input < lower.len();
        let whole = |&input: &usize| [lower, upper, centre].iter().all(|x| x[input].fract() == 0.0);
        if !integers.iter().all(|input| is_input(input) && whole(input)) {
            return Err("an integer input has other bounds, or another centre".into());
        }
        let domain = bounds.with_integers(integers).map_err(|error| error.to_string())?;
        let set = InputSet::of_domain(&domain, centre.clone());
        let question = Objective { weights: weights.clone(), constant: *constant };
        Ok(Problem::new(network, set, question))
    }
}

impl ConstraintStatement {
    fn read(&self, inputs: usize) -> Result<Constraint, String> {
        let Self { terms, lower, upper } = self;
        let is_term = |&(input, weight): &(usize, f64)| input < inputs && weight.is_finite();
        let mut named: Vec<usize> = terms.iter().map(|(input, _)| *input).collect();
        named.sort_unstable();
        named.dedup();
        let is_some = terms.iter().any(|(_, weight)| *weight != 0.0);
        if !terms.iter().all(is_term) || named.len() < terms.len() || !is_some {
            return Err("a constraint is not about the model's inputs".into());
        }
        let (lower, upper) = (lower.unwrap_or(f64::NEG_INFINITY), upper.unwrap_or(f64::INFINITY));
        if lower.is_nan() || upper.is_nan() {
            return Err("a side of a constraint is not a number".into());
        }
        Ok(Constraint::new(terms, lower, upper))
    }
}
