//! A hidden layer with few neurons that are not always off, and a network told in two halves there.
//!
//! Say that only neurons `J` of a layer can be on anywhere in the box, and that `H` are their intervals. What is asked then is a question about
//! the *tail*, a network with `|J|` inputs in `H`, and few inputs are bisected quickly. Where bounds of parts of `H` decide nothing, points of
//! `H` may have what is asked for. They are covered by one inequality `a·h ≤ d`. If no input of the *head* leads there, nothing has what is asked for:
//!
//! - everywhere in the tail's decided parts the questions are below the goal,
//! - everywhere in its other parts `a·h ≤ d` holds,
//! - and in the box `d − a·h < 0`, by bounds of the head.
//!
//! So one function of the first layers takes the place of all rows and of all neurons behind the bottleneck, whose relaxations forget that they
//! are functions of few numbers. Each half is bounded for the network as a function and for its runs in f32: `h` are the numbers that
//! the run itself has there.

use std::sync::Arc;

use super::bounded::{BoundedBox, BoxBounds, BoxScratch, SplitBy};
use super::effort::BoundLimits;
use super::evidence::HalvesEvidence;
use super::part::BoxPart;
use super::questions::BoxQuestions;
use crate::bounds::certified::{BoundMethod, CertifiedBound};
use crate::bounds::cover::Cover;
use crate::bounds::linear::Arithmetic;
use crate::bounds::part::{Part, SplitSide};
use crate::network::{Activation, Network, NeuronId};
use crate::problem::Objective;
use crate::sets::{Half, InputSet};

/// With more neurons that may be on, bisecting their intervals takes too long.
const MOST_NEURONS: usize = 16;

/// Steps of the search for an inequality, and the first one, as the exponent that a weight is changed by.
const STEPS: usize = 300;
const STEP: f64 = 2.0;

/// In proofs, intervals of the bottleneck's neurons are wider by this share of their magnitude on each side. A checker rounds differently, and with
/// wider ones everything holds as well: what is too little makes a proof that is refused, never a false one.
const WIDER: f64 = 1e-4;

/// The cutoff is at most so far above the goal, as a share.
const ABOVE_GOAL: f64 = 4e-7;

/// Weights of less than this share of all are left out.
const NEGLIGIBLE: f64 = 1e-3;

/// A layer with few neurons that can be on, and the network's halves there.
pub struct Bottleneck {
    layer: usize,
    neurons: Vec<(usize, Activation)>,
    network: Network,
    tail: Network,
    /// The intervals of the tail's inputs.
    range: Range,
    /// The box of the head.
    whole: Range,
    /// Intervals hold at points whose value is at least this.
    goal: f64,
    /// The bound of all questions if none of them gets to the goal where intervals hold.
    certified: f64,
    /// Whether bounds of the halves come with evidence.
    proves: bool,
}

#[derive(Clone)]
struct Range {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// The tail's questions over its box, which is to be split until they are decided nearly everywhere.
pub struct TailBounds {
    /// Bounds of parts.
    pub bounds: Arc<BoxBounds>,
    /// That of the whole box.
    pub root: BoundedBox,
    goal: f64,
    /// What is certified once they are decided.
    certified: f64,
}

/// The question whether the head gets where the tail's questions are not decided.
pub struct HeadBounds {
    /// Bounds of parts.
    pub bounds: Arc<BoxBounds>,
    /// That of the whole box.
    pub root: BoundedBox,
    /// What is certified once the head does not get there.
    certified: f64,
}

/// Points of the tail's box outside of which its questions are decided: `weights·h ≤ most`.
pub struct Inequality {
    weights: Vec<f64>,
    most: f64,
    /// What tells the tail's questions from all others.
    objective: Arc<[f64]>,
}

impl BoxBounds {
    /// The first hidden layer but one or later with few neurons that can be on in the whole box, if there is one with another hidden layer behind
    /// it, and parts are made by the signs of neurons. `root` is the bound of the whole box.
    ///
    /// # Panics
    /// When `network` has other layers.
    pub fn bottleneck(&self, network: &Network, root: &BoundedBox) -> Option<Bottleneck> {
        // Few inputs are bisected as they are.
        let is_suited =
            self.split_by() == SplitBy::Signs && self.padded.arithmetic == Arithmetic::F32;
        let is_whole = root.part.part.depth() == 0;
        let intervals = root.part.neurons.as_deref().filter(|_| is_suited && is_whole)?;
        let behind = 1..self.padded.hidden().saturating_sub(1);
        behind.into_iter().find_map(|layer| {
            let (begin, width) = (self.padded.offset(layer), self.padded.layers[layer].padded());
            let (lower, upper) = intervals[begin..begin + 2 * width].split_at(width);
            let activation = |index: usize| network.activation(NeuronId { layer, index });
            let is_relu = |index: usize| activation(index) == Activation::Relu;
            let share = if self.proves { WIDER } else { 0.0 };
            let wider = |j: usize| match share * lower[j].abs().max(upper[j].abs()) {
                wider if wider > 0.0 => wider,
                _ => 0.0,
            };
            // What is not known to be off is listed: infinite ends, too, which are refused below.
            let is_off = |j: usize| is_relu(j) && upper[j] + wider(j) <= 0.0;
            let can_be_on = |j: &usize| !is_off(*j);
            let neurons: Vec<usize> =
                (0..self.padded.layers[layer].width).filter(can_be_on).collect();
            if neurons.is_empty() || neurons.len() > MOST_NEURONS {
                return None;
            }
            let least = |&j: &usize| {
                let least = lower[j] - wider(j);
                if is_relu(j) { least.max(0.0) } else { least }
            };
            let range = Range {
                lower: neurons.iter().map(least).collect(),
                upper: neurons.iter().map(|&j| upper[j] + wider(j)).collect(),
            };
            let is_finite = |list: &[f64]| list.iter().all(|value| value.is_finite());
            (is_finite(&range.lower) && is_finite(&range.upper)).then(|| Bottleneck {
                layer,
                tail: network.tail(layer, &neurons),
                neurons: neurons.into_iter().map(|j| (j, activation(j))).collect(),
                network: network.clone(),
                range,
                whole: Range { lower: self.lower.clone(), upper: self.upper.clone() },
                goal: self.goal,
                certified: self.closed(root),
                proves: self.proves,
            })
        })
    }
}

impl BoxBounds {
    /// The largest bound of a question that was closed below the cutoff, or the goal: closed ones may get a little beyond the goal where the
    /// intervals of open ones do not hold.
    fn closed(&self, root: &BoundedBox) -> f64 {
        let most = self.goal + ABOVE_GOAL * (1.0 + self.goal.abs());
        let closed = root.part.values().iter().copied().filter(|value| *value <= most);
        closed.fold(self.goal, f64::max)
    }
}

impl Bottleneck {
    /// What is asked of the whole network, asked of the tail: whether anything is at least the goal.
    pub fn tail(
        &self,
        questions: BoxQuestions,
        limits: BoundLimits,
        scratch: &mut BoxScratch,
    ) -> TailBounds {
        let set = self.range.set();
        let kind = (Arithmetic::F32, SplitBy::Inputs);
        let (goal, limits) = (self.goal, BoundLimits { cutoff: self.goal, ..limits });
        let make = if self.proves { BoxBounds::with_evidence } else { BoxBounds::new };
        let (bounds, root) = make(&self.tail, &set, questions, kind, limits, scratch);
        TailBounds { bounds: Arc::new(bounds), root, goal, certified: self.certified }
    }

    /// Asks whether the head gets to where the tail's questions are not decided.
    ///
    /// # Panics
    /// When the inequality is about another tail.
    pub fn head(
        &self,
        tail: &TailBounds,
        inequality: Inequality,
        limits: BoundLimits,
        scratch: &mut BoxScratch,
    ) -> HeadBounds {
        let Inequality { weights, most, objective } = inequality;
        assert!(Arc::ptr_eq(&objective, tail.bounds.objective()), "an inequality of this tail");
        // What is asked is whether `most − weights·h` is at least 0. `−h` is at most `−z`, whose bounds need no line above a ReLU.
        let terms = self.neurons.iter().zip(weights).filter(|(_, weight)| *weight != 0.0);
        let of = |(&(index, activation), weight): (&(usize, Activation), f64)| {
            let activation = if weight > 0.0 { Activation::Identity } else { activation };
            ((index, activation), -weight)
        };
        let (neurons, weights): (Vec<_>, Vec<f64>) = terms.map(of).unzip();
        log::debug!(
            "bottleneck in layer {}: {weights:?} times {neurons:?} plus {most}",
            self.layer
        );
        let questions = BoxQuestions::objective(&Objective { weights, constant: most });
        let head = self.network.head(self.layer, &neurons);
        let kind = (Arithmetic::F32, SplitBy::suited_to(&head));
        let (limits, set) = (BoundLimits { cutoff: 0.0, ..limits }, self.whole.set());
        let make = if self.proves { BoxBounds::with_evidence } else { BoxBounds::new };
        let (bounds, root) = make(&head, &set, questions, kind, limits, scratch);
        HeadBounds { bounds: Arc::new(bounds), root, certified: tail.certified }
    }

    /// What the halves are, for proofs. Without an inequality the tail's questions are decided everywhere.
    pub fn evidence(&self, tail: &TailBounds, inequality: Option<&Inequality>) -> HalvesEvidence {
        let Range { lower, upper } = tail.root.range();
        HalvesEvidence {
            layer: self.layer,
            neurons: self.neurons.iter().map(|(j, _)| *j).collect(),
            lower,
            upper,
            weights: inequality.map_or_else(Vec::new, |of| of.weights.clone()),
            most: inequality.map_or(0.0, |of| of.most),
        }
    }

    /// An inequality that holds in all parts where the tail's questions are not decided, and not where the head gets from `inputs`. `None` if none
    /// was found.
    pub fn inequality<E>(
        &self,
        tail: &TailBounds,
        cover: &Cover<E>,
        inputs: &[f64],
    ) -> Option<Inequality> {
        if !cover.is_about(tail.bounds.objective()) {
            return None;
        }
        let undecided = cover.undecided(tail.goal)?;
        let parts: Option<Vec<Range>> =
            undecided.iter().map(|part| tail.root.range().of_part(part)).collect();
        let parts = parts.filter(|parts| !parts.is_empty())?;
        let reached = self.network.head(self.layer, &self.neurons).logits(inputs);
        let weights = separating_weights(&parts, &tail.root.range(), &reached);
        let most = parts.iter().map(|part| part.largest(&weights)).fold(f64::MIN, f64::max);
        let there: f64 = weights.iter().zip(&reached).map(|(a, h)| a * h).sum();
        let objective = Arc::clone(tail.bounds.objective());
        (most < there && most.is_finite()).then_some(Inequality { weights, most, objective })
    }
}

impl Inequality {
    /// The largest value of the left side in a part of the tail's box.
    pub fn largest(&self, part: &BoxPart) -> f64 {
        let range = Range { lower: part.lower().to_vec(), upper: part.upper().to_vec() };
        range.largest(&self.weights)
    }
}

impl TailBounds {
    /// The tail's questions are asked whether they are at least this.
    pub fn goal(&self) -> f64 {
        self.goal
    }

    /// The bound of the whole network's questions, if the tail's are decided everywhere. `cover` is that of these bounds.
    pub fn certify<E>(&self, cover: &Cover<E>) -> Option<CertifiedBound> {
        let is_proven = cover.is_about(self.bounds.objective()) && cover.excludes(self.goal);
        is_proven.then(|| CertifiedBound::new(self.certified, true, BoundMethod::Branch))
    }
}

impl HeadBounds {
    /// The bound of the whole network's questions, if the head is proven not to get there. `cover` is that of these bounds.
    pub fn certify<E>(&self, cover: &Cover<E>) -> Option<CertifiedBound> {
        let is_proven = cover.is_about(self.bounds.objective()) && cover.excludes(0.0);
        is_proven.then(|| CertifiedBound::new(self.certified, true, BoundMethod::Branch))
    }
}

impl BoundedBox {
    fn range(&self) -> Range {
        Range { lower: self.part.lower().to_vec(), upper: self.part.upper().to_vec() }
    }
}

impl Range {
    fn set(&self) -> InputSet {
        InputSet::new_box(&self.lower, &self.upper)
    }

    /// One of its parts. `None` if there is a split of anything else than inputs.
    fn of_part(&self, part: &Part) -> Option<Self> {
        part.sides().into_iter().try_fold(self.clone(), |mut range, side| {
            let SplitSide::Input(split, half) = side else { return None };
            match half {
                Half::AtLeast => range.lower[split.input] = split.at,
                Half::AtMost => range.upper[split.input] = split.at,
            }
            Some(range)
        })
    }

    /// The largest value of a linear function, rounded up.
    fn largest(&self, weights: &[f64]) -> f64 {
        let of = |(weight, (lower, upper)): (&f64, (&f64, &f64))| {
            (weight * if *weight > 0.0 { upper } else { lower }).next_up()
        };
        let terms = weights.iter().zip(self.lower.iter().zip(&self.upper)).map(of);
        terms.fold(0.0, |sum: f64, term| (sum + term).next_up())
    }
}

/// Weights of a linear function that is larger at `reached` than anywhere in the parts, by as much as can be had in units of how far it may be off:
/// what is off in each input is taken to be as much as the input's whole range. Exponentiated gradient descent (Kivinen and Warmuth 1997) over
/// weights, up and down, in these units.
fn separating_weights(parts: &[Range], whole: &Range, reached: &[f64]) -> Vec<f64> {
    let n = reached.len();
    let units: Vec<f64> = (0..n).map(|i| whole.upper[i] - whole.lower[i]).collect();
    let unit = |i: usize| if units[i] > 0.0 { units[i] } else { 1.0 };
    let mut shares = vec![1.0 / (2 * n) as f64; 2 * n];
    let mut best = (f64::NEG_INFINITY, vec![0.0; n]);
    for step in 0..STEPS {
        let weights: Vec<f64> = (0..n).map(|i| (shares[i] - shares[n + i]) / unit(i)).collect();
        // Of each part the corner that is nearest.
        let corner = |part: &Range, i: usize| {
            if weights[i] > 0.0 { part.upper[i] } else { part.lower[i] }
        };
        let distance = |part: &Range| -> f64 {
            (0..n).map(|i| weights[i] * (reached[i] - corner(part, i))).sum()
        };
        let nearest = parts.iter().map(|part| (distance(part), part));
        let Some((least, part)) = nearest.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        let gradient: Vec<f64> = (0..n).map(|i| (reached[i] - corner(part, i)) / unit(i)).collect();
        if least > best.0 {
            best = (least, weights);
        }
        let rate = STEP / (1.0 + step as f64).sqrt();
        for i in 0..n {
            shares[i] *= (rate * gradient[i]).exp();
            shares[n + i] *= (-rate * gradient[i]).exp();
        }
        let all: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share = (*share / all).max(1e-12));
    }
    let (_, mut weights) = best;
    let size = |i: usize, weight: f64| weight.abs() * unit(i);
    let all: f64 = weights.iter().enumerate().map(|(i, &weight)| size(i, weight)).sum();
    for (i, weight) in weights.iter_mut().enumerate() {
        if size(i, *weight) < NEGLIGIBLE * all {
            *weight = 0.0;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::AffineMap;

    /// Whether a network has a bottleneck over a box that nothing is excluded in; one of the second layer's neurons has this weight.
    fn has_bottleneck(weight: f64) -> bool {
        let maps = vec![
            AffineMap::from_rows(&[[1.0, 0.5], [-0.5, 1.0]], vec![0.1, 0.2]),
            AffineMap::from_rows(&[[1.0, -1.0], [weight, -weight]], vec![0.0, 0.0]),
            AffineMap::from_rows(&[[1.0, 1.0], [1.0, -1.0]], vec![0.0, 0.0]),
            AffineMap::from_rows(&[[1.0, -1.0]], vec![0.0]),
        ];
        let network = Network::new(maps).expect("four layers that fit");
        let set = InputSet::new_box(&[-1.0; 2], &[1.0; 2]);
        let question = BoxQuestions::objective(&Objective { weights: vec![1.0], constant: 100.0 });
        let (kind, mut scratch) = ((Arithmetic::F32, SplitBy::Signs), BoxScratch::default());
        let (bounds, root) = BoxBounds::new(&network, &set, question, kind, 0.0, &mut scratch);
        bounds.bottleneck(&network, &root).is_some()
    }

    #[test]
    fn a_neuron_without_a_finite_interval_is_not_taken_for_one_that_is_off() {
        assert!(has_bottleneck(1.0));
        // Its sums may overflow f32.
        assert!(!has_bottleneck(1e38));
    }

    #[test]
    fn boxes_with_negative_numbers_lose_none() {
        let (lower, upper) = (vec![-1000.0, -7.25, 0.5], vec![0.001, 1.0 / 3.0, 0.7]);
        let range = Range { lower, upper };
        let network = crate::network::random::network(&[3, 4, 2], 5);
        let question = BoxQuestions::objective(&Objective::new(vec![1.0, 0.0]));
        let (kind, mut scratch) = ((Arithmetic::F32, SplitBy::Inputs), BoxScratch::default());
        let set = range.set();
        let (bounds, _) = BoxBounds::new(&network, &set, question, kind, 0.0, &mut scratch);
        let sides = bounds.lower.iter().zip(&bounds.upper);
        for ((lower, upper), (least, largest)) in sides.zip(range.lower.iter().zip(&range.upper)) {
            assert!(lower <= least && upper >= largest, "{lower} {upper}");
        }
    }
}
