//! Bounds of all neurons over a part of a box, and functions pushed back through them to the inputs.
//!
//! Over a box a linear function is largest at a corner that is read off its signs. Intervals of a part with cuts hold for those points only
//! that have the property: no others matter.

use std::cell::RefCell;
use std::rc::Rc;

use crate::affine::StepErrors;
use crate::network::Network;
use crate::number::Number;
use crate::property::NeuronBound;
use crate::quadratic::Listed;
use crate::region::{Failure, checked};
use crate::relax::{Interval, State};
use crate::slopes::Slopes;

/// Products below this may have lost digits.
const SMALL: f64 = 1e-280;

/// Doublings of a price, and halvings of the interval that the best one is in.
const DOUBLINGS: usize = 16;
const HALVINGS: usize = 24;

/// A sign that is demanded of a neuron.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sign {
    pub layer: usize,
    pub neuron: usize,
    pub on: bool,
}

/// `constant + slopes · x`.
#[derive(Clone, Debug)]
pub struct InputLine<N> {
    pub constant: N,
    pub slopes: Vec<N>,
}

/// A part of a box: the values of its inputs, the signs of neurons, and lines one of which at least is not negative wherever the property holds.
pub struct BoxPart<N> {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub signs: Vec<Sign>,
    pub cuts: Vec<InputLine<N>>,
}

/// A network, and what its neurons are bounded with.
pub struct BoxProblem<'t, N> {
    pub network: Network<N>,
    /// What bounds them over the whole box, one time after the other. Parts have the slopes of the last time.
    pub whole: Vec<Whole<'t>>,
}

/// What neurons are bounded with.
#[derive(Clone)]
pub struct Whole<'t> {
    /// For each hidden layer and neuron the slopes for its largest and for its least value.
    pub slopes: Vec<Vec<Option<[Slopes; 2]>>>,
    /// Whether there are any.
    pub is_sloped: bool,
    /// Better bounds, for the whole box only.
    pub bounds: &'t [NeuronBound],
}

/// How the neurons of lower layers are relaxed in a function.
#[derive(Clone, Copy)]
pub struct Proposal<'s> {
    pub slopes: Option<&'s Slopes>,
    /// The signs that are demanded of neurons.
    pub signs: &'s [Sign],
    /// Their multipliers. None: slopes count for neurons that have signs, too.
    pub multipliers: Option<&'s [f64]>,
}

/// Lines above and below the ReLUs of a layer.
pub(crate) struct ReluLines<N> {
    pub above: Vec<N>,
    /// What the line above adds to the pre-activation.
    pub lift: Vec<N>,
    below: Vec<N>,
    /// Whether the slope below may be chosen.
    is_free: Vec<bool>,
    /// Whether there is a ReLU at all.
    is_relu: Vec<bool>,
}

/// Bounds of all neurons over a part of a box.
pub struct BoxRegion<N> {
    pub(crate) lower: Vec<N>,
    pub(crate) upper: Vec<N>,
    /// The larger magnitude of both.
    largest: Vec<N>,
    pub(crate) intervals: Vec<Vec<Interval<N>>>,
    pub(crate) lines: Vec<ReluLines<N>>,
    pub(crate) errors: Vec<Vec<StepErrors<N>>>,
    /// The neurons of the last quadratic relaxation.
    pub(crate) listed: RefCell<Option<Rc<Listed<N>>>>,
}

/// A sum of so many products of numbers that are not negative, rounded to nearest, made at least the exact one.
fn inflated<N: Number>(sum: &N, terms: usize) -> N {
    let more = sum.mul_up(&N::of(N::gamma(2 * terms + 2).min(1e30)));
    sum.add_up(&more).add_up(&N::of(N::TINY * terms as f64))
}

impl<N: Number> BoxRegion<N> {
    /// Bounds all neurons over a part, or with `whole` over the whole box; `known` are bounds over what it is a part of, or earlier ones. Layers
    /// before `fresh_from` are as they were there.
    ///
    /// # Errors
    /// When no point of the part has the property, or numbers overflow.
    pub fn new(
        problem: &BoxProblem<N>,
        part: &BoxPart<N>,
        known: Option<(&Self, usize)>,
        whole: Option<&Whole>,
    ) -> Result<Self, Failure> {
        let network = &problem.network;
        let of = |list: &[f64]| list.iter().map(|&x| N::of(x)).collect::<Vec<N>>();
        let (lower, upper) = (of(&part.lower), of(&part.upper));
        let largest = lower.iter().zip(&upper).map(|(l, u)| l.magnitude().larger(&u.magnitude()));
        let largest = largest.collect();
        let (intervals, lines, errors) = (Vec::new(), Vec::new(), Vec::new());
        let listed = RefCell::new(None);
        let mut region = Self { lower, upper, largest, intervals, lines, errors, listed };
        let slopes = whole.or(problem.whole.last()).filter(|whole| whole.is_sloped);
        let inputs = region.lower.iter().zip(&region.upper);
        let inputs = inputs.map(|(l, u)| Interval { lower: l.clone(), upper: u.clone() });
        let mut inputs: Vec<Interval<N>> = inputs.collect();
        for layer in 0..network.layers.len() {
            let magnitudes: Vec<N> = inputs.iter().map(Interval::magnitude).collect();
            region.errors.push(network.errors(layer, &magnitudes, true)?);
            if layer == network.hidden() {
                break;
            }
            let before = known.map(|(known, fresh)| (&known.intervals[layer], fresh > layer));
            let mut own = match before {
                Some((before, true)) => before.clone(),
                _ => network.ranges(layer, &region.errors[layer], &inputs),
            };
            if let Some((before, false)) = before {
                for (own, before) in own.iter_mut().zip(before) {
                    *own = own.and(&before.lower, &before.upper);
                }
            }
            for sign in part.signs.iter().filter(|sign| sign.layer == layer) {
                let own = &mut own[sign.neuron];
                let side = if sign.on { &mut own.lower } else { &mut own.upper };
                *side = if sign.on { side.larger(&N::zero()) } else { side.smaller(&N::zero()) };
            }
            let own = own.into_iter().map(checked).collect::<Result<Vec<_>, _>>()?;
            region.intervals.push(own);
            let is_fresh = before.is_none_or(|(_, is_old)| !is_old);
            if layer > 0 && is_fresh {
                // The whole box has both ways; a part has what the whole box had.
                if whole.is_some() || slopes.is_none() {
                    region.push_neurons(problem, part, layer, None)?;
                }
                if let Some(Whole { slopes, .. }) = slopes {
                    region.push_neurons(problem, part, layer, Some(&slopes[layer]))?;
                }
            }
            for bound in whole.iter().flat_map(|whole| whole.bounds) {
                if bound.neuron.0 == layer {
                    region.bound_neuron(problem, bound)?;
                }
            }
            let lines = ReluLines::new(network, layer, &region.intervals[layer]);
            region.lines.push(lines);
            inputs = network.activated(layer, &region.intervals[layer]);
        }
        Ok(region)
    }

    /// Narrows the intervals of a layer's unstable neurons by functions pushed back to the inputs.
    fn push_neurons(
        &mut self,
        problem: &BoxProblem<N>,
        part: &BoxPart<N>,
        layer: usize,
        slopes: Option<&[Option<[Slopes; 2]>]>,
    ) -> Result<(), Failure> {
        let width = problem.network.widths[layer];
        let state = |j: usize| problem.network.state(layer, j, &self.intervals[layer][j]);
        let unstable = |j: &usize| state(*j) == State::Unstable;
        let neurons: Vec<usize> = (0..width).filter(unstable).collect();
        let mut rows = vec![N::zero(); 2 * neurons.len() * width];
        for (k, &j) in neurons.iter().enumerate() {
            rows[2 * k * width + j] = N::of(1.0);
            rows[(2 * k + 1) * width + j] = N::of(-1.0);
        }
        let by = |function: usize| {
            let slopes = slopes.and_then(|slopes| slopes[neurons[function / 2]].as_ref());
            let slopes = slopes.map(|pair| &pair[function % 2]);
            Proposal { slopes, signs: &part.signs, multipliers: None }
        };
        let lines = self.push_back(problem, layer, rows, &by);
        for (&j, pair) in neurons.iter().zip(lines.chunks(2)) {
            let [upper, below] = [&pair[0], &pair[1]].map(|line| self.largest_at(line, &part.cuts));
            let own = &mut self.intervals[layer][j];
            *own = checked(own.and(&below.negated(), &upper))?;
        }
        Ok(())
    }

    /// Narrows the interval of a neuron by a better bound.
    fn bound_neuron(
        &mut self,
        problem: &BoxProblem<N>,
        bound: &NeuronBound,
    ) -> Result<(), Failure> {
        let (layer, j) = bound.neuron;
        let mut row = vec![N::zero(); problem.network.widths[layer]];
        row[j] = N::of(if bound.above { 1.0 } else { -1.0 });
        let value = self.function_bound(problem, &[], (layer, row), &bound.by)?;
        let own = &self.intervals[layer][j];
        let own = match bound.above {
            true => own.and(&own.lower, &value),
            false => own.and(&value.negated(), &own.upper),
        };
        self.intervals[layer][j] = checked(own)?;
        Ok(())
    }

    /// Functions of a layer's pre-activations, one row of coefficients each, as functions of the inputs that are not below them.
    pub fn push_back<'s>(
        &self,
        problem: &BoxProblem<N>,
        layer: usize,
        mut rows: Vec<N>,
        by: &dyn Fn(usize) -> Proposal<'s>,
    ) -> Vec<InputLine<N>> {
        let network = &problem.network;
        let many = rows.len() / network.widths[layer];
        let mut constants = vec![N::zero(); many];
        for behind in (1..=layer).rev() {
            rows = network.pull_back(behind, &self.errors[behind], rows, &mut constants);
            let below = behind - 1;
            let width = network.widths[below];
            for (function, constant) in constants.iter_mut().enumerate() {
                let row = &mut rows[function * width..][..width];
                let lifted = self.relax(below, row, by(function));
                *constant = constant.add_up(&inflated(&lifted, width));
            }
        }
        let rows = network.pull_back(0, &self.errors[0], rows, &mut constants);
        let slopes = rows.chunks(network.inputs).map(<[N]>::to_vec);
        constants
            .into_iter()
            .zip(slopes)
            .map(|(constant, slopes)| InputLine { constant, slopes })
            .collect()
    }

    /// Turns coefficients of a layer's outputs into coefficients of its pre-activations. About what that adds to the constant.
    fn relax(&self, layer: usize, row: &mut [N], by: Proposal) -> N {
        let lines = &self.lines[layer];
        let (zero, small) = (N::zero(), N::of(SMALL));
        let mut lifted = N::zero();
        // Those with signs are seen to afterwards.
        let signed = by.signs.iter().enumerate().filter(|(_, sign)| sign.layer == layer);
        let signed: Vec<(usize, Sign, N)> =
            signed.map(|(k, sign)| (k, *sign, row[sign.neuron].clone())).collect();
        if by.multipliers.is_some() {
            signed.iter().for_each(|(_, sign, _)| row[sign.neuron] = N::zero());
        }
        for (j, q) in row.iter_mut().enumerate() {
            if *q > zero {
                let mut slope = q.mul(&lines.above[j]);
                if lines.lift[j] > zero {
                    if slope < small {
                        slope = slope.up();
                    }
                    lifted = lifted.add(&slope.mul(&lines.lift[j]));
                }
                *q = slope;
            } else if *q < zero {
                // Rounded or not, it lies between q and 0: some slope in [0, 1] gives it.
                *q = match by.slopes.and_then(|slopes| slopes.get(layer, j)) {
                    Some(slope) if lines.is_free[j] => q.mul(&N::of(slope)),
                    _ => q.mul(&lines.below[j]),
                };
            }
        }
        for (k, Sign { neuron, on, .. }, q) in signed {
            let slope = &mut row[neuron];
            match by.multipliers {
                // `λ·g` is not negative where the neuron is on, and `−λ·g` where it is off. Rounded or not, it is so much more than `q·relu(g)`.
                Some(multipliers) => {
                    let multiplier = N::of(multipliers.get(k).copied().unwrap_or(0.0));
                    let multiplier = if on { multiplier } else { multiplier.negated() };
                    let is_off = !on && lines.is_relu[neuron];
                    *slope = if is_off { multiplier } else { q.add(&multiplier) };
                }
                // `q·relu(g) ≤ α·q·g` for q ≤ 0 and every α in [0, 1], whatever the sign. Not so without a ReLU.
                None if !lines.is_relu[neuron] => {}
                None => {
                    let slopes = by.slopes.and_then(|slopes| slopes.get(layer, neuron));
                    if let (Some(alpha), true) = (slopes, q < zero) {
                        *slope = q.mul(&N::of(alpha));
                    }
                }
            }
        }
        lifted
    }

    /// At least the largest value of a line over the part.
    fn largest(&self, line: &InputLine<N>) -> N {
        let (mut sum, mut size) = (N::zero(), N::zero());
        for (i, slope) in line.slopes.iter().enumerate() {
            let x = if *slope > N::zero() { &self.upper[i] } else { &self.lower[i] };
            sum = sum.add(&slope.mul(x));
            size = size.add(&slope.magnitude().mul(&self.largest[i]));
        }
        let terms = line.slopes.len();
        let off = inflated(&size, terms).mul_up(&N::of(N::gamma(terms + 1).min(1e30)));
        let tiny = N::of(N::TINY * terms as f64);
        line.constant.add_up(&sum).add_up(&off).add_up(&tiny)
    }

    /// The same at points at which one of the cuts at least is not negative.
    fn largest_at(&self, line: &InputLine<N>, cuts: &[InputLine<N>]) -> N {
        let own = self.largest(line);
        let by_cut = |cut: &InputLine<N>| {
            let price = self.best_price(line, cut);
            if price <= 0.0 {
                return own.clone();
            }
            // Each slope is rounded: by so much of the magnitudes of both.
            let n = N::of(price);
            let slopes = line.slopes.iter().zip(&cut.slopes);
            let slopes: Vec<N> = slopes.map(|(v, a)| v.add(&n.mul(a))).collect();
            let mut size = N::zero();
            for (i, (v, a)) in line.slopes.iter().zip(&cut.slopes).enumerate() {
                let both = v.magnitude().add(&n.mul(&a.magnitude()));
                size = size.add(&both.mul(&self.largest[i]));
            }
            let off = inflated(&size, 2 * slopes.len()).mul_up(&N::of(N::gamma(3)));
            let tiny = N::of(N::TINY * 4.0)
                .mul_up(&self.largest.iter().fold(N::of(1.0), |sum, x| sum.add_up(x)));
            let constant =
                line.constant.add_up(&n.mul_up(&cut.constant)).add_up(&off).add_up(&tiny);
            self.largest(&InputLine { constant, slopes }).smaller(&own)
        };
        cuts.iter().map(by_cut).reduce(|a, b| a.larger(&b)).unwrap_or_else(|| own.clone())
    }

    /// The price of a cut with which a line's largest value is about the least. Only a proposal.
    fn best_price(&self, line: &InputLine<N>, cut: &InputLine<N>) -> f64 {
        let near = |list: &[N]| list.iter().map(N::nearest).collect::<Vec<f64>>();
        let [v, a, lower, upper] =
            [&line.slopes, &cut.slopes, &self.lower, &self.upper].map(|list| near(list));
        let room = cut.constant.nearest();
        // Whether the largest value grows with the price.
        let rises = |price: f64| {
            let corner = |i: usize| if v[i] + price * a[i] > 0.0 { upper[i] } else { lower[i] };
            room + (0..v.len()).map(|i| a[i] * corner(i)).sum::<f64>() >= 0.0
        };
        if rises(0.0) {
            return 0.0;
        }
        let steepest = |list: &[f64]| list.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let (mut low, mut high) = (0.0, steepest(&v) / steepest(&a) / 4.0);
        if !(high > 0.0 && high.is_finite()) {
            return 0.0;
        }
        for _ in 0..DOUBLINGS {
            if rises(high) {
                break;
            }
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if rises(middle) { high = middle } else { low = middle }
        }
        if high.is_finite() { high } else { 0.0 }
    }

    /// At least the largest value of a line over the part.
    pub fn bound(&self, line: &InputLine<N>) -> N {
        self.largest(line)
    }

    /// At least the magnitudes of the outputs.
    pub fn output_magnitudes(&self, problem: &BoxProblem<N>) -> Vec<N> {
        let last = problem.network.hidden();
        let inputs = problem.network.activated(last - 1, &self.intervals[last - 1]);
        let outputs = problem.network.ranges(last, &self.errors[last], &inputs);
        outputs.iter().map(Interval::magnitude).collect()
    }
}

impl<N: Number> ReluLines<N> {
    fn new(network: &Network<N>, layer: usize, intervals: &[Interval<N>]) -> Self {
        let (mut above, mut lift, mut below, mut is_free) = (vec![], vec![], vec![], vec![]);
        for (j, interval) in intervals.iter().enumerate() {
            let Interval { lower, upper } = interval;
            let state = network.state(layer, j, interval);
            let (up, more, down) = match state {
                State::On => (N::of(1.0), N::zero(), N::of(1.0)),
                State::Off => (N::zero(), N::zero(), N::zero()),
                State::Unstable => {
                    // Somewhat above the chord, whatever is rounded where it is used.
                    let chord = upper.quotient_up(&upper.sub_down(lower)).nearest();
                    let chord = (chord * (1.0 + 8.0 * f64::EPSILON)).max(SMALL);
                    (N::of(chord), lower.negated(), N::of(interval.default_slope()))
                }
            };
            is_free.push(state == State::Unstable);
            above.push(up);
            lift.push(more);
            below.push(down);
        }
        let is_relu = (0..intervals.len()).map(|j| network.has_relu(layer, j)).collect();
        Self { above, lift, below, is_free, is_relu }
    }
}
