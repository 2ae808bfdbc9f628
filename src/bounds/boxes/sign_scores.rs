//! Neurons whose signs are worth a split: those whose relaxation costs the bound most.

use super::descent::SlopeDescent;
use super::network::PaddedNetwork;
use super::scores::InputScores;
use super::state::Boxes;
use crate::network::NeuronId;

/// Neurons of each layer that are looked at more closely. What the layers behind gain from a sign is not in a neuron's own cost, so that every
/// layer has candidates.
const CANDIDATES: usize = 2;

/// For each box the neurons that cost the function with its largest bound most, by the coefficients of the last evaluation.
pub(super) fn note(
    network: &PaddedNetwork,
    boxes: &Boxes,
    descent: &SlopeDescent,
    scores: &InputScores,
    out: &mut Vec<Vec<NeuronId>>,
) {
    out.clear();
    out.resize(boxes.count, Vec::new());
    for (node, out) in out.iter_mut().enumerate() {
        let Some((_, function)) = scores.chosen(node) else { continue };
        for layer in 0..network.hidden() {
            let width = network.layers[layer].padded();
            let coefficients = descent.coefficients(layer, function, width);
            let slopes = descent.slopes(layer, function, width);
            let mut costs: Vec<(f64, NeuronId)> = Vec::new();
            for index in 0..network.layers[layer].width {
                if !boxes.is_unstable(network, layer, node, index) {
                    continue;
                }
                let neuron = NeuronId { layer, index };
                let (q, slope) = (coefficients[index], slopes[index]);
                costs.push((cost(boxes, (node * width, neuron), q, slope), neuron));
            }
            costs.sort_by(|a, b| b.0.total_cmp(&a.0));
            out.extend(costs.into_iter().take(CANDIDATES).map(|(_, neuron)| neuron));
        }
    }
}

/// What an unstable neuron's relaxation costs a function at most, if its output counts `q`. `begin` is where its layer begins for its box.
pub(super) fn cost(
    boxes: &Boxes,
    (begin, NeuronId { layer, index }): (usize, NeuronId),
    q: f64,
    slope: f64,
) -> f64 {
    let (state, at) = (&boxes.layers[layer], begin + index);
    let (lower, upper) = (state.lower[at], state.upper[at]);
    let gap = if q > 0.0 {
        -lower * upper / (upper - lower)
    } else {
        (-slope * lower).max((1.0 - slope) * upper)
    };
    q.abs() * gap
}
