//! Linear functions of a layer's outputs are pushed back towards the input, through relaxed ReLUs and affine maps, until they are functions of
//! the moves.

use faer::Mat;

use super::envelope::EnvelopeShares;
use super::functions::{BoundedFunctions, LayerFunctions, MoveFunctions, pull_back};
use super::interval::Interval;
use super::linear::LinearBounds;
use super::relax_rows::{LANES, LineRelu, OwnTerms, relax_rows};
use super::relaxation::{BoundedRelu, ReluRelaxation, RowSum, UpperRelaxation, default_slope};
use super::slopes::{SlopeColumns, add_by_pixel};
use crate::network::NeuronId;

/// From this share of the whole box on, chords alone may be better than envelopes.
const LOOSE_BUDGET: f64 = 0.05;

/// Bounds of a network's neurons may always take so many products, some seconds, and so many for each of its weights if that is more. A
/// network of 784-500-500-10 takes 1300 for each on MNIST, and up to 2000.
const MOST_PRODUCTS: f64 = 16e9;
const PRODUCTS_PER_WEIGHT: f64 = 4000.0;

/// The first of these is for up to so many layers behind the first. Behind more of them bounds soon say nothing, and all layers together get less
/// the more there are: `MOST_PRODUCTS` times this over their number.
const LAYERS_BEHIND_FIRST: f64 = 2.0;

/// From so many moves for each input on, functions of the first layer become functions of the inputs before they become functions of the moves.
const BOTH_WAYS: f64 = 1.5;

/// A way to relax the layers below.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// By the guide's lines.
    Guided,
    /// By default slopes, with envelopes in so many layers and chords in the others.
    Enveloped(usize),
}

/// One ReLU and how it is relaxed.
#[derive(Clone, Copy)]
struct RelaxedBy {
    relu: BoundedRelu,
    by: ReluRelaxation,
    /// The column of its envelope.
    column: Option<usize>,
}

impl LinearBounds {
    /// For some neurons of a layer, `sign · g` from above: of several ways to bound the layers below, the best one.
    pub(super) fn best_functions(
        &self,
        layer: usize,
        block: &[usize],
        sign: f64,
    ) -> BoundedFunctions {
        let mut best: Option<BoundedFunctions> = None;
        for bounded in self.functions(&self.ways(layer), layer, block, sign) {
            match &mut best {
                None => best = Some(bounded),
                Some(best) => best.improve(&bounded),
            }
        }
        best.expect("there is at least one way")
    }

    /// `sign · g` of some neurons of a layer from above, once for each way to bound the layers below.
    fn functions<'s>(
        &'s self,
        ways: &'s [Way],
        layer: usize,
        block: &'s [usize],
        sign: f64,
    ) -> impl Iterator<Item = BoundedFunctions> + 's {
        ways.iter().map(move |&way| {
            let rows = self.neuron_rows(layer, block, sign);
            let relaxation = |neuron: NeuronId| match way {
                Way::Guided => self.guide.layers[neuron.layer][neuron.index].into(),
                Way::Enveloped(layers) => {
                    let below = default_slope(self.neurons.get(neuron));
                    let envelope = if neuron.layer < layers { 1.0 } else { 0.0 };
                    ReluRelaxation::Lines { below, envelope, theta: 0.0 }
                }
            };
            let functions = self.push_back(rows, relaxation, |_, _| ());
            BoundedFunctions { largest: self.largest(&functions), functions }
        })
    }

    /// Functions above and below some neurons of a layer, by the best of several ways to bound the layers below. Ways that are the best one for
    /// none of these neurons are removed: mostly one is the best for all neurons of a layer.
    pub(super) fn best_lines(
        &self,
        ways: &mut Vec<Way>,
        layer: usize,
        block: &[usize],
    ) -> [BoundedFunctions; 2] {
        let mut is_best = vec![false; ways.len()];
        let best = [1.0, -1.0].map(|sign| {
            let mut best: Option<BoundedFunctions> = None;
            let mut largest = Vec::new();
            for bounded in self.functions(ways, layer, block, sign) {
                largest.push(bounded.largest.clone());
                match &mut best {
                    None => best = Some(bounded),
                    Some(best) => best.improve(&bounded),
                }
            }
            let best = best.expect("there is at least one way");
            for (is_best, largest) in is_best.iter_mut().zip(&largest) {
                *is_best |= largest.iter().zip(&best.largest).any(|(own, best)| own <= best);
            }
            best
        });
        let mut is_best = is_best.into_iter();
        ways.retain(|_| is_best.next() == Some(true));
        best
    }

    /// Neurons of a layer that may be pushed back in one way, so that bounds of all layers take at most [`MOST_PRODUCTS`] products, or
    /// [`PRODUCTS_PER_WEIGHT`] for each weight of the network.
    pub(super) fn most_neurons(&self, layer: usize) -> usize {
        let weights = self.network.parameters() as f64;
        let layers = (self.network.hidden().len() - 1).max(1) as f64;
        let always = MOST_PRODUCTS * (LAYERS_BEHIND_FIRST / layers).min(1.0);
        let of_layer = (PRODUCTS_PER_WEIGHT * weights).max(always) / layers;
        // A function above the neuron, and one above its negative.
        (of_layer / (2.0 * self.products(layer))) as usize
    }

    /// Products that it takes to push one neuron of a layer back, about.
    fn products(&self, layer: usize) -> f64 {
        let row = |layer: usize| {
            let map = self.network.affine(layer);
            map.parameters() as f64 / map.outputs() as f64
        };
        let (mut products, mut touched) = (row(layer), row(layer));
        for below in (0..layer).rev() {
            products += touched * (row(below) + self.envelopes[below].mean_numbers());
            touched = (touched * row(below)).min(self.network.affine(below).inputs() as f64);
        }
        products
    }

    /// The ways to relax the layers below a layer.
    pub(super) fn ways(&self, layer: usize) -> Vec<Way> {
        if self.guide.layers.len() >= layer {
            return vec![Way::Guided];
        }
        let everywhere = usize::MAX;
        let mut ways = match self.above {
            UpperRelaxation::Chords => vec![0],
            UpperRelaxation::Envelopes if layer == 1 => vec![everywhere],
            UpperRelaxation::Envelopes => vec![everywhere, 1],
        };
        // Chords everywhere pay when the budget hardly binds.
        if self.above == UpperRelaxation::Envelopes && self.moves.tightness() > LOOSE_BUDGET {
            ways.push(0);
        }
        ways.into_iter().map(Way::Enveloped).collect()
    }

    /// `sign · g` of some neurons as functions of the outputs of the layer below: exact.
    fn neuron_rows(&self, layer: usize, block: &[usize], sign: f64) -> LayerFunctions {
        let map = self.network.affine(layer);
        let (bias, noise) = (|j: usize| sign * map.bias()[j], |j: usize| self.noise[layer][j]);
        LayerFunctions {
            layers: layer,
            coefficients: map.row_block(block, sign),
            constants: block.iter().map(|&j| bias(j) + noise(j)).collect(),
            magnitudes: block.iter().map(|&j| bias(j).abs() + noise(j)).collect(),
        }
    }

    /// `objective · y` as a function of the last hidden layer's outputs.
    pub(super) fn objective_row(&self, objective: &[f64]) -> LayerFunctions {
        let output = self.network.output().affine();
        let mut row = vec![0.0; output.inputs()];
        output.apply_transposed(objective, &mut row);
        let last = self.network.hidden().len();
        let (mut constant, mut magnitude) = (0.0, 0.0);
        for (r, o) in objective.iter().enumerate() {
            let (bias, noise) = (output.bias()[r], self.noise[last][r]);
            constant += o * bias + o.abs() * noise;
            magnitude += o.abs() * (bias.abs() + noise + self.magnitudes[last][r]);
        }
        LayerFunctions {
            layers: last,
            coefficients: Mat::from_fn(row.len(), 1, |i, _| row[i]),
            constants: vec![constant],
            magnitudes: vec![magnitude],
        }
    }

    /// Pushes rows back to the moves. `visit` sees each layer's coefficients on the way.
    pub(super) fn push_back(
        &self,
        rows: LayerFunctions,
        relaxation: impl Fn(NeuronId) -> ReluRelaxation,
        mut visit: impl FnMut(usize, &Mat<f64>),
    ) -> MoveFunctions {
        let LayerFunctions { layers, mut coefficients, mut constants, mut magnitudes } = rows;
        let mut slopes = Mat::zeros(self.moves.len(), constants.len());
        let mut rests = vec![0.0; constants.len()];
        for layer in (0..layers).rev() {
            visit(layer, &coefficients);
            let envelopes = &self.envelopes[layer];
            let mut shares = EnvelopeShares::none(envelopes.len(), constants.len());
            let relu = self.relaxed_relus(layer, &relaxation);
            // Many rows: what is the same for all of them is looked up once.
            let lines: Option<Vec<LineRelu>> = match constants.len() {
                ..LANES => None,
                _ => (0..coefficients.nrows()).map(|j| self.line_relu(layer, j, relu(j))).collect(),
            };
            let done = lines.map_or(0, |lines| {
                let mix = |envelope, first, some: [f64; LANES], theta| {
                    shares.set_some(envelope, first, some, theta);
                };
                relax_rows(&lines, &mut coefficients, &mut constants, &mut magnitudes, mix)
            });
            for row in done..constants.len() {
                let through = coefficients.col_as_slice_mut(row);
                let sum = RowSum::new(constants[row], magnitudes[row]);
                let mix = |envelope, share, theta| shares.set(envelope, row, share, theta);
                let sum = self.relax_row(layer, through, &relu, sum, mix);
                (constants[row], magnitudes[row]) = sum.finish();
            }
            envelopes.add_to(&mut slopes, &mut rests, &shares);
            if layer == 0 {
                self.add_first_layer(&mut slopes, &mut rests, &coefficients);
                break;
            }
            coefficients = pull_back(self.network.affine(layer), &coefficients);
        }
        for (row, &rest) in rests.iter().enumerate().filter(|(_, rest)| **rest != 0.0) {
            slopes.col_as_slice_mut(row).iter_mut().for_each(|slope| *slope += rest);
        }
        for (row, constant) in constants.iter_mut().enumerate() {
            *constant += self.allowance.of(magnitudes[row]);
            // A slope that overflowed may have become anything.
            if !slopes.col_as_slice(row).iter().all(|slope| slope.is_finite()) {
                *constant = f64::INFINITY;
            }
        }
        MoveFunctions { slopes, rests, constants }
    }

    /// Adds functions of the first layer's pre-activations to functions of the moves.
    fn add_first_layer(&self, slopes: &mut Mat<f64>, rests: &mut [f64], coefficients: &Mat<f64>) {
        let (map, first) = (self.network.affine(0), &self.first.slopes);
        let inputs = map.inputs() as f64;
        // One function of all moves: the weights as they are stored are fewer bytes than the slopes, and the same numbers. Many functions: there
        // are fewer weights than slopes where most inputs move both ways.
        let fewest_moves = if coefficients.ncols() == 1 { inputs } else { BOTH_WAYS * inputs };
        let is_dense = matches!(**first, SlopeColumns::Dense(_));
        if is_dense && self.moves.len() as f64 >= fewest_moves {
            add_by_pixel(slopes, &pull_back(map, coefficients), self.moves.moves());
        } else {
            first.add_product(slopes, rests, coefficients);
        }
    }

    /// What is known of the neurons of a layer, and how they are relaxed.
    fn relaxed_relus<'s>(
        &'s self,
        layer: usize,
        relaxation: &'s impl Fn(NeuronId) -> ReluRelaxation,
    ) -> impl Fn(usize) -> RelaxedBy + 's {
        let (intervals, envelopes) = (self.neurons.layer(layer), &self.envelopes[layer]);
        let stability = self.neurons.stabilities(layer);
        move |j| {
            let column = envelopes.column(j);
            let by = relaxation(NeuronId { layer, index: j });
            let (interval, stability) = (intervals[j], stability(j, intervals[j]));
            let envelope = column.map(|column| envelopes.of_column(column, by.theta()));
            RelaxedBy { relu: BoundedRelu { interval, stability, envelope }, by, column }
        }
    }

    /// Turns the coefficients of a layer's outputs into those of its pre-activations. `relu` says how its neurons are relaxed. `mix` is told what
    /// goes to envelopes: their columns, shares and `θ`s.
    #[inline]
    fn relax_row(
        &self,
        layer: usize,
        coefficients: &mut [f64],
        relu: impl Fn(usize) -> RelaxedBy,
        mut sum: RowSum,
        mut mix: impl FnMut(usize, f64, f64),
    ) -> RowSum {
        // Behind a convolution most neurons count for nothing. Only multipliers can change that, and all neurons have them or none.
        let skip_zeros = matches!(relu(0).by, ReluRelaxation::Lines { .. });
        for (j, q) in coefficients.iter_mut().enumerate() {
            if *q == 0.0 && skip_zeros {
                continue;
            }
            let RelaxedBy { relu, by, column } = relu(j);
            let relaxed = relu.relax(*q, by, &mut sum);
            if let (Some(column), Some((share, theta))) = (column, relaxed.share) {
                mix(column, share, theta);
            }
            *q = relaxed.slope;
            if *q != 0.0 {
                self.own_terms(layer, j).add(*q, &mut sum);
            }
        }
        sum
    }

    /// What `q · g` of a neuron has in it besides the outputs below.
    #[inline]
    fn own_terms(&self, layer: usize, j: usize) -> OwnTerms {
        if layer == 0 {
            let constant = self.first.at_centre[j];
            return OwnTerms { constant, noise: 0.0, magnitude: self.first.reach[j] };
        }
        let bias = self.network.affine(layer).bias()[j];
        let constant = Interval { lower: bias, upper: bias };
        OwnTerms { constant, noise: self.noise[layer][j], magnitude: self.magnitudes[layer][j] }
    }

    fn line_relu(&self, layer: usize, j: usize, relaxed: RelaxedBy) -> Option<LineRelu> {
        let RelaxedBy { relu, by, column } = relaxed;
        LineRelu::new(relu, by, column, self.own_terms(layer, j))
    }

    fn largest(&self, functions: &MoveFunctions) -> Vec<f64> {
        let value = |row: usize| {
            let slopes = functions.slopes.col_as_slice(row);
            functions.constants[row] + self.moves.support(slopes, |_, _| ())
        };
        (0..functions.constants.len()).map(value).map(|v| self.rounded_up(v)).collect()
    }
}
