//! Bounds of a batch of parts.

use std::sync::Arc;

use super::cuts::goal;
use super::descent::SlopeDescent;
use super::effort::{BoundLimits, Effort, WHOLE, WHOLE_AGAIN};
use super::evidence::{BoxEvidence, RowCombination, WholeEvidence};
use super::network::PaddedNetwork;
use super::part::BoxPart;
use super::push_back::Functions;
use super::questions::{BoxQuestions, PaddedRows};
use super::scores::{InputScores, Pass};
use super::state::Boxes;
use super::stored_slopes::NeuronSlopes;
use super::weights;
use crate::bounds::certified::{BoundMethod, CertifiedBound, PartBound};
use crate::bounds::linear::Arithmetic;
use crate::bounds::part::Part;
use crate::network::{Network, NeuronId};
use crate::sets::InputSet;

/// With at most so many inputs, parts are made by the values of inputs.
const FEW_INPUTS: usize = 128;

/// Functions pushed back at once take about so many numbers: a block should stay in the cache.
const BLOCK: usize = 1 << 16;

/// How parts of a box are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitBy {
    /// By the values of inputs: many cheap parts.
    Inputs,
    /// By the signs of neurons, with improved slopes and multipliers: few good parts.
    Signs,
}

impl SplitBy {
    /// What suits a network.
    pub fn suited_to(network: &Network) -> Self {
        if network.inputs() <= FEW_INPUTS { Self::Inputs } else { Self::Signs }
    }
}

/// Bounds of questions about a network over a box and its parts.
pub struct BoxBounds {
    pub(super) padded: Arc<PaddedNetwork>,
    pub(super) rows: PaddedRows,
    objective: Arc<[f64]>,
    part: Part,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    split_by: SplitBy,
    /// Whether bounds are made so that they can be proven, and come with evidence.
    pub(super) proves: bool,
    /// Slopes of each hidden layer's neurons, if parts are made by signs.
    pub(super) slopes: Arc<Vec<NeuronSlopes>>,
    /// Intervals hold at points with at least this value.
    pub(super) goal: f64,
    /// What bounded the neurons of the whole box before that.
    before: Vec<WholeEvidence>,
}

/// Memory that bounds of batches use again and again.
#[derive(Default)]
pub struct BoxScratch {
    pub(super) boxes: Boxes,
    pub(super) functions: Functions,
    pub(super) values: Vec<f64>,
    /// The boxes and the neurons, or questions, that functions are of.
    pub(super) columns: Vec<(usize, usize)>,
    pub(super) scores: InputScores,
    /// Combinations of rows.
    pub(super) combined: Functions,
    pub(super) descent: SlopeDescent,
    /// Neurons that may be worth a split, by box.
    pub(super) candidates: Vec<Vec<NeuronId>>,
    /// What is proven, by box, if that is kept.
    pub(super) evidence: Vec<BoxEvidence>,
}

impl BoxScratch {
    /// Nothing is proven yet of so many boxes.
    pub(super) fn begin_evidence(&mut self, count: usize) {
        self.evidence.clear();
        self.evidence.resize_with(count, BoxEvidence::default);
    }
}

/// A part with its bound.
#[derive(Clone, Debug)]
pub struct BoundedBox {
    /// The part, with its neurons' intervals and the bounds of all questions.
    pub part: BoxPart,
    /// No point of the part has a larger value.
    pub bound: PartBound,
    /// How much of the relaxation's looseness is due to the width of each input. Empty if the part needs no split.
    pub scores: Vec<f64>,
    /// Where the function behind the bound is largest. Empty if the part needs no split.
    pub corner: Vec<f64>,
    /// The neurons whose relaxation costs most. Empty if the part needs no split, or parts are made by the values of inputs.
    pub candidates: Vec<NeuronId>,
    /// What proves it, if that is kept.
    pub evidence: BoxEvidence,
}

impl BoundedBox {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let numbers = self.scores.len() + self.corner.len() + self.part.numbers();
        size_of::<Self>() + size_of::<f64>() * numbers
    }
}

impl BoxBounds {
    /// Questions about a network over a set that is a box, and the bound of all of it. Questions whose bound is below `cutoff` are left at
    /// that.
    ///
    /// # Panics
    /// When the set has a budget or constraints.
    pub fn new<'l>(
        network: &Network,
        set: &InputSet,
        questions: BoxQuestions,
        kind: (Arithmetic, SplitBy),
        limits: impl Into<BoundLimits<'l>>,
        scratch: &mut BoxScratch,
    ) -> (Self, BoundedBox) {
        Self::make(network, set, questions, (kind, false), limits.into(), scratch)
    }

    /// The same with evidence for proofs.
    ///
    /// # Panics
    /// When the set has a budget or constraints.
    pub fn with_evidence<'l>(
        network: &Network,
        set: &InputSet,
        questions: BoxQuestions,
        kind: (Arithmetic, SplitBy),
        limits: impl Into<BoundLimits<'l>>,
        scratch: &mut BoxScratch,
    ) -> (Self, BoundedBox) {
        Self::make(network, set, questions, (kind, true), limits.into(), scratch)
    }

    fn make(
        network: &Network,
        set: &InputSet,
        questions: BoxQuestions,
        ((arithmetic, split_by), proves): ((Arithmetic, SplitBy), bool),
        limits: BoundLimits,
        scratch: &mut BoxScratch,
    ) -> (Self, BoundedBox) {
        assert!(set.is_box(), "a box");
        let padded = Arc::new(PaddedNetwork::new(network, arithmetic));
        let domain = set.domain();
        // A set tells its bounds from its centre, rounded: with another sign that may be a larger number than the bound.
        let ranges = (0..set.dimension()).map(|i| {
            let (lower, upper) = set.range(i);
            let off =
                if lower < 0.0 { 2.0 * f64::EPSILON * (lower.abs() + upper.abs()) } else { 0.0 };
            let (lower, upper) = ((lower - off).next_down(), (upper + off).next_up());
            (lower.max(domain.lower[i]), upper.min(domain.upper[i]))
        });
        let (lower, upper) = ranges.unzip();
        let objective = questions.numbers();
        let rows = PaddedRows::new(&padded, questions);
        let part = Part::whole();
        let (slopes, goal, before) = (Arc::default(), goal(limits.cutoff), Vec::new());
        let mut bounds = Self {
            padded,
            rows,
            objective,
            part,
            lower,
            upper,
            split_by,
            proves,
            slopes,
            goal,
            before,
        };
        let whole = bounds.whole();
        let root = match split_by {
            SplitBy::Inputs => bounds.bound(vec![whole], limits, scratch).pop(),
            SplitBy::Signs => bounds.bound_whole(whole, WHOLE, limits, scratch),
        };
        (bounds, root.expect("one part, one bound"))
    }

    /// How parts are made.
    pub fn split_by(&self) -> SplitBy {
        self.split_by
    }

    /// Whether bounds come with evidence.
    pub fn proves(&self) -> bool {
        self.proves
    }

    /// What the neurons of the whole box are bounded with, for proofs: time after time.
    pub fn whole_evidence(&self) -> Vec<WholeEvidence> {
        let last = NeuronSlopes::evidence(&self.slopes);
        self.before.iter().cloned().chain([last]).collect()
    }

    /// Bounds the whole box, and keeps the slopes that its parts begin with.
    fn bound_whole(
        &mut self,
        whole: BoxPart,
        effort: Effort,
        limits: BoundLimits,
        scratch: &mut BoxScratch,
    ) -> Option<BoundedBox> {
        let mut slopes: Vec<NeuronSlopes> =
            (0..self.padded.hidden()).map(|layer| NeuronSlopes::new(&self.padded, layer)).collect();
        let mut parts = vec![whole];
        self.bound_neurons(&parts, scratch, |layer, scratch| {
            self.bound_unstable(layer, limits, scratch);
            let keep = Some(&mut slopes[layer]);
            self.bound_unstable_sloped(layer, &parts, (effort, limits), scratch, keep);
        });
        self.slopes = Arc::new(slopes);
        let mut values = [parts[0].values.to_vec()];
        self.bound_rows_sloped(&mut parts, &mut values, limits, effort, scratch);
        self.forget_unproven(&mut parts, &mut values, limits, scratch);
        let [values] = values;
        let (part, unstable) = (parts.pop()?, self.unstable_counts(&scratch.boxes, 0));
        log::debug!("bounds of the whole box: {values:?}, unstable neurons by layer: {unstable:?}");
        Some(self.result(0, part, values, limits.cutoff, scratch))
    }

    /// Bounds the whole box once more, with more work for each neuron, and what is known of it by now. `None` where that is not done: parts
    /// are made by the values of inputs.
    pub fn bounded_again(
        &self,
        root: &BoundedBox,
        limits: BoundLimits,
        scratch: &mut BoxScratch,
    ) -> Option<(Self, BoundedBox)> {
        if self.split_by == SplitBy::Inputs {
            return None;
        }
        let part = Part::whole();
        let mut whole = BoxPart { part: part.clone(), ..root.part.clone() };
        if self.proves {
            // A proof bounds neurons at all points, and then refutes all questions.
            (whole.values, whole.cuts) = (self.whole().values, Arc::new([]));
        }
        let mut again = Self {
            padded: Arc::clone(&self.padded),
            rows: self.rows.clone(),
            objective: Arc::clone(&self.objective),
            part,
            lower: self.lower.clone(),
            upper: self.upper.clone(),
            slopes: Arc::default(),
            goal: self.goal.max(goal(limits.cutoff)),
            before: if self.proves { self.whole_evidence() } else { Vec::new() },
            ..*self
        };
        let root = again.bound_whole(whole, WHOLE_AGAIN, limits, scratch)?;
        Some((again, root))
    }

    /// What tells these questions, of this network over this box, from all others.
    pub(super) fn objective(&self) -> &Arc<[f64]> {
        &self.objective
    }

    /// What is asked.
    pub fn questions(&self) -> &BoxQuestions {
        self.rows.questions()
    }

    /// All of the box.
    pub fn whole(&self) -> BoxPart {
        BoxPart {
            part: self.part.clone(),
            lower: self.lower.clone(),
            upper: self.upper.clone(),
            signs: Vec::new(),
            neurons: None,
            fresh_from: 0,
            slopes: None,
            cuts: Arc::new([]),
            values: vec![f64::INFINITY; self.questions().len()].into(),
        }
    }

    /// Bounds parts of the box. Questions whose bound is below `cutoff` are left at that.
    pub fn bound<'l>(
        &self,
        mut parts: Vec<BoxPart>,
        limits: impl Into<BoundLimits<'l>>,
        scratch: &mut BoxScratch,
    ) -> Vec<BoundedBox> {
        let limits: BoundLimits = limits.into();
        if self.split_by == SplitBy::Signs {
            return self.bound_sloped(parts, limits, scratch);
        }
        let cutoff = limits.cutoff;
        self.bound_neurons(&parts, scratch, |layer, scratch| {
            self.bound_unstable(layer, limits, scratch);
        });
        let mut values: Vec<Vec<f64>> = parts.iter().map(|part| part.values.to_vec()).collect();
        self.bound_rows(&mut values, cutoff, scratch);
        self.forget_unproven(&mut parts, &mut values, limits, scratch);
        let bounded = parts.into_iter().zip(values).enumerate();
        bounded
            .map(|(node, (part, values))| self.result(node, part, values, cutoff, scratch))
            .collect()
    }

    /// The intervals of all neurons; `tighten` does what interval arithmetic cannot.
    pub(super) fn bound_neurons(
        &self,
        parts: &[BoxPart],
        scratch: &mut BoxScratch,
        mut tighten: impl FnMut(usize, &mut BoxScratch),
    ) {
        let (padded, inputs) = (&self.padded, self.lower.len());
        let bounds = |at: usize| {
            let part = &parts[at / inputs];
            (part.lower[at % inputs], part.upper[at % inputs])
        };
        scratch.boxes.begin(padded, parts.len(), inputs, bounds);
        scratch.scores.begin(parts.len());
        for layer in 0..padded.hidden() {
            let known = |node: usize| -> Option<&[f64]> {
                let known = parts[node].neurons.as_deref()?;
                Some(&known[padded.offset(layer)..padded.offset(layer + 1)])
            };
            scratch.boxes.intervals(padded, layer, known);
            self.demand_signs(layer, parts, &mut scratch.boxes);
            tighten(layer, scratch);
            scratch.boxes.relax(padded, layer);
        }
        scratch.boxes.output_magnitudes(padded);
    }

    fn demand_signs(&self, layer: usize, parts: &[BoxPart], boxes: &mut Boxes) {
        let width = self.padded.layers[layer].padded();
        for (node, part) in parts.iter().enumerate() {
            for sign in part.signs.iter().filter(|sign| sign.neuron.layer == layer) {
                let (lower, upper) =
                    if sign.on { (0.0, f64::INFINITY) } else { (f64::NEG_INFINITY, 0.0) };
                boxes.tighten(layer, node * width + sign.neuron.index, node, lower, upper);
            }
        }
    }

    /// Functions that are pushed back at once.
    pub(super) fn block(&self) -> usize {
        (BLOCK / self.padded.widest()).max(64)
    }

    /// Pushes the unstable neurons of a layer back. The first layer's intervals are exact.
    fn bound_unstable(&self, layer: usize, limits: BoundLimits, scratch: &mut BoxScratch) {
        let (padded, width) = (&self.padded, self.padded.layers[layer].padded());
        let BoxScratch { boxes, functions, values, columns, scores, .. } = scratch;
        columns.clear();
        for node in (0..boxes.count).filter(|&node| !boxes.is_empty[node]) {
            let neurons = 0..padded.layers[layer].width;
            let unstable = neurons.filter(|&j| boxes.is_unstable(padded, layer, node, j));
            columns.extend(unstable.map(|j| (node, j)));
        }
        if layer == 0 {
            return;
        }
        for block in columns.chunks(self.block() / 2) {
            if limits.is_spent() {
                break;
            }
            functions.clear();
            for &(node, j) in block {
                functions.push_neuron(padded, boxes, layer, (node, j), 1.0);
                functions.push_neuron(padded, boxes, layer, (node, j), -1.0);
            }
            functions.push_back(padded, boxes, layer, |_, _| ());
            functions.largest(padded, boxes, values);
            for (k, &(node, j)) in block.iter().enumerate() {
                let (upper, lower) = (values[2 * k], -values[2 * k + 1]);
                boxes.tighten(layer, node * width + j, node, lower, upper);
            }
            scores.keep(padded, layer, block, functions);
        }
    }

    /// Bounds all questions that are not below the cutoff yet: row by row, then combinations of the rows of those that no row refutes.
    fn bound_rows(&self, bounds: &mut [Vec<f64>], cutoff: f64, scratch: &mut BoxScratch) {
        scratch.begin_evidence(bounds.len());
        self.open_questions(bounds, cutoff, scratch);
        let BoxScratch { boxes, functions, values, columns, scores, combined, evidence, .. } =
            scratch;
        functions.clear();
        for &(node, question) in &*columns {
            for row in self.rows.rows(question) {
                self.rows.push(&self.padded, boxes, node, [(row, 1.0)].into_iter(), functions);
            }
        }
        scores.begin_rows(boxes.count);
        self.push_rows(Pass::Rows, boxes, functions, values, scores);
        combined.clear();
        let (mut column, mut open) = (0, 0);
        let (mut weights, mut proposed) = (Vec::new(), Vec::new());
        for k in 0..columns.len() {
            let (node, question) = columns[k];
            let rows = self.rows.rows(question);
            let of_question = column..column + rows.len();
            column += rows.len();
            let least = of_question.clone().min_by(|a, b| values[*a].total_cmp(&values[*b]));
            let least = least.expect("a question has rows");
            let bound = &mut bounds[node][question];
            *bound = bound.min(values[least]);
            if self.proves && *bound < cutoff {
                let rows = vec![(least - of_question.start, 1.0)];
                evidence[node].refuted.push(RowCombination::by_default_slopes(question, rows));
            }
            if rows.len() > 1 && *bound >= cutoff {
                weights::propose(&self.padded, boxes, functions, of_question, &mut weights);
                let weighted = rows.zip(weights.iter().copied());
                self.rows.push(&self.padded, boxes, node, weighted, combined);
                proposed.push(weights.clone());
                columns[open] = (node, question);
                open += 1;
            } else {
                scores.choose(node, (Pass::Rows, least), *bound);
            }
        }
        self.push_rows(Pass::Combined, boxes, combined, values, scores);
        for (column, &(node, question)) in columns[..open].iter().enumerate() {
            let bound = &mut bounds[node][question];
            *bound = bound.min(values[column]);
            if self.proves && *bound < cutoff {
                let rows = proposed[column].iter().copied().enumerate();
                let rows = rows.filter(|(_, weight)| *weight > 0.0).collect();
                evidence[node].refuted.push(RowCombination::by_default_slopes(question, rows));
            }
            scores.choose(node, (Pass::Combined, column), *bound);
        }
    }

    /// Notes the questions that are not below the cutoff yet. In an empty part all are.
    pub(super) fn open_questions(
        &self,
        bounds: &mut [Vec<f64>],
        cutoff: f64,
        scratch: &mut BoxScratch,
    ) {
        let BoxScratch { boxes, columns, .. } = scratch;
        columns.clear();
        for (node, of_node) in bounds.iter_mut().enumerate() {
            if boxes.is_empty[node] {
                of_node.fill(f64::NEG_INFINITY);
                continue;
            }
            let open = (0..of_node.len()).filter(|&question| of_node[question] >= cutoff);
            columns.extend(open.map(|question| (node, question)));
        }
    }

    fn push_rows(
        &self,
        pass: Pass,
        boxes: &Boxes,
        functions: &mut Functions,
        values: &mut Vec<f64>,
        scores: &mut InputScores,
    ) {
        let last = self.padded.hidden();
        functions.push_back(&self.padded, boxes, last, |layer, functions| {
            scores.visit(&self.padded, boxes, pass, layer, functions);
        });
        functions.largest(&self.padded, boxes, values);
    }

    pub(super) fn result(
        &self,
        node: usize,
        mut part: BoxPart,
        values: Vec<f64>,
        cutoff: f64,
        scratch: &mut BoxScratch,
    ) -> BoundedBox {
        let value = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let for_f32 = self.padded.arithmetic == Arithmetic::F32;
        let method = if part.part.depth() == 0 { BoundMethod::Crown } else { BoundMethod::Branch };
        let bound = CertifiedBound::new(value, for_f32, method);
        let bound = PartBound::shared(&part.part, &self.objective, bound);
        let (mut scores, mut corner, mut candidates) = (Vec::new(), Vec::new(), Vec::new());
        part.values = values.into();
        if value >= cutoff {
            part.neurons = Some(self.intervals_of(node, &scratch.boxes));
            let BoxScratch { boxes, functions, scores: of_boxes, combined, .. } = scratch;
            if self.split_by == SplitBy::Inputs {
                scores = of_boxes.of_node(&self.padded, boxes, node, self.lower.len());
            }
            if let Some(of_node) = scratch.candidates.get_mut(node) {
                candidates = std::mem::take(of_node);
            }
            corner = match of_boxes.chosen(node) {
                Some((Pass::Rows, column)) => self.corner(column, &part, functions),
                Some((Pass::Combined, column)) => self.corner(column, &part, combined),
                None => part.lower.clone(),
            };
        }
        let evidence = scratch.evidence.get_mut(node).map(std::mem::take).unwrap_or_default();
        BoundedBox { part, bound, scores, corner, candidates, evidence }
    }

    /// The value of the questions at some points, in f64 and without promise.
    pub fn values_at(&self, points: &[&Vec<f64>], scratch: &mut BoxScratch) -> Vec<f64> {
        let BoxScratch { values, functions, .. } = scratch;
        values.clear();
        for point in points {
            values.extend(*point);
            values.resize(values.len().next_multiple_of(self.padded.inputs()), 0.0);
        }
        let last = self.padded.hidden();
        for (k, layer) in self.padded.layers.iter().enumerate() {
            let width = layer.padded();
            let outputs = &mut functions.coefficients;
            outputs.clear();
            outputs.resize(width * points.len(), 0.0);
            layer.weights.multiply(values, outputs);
            for (at, value) in outputs.iter_mut().enumerate() {
                let sum = *value + layer.bias[at % width];
                *value = if k < last && layer.is_relu[at % width] { sum.max(0.0) } else { sum };
            }
            std::mem::swap(values, outputs);
        }
        let width = self.padded.layers[last].padded();
        values.chunks_exact(width).map(|outputs| self.questions().value(outputs)).collect()
    }

    /// Unstable neurons of a box, by layer.
    fn unstable_counts(&self, boxes: &Boxes, node: usize) -> Vec<usize> {
        let count = |layer: usize| {
            let neurons = 0..self.padded.layers[layer].width;
            neurons.filter(|&j| boxes.is_unstable(&self.padded, layer, node, j)).count()
        };
        (0..self.padded.hidden()).map(count).collect()
    }

    fn intervals_of(&self, node: usize, boxes: &Boxes) -> Arc<[f64]> {
        let mut all = Vec::with_capacity(self.padded.offset(self.padded.hidden()));
        for (layer, state) in self.padded.layers.iter().zip(&boxes.layers) {
            let here = node * layer.padded()..(node + 1) * layer.padded();
            all.extend(&state.lower[here.clone()]);
            all.extend(&state.upper[here]);
        }
        all.into()
    }

    /// Where a function of the inputs is largest.
    fn corner(&self, column: usize, part: &BoxPart, functions: &Functions) -> Vec<f64> {
        let inputs = self.padded.inputs();
        let slopes = &functions.coefficients[column * inputs..(column + 1) * inputs];
        let bounds = part.lower.iter().zip(&part.upper);
        bounds.zip(slopes).map(|((l, u), slope)| if *slope > 0.0 { *u } else { *l }).collect()
    }
}
