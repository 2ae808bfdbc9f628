//! Functions that were improved with lines, bounded by quadratic relaxations of all neurons below.

use super::descent::SlopeDescent;
use super::evidence::{BoundEvidence, FunctionBound};
use super::push_back::Functions;
use super::quadratic::{
    CollapsedBox, FirstLines, QuadraticEvidence, QuadraticRelaxation, best_point, improve,
};
use super::sign_trees::TreeGround;

/// A value this far below 0 will stay there with all that rounding and noise add.
const ENOUGH: f64 = 0.05;

/// With more unstable neurons below, time is better spent on trees over signs.
const MOST_NEURONS: usize = 64;

/// Bounds functions of one box in so many steps, until they are at most 0 or `is_spent` says so. `descent` has just improved them with
/// lines, and no bound is above what that gave. `None` where that is not worth its time.
pub(super) fn bound_by_quadratics(
    TreeGround { network, boxes, layer, proves, .. }: TreeGround,
    functions: &Functions,
    descent: &SlopeDescent,
    steps: usize,
    is_spent: &impl Fn() -> bool,
) -> Option<Vec<FunctionBound>> {
    let bound = |&value: &f64| FunctionBound { value, by: None };
    let mut best: Vec<FunctionBound> = descent.best.iter().map(bound).collect();
    let &node = functions.nodes.first()?;
    debug_assert!(functions.nodes.iter().all(|of| *of == node), "functions of one box");
    let mut collapsed = CollapsedBox::new(network, boxes, node);
    (0..layer).for_each(|below| collapsed.push_layer(network, boxes, below));
    if collapsed.neurons.is_empty() || collapsed.neurons.len() > MOST_NEURONS {
        return None;
    }
    let relaxation = QuadraticRelaxation::new(&collapsed);
    for (k, function) in collapsed.functions(network, functions).iter().enumerate() {
        if is_spent() {
            break;
        }
        if best[k].value <= 0.0 {
            continue;
        }
        let outputs = collapsed.neurons.iter().map(|neuron| {
            let (layer, index) = (neuron.id.layer, neuron.id.index);
            let width = network.layers[layer].padded();
            let coefficient = descent.coefficients(layer, k, width)[index];
            (coefficient, descent.slopes(layer, k, width)[index])
        });
        let first = FirstLines { outputs: outputs.collect() };
        let is_enough = |value: f64| value < -ENOUGH || is_spent();
        let Some(found) = improve(&relaxation, function, &first, steps, is_enough) else {
            continue;
        };
        let (mut multipliers, mut point, mut by) = (found.multipliers, found.point, None);
        if proves {
            let evidence = QuadraticEvidence::new(&collapsed, &multipliers);
            multipliers = evidence.multipliers(&collapsed);
            let Some(best) = best_point(&relaxation, function, &multipliers) else { continue };
            (point, by) = (best, Some(BoundEvidence::Quadratic(evidence)));
        }
        let value = relaxation.certify(network.allowance, function, &multipliers, &point);
        if value < best[k].value {
            best[k] = FunctionBound { value, by };
        }
    }
    Some(best)
}
