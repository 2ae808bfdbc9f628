//! Frank-Wolfe: go to the vertex of the set that the gradient points at, again and again.
//!
//! A margin of a ReLU network is nearly convex along most segments, so the full step is usually the best one; where it
//! is not, the first maximum along the segment is found exactly, piece by linear piece.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use super::long_walks::is_large;
use crate::budget::Budget;
use crate::encode::Vertices;
use crate::network::{ActivationPattern, Gradients, Network, NeuronId, Trace};
use crate::problem::{Candidate, Problem};
use crate::tolerance;

/// Vertices visited at most: ascents need about ten.
const MOST_STEPS: usize = 100;
/// Linear pieces followed at most in one line search.
const MOST_PIECES: usize = 200;

/// What a climb may cost in a large network, in products with all its weights. Climbs take more steps there, each of which costs more; measured on
/// networks of 1.1 to 5.6 million weights, 20 starts cost 5 to 15 % less and come to the same margins. Smaller networks do without.
const MOST_PASSES: f64 = 20.0;

/// What a climb has cost, in products with the network's weights.
struct ClimbCost {
    products: f64,
    most: f64,
}

impl ClimbCost {
    fn new(problem: &Problem) -> Self {
        let passes = if is_large(&problem.network) { MOST_PASSES } else { f64::INFINITY };
        Self { products: 0.0, most: passes * problem.network.parameters() as f64 }
    }

    fn is_too_much(&self) -> bool {
        self.products >= self.most
    }

    /// Adds passes, forward or backward.
    fn add_passes(&mut self, network: &Network, count: f64) {
        self.products += count * network.parameters() as f64;
    }

    /// Adds what it takes to bring a pass up to date after neurons of a layer were switched: the layers behind the next one as a whole.
    fn add_switch(&mut self, network: &Network, layer: usize) {
        let behind = layer + 2..network.layers().len();
        let products: usize = behind.map(|layer| network.affine(layer).parameters()).sum();
        self.products += (network.layers()[layer + 1].outputs() + products) as f64;
    }
}

/// Where climbs have come by. A climb that comes to such a point goes on as the earlier one did.
#[derive(Default)]
pub(super) struct ClimbedPoints {
    /// Hashes: a collision costs a climb.
    seen: HashSet<u64>,
}

impl ClimbedPoints {
    /// Whether no climb has been there before.
    fn insert(&mut self, point: &[f64]) -> bool {
        // Always with the same keys, so that a search takes the same course every time.
        let mut hasher = DefaultHasher::new();
        point.iter().for_each(|x| hasher.write_u64(x.to_bits()));
        self.seen.insert(hasher.finish())
    }
}

/// Climbs from `start`, where `trace` has to be, until no vertex is better to first order, the time is up, or the climb has cost what it may. `None`
/// if an earlier climb has come by the same point.
pub(super) fn frank_wolfe(
    problem: &Problem,
    start: Candidate,
    vertices: &mut Vertices,
    climbed: &mut ClimbedPoints,
    trace: &mut Trace,
    budget: &Budget,
) -> Option<Candidate> {
    let mut best = start;
    // `trace` is at the best point, here and after each step; the other one is at points that are tried.
    let mut tried = trace.clone();
    let mut gradients = Gradients::new(&problem.network, problem.weights());
    let mut cost = ClimbCost::new(problem);
    for _ in 0..MOST_STEPS {
        if budget.is_spent() || cost.is_too_much() {
            break;
        }
        if !climbed.insert(&best.point) {
            return None;
        }
        let pattern = ActivationPattern::at(trace);
        let gradient = gradients.at(&pattern);
        let vertex = match vertices.maximise(&gradient) {
            Ok(vertex) => vertex,
            Err(error) => {
                log::debug!("ascent: {error}");
                break;
            }
        };
        let here: f64 = gradient.iter().zip(&best.point).map(|(w, x)| w * x).sum();
        if vertex.value <= here + tolerance::GAIN {
            break;
        }
        let full = problem.evaluate(vertex.point, &mut tried);
        cost.add_passes(&problem.network, 2.0);
        let next = if full.margin > best.margin {
            std::mem::swap(trace, &mut tried);
            full
        } else {
            let segment = (&best.point[..], &full.point[..]);
            first_maximum(problem, segment, pattern, [trace, &mut tried], &mut cost, budget)
        };
        if next.margin <= best.margin + tolerance::GAIN {
            break;
        }
        best = next;
    }
    Some(best)
}

/// The first maximum on the way from one point, where the first trace and the pattern are, to another one, where the second trace is. Afterwards the
/// first trace is there.
fn first_maximum(
    problem: &Problem,
    (from, to): (&[f64], &[f64]),
    mut pattern: ActivationPattern,
    [trace, ahead]: [&mut Trace; 2],
    cost: &mut ClimbCost,
    budget: &Budget,
) -> Candidate {
    let network = &problem.network;
    // On a piece everything is affine: `trace` at its near end, `ahead` extrapolated to the far end of the segment. Few neurons differ there.
    network.switch_held(0, &pattern, ahead);
    cost.add_passes(network, 2.0);
    let mut at = from.to_vec();
    for _ in 0..MOST_PIECES {
        let is_over = budget.is_spent() || cost.is_too_much();
        if is_over || problem.value(ahead) <= problem.value(trace) {
            break;
        }
        let (step, crossed) = first_crossing(problem, &pattern, trace, ahead);
        for (x, end) in at.iter_mut().zip(to) {
            *x += step * (end - *x);
        }
        let Some(first) = crossed.first() else { break };
        // Neurons are at 0 where they are switched, so that nothing but the far end changes.
        trace.interpolate(ahead, step);
        for neuron in &crossed {
            pattern.flip(*neuron);
        }
        network.switch_held(first.layer, &pattern, ahead);
        cost.add_switch(network, first.layer);
    }
    problem.evaluate(at, trace)
}

/// How far the affine piece of `pattern` reaches from `trace` to `ahead`, as a fraction of the way, and the neurons that change their sign at its end:
/// none if it reaches all the way.
fn first_crossing(
    problem: &Problem,
    pattern: &ActivationPattern,
    trace: &Trace,
    ahead: &Trace,
) -> (f64, Vec<NeuronId>) {
    let mut step = 1.0;
    let mut crossed = Vec::new();
    for neuron @ NeuronId { layer, index } in problem.network.relus() {
        let near = trace.pre_activations(layer)[index];
        let far = ahead.pre_activations(layer)[index];
        let leaves = if pattern.get(layer, index) { far < 0.0 } else { far > 0.0 };
        if !leaves {
            continue;
        }
        let fraction = (near / (near - far)).max(0.0);
        if fraction < step {
            step = fraction;
            crossed.clear();
        }
        if fraction == step {
            crossed.push(neuron);
        }
    }
    (step, crossed)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::network::random::network;
    use crate::problem::Objective;
    use crate::sets::{InputSet, Norm, PixelRange};

    #[test]
    fn a_climb_ends_where_an_earlier_one_came_by() {
        let network = Arc::new(network(&[8, 10, 2], 3));
        let set = InputSet::ball(Norm::L1, &[0.5; 8], 1.5, PixelRange::UNIT);
        let problem = Problem::new(&network, set, Objective::new(vec![1.0, -1.0]));
        let (budget, mut trace) = (Budget::unlimited(), problem.trace());
        let mut vertices = Vertices::new(&problem.set, budget);
        let centre = problem.evaluate(problem.set.centre().to_vec(), &mut trace);
        let mut climbed = ClimbedPoints::default();
        let mut climb = |start: Candidate, climbed: &mut ClimbedPoints| {
            network.forward(&start.point, &mut trace);
            frank_wolfe(&problem, start, &mut vertices, climbed, &mut trace, &budget)
        };
        let end = climb(centre.clone(), &mut climbed).expect("nobody was there before");
        assert!(end.margin > centre.margin);
        assert_eq!(climb(centre.clone(), &mut climbed), None);
        assert_eq!(climb(end.clone(), &mut climbed), None);
        assert_eq!(climb(centre, &mut ClimbedPoints::default()), Some(end));
    }
}
