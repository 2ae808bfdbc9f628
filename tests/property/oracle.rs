//! What is true, by an LP for each activation pattern. Shares nothing with the code under test but the LP solver.

use rw_adv::lp::{Col, LpModel, LpOutcome, Simplex};
use rw_adv::network::Network;

/// What LPs agree to.
pub const CLOSE: f64 = 1e-6;

/// `of_inputs · x + of_outputs · y + constant`, which is to be at least the value that is maximised, or at least 0 if it is `hard`.
#[derive(Clone, Debug)]
pub struct OracleRow {
    pub of_inputs: Vec<f64>,
    pub of_outputs: Vec<f64>,
    pub constant: f64,
    pub hard: bool,
}

/// A function of the inputs: weights and a constant.
type Affine = (Vec<f64>, f64);

/// The largest value of the smallest row, and where; `None` if the hard rows leave nothing. Inputs lie between `lower` and `upper`.
pub fn optimum(
    network: &Network,
    bounds: [&[f64]; 2],
    rows: &[OracleRow],
) -> Option<(f64, Vec<f64>)> {
    let patterns = 0..1u32 << network.relu_count();
    let all = patterns.filter_map(|pattern| optimum_in(network, bounds, rows, pattern));
    all.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The same in one region.
fn optimum_in(
    network: &Network,
    [lower, upper]: [&[f64]; 2],
    rows: &[OracleRow],
    pattern: u32,
) -> Option<(f64, Vec<f64>)> {
    let mut lp = LpModel::new();
    let inputs: Vec<Col> =
        lower.iter().zip(upper).map(|(&l, &u)| lp.add_col(0.0, l, u, &[])).collect();
    let smallest = lp.add_col(1.0, -1e3, 1e3, &[]);
    let at_least_zero = |lp: &mut LpModel, value: &Affine, sign: f64, more: Option<(Col, f64)>| {
        let own = inputs.iter().copied().zip(value.0.iter().map(|weight| sign * weight));
        let entries: Vec<(Col, f64)> = own.chain(more).collect();
        lp.add_row(-sign * value.1, f64::INFINITY, &entries);
    };
    let unit = |i: usize| (0..inputs.len()).map(|j| f64::from(i == j)).collect();
    let of_inputs: Vec<Affine> = (0..inputs.len()).map(|i| (unit(i), 0.0)).collect();
    let (mut values, mut neuron) = (of_inputs.clone(), 0);
    let last = network.layers().len() - 1;
    for layer in 0..=last {
        let map = network.affine(layer);
        let mut next = Vec::new();
        for output in 0..map.outputs() {
            let value = combine(&[(&values, &map.dense_row(output))], map.bias()[output]);
            if layer == last {
                next.push(value);
                continue;
            }
            let on = pattern >> neuron & 1 == 1;
            neuron += 1;
            at_least_zero(&mut lp, &value, if on { 1.0 } else { -1.0 }, None);
            next.push(if on { value } else { (vec![0.0; inputs.len()], 0.0) });
        }
        values = next;
    }
    for row in rows {
        let value =
            combine(&[(&of_inputs, &row.of_inputs), (&values, &row.of_outputs)], row.constant);
        let above = (!row.hard).then_some((smallest, -1.0));
        at_least_zero(&mut lp, &value, 1.0, above);
    }
    match lp.solve(None, Simplex::Dual).expect("an answer") {
        LpOutcome::Optimal(solution) => {
            Some((solution.objective, solution.cols[..inputs.len()].to_vec()))
        }
        _ => None,
    }
}

/// Sums of `weights · values`, and a constant.
fn combine(sums: &[(&Vec<Affine>, &[f64])], constant: f64) -> Affine {
    let mut total = (vec![0.0; sums[0].0.first().map_or(0, |value| value.0.len())], constant);
    for ((of_value, at_zero), weight) in sums.iter().flat_map(|(v, w)| v.iter().zip(*w)) {
        total.0.iter_mut().zip(of_value).for_each(|(sum, v)| *sum += weight * v);
        total.1 += weight * at_zero;
    }
    total
}

/// The point itself, and the same with few digits: where the network has few digits, too, its outputs there are exact.
pub fn with_few_digits(x: &[f64]) -> [Vec<f64>; 2] {
    [x.to_vec(), x.iter().map(|x| (1024.0 * x).round() / 1024.0).collect()]
}
