//! Bounds over parts of the set that bounds were made for: by splits of pixels, by signs of neurons, and over few moves.

use std::sync::Arc;

use super::bounded_part::BoundedPart;
use super::build::BLOCK;
use super::certified::EmptyPart;
use super::envelope::{EnvelopeLine, Envelopes, LinePair};
use super::functions::{LayerLines, NeuronLines, StoredFunctions};
use super::guide::Guide;
use super::interval::{Interval, Stability};
use super::linear::{FirstLayer, LinearBounds};
use super::neurons::NeuronBounds;
use super::part::{PartSet, PixelPart, Sign, SplitSide};
use super::slopes::SlopeColumns;
use crate::network::NeuronId;
use crate::sets::{Allowance, Half, MovePart, MoveSet};

/// Linear functions of the moves over a part in which some moves are made already.
struct OverPart<'p> {
    part: &'p MovePart,
    moves: Arc<MoveSet>,
    allowance: Allowance,
}

impl OverPart<'_> {
    /// `slopes · taken`, and the magnitudes in it.
    fn taken(&self, slope: impl Fn(usize) -> f64) -> (f64, f64) {
        let terms = self.part.taken().iter().map(|&(k, amount)| slope(k) * amount);
        terms.fold((0.0, 0.0), |(sum, size), term: f64| (sum + term, size + term.abs()))
    }

    /// `constant + slopes · taken`, rounded up.
    fn constant(&self, constant: f64, slope: impl Fn(usize) -> f64) -> f64 {
        self.constant_of(constant, self.taken(slope))
    }

    /// The same, once `slopes · taken` is worked out.
    fn constant_of(&self, constant: f64, (sum, size): (f64, f64)) -> f64 {
        constant + sum + self.allowance.of(constant.abs() + size)
    }

    /// At least `Σ |slope| p` anywhere in the part, from the largest magnitude of a slope.
    fn reach(&self, steepest: f64) -> f64 {
        self.allowance.up(steepest * self.moves.budget())
    }
}

/// What is known of the neurons in a part that their signs lead to, and how it came to be known.
#[derive(Clone, Debug)]
pub struct SignedPart {
    neurons: NeuronBounds,
    bounded: Arc<BoundedPart>,
}

impl SignedPart {
    /// The intervals.
    pub fn neurons(&self) -> &NeuronBounds {
        &self.neurons
    }
}

/// Bounds over some moves, the others not made.
pub(super) struct NarrowedBounds {
    pub bounds: LinearBounds,
    /// The places of these moves among all.
    pub moves: Vec<usize>,
}

impl LinearBounds {
    /// All of the set that these bounds were made for, to be split by pixels.
    ///
    /// # Panics
    /// When these bounds are not [splittable](LinearBounds::splittable).
    pub fn whole(&self) -> PixelPart {
        assert!(self.is_splittable(), "splittable bounds");
        PixelPart::new(self.part().clone(), self.moves.whole())
    }

    /// Bounds over a part of the set: the lines that were proven for all of it, with what they give over the part. Not as good as
    /// bounds made for the part itself, but no layer is pushed back through another.
    ///
    /// # Panics
    /// When these bounds are not [splittable](LinearBounds::splittable), or it is not a part of their [whole](LinearBounds::whole).
    pub fn within(&self, part: &PixelPart) -> Self {
        let lines = self.lines.as_ref().expect("splittable bounds");
        let moves = Arc::new(self.moves.within(part.moves()));
        let mut bounds = Self {
            moves: Arc::clone(&moves),
            envelopes: Vec::new(),
            ..self.with_neurons(self.neurons.over(part.part().clone()))
        };
        let over = OverPart { part: part.moves(), moves, allowance: self.allowance };
        // Where envelopes bound from above, narrower intervals change little, and a fifth of the time went into them.
        let narrow = !bounds.uses_theta();
        bounds.first_layer_within(&over, narrow);
        for (k, lines) in lines.iter().enumerate() {
            bounds.deeper_layer_within(k + 1, lines, &over, narrow);
        }
        bounds
    }

    /// The first layer of bounds over a part, made from that of these; `known` are intervals that hold there. `None` if the part is not made of
    /// pixels alone, or cannot be told without rounding.
    pub(super) fn first_layer_of_part(
        &self,
        set: PartSet,
        known: &NeuronBounds,
        wanted: Option<Arc<[bool]>>,
    ) -> Option<Self> {
        let mut part = self.moves.whole();
        for side in set.part.sides_from(self.part())? {
            let SplitSide::Pixel(split, half) = side else { return None };
            let [at_least, at_most] = part.split(split)?;
            part = if half == Half::AtLeast { at_least } else { at_most };
        }
        let moves = Arc::new(self.moves.within(&part));
        let mut neurons = NeuronBounds::new(set.part.clone(), &self.network).toward(known.goal());
        neurons.push_layer(known.layer(0).to_vec());
        let mut bounds = Self {
            set: Arc::new(set),
            moves: Arc::clone(&moves),
            envelopes: Vec::new(),
            magnitudes: vec![self.magnitudes[0].clone()],
            noise: vec![self.noise[0].clone()],
            lines: Some(Vec::new()),
            guide: Guide::default(),
            wanted,
            bounded: None,
            ..self.with_neurons(neurons)
        };
        let over = OverPart { part: &part, moves, allowance: self.allowance };
        bounds.first_layer_within(&over, true);
        let dense = Envelopes::clone(&bounds.envelopes[0]).with_dense_slopes(&bounds.moves);
        bounds.envelopes[0] = Arc::new(dense);
        Some(bounds)
    }

    /// At most how large a function of the moves is over the part.
    fn largest_over(&self, over: &OverPart, constant: f64, slopes: &[f64]) -> f64 {
        self.rounded_up(constant + over.moves.support(slopes, |_, _| ()))
    }

    /// The first layer over a part. Its intervals are narrowed only if `narrow`: that takes two knapsacks for each neuron.
    fn first_layer_within(&mut self, over: &OverPart, narrow: bool) {
        let all_slopes = Arc::clone(&self.first.slopes);
        let mut lines = Vec::new();
        let mut down = Vec::new();
        for j in 0..self.first.at_centre.len() {
            let slope = |k: usize| all_slopes.get(k, j);
            let (sum, size) = over.taken(slope);
            let Interval { lower, upper } = &mut self.first.at_centre[j];
            *lower += sum - self.allowance.of(lower.abs() + size);
            *upper = over.constant_of(*upper, (sum, size));
            let Interval { lower, upper } = self.first.at_centre[j];
            if self.neurons.stability(NeuronId { layer: 0, index: j }) == Stability::Unstable {
                if narrow {
                    let slopes = all_slopes.column(j);
                    down.clear();
                    down.extend(slopes.iter().map(|v| -v));
                    let above = self.largest_over(over, upper, &slopes);
                    let below = -self.largest_over(over, -lower, &down);
                    self.neurons.layer_mut(0)[j].tighten(below, above);
                }
                let reach = over.reach(self.first.steepest[j]);
                self.first.reach[j] = self.first.reach[j].min(reach);
                let (slopes, constant) = (Arc::clone(&all_slopes), upper);
                let above = EnvelopeLine { slopes, column: j, constant, reach };
                lines.push(LinePair { neuron: j, above, below: None });
            }
        }
        let envelopes = self.envelopes_of(0, self.neurons.layer(0), lines.into_iter());
        self.envelopes.push(Arc::new(envelopes));
    }

    /// The same for a layer behind it.
    fn deeper_layer_within(
        &mut self,
        layer: usize,
        lines: &LayerLines,
        over: &OverPart,
        narrow: bool,
    ) {
        let mut of_envelopes = Vec::new();
        for NeuronLines { neuron, above, below, column } in lines.iter() {
            if self.neurons.stability(NeuronId { layer, index: neuron }) != Stability::Unstable {
                continue;
            }
            let constant = |of: &StoredFunctions| {
                over.constant(of.constants[column], |k| of.slopes.get(k, column))
            };
            let (constant, negative) = (constant(above), constant(below));
            if narrow {
                let upper = self.largest_over(over, constant, &above.slopes.column(column));
                let lower = -self.largest_over(over, negative, &below.slopes.column(column));
                self.neurons.layer_mut(layer)[neuron].tighten(lower, upper);
            }
            let line = |of: &StoredFunctions, constant: f64| EnvelopeLine {
                slopes: Arc::clone(&of.slopes),
                column,
                constant,
                reach: over.reach(of.steepest[column]),
            };
            let below = self.uses_theta().then(|| line(below, negative));
            of_envelopes.push(LinePair { neuron, above: line(above, constant), below });
        }
        let intervals = self.neurons.layer(layer);
        let envelopes = self.envelopes_of(layer, intervals, of_envelopes.into_iter());
        self.envelopes.push(Arc::new(envelopes));
    }

    /// The same bounds with these intervals, which hold over a part of the set.
    pub(super) fn with_neurons(&self, neurons: NeuronBounds) -> Self {
        Self {
            network: Arc::clone(&self.network),
            set: Arc::clone(&self.set),
            moves: Arc::clone(&self.moves),
            first: self.first.clone(),
            neurons,
            envelopes: self.envelopes.clone(),
            magnitudes: self.magnitudes.clone(),
            noise: self.noise.clone(),
            allowance: self.allowance,
            above: self.above,
            arithmetic: self.arithmetic,
            lines: None,
            guide: self.guide.clone(),
            wanted: self.wanted.clone(),
            bounded: self.bounded.clone(),
        }
    }

    /// The same over the moves in which a linear function with these slopes is steepest, the others not made: no bound of the set, but quick to
    /// evaluate. `None` where that would not leave many out.
    pub(super) fn narrowed(&self, slopes: &[f64]) -> Option<NarrowedBounds> {
        let few = self.moves.steepest(slopes)?;
        let envelopes = self.envelopes.iter().map(|e| Arc::new(e.with_moves(&few)));
        let moves = Arc::new(self.moves.with_moves(&few));
        let slopes = match &*self.first.slopes {
            // The same numbers, fewer of which have to be read.
            SlopeColumns::Dense(_) => {
                SlopeColumns::of_few_moves(self.network.affine(0), moves.moves())
            }
            slopes => slopes.with_moves(&few),
        };
        let slopes = Arc::new(slopes);
        let bounds = Self {
            moves,
            first: FirstLayer { slopes, ..self.first.clone() },
            envelopes: envelopes.collect(),
            ..self.with_neurons(self.neurons.clone())
        };
        Some(NarrowedBounds { bounds, moves: few })
    }

    /// What is known of the part, for [`LinearBounds::signed`].
    pub fn signed_part(&self) -> SignedPart {
        let (neurons, bounded) = (self.neurons.clone(), Arc::clone(self.bounded_part()));
        SignedPart { neurons, bounded }
    }

    /// Bounds over the side of a part on which a neuron is on, or off, with the lines of these bounds. `known` is what is known of the part: by these
    /// bounds, or by bounds that were made of them.
    ///
    /// # Errors
    /// When nothing is there.
    ///
    /// # Panics
    /// When `known` are intervals of something else.
    pub fn signed(&self, known: &SignedPart, sign: Sign) -> Result<Self, EmptyPart> {
        let SignedPart { neurons, bounded } = known;
        let signs = neurons.part().sides_from(self.part());
        let only_signs = |sides: Vec<SplitSide>| sides.iter().all(|side| side.sign().is_some());
        assert!(signs.is_some_and(only_signs), "intervals of a part that signs lead to");
        let side = neurons.part().side(SplitSide::Neuron(sign));
        let mut part = self.with_neurons(neurons.over(side).toward(self.neurons.goal()));
        part.bounded = Some(Arc::clone(bounded));
        match part.demand(sign) {
            Some(()) => Ok(part),
            None => Err(part.empty(bounded)),
        }
    }

    /// That nothing is left of the part.
    pub(super) fn empty(&self, bounded: &Arc<BoundedPart>) -> EmptyPart {
        let (part, goal) = (self.part().clone(), self.neurons.goal());
        EmptyPart::new(part, self.for_f32(), bounded, goal)
    }

    /// Cuts a neuron's interval to a sign, and bounds the layers behind it again. `None` if nothing is left between the bounds.
    fn demand(&mut self, sign: Sign) -> Option<()> {
        let Sign { neuron: NeuronId { layer, index }, on } = sign;
        let interval = &mut self.neurons.layer_mut(layer)[index];
        if on {
            interval.lower = interval.lower.max(0.0);
        } else {
            interval.upper = interval.upper.min(0.0);
        }
        if interval.lower > interval.upper {
            return None;
        }
        (layer + 1..self.neurons.hidden()).try_for_each(|layer| self.bound_again(layer))
    }

    /// Bounds a layer's unstable neurons once more, after something below has changed. `None` if nothing is left between the bounds.
    fn bound_again(&mut self, layer: usize) -> Option<()> {
        for block in self.wanted_among(layer, self.neurons.layer(layer)).chunks(BLOCK) {
            let uppers = self.best_functions(layer, block, 1.0).largest;
            let lowers = self.best_functions(layer, block, -1.0).largest;
            for (k, &j) in block.iter().enumerate() {
                let interval = &mut self.neurons.layer_mut(layer)[j];
                interval.tighten(-lowers[k], uppers[k]);
                if interval.lower > interval.upper {
                    return None;
                }
            }
        }
        Some(())
    }
}
