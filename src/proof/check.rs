//! The checker.

use crate::bounds::{
    Arithmetic, LinearBounds, Multipliers, NeuronBounds, NeuronDuals, ReluLine, UpperRelaxation,
};
use crate::budget::Budget;
use crate::network::Network;
use crate::sets::{Half, InputSet, PixelSplit};
use std::sync::Arc;

use super::{Certificate, Claim, Evidence, Leaf, SplitSide};

/// Bounds recomputed elsewhere may differ in their last bits; relative from 1 on.
const LAST_BITS: f64 = 1e-9;

/// Amounts are multiples of this, and at most one such part of it as large: their sums are exact.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// What a claim comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedClaim {
    /// The bound as worked out anew.
    pub bound: f64,
    /// Parts looked at.
    pub leaves: usize,
}

/// What is wrong with a claim.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProofError {
    /// The leaves do not cover the set.
    #[error("the leaves do not cover the set: {0}")]
    Uncovered(String),
    /// A leaf makes no sense.
    #[error("leaf {leaf}: {what}")]
    Nonsense {
        /// Its place in the list.
        leaf: usize,
        /// Why.
        what: &'static str,
    },
    /// A leaf's bound does not follow from its certificate.
    #[error("leaf {leaf}: claims {claimed}, but its certificate proves {proven} only")]
    TooLow {
        /// Its place in the list.
        leaf: usize,
        /// Its bound.
        claimed: f64,
        /// What follows.
        proven: f64,
    },
    /// The bound of the whole is below one of a leaf.
    #[error("claims {claimed} for the whole set, but {leaf} for a part of it")]
    WholeTooLow {
        /// The bound of the whole.
        claimed: f64,
        /// The leaf's.
        leaf: f64,
    },
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
    let unlimited = Budget::unlimited();
    let whole =
        LinearBounds::divisible(network, set, UpperRelaxation::Envelopes, arithmetic, &unlimited);
    let mut checker = Checker { set, objective, whole, ground: None };
    let mut bound = f64::NEG_INFINITY;
    for leaf in order {
        let proven = checker.bound(leaf, &claim.leaves[leaf])?;
        bound = bound.max(proven);
        let at_most = |claimed: f64| proven <= claimed + LAST_BITS * claimed.abs().max(1.0);
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
    let is_on = |k: usize, side: SplitSide| leaves[k].sides.get(depth) == Some(&side);
    if let Some(odd) = order.iter().find(|&&k| !is_on(k, side) && !is_on(k, side.other())) {
        return Err(ProofError::Uncovered(format!(
            "leaf {odd} is no other side of leaf {first}'s"
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

struct Checker<'c> {
    set: &'c InputSet,
    objective: &'c [f64],
    /// Bounds over the whole set.
    whole: LinearBounds,
    /// The last part that neurons were bounded anew for, if it is not the whole: leaves come in the order of the tree.
    ground: Option<(Vec<SplitSide>, LinearBounds)>,
}

impl Checker<'_> {
    /// The bound that follows from a leaf's certificate.
    fn bound(&mut self, number: usize, leaf: &Leaf) -> Result<f64, ProofError> {
        let nonsense = |what| ProofError::Nonsense { leaf: number, what };
        let Certificate { needs, fresh, evidence } = &leaf.certificate;
        let anew = leaf.sides.get(..*fresh).ok_or(nonsense("it has fewer sides than were bounded"));
        let after = leaf.sides.get(*fresh..*needs);
        let (anew, after) = (anew?, after.ok_or(nonsense("it has fewer sides than are needed"))?);
        self.settle(anew).map_err(nonsense)?;
        let linear = self.ground.as_ref().map_or(&self.whole, |(_, linear)| linear);
        let part = if after.iter().all(|side| side.sign().is_some()) {
            signed(linear, after).map_err(nonsense)?
        } else {
            Some(divided(linear, after).map_err(nonsense)?)
        };
        let linear = match (&part, evidence) {
            (None, _) => return Ok(f64::NEG_INFINITY),
            (Some(_), Evidence::Empty {}) => return Err(nonsense("it is not proven to be empty")),
            (Some(part), _) => part.as_ref().unwrap_or(linear),
        };
        Ok(match evidence {
            Evidence::Lines(lines) => {
                let line = |&(index, below, envelope): &(usize, f64, f64)| ReluLine {
                    index,
                    below,
                    envelope,
                };
                let of_layer = |lines: &Vec<_>| lines.iter().map(line).collect();
                let lines: Vec<Vec<ReluLine>> = lines.iter().map(of_layer).collect();
                linear.bound_from_lines(self.objective, &lines).value()
            }
            Evidence::Multipliers { neurons, prices } => {
                let neurons = spread(linear.neurons(), neurons).map_err(nonsense)?;
                let multipliers = Multipliers { neurons, prices: prices.clone() };
                linear.dual_bound(self.objective, &multipliers).bound.value()
            }
            Evidence::Empty {} => f64::INFINITY,
        })
    }

    /// Bounds the neurons of the part that these sides lead to.
    fn settle(&mut self, sides: &[SplitSide]) -> Result<(), &'static str> {
        if sides.is_empty() {
            self.ground = None;
            return Ok(());
        }
        if self.ground.as_ref().is_some_and(|(of, _)| of == sides) {
            return Ok(());
        }
        let mut set = self.set.clone();
        for &side in sides {
            let Some((split, half)) = side.pixel_split() else {
                return Err("neurons are bounded anew behind a neuron's sign");
            };
            checked(split, set.dimension())?;
            set = set.half(split, half).ok_or("a centre is rounded")?;
        }
        let linear = self.whole.of_part(&set, &Budget::unlimited());
        self.ground = Some((sides.to_vec(), linear));
        Ok(())
    }
}

/// Only amounts of whole grains add up exactly.
fn checked(split: PixelSplit, pixels: usize) -> Result<(), &'static str> {
    let grains = split.amount / GRAIN;
    let whole = grains.fract() == 0.0 && (0.0..=1.0 / (GRAIN * GRAIN)).contains(&grains);
    match (whole, split.pixel < pixels) {
        (false, _) => Err("an amount is no number of grains"),
        (_, false) => Err("there is no such pixel"),
        _ => Ok(()),
    }
}

/// The bounds where neurons have these signs: none if nothing is there; those of the ground itself (`Some(None)`) without signs.
#[expect(clippy::option_option, reason = "nothing there, nothing new, something new")]
fn signed(
    linear: &LinearBounds,
    sides: &[SplitSide],
) -> Result<Option<Option<LinearBounds>>, &'static str> {
    let mut part: Option<LinearBounds> = None;
    for sign in sides.iter().filter_map(|side| side.sign()) {
        let known = part.as_ref().unwrap_or(linear).neurons();
        let width =
            (sign.neuron.layer < known.hidden()).then(|| known.layer(sign.neuron.layer).len());
        if width.is_none_or(|width| sign.neuron.index >= width) {
            return Err("there is no such neuron");
        }
        match linear.signed(known, sign) {
            Some(bounds) => part = Some(bounds),
            None => return Ok(None),
        }
    }
    Ok(Some(part))
}

/// The bounds' own lines where pixels are divided further.
fn divided(
    linear: &LinearBounds,
    sides: &[SplitSide],
) -> Result<Option<LinearBounds>, &'static str> {
    let mut portion = linear.whole();
    for &side in sides {
        let Some((split, half)) = side.pixel_split() else {
            return Err("pixels and neurons are divided without new bounds in between");
        };
        checked(split, usize::MAX)?;
        let halves = portion.split(split).ok_or("a pixel is divided that does not move")?;
        let [at_least, at_most] = halves;
        portion = if half == Half::AtLeast { at_least } else { at_most };
    }
    Ok(Some(linear.within(&portion)))
}

/// Multipliers for every neuron.
fn spread(
    neurons: &NeuronBounds,
    sparse: &[Vec<(usize, f64, f64)>],
) -> Result<Vec<Vec<NeuronDuals>>, &'static str> {
    let zeros = |layer: usize| vec![NeuronDuals::default(); neurons.layer(layer).len()];
    let mut weights: Vec<Vec<NeuronDuals>> = (0..neurons.hidden()).map(zeros).collect();
    for (layer, entries) in sparse.iter().enumerate() {
        for &(index, multiplier, envelope) in entries {
            let of_layer = weights.get_mut(layer).and_then(|layer| layer.get_mut(index));
            *of_layer.ok_or("there is no neuron for a multiplier")? =
                NeuronDuals { multiplier, envelope };
        }
    }
    Ok(weights)
}
