//! A leaf's certificate replayed: what bound follows from it.

use std::collections::HashMap;
use std::sync::Arc;

use super::error::ProofError;
use super::evidence::{Evidence, relu_lines};
use super::file::Leaf;
use super::part::{self, ProofCut, ProofPart};
use super::side::ProofSide;
use crate::bounds::{
    Arithmetic, BoundedPart, Cut, CutBy, Guide, GuideSource, LinearBounds, Multipliers,
    NeuronBounds, NeuronDuals, Part, PartStart, Sign, SplitSide, UpperRelaxation,
};
use crate::budget::Budget;
use crate::network::Network;
use crate::sets::{Half, InputSet, PixelSplit};

/// Amounts are multiples of this, and at most one such part of it as large: their sums are exact. The checker's own constant, whatever the
/// one is that trees split by.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// Whole amounts are at most this.
const MOST: f64 = (1u64 << 40) as f64;

/// What leaves are replayed with. They should come in the order of their parts.
pub(super) struct LeafReplay<'r> {
    objective: &'r [f64],
    parts: &'r [ProofPart],
    network: &'r Arc<Network>,
    /// Bounds over the whole set.
    whole: Arc<LinearBounds>,
    /// The parts as far as they are known: bounds of the last ones only, of the others the intervals.
    known: HashMap<usize, Arc<BoundedPart>>,
    /// The parts that are proven to be empty, and the bound of anything over them.
    empty: HashMap<usize, f64>,
    recent: Vec<(usize, ReplayedPart)>,
}

/// Bounds of parts that are kept: a cut is made from those before it.
const RECENT: usize = 3;

/// A part that is replayed.
#[derive(Clone)]
enum ReplayedPart {
    /// Its bounds.
    Bounds(Arc<LinearBounds>),
    /// It is proven to be empty: this is the bound of anything over it.
    Empty(f64),
}

type Nonsense = &'static str;

impl<'r> LeafReplay<'r> {
    pub fn new(
        network: &'r Arc<Network>,
        set: &InputSet,
        objective: &'r [f64],
        arithmetic: Arithmetic,
        parts: &'r [ProofPart],
    ) -> Self {
        let (above, unlimited) = (UpperRelaxation::Envelopes, Budget::unlimited());
        let whole = LinearBounds::splittable(network, set, above, arithmetic, &unlimited);
        let (known, empty, recent) = (HashMap::new(), HashMap::new(), Vec::new());
        Self { objective, parts, network, whole: Arc::new(whole), known, empty, recent }
    }

    /// The bound that follows from a leaf's evidence.
    pub fn bound(&mut self, number: usize, leaf: &Leaf) -> Result<f64, ProofError> {
        self.follow(leaf).map_err(|what| ProofError::Nonsense { leaf: number, what })
    }

    fn follow(&mut self, leaf: &Leaf) -> Result<f64, Nonsense> {
        let Leaf { sides, needs, part, evidence, .. } = leaf;
        let bounded = &self.parts.get(*part).ok_or("there is no such part")?.sides;
        let after = sides.get(..*needs).ok_or("it has fewer sides than are needed")?;
        let after = after.strip_prefix(&bounded[..]).ok_or("its neurons were bounded elsewhere")?;
        let linear = match self.replay(*part)? {
            ReplayedPart::Empty(bound) => return Ok(bound),
            ReplayedPart::Bounds(linear) => linear,
        };
        let after: Vec<SplitSide> = after.iter().map(|&side| side.into()).collect();
        let part = if after.iter().all(|side| side.sign().is_some()) {
            signed(linear, &after, self.objective)?
        } else {
            split(&linear, &after)?
        };
        let linear = match part {
            ReplayedPart::Empty(bound) => return Ok(bound),
            ReplayedPart::Bounds(linear) => linear,
        };
        match evidence {
            Evidence::Empty {} => Err("it is not proven to be empty"),
            Evidence::Lines(lines) => {
                Ok(linear.bound_from_lines(self.objective, &relu_lines(lines)).value())
            }
            Evidence::Multipliers { neurons, prices } => {
                let neurons = dense_duals(linear.neurons(), neurons)?;
                let multipliers = Multipliers { neurons, prices: prices.clone() };
                Ok(linear.dual_bound(self.objective, &multipliers).bound.value())
            }
        }
    }

    /// A part of the list, and before it what it takes intervals from.
    fn replay(&mut self, place: usize) -> Result<ReplayedPart, Nonsense> {
        if let Some((_, part)) = self.recent.iter().find(|(of, _)| *of == place) {
            return Ok(part.clone());
        }
        let mut missing = vec![place];
        while let Some(&at) = missing.last() {
            let part = self.parts.get(at).ok_or("there is no such part")?;
            let is_ready = |parent: usize| match part.cut {
                _ if self.empty.contains_key(&parent) => true,
                Some(_) => self.recent.iter().any(|(of, _)| *of == parent),
                None => self.known.contains_key(&parent),
            };
            match part.parent.filter(|&parent| !is_ready(parent)) {
                Some(parent) if parent < at => missing.push(parent),
                Some(_) => return Err("a part takes intervals from one behind it"),
                None => {
                    missing.pop();
                    let replayed = self.bound_again(part)?;
                    match &replayed {
                        ReplayedPart::Bounds(bounds) => {
                            self.known.insert(at, Arc::clone(bounds.bounded_part()));
                        }
                        ReplayedPart::Empty(bound) => {
                            self.empty.insert(at, *bound);
                        }
                    }
                    self.recent.truncate(RECENT - 1);
                    self.recent.insert(0, (at, replayed));
                }
            }
        }
        Ok(self.recent[0].1.clone())
    }

    /// Bounds the neurons of a part whose parent is ready.
    fn bound_again(&self, entry: &ProofPart) -> Result<ReplayedPart, Nonsense> {
        let ProofPart { parent, sides, guide, cut } = entry;
        let widths = self.network.widths();
        // Inputs first, logits last.
        let hidden = &widths[1..widths.len() - 1];
        let guide = guide.as_ref().map(|entries| part::guide(entries, hidden));
        let guide = guide.map(|guide| guide.ok_or("a guide does not fit")).transpose()?;
        let Some(parent) = parent else {
            return match (sides.is_empty(), guide, cut) {
                (true, None, None) => Ok(ReplayedPart::Bounds(Arc::clone(&self.whole))),
                _ => Err("a part has no parent"),
            };
        };
        // What is empty has empty parts. A cut or a part of it may have been made where fewer neurons were bounded.
        if let Some(bound) = self.empty.get(parent) {
            if !sides.starts_with(&self.parts[*parent].sides) {
                return Err("intervals are of another part");
            }
            let goal = cut.as_ref().map_or(f64::NEG_INFINITY, |cut| cut.goal);
            return Ok(ReplayedPart::Empty(bound.max(goal)));
        }
        if let Some(cut) = cut {
            return self.cut(*parent, sides, cut, &guide.unwrap_or_default());
        }
        let known = self.known.get(parent).ok_or("a part of an empty part is bounded")?;
        let outer = &self.parts[*parent].sides;
        let inner = sides.strip_prefix(&outer[..]).ok_or("intervals are of another part")?;
        let mut part: Part = known.part().clone();
        for side in inner.iter().map(|&side| SplitSide::from(side)) {
            let SplitSide::Pixel(split, _) = side else {
                return Err("neurons are bounded again behind a neuron's sign");
            };
            check_split(split, self.whole.set().dimension())?;
            part = part.side(side);
        }
        let guide = guide.as_ref().map_or(GuideSource::None, GuideSource::Given);
        let start = PartStart { known, guide, only_for: None };
        let bounds = self.whole.of_part(&part, &start, &Budget::unlimited());
        Ok(ReplayedPart::Bounds(Arc::new(bounds.ok_or("a centre is rounded")?)))
    }

    /// A part whose parent's intervals are narrowed by a cut; by multipliers, maybe after more signs of neurons.
    fn cut(
        &self,
        parent: usize,
        sides: &[ProofSide],
        ProofCut { goal, by }: &ProofCut,
        guide: &Guide,
    ) -> Result<ReplayedPart, Nonsense> {
        let before = self.recent.iter().find(|(of, _)| *of == parent);
        let (_, before) = before.ok_or("a part has no parent")?;
        let ReplayedPart::Bounds(before) = before else { return Err("an empty part is cut") };
        let elsewhere = "a cut leads to another part";
        let signs = sides.strip_prefix(&self.parts[parent].sides[..]).ok_or(elsewhere)?;
        let signs: Vec<SplitSide> = signs.iter().map(|&side| side.into()).collect();
        let fits = match by {
            Evidence::Lines(_) => signs.is_empty(),
            _ => signs.iter().all(|side| side.sign().is_some()),
        };
        if !fits || !goal.is_finite() {
            return Err(elsewhere);
        }
        let before = match signed(Arc::clone(before), &signs, self.objective)? {
            ReplayedPart::Empty(bound) => return Ok(ReplayedPart::Empty(bound.max(*goal))),
            ReplayedPart::Bounds(before) => before,
        };
        let by = match by {
            Evidence::Empty {} => return Err("a cut is made of nothing"),
            Evidence::Lines(lines) => CutBy::Lines(relu_lines(lines)),
            Evidence::Multipliers { neurons, prices } => {
                let neurons = dense_duals(before.neurons(), neurons)?;
                CutBy::Multipliers(Multipliers { neurons, prices: prices.clone() })
            }
        };
        Ok(match before.cut_again(self.objective, &Cut { goal: *goal, by }, guide) {
            Ok(bounds) => ReplayedPart::Bounds(Arc::new(bounds)),
            Err(empty) => ReplayedPart::Empty(empty.bound(self.objective).value()),
        })
    }
}

/// Only amounts of whole grains add up exactly.
fn check_split(split: PixelSplit, pixels: usize) -> Result<(), Nonsense> {
    let grains = split.amount / GRAIN;
    let exact = grains.fract() == 0.0 && (0.0..=1.0 / (GRAIN * GRAIN)).contains(&grains);
    let whole = split.amount.fract() == 0.0 && (0.0..=MOST).contains(&split.amount);
    match (exact || whole, split.pixel < pixels) {
        (false, _) => Err("an amount is not a multiple of the grain"),
        (_, false) => Err("there is no such pixel"),
        _ => Ok(()),
    }
}

/// The part in which neurons have these signs.
fn signed(
    linear: Arc<LinearBounds>,
    sides: &[SplitSide],
    objective: &[f64],
) -> Result<ReplayedPart, Nonsense> {
    let mut part = Arc::clone(&linear);
    for sign in sides.iter().filter_map(|side| side.sign()) {
        check_neuron(part.neurons(), sign)?;
        match linear.signed(&part.signed_part(), sign) {
            Ok(bounds) => part = Arc::new(bounds),
            Err(empty) => return Ok(ReplayedPart::Empty(empty.bound(objective).value())),
        }
    }
    Ok(ReplayedPart::Bounds(part))
}

fn check_neuron(known: &NeuronBounds, Sign { neuron, .. }: Sign) -> Result<(), Nonsense> {
    let exists = neuron.layer < known.hidden() && neuron.index < known.layer(neuron.layer).len();
    if exists { Ok(()) } else { Err("there is no such neuron") }
}

/// The part in which pixels are split further, by the lines that the bounds have already.
fn split(linear: &LinearBounds, sides: &[SplitSide]) -> Result<ReplayedPart, Nonsense> {
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
    Ok(ReplayedPart::Bounds(Arc::new(linear.within(&part))))
}

/// Multipliers for every neuron.
fn dense_duals(
    neurons: &NeuronBounds,
    sparse: &[Vec<(usize, f64, f64)>],
) -> Result<Vec<Vec<NeuronDuals>>, Nonsense> {
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
