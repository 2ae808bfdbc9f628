//! Bounds with improved slopes and multipliers: for boxes with many inputs, where a node is dear and has to be good.

use std::sync::Arc;

use super::bounded::{BoundedBox, BoxBounds, BoxScratch};
use super::cuts::{GoalCut, MOST_CUTS, goal};
use super::descent::{DefaultSlopes, DescentOptions, SlopeDescent};
use super::effort::{BoundLimits, Effort, LOOK, PART};
use super::evidence::{
    BoundEvidence, BoxEvidence, FunctionBound, LineEvidence, NeuronEvidence, RowCombination,
};
use super::first_slopes::{FirstOfNeurons, FirstOfRows};
use super::part::BoxPart;
use super::push_back::Functions;
use super::quadratic_bounds::bound_by_quadratics;
use super::rounded_slopes::RoundedSlopes;
use super::scores::Pass;
use super::sign_scores;
use super::sign_trees::{TreeEffort, TreeGround, bound_by_signs};
use super::slope_digits::SlopeDigits;
use super::state::Boxes;
use super::stored_slopes::{NeuronSlopes, RowSlopes};
use super::weights;
use crate::bounds::part::Sign;
use crate::network::NeuronId;

/// In proofs, other bounds of neurons than those by lines have to be lower by this share of their magnitude, or to make a neuron stable.
const WORTH_ITS_EVIDENCE: f64 = 0.01;

impl BoxBounds {
    /// Bounds parts of the box, with improved slopes. As [`BoxBounds::bound`].
    pub(super) fn bound_sloped(
        &self,
        parts: Vec<BoxPart>,
        limits: BoundLimits,
        scratch: &mut BoxScratch,
    ) -> Vec<BoundedBox> {
        self.bound_with(parts, limits, PART, scratch)
    }

    pub(super) fn bound_with(
        &self,
        mut parts: Vec<BoxPart>,
        limits: BoundLimits,
        mut effort: Effort,
        scratch: &mut BoxScratch,
    ) -> Vec<BoundedBox> {
        if self.proves {
            // A proof has the slopes of the whole box only.
            effort.neurons = effort.neurons.min(1);
        }
        self.bound_neurons(&parts, scratch, |layer, scratch| {
            self.bound_unstable_sloped(layer, &parts, (effort, limits), scratch, None);
        });
        let mut values: Vec<Vec<f64>> = parts.iter().map(|part| part.values.to_vec()).collect();
        self.bound_rows_sloped(&mut parts, &mut values, limits, effort, scratch);
        self.forget_unproven(&mut parts, &mut values, limits, scratch);
        let bounded = parts.into_iter().zip(values).enumerate();
        bounded
            .map(|(node, (part, values))| self.result(node, part, values, limits.cutoff, scratch))
            .collect()
    }

    /// What was bounded while time ran out cannot be proven: a checker bounds all. So nothing is taken over, and no evidence.
    pub(super) fn forget_unproven(
        &self,
        parts: &mut [BoxPart],
        values: &mut [Vec<f64>],
        limits: BoundLimits,
        scratch: &mut BoxScratch,
    ) {
        if self.proves && limits.is_spent() {
            scratch.begin_evidence(parts.len());
            for (values, part) in values.iter_mut().zip(parts) {
                values.copy_from_slice(&part.values);
                part.cuts = Arc::new([]);
            }
        }
    }

    /// Improves the functions of the unstable neurons of a layer. `keep` takes over their slopes.
    pub(super) fn bound_unstable_sloped(
        &self,
        layer: usize,
        parts: &[BoxPart],
        (effort, limits): (Effort, BoundLimits),
        scratch: &mut BoxScratch,
        mut keep: Option<&mut NeuronSlopes>,
    ) {
        if layer == 0 || effort.neurons == 0 {
            return;
        }
        let (padded, width) = (&self.padded, self.padded.layers[layer].padded());
        let BoxScratch { boxes, functions, columns, descent, .. } = scratch;
        columns.clear();
        let is_due = |node: &usize| parts[*node].fresh_from <= layer;
        for node in (0..boxes.count).filter(|node| !boxes.is_empty[*node]).filter(is_due) {
            let neurons = 0..padded.layers[layer].width;
            let unstable = neurons.filter(|&j| boxes.is_unstable(padded, layer, node, j));
            columns.extend(unstable.map(|j| (node, j)));
        }
        for block in columns.chunks(self.block()) {
            if limits.is_spent() {
                break;
            }
            functions.clear();
            for &(node, j) in block {
                functions.push_neuron(padded, boxes, layer, (node, j), 1.0);
                functions.push_neuron(padded, boxes, layer, (node, j), -1.0);
            }
            let (slopes, is_rounded) = (self.slopes.get(layer), self.proves);
            let first = FirstOfNeurons { slopes, neurons: block, is_rounded };
            let options =
                DescentOptions { evaluations: effort.neurons, step: effort.step, cuts: true };
            let is_spent = |_: &[f64]| limits.is_spent();
            descent.run(padded, boxes, (parts, functions, layer), &first, options, is_spent);
            if let Some(keep) = &mut keep {
                let slopes = |layer, function, width| descent.slopes(layer, function, width);
                keep.keep(block.iter().map(|&(_, j)| j), slopes);
            }
            if let Some(keep) = keep.as_deref_mut().filter(|_| self.proves) {
                self.keep_digits(block, (layer, boxes, descent), keep);
                let first = FirstOfNeurons { slopes: Some(&*keep), neurons: block, is_rounded };
                let options = DescentOptions { evaluations: 1, ..options };
                descent.run(padded, boxes, (parts, functions, layer), &first, options, |_| false);
            }
            let ground = TreeGround { network: padded, boxes, parts, layer, proves: self.proves };
            let best = self.bound_again(ground, functions, descent, (effort, limits));
            for (k, &(node, j)) in block.iter().enumerate() {
                let (upper, lower) = (best[2 * k].value, -best[2 * k + 1].value);
                boxes.tighten(layer, node * width + j, node, lower, upper);
            }
            for (k, best) in best.into_iter().enumerate() {
                let neuron = NeuronId { layer, index: block[k / 2].1 };
                if let (Some(keep), Some(by)) = (keep.as_deref_mut(), best.by) {
                    keep.keep_bound(NeuronEvidence { neuron, above: k % 2 == 0, by });
                }
            }
        }
    }

    /// Bounds functions of neurons that a descent has just improved, in other ways, too.
    fn bound_again(
        &self,
        ground: TreeGround,
        functions: &Functions,
        descent: &mut SlopeDescent,
        (effort, limits): (Effort, BoundLimits),
    ) -> Vec<FunctionBound> {
        let by_lines = |&value: &f64| FunctionBound { value, by: None };
        let mut best: Vec<FunctionBound> = descent.best.iter().map(by_lines).collect();
        let is_spent = || limits.is_spent();
        let quadratics = effort
            .neuron_squares
            .and_then(|steps| bound_by_quadratics(ground, functions, descent, steps, &is_spent));
        // With one layer below, trees add nothing to that.
        let is_enough = quadratics.is_some() && ground.layer == 1;
        let trees = effort
            .neuron_trees
            .filter(|_| !is_enough)
            .map(|trees| bound_by_signs(ground, functions, descent, (0.0, trees), &is_spent));
        for others in quadratics.into_iter().chain(trees) {
            for (best, other) in best.iter_mut().zip(others) {
                let less = if other.by.is_some() && other.value > 0.0 {
                    WORTH_ITS_EVIDENCE * best.value.abs()
                } else {
                    0.0
                };
                if other.value < best.value - less {
                    *best = other;
                }
            }
        }
        best
    }

    /// Keeps the slopes of some neurons' functions as a proof has them.
    fn keep_digits(
        &self,
        block: &[(usize, usize)],
        (layer, boxes, descent): (usize, &Boxes, &SlopeDescent),
        keep: &mut NeuronSlopes,
    ) {
        let padded = &self.padded;
        for (k, &(node, j)) in block.iter().enumerate() {
            let digits = [2 * k, 2 * k + 1].map(|function| {
                let slopes =
                    |below: usize| descent.slopes(below, function, padded.layers[below].padded());
                SlopeDigits::of_unstable(padded, boxes, (node, layer), slopes)
            });
            keep.keep_digits(j, digits);
        }
    }

    /// Bounds all questions that are not below the cutoff yet.
    pub(super) fn bound_rows_sloped(
        &self,
        parts: &mut [BoxPart],
        bounds: &mut [Vec<f64>],
        limits: BoundLimits,
        effort: Effort,
        scratch: &mut BoxScratch,
    ) {
        let cutoff = limits.cutoff;
        scratch.begin_evidence(bounds.len());
        self.open_questions(bounds, cutoff, scratch);
        let is_proposed = self.descend_rows(parts, limits, effort, scratch);
        let weights = self.bound_each_row(parts, bounds, cutoff, is_proposed, scratch);
        self.bound_combined(parts, bounds, (limits, effort), &weights, scratch);
        if let Some(trees) = effort.row_trees {
            self.bound_rows_by_signs(parts, bounds, (limits, trees), scratch);
        }
        // What is refuted by now needs no cut.
        for ((part, bounds), evidence) in parts.iter_mut().zip(&*bounds).zip(&mut scratch.evidence)
        {
            let is_open = |question: usize| bounds[question] >= cutoff;
            part.cuts = part.cuts.iter().filter(|cut| is_open(cut.question)).cloned().collect();
            evidence.cuts.retain(|cut| is_open(cut.question));
        }
        // Intervals hold at points that count only: all others are below the goal.
        bounds.iter_mut().flatten().for_each(|value| *value = value.max(goal(cutoff)));
    }

    /// Bounds the open questions of one row by trees over signs, with the neurons' intervals held.
    fn bound_rows_by_signs(
        &self,
        parts: &[BoxPart],
        bounds: &mut [Vec<f64>],
        (limits, trees): (BoundLimits, TreeEffort),
        scratch: &mut BoxScratch,
    ) {
        self.open_questions(bounds, limits.cutoff, scratch);
        scratch.columns.retain(|&(_, question)| self.rows.rows(question).len() == 1);
        let once = Effort { rows: 1, ..PART };
        let BoxScratch { boxes, columns, combined, descent, evidence, .. } = scratch;
        let rows = self.push_open_rows(parts, boxes, columns, combined);
        let (padded, layer) = (&self.padded, self.padded.hidden());
        let run = (parts, &*combined, layer);
        descent.run(padded, boxes, run, &FirstOfRows { rows: &rows }, once.of_rows(), |_| false);
        self.prove((boxes, parts), combined, once, descent);
        let ground = TreeGround { network: padded, boxes, parts, layer, proves: self.proves };
        let goal = (limits.cutoff.next_down(), trees);
        let best = bound_by_signs(ground, combined, descent, goal, &|| limits.is_spent());
        for (&(node, question), best) in columns.iter().zip(best) {
            let bound = &mut bounds[node][question];
            *bound = bound.min(best.value);
            if let Some(by) = best.by.filter(|_| best.value < limits.cutoff) {
                evidence[node].refuted.push(RowCombination { question, rows: vec![(0, 1.0)], by });
            }
        }
    }

    /// The rows of open questions as functions, and what they begin with.
    fn push_open_rows(
        &self,
        parts: &[BoxPart],
        boxes: &Boxes,
        columns: &[(usize, usize)],
        functions: &mut Functions,
    ) -> Vec<(Option<Arc<RowSlopes>>, usize)> {
        functions.clear();
        let mut rows = Vec::new();
        for &(node, question) in columns {
            for row in self.rows.rows(question) {
                self.rows.push(&self.padded, boxes, node, [(row, 1.0)].into_iter(), functions);
                rows.push((parts[node].slopes.clone(), row));
            }
        }
        rows
    }

    /// Improves the functions of all rows of open questions. Whether they were evaluated as a proof has them.
    fn descend_rows(
        &self,
        parts: &[BoxPart],
        limits: BoundLimits,
        effort: Effort,
        scratch: &mut BoxScratch,
    ) -> bool {
        let BoxScratch { boxes, functions, columns, descent, .. } = scratch;
        let (padded, hidden) = (&self.padded, self.padded.hidden());
        let rows = self.push_open_rows(parts, boxes, columns, functions);
        let first = FirstOfRows { rows: &rows };
        let is_enough = |best: &[f64]| limits.are_met(best);
        let run = (parts, &*functions, hidden);
        descent.run(padded, boxes, run, &first, effort.of_rows(), is_enough);
        self.prove((boxes, parts), functions, effort, descent)
    }

    /// Takes over what a descent found for each row. Weights for the rows of questions that no row refutes: these stay the open ones.
    fn bound_each_row(
        &self,
        parts: &mut [BoxPart],
        bounds: &mut [Vec<f64>],
        cutoff: f64,
        is_proposed: bool,
        scratch: &mut BoxScratch,
    ) -> Vec<Vec<f64>> {
        let BoxScratch { boxes, functions, columns, scores, descent, evidence, .. } = scratch;
        let (padded, values) = (&self.padded, &descent.best);
        scores.begin_rows(boxes.count);
        let mut slopes: Vec<RowSlopes> = parts.iter().map(|_| RowSlopes::default()).collect();
        let mut cuts: Vec<Vec<GoalCut>> = parts.iter().map(|_| Vec::new()).collect();
        let mut all_weights = Vec::new();
        let mut column = 0;
        columns.retain(|&(node, question)| {
            let rows = self.rows.rows(question);
            let of_question = column..column + rows.len();
            column += rows.len();
            let least = of_question.clone().min_by(|a, b| values[*a].total_cmp(&values[*b]));
            let least = least.expect("a question has rows");
            let bound = &mut bounds[node][question];
            *bound = bound.min(values[least]);
            scores.choose(node, (Pass::Rows, least), *bound);
            if is_proposed {
                let rows = vec![(least - of_question.start, 1.0)];
                let proof = self.combination((descent, boxes, parts), least, (question, rows));
                let BoxEvidence { refuted, cuts } = &mut evidence[node];
                if *bound < cutoff { refuted.push(proof) } else { cuts.push(proof) }
            }
            if *bound < cutoff {
                return false;
            }
            cuts[node].push(self.cut(descent.functions(), (question, least), goal(cutoff)));
            for (row, function) in rows.clone().zip(of_question.clone()) {
                let (of_row, multipliers) = self.row_slopes(descent, function, &parts[node]);
                slopes[node].keep(row, of_row, multipliers);
            }
            if rows.len() > 1 {
                let mut weights = Vec::new();
                weights::propose(padded, boxes, descent.functions(), of_question, &mut weights);
                all_weights.push(weights);
            }
            rows.len() > 1
        });
        for (node, (slopes, cuts)) in slopes.into_iter().zip(cuts).enumerate() {
            if cuts.len() > MOST_CUTS || !cutoff.is_finite() {
                evidence[node].cuts.clear();
            }
            parts[node].keep(slopes, if cutoff.is_finite() { cuts } else { Vec::new() });
        }
        sign_scores::note(padded, boxes, descent, scores, &mut scratch.candidates);
        functions.copy_from(descent.functions());
        all_weights
    }

    /// Bounds combinations of the rows of the open questions.
    fn bound_combined(
        &self,
        parts: &[BoxPart],
        bounds: &mut [Vec<f64>],
        (limits, effort): (BoundLimits, Effort),
        weights: &[Vec<f64>],
        scratch: &mut BoxScratch,
    ) {
        let BoxScratch { boxes, columns, combined, descent, evidence, .. } = scratch;
        let (padded, hidden) = (&self.padded, self.padded.hidden());
        combined.clear();
        for (&(node, question), weights) in columns.iter().zip(weights) {
            let weighted = self.rows.rows(question).zip(weights.iter().copied());
            self.rows.push(padded, boxes, node, weighted, combined);
        }
        let (cutoff, is_enough) = (limits.cutoff, |best: &[f64]| limits.are_met(best));
        let run = (parts, &*combined, hidden);
        descent.run(padded, boxes, run, &DefaultSlopes, effort.of_rows(), is_enough);
        let is_proposed = self.prove((boxes, parts), combined, effort, descent);
        for (column, &(node, question)) in columns.iter().enumerate() {
            let bound = &mut bounds[node][question];
            *bound = bound.min(descent.best[column]);
            if is_proposed && *bound < cutoff {
                let rows = weights[column].iter().copied().enumerate();
                let row = (question, rows.filter(|(_, weight)| *weight > 0.0).collect());
                let proof = self.combination((descent, boxes, parts), column, row);
                evidence[node].refuted.push(proof);
            }
        }
    }

    /// Evaluates a descent's functions once more, with slopes and multipliers as a proof has them, if it is to be proven. Whether that was done.
    fn prove(
        &self,
        (boxes, parts): (&Boxes, &[BoxPart]),
        functions: &Functions,
        effort: Effort,
        descent: &mut SlopeDescent,
    ) -> bool {
        // A look is only a look.
        if !self.proves || effort.rows == LOOK.rows {
            return false;
        }
        let (padded, hidden) = (&self.padded, self.padded.hidden());
        let rounded = RoundedSlopes::of_descent(descent, padded, parts, hidden, Vec::new());
        let once = DescentOptions { evaluations: 1, step: 0.0, cuts: false };
        descent.run(padded, boxes, (parts, functions, hidden), &rounded, once, |_| false);
        true
    }

    /// What a proof has of a combination of a question's rows, which a descent has just evaluated.
    fn combination(
        &self,
        (descent, boxes, parts): (&SlopeDescent, &Boxes, &[BoxPart]),
        function: usize,
        (question, rows): (usize, Vec<(usize, f64)>),
    ) -> RowCombination {
        let (padded, hidden) = (&self.padded, self.padded.hidden());
        let signs = parts[descent.functions().nodes[function]].signs.iter().copied();
        let lines = LineEvidence::of_descent(descent, (padded, boxes, hidden), function, signs);
        RowCombination { question, rows, by: BoundEvidence::Lines(lines) }
    }

    /// The slopes of a function, layer by layer, and the multipliers of a part's signs.
    fn row_slopes(
        &self,
        descent: &SlopeDescent,
        function: usize,
        part: &BoxPart,
    ) -> (Vec<Vec<f32>>, Vec<f64>) {
        let of_layer = |layer: usize| {
            let slopes = descent.slopes(layer, function, self.padded.layers[layer].padded());
            slopes.iter().map(|&slope| slope as f32).collect()
        };
        let mut multipliers = vec![0.0; part.signs.len()];
        for (neuron, value) in descent.multipliers(function) {
            if let Some(k) = part.signs.iter().position(|sign| sign.neuron == neuron) {
                multipliers[k] = value;
            }
        }
        ((0..self.padded.hidden()).map(of_layer).collect(), multipliers)
    }

    /// What a row's line says of points with a value of at least the goal.
    fn cut(
        &self,
        functions: &Functions,
        (question, function): (usize, usize),
        goal: f64,
    ) -> GoalCut {
        let (inputs, allowance) = (self.padded.inputs(), self.padded.allowance);
        let slopes = functions.coefficients[function * inputs..(function + 1) * inputs].to_vec();
        let constant = functions.constants[function];
        let off = allowance.of(functions.sizes[function] + constant.abs() + goal.abs());
        let room = constant - goal + off;
        GoalCut { question, slopes, room: if room.is_nan() { f64::INFINITY } else { room } }
    }

    /// The neuron to split a part by: of those that seem best, the one whose two sides have the lowest bounds after a short look. `None` if no neuron is unstable.
    pub fn best_sign<'l>(
        &self,
        bounded: &BoundedBox,
        limits: impl Into<BoundLimits<'l>>,
        scratch: &mut BoxScratch,
    ) -> Option<NeuronId> {
        let limits: BoundLimits = limits.into();
        let (candidates, cutoff) = (&bounded.candidates, limits.cutoff);
        if candidates.len() < 2 {
            return candidates.first().copied();
        }
        let side = |neuron: NeuronId, on| bounded.part.signed(Sign { neuron, on });
        let sides = candidates.iter().flat_map(|&neuron| [side(neuron, true), side(neuron, false)]);
        let sides = self.bound_with(sides.collect(), limits, LOOK, scratch);
        let before = bounded.bound.value();
        // Both sides have to gain: the product of what they do.
        let gain = |side: &BoundedBox| {
            let room = (before - cutoff).max(1e-9);
            ((before - side.bound.value()) / room).clamp(1e-4, 1.0)
        };
        let score = |k: usize| gain(&sides[2 * k]) * gain(&sides[2 * k + 1]);
        let best =
            (0..candidates.len()).max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a)));
        best.map(|k| candidates[k])
    }
}
