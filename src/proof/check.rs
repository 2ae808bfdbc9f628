//! The checker of claims: that leaves cover the set, and that their bounds follow.

use std::sync::Arc;

use super::error::ProofError;
use super::file::{Claim, Leaf};
use super::replay::LeafReplay;
use super::side::ProofSide;
use crate::bounds::{Arithmetic, SplitSide};
use crate::network::Network;
use crate::sets::InputSet;
use crate::tolerance;

/// What a claim comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedClaim {
    /// The bound as worked out anew.
    pub bound: f64,
    /// Leaves looked at.
    pub leaves: usize,
}

/// Works out whether `claim` holds for `objective · y` over the set: that its leaves cover the set, and that each leaf's bound follows from
/// its certificate. For a claim about f32, `arithmetic` has to be that of the file.
///
/// # Errors
/// The first thing found that is wrong.
pub fn check(
    network: &Arc<Network>,
    set: &InputSet,
    objective: &[f64],
    arithmetic: Arithmetic,
    claim: &Claim,
) -> Result<CheckedClaim, ProofError> {
    let mut order: Vec<usize> = (0..claim.leaves.len()).collect();
    covered(&claim.leaves, &mut order, 0)?;
    // Each part is bounded once.
    order.sort_by_key(|&leaf| claim.leaves[leaf].part);
    let mut replay = LeafReplay::new(network, set, objective, arithmetic, &claim.parts);
    let mut bound = f64::NEG_INFINITY;
    for leaf in order {
        let proven = replay.bound(leaf, &claim.leaves[leaf])?;
        bound = bound.max(proven);
        let at_most =
            |claimed: f64| proven <= claimed + tolerance::REPLAYED_BOUND * claimed.abs().max(1.0);
        let claimed = claim.leaves[leaf].bound;
        if !at_most(claimed) {
            return Err(ProofError::TooLow { leaf, claimed, proven });
        }
        if !at_most(claim.bound) {
            return Err(ProofError::WholeTooLow { claimed: claim.bound, leaf: claimed });
        }
    }
    Ok(CheckedClaim { bound, leaves: claim.leaves.len() })
}

/// Whether leaves that agree in their first `depth` sides cover all that these lead to. Puts them in the order of the tree.
fn covered(leaves: &[Leaf], order: &mut [usize], depth: usize) -> Result<(), ProofError> {
    let &mut [first, ..] = order else {
        return Err(ProofError::Uncovered("there is a part without a leaf".into()));
    };
    let Some(&side) = leaves[first].sides.get(depth) else {
        return match order {
            [_] => Ok(()),
            _ => Err(ProofError::Uncovered(format!("leaf {first} is divided by other leaves"))),
        };
    };
    let is_on = |k: usize, side: ProofSide| leaves[k].sides.get(depth) == Some(&side);
    let other = ProofSide::from(SplitSide::from(side).opposite());
    if let Some(odd) = order.iter().find(|&&k| !is_on(k, side) && !is_on(k, other)) {
        return Err(ProofError::Uncovered(format!(
            "leaf {odd} is not the other side of leaf {first}"
        )));
    }
    order.sort_by_key(|&k| !is_on(k, side));
    let on_this = order.partition_point(|&k| is_on(k, side));
    let (these, others) = order.split_at_mut(on_this);
    if others.is_empty() {
        return Err(ProofError::Uncovered(format!(
            "no leaf is on the other side of division {depth} of leaf {first}"
        )));
    }
    covered(leaves, these, depth + 1)?;
    covered(leaves, others, depth + 1)
}
