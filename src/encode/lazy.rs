//! What LPs with rows and columns on demand have in common: solve, add the violated rows and the moves that price out, repeat.

use super::error::EncodeError;
use crate::lp::Simplex;
use crate::network::NeuronId;

/// Rounds before an LP is given up: a healthy one needs about ten.
pub(super) const MOST_ROUNDS: usize = 500;

/// The simplex that suits the last basis: the dual one after new rows, the primal one after new columns alone.
pub(super) fn simplex_after(rows_were_added: bool) -> Simplex {
    if rows_were_added { Simplex::Dual } else { Simplex::Primal }
}

/// The rows with the largest violations, worst first, at most `most` of them.
pub(super) fn worst_first<R>(
    mut violated: Vec<(f64, NeuronId, R)>,
    most: usize,
) -> impl Iterator<Item = (NeuronId, R)> {
    violated.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    violated.into_iter().take(most).map(|(_, neuron, row)| (neuron, row))
}

/// The error for an LP that is still incomplete after [`MOST_ROUNDS`].
pub(super) fn too_many_rounds() -> EncodeError {
    EncodeError::Trouble(format!("no end after {MOST_ROUNDS} rounds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_violations_the_first_neuron_comes_first() {
        let id = |index| NeuronId { layer: 0, index };
        let violated = vec![(0.5, id(3), 'a'), (2.0, id(2), 'b'), (2.0, id(1), 'c')];
        let worst: Vec<_> = worst_first(violated, 2).collect();
        assert_eq!(worst, [(id(1), 'c'), (id(2), 'b')]);
    }
}
