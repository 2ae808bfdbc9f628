//! A leaf's certificate replayed: what bound follows from it.

use std::sync::Arc;

use super::error::ProofError;
use super::evidence::{Certificate, Evidence};
use super::file::Leaf;
use super::side::ProofSide;
use crate::bounds::{
    Arithmetic, LinearBounds, Multipliers, NeuronBounds, NeuronDuals, Part, ReluLine, Sign,
    SplitSide, UpperRelaxation,
};
use crate::budget::Budget;
use crate::network::Network;
use crate::sets::{Half, InputSet, PixelSplit};

/// Amounts are multiples of this, and at most one such part of it as large: their sums are exact. The checker's own constant, whatever the
/// one is that trees split by.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// What leaves are replayed with. They should come in the order of the tree.
pub(super) struct LeafReplay<'r> {
    pixels: usize,
    objective: &'r [f64],
    /// Bounds over the whole set.
    whole: LinearBounds,
    /// The last part that neurons were bounded anew for, if it is not the whole.
    fresh: Option<(Vec<ProofSide>, LinearBounds)>,
}

/// A part that the sides of a leaf lead to.
enum ReplayedPart {
    /// All that neurons were bounded anew for.
    All,
    /// A part of it.
    Bounds(Box<LinearBounds>),
    /// It is proven to be empty.
    Empty,
}

impl<'r> LeafReplay<'r> {
    pub fn new(
        network: &Arc<Network>,
        set: &InputSet,
        objective: &'r [f64],
        arithmetic: Arithmetic,
    ) -> Self {
        let (above, unlimited) = (UpperRelaxation::Envelopes, Budget::unlimited());
        let whole = LinearBounds::splittable(network, set, above, arithmetic, &unlimited);
        Self { pixels: set.dimension(), objective, whole, fresh: None }
    }

    /// The bound that follows from a leaf's certificate.
    pub fn bound(&mut self, number: usize, leaf: &Leaf) -> Result<f64, ProofError> {
        self.follow(leaf).map_err(|what| ProofError::Nonsense { leaf: number, what })
    }

    fn follow(&mut self, leaf: &Leaf) -> Result<f64, &'static str> {
        let Certificate { needs, fresh, evidence } = &leaf.certificate;
        let sides = &leaf.sides;
        let anew = sides.get(..*fresh).ok_or("it has fewer sides than were bounded")?;
        let after = sides.get(*fresh..*needs).ok_or("it has fewer sides than are needed")?;
        self.bound_anew(anew)?;
        let linear = self.fresh.as_ref().map_or(&self.whole, |(_, linear)| linear);
        let after: Vec<SplitSide> = after.iter().map(|&side| side.into()).collect();
        let part = if after.iter().all(|side| side.sign().is_some()) {
            signed(linear, &after)?
        } else {
            split(linear, &after)?
        };
        let linear = match &part {
            ReplayedPart::Empty => return Ok(f64::NEG_INFINITY),
            ReplayedPart::All => linear,
            ReplayedPart::Bounds(linear) => linear,
        };
        match evidence {
            Evidence::Empty {} => Err("it is not proven to be empty"),
            Evidence::Lines(lines) => {
                let line = |&(index, below, envelope): &(usize, f64, f64)| ReluLine {
                    index,
                    below,
                    envelope,
                };
                let of_layer = |lines: &Vec<_>| lines.iter().map(line).collect();
                let lines: Vec<Vec<ReluLine>> = lines.iter().map(of_layer).collect();
                Ok(linear.bound_from_lines(self.objective, &lines).value())
            }
            Evidence::Multipliers { neurons, prices } => {
                let neurons = dense_duals(linear.neurons(), neurons)?;
                let multipliers = Multipliers { neurons, prices: prices.clone() };
                Ok(linear.dual_bound(self.objective, &multipliers).bound.value())
            }
        }
    }

    /// Bounds the neurons of the part that these sides lead to.
    fn bound_anew(&mut self, sides: &[ProofSide]) -> Result<(), &'static str> {
        if sides.is_empty() {
            self.fresh = None;
            return Ok(());
        }
        if self.fresh.as_ref().is_some_and(|(of, _)| of == sides) {
            return Ok(());
        }
        let mut part: Part = self.whole.part().clone();
        for side in sides.iter().map(|&side| SplitSide::from(side)) {
            let SplitSide::Pixel(split, _) = side else {
                return Err("neurons are bounded again behind a neuron's sign");
            };
            check_split(split, self.pixels)?;
            part = part.side(side);
        }
        let linear =
            self.whole.of_part(&part, &Budget::unlimited()).ok_or("a centre is rounded")?;
        self.fresh = Some((sides.to_vec(), linear));
        Ok(())
    }
}

/// Only amounts of whole grains add up exactly.
fn check_split(split: PixelSplit, pixels: usize) -> Result<(), &'static str> {
    let grains = split.amount / GRAIN;
    let whole = grains.fract() == 0.0 && (0.0..=1.0 / (GRAIN * GRAIN)).contains(&grains);
    match (whole, split.pixel < pixels) {
        (false, _) => Err("an amount is not a multiple of the grain"),
        (_, false) => Err("there is no such pixel"),
        _ => Ok(()),
    }
}

/// The part in which neurons have these signs.
fn signed(linear: &LinearBounds, sides: &[SplitSide]) -> Result<ReplayedPart, &'static str> {
    let mut part: Option<LinearBounds> = None;
    for sign in sides.iter().filter_map(|side| side.sign()) {
        let known = part.as_ref().unwrap_or(linear).neurons();
        check_neuron(known, sign)?;
        match linear.signed(known, sign) {
            Ok(bounds) => part = Some(bounds),
            Err(_) => return Ok(ReplayedPart::Empty),
        }
    }
    Ok(part.map_or(ReplayedPart::All, |part| ReplayedPart::Bounds(Box::new(part))))
}

fn check_neuron(known: &NeuronBounds, Sign { neuron, .. }: Sign) -> Result<(), &'static str> {
    let exists = neuron.layer < known.hidden() && neuron.index < known.layer(neuron.layer).len();
    if exists { Ok(()) } else { Err("there is no such neuron") }
}

/// The part in which pixels are split further, by the lines that the bounds have already.
fn split(linear: &LinearBounds, sides: &[SplitSide]) -> Result<ReplayedPart, &'static str> {
    let mut part = linear.whole();
    for &side in sides {
        let SplitSide::Pixel(split, half) = side else {
            return Err("pixels and neurons are split without new bounds in between");
        };
        check_split(split, usize::MAX)?;
        let halves = part.split(split).ok_or("a pixel is split that does not move")?;
        let [at_least, at_most] = halves;
        part = if half == Half::AtLeast { at_least } else { at_most };
    }
    Ok(ReplayedPart::Bounds(Box::new(linear.within(&part))))
}

/// Multipliers for every neuron.
fn dense_duals(
    neurons: &NeuronBounds,
    sparse: &[Vec<(usize, f64, f64)>],
) -> Result<Vec<Vec<NeuronDuals>>, &'static str> {
    let zeros = |layer: usize| vec![NeuronDuals::default(); neurons.layer(layer).len()];
    let mut duals: Vec<Vec<NeuronDuals>> = (0..neurons.hidden()).map(zeros).collect();
    for (layer, entries) in sparse.iter().enumerate() {
        for &(index, multiplier, envelope) in entries {
            let of_layer = duals.get_mut(layer).and_then(|layer| layer.get_mut(index));
            *of_layer.ok_or("there is no neuron for a multiplier")? =
                NeuronDuals { multiplier, envelope };
        }
    }
    Ok(duals)
}
