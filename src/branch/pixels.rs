//! Parts with many unstable neurons: divided by how much one pixel moves.
//!
//! A part is bounded anew, which takes most of the time, and then divided as long as bounds made of its own are good enough to.

use std::sync::Arc;

use super::neurons::SignTree;
use super::path::{Path, ProvenBound};
use super::{By, Expansion, Part, Task};
use crate::bounds::{BoundEffort, LinearBounds, Proof, ReluLine, SpentMove};
use crate::network::Trace;
use crate::problem::{Candidate, Problem};
use crate::proof::SplitSide;
use crate::search::ascend_from;
use crate::sets::{Half, InputSet, Move, MovePart, PixelSplit};

/// Divisions within a part before its parts are bounded anew: so long their bounds are made of the part's own.
const DIVISIONS: usize = 8;

/// Improvements of a bound, from fresh lines and from inherited ones.
const FRESH_STEPS: usize = 20;
const STEPS: usize = 8;

/// Shares are multiples of this, which adds to any 8-bit pixel exactly.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// A part within an expansion, told in the moves of its bounds.
struct PixelNode {
    path: Path,
    portion: MovePart,
    proven: ProvenBound,
    spending: Vec<SpentMove>,
    /// What its bound is made of: good to begin with in its parts.
    lines: Vec<Vec<ReluLine>>,
}

impl Task<'_> {
    /// Bounds a part anew and divides it; by neurons, if it has few that are unstable.
    pub(super) fn expand_by_pixels(&self, part: Part) -> Expansion {
        let set = part.path.set(&self.problem.set);
        let objective = self.problem.weights();
        let depth = part.path.depth();
        let linear = if depth == 0 && self.whole.is_divisible() {
            Arc::clone(self.whole)
        } else {
            Arc::new(self.whole.of_part(&set, self.budget))
        };
        let effort = BoundEffort { steps: FRESH_STEPS, enough: self.until.enough(self.best) };
        let proof = linear.prove(objective, &effort, self.budget);
        let point = Some(self.climb(&set, &proof.spending));
        let proven = ProvenBound::by_lines(&proof, depth, depth, self.keep).or_lower(&part.proven);
        if !self.goal(proven.bound) && linear.neurons().unstable().count() <= self.few {
            let problem = Problem { set, ..self.problem.clone() };
            let count = Arc::clone(&self.grounds);
            let ground = SignTree::new(problem, linear, depth, self.keep, count);
            let mut expansion = Expansion { parts: Vec::new(), nodes: 1, point };
            expansion.add(part.path, Arc::new(ground).whole(proven, self.budget));
            return expansion;
        }
        let whole = linear.whole();
        let Proof { spending, lines, .. } = proof;
        let first = PixelNode { path: part.path, portion: whole, proven, spending, lines };
        let (parts, nodes) = self.divide(&linear, first, depth);
        Expansion { parts, nodes, point }
    }

    /// Divides the worst leaf again and again, each half bounded by what `linear`, made after `fresh` divisions, says within it.
    fn divide(&self, linear: &LinearBounds, first: PixelNode, fresh: usize) -> (Vec<Part>, usize) {
        let (mut leaves, mut parts, mut nodes) = (vec![first], Vec::new(), 0);
        for _ in 0..DIVISIONS {
            let bound = |k: usize| leaves[k].proven.bound;
            let worst =
                (0..leaves.len()).max_by(|&a, &b| bound(a).value().total_cmp(&bound(b).value()));
            let open = |k: &usize| !self.goal(bound(*k)) && !self.budget.is_spent();
            let Some(worst) = worst.filter(open) else { break };
            let leaf = leaves.swap_remove(worst);
            let Some(split) = self.division(&leaf) else {
                parts.push(Part { path: leaf.path, proven: leaf.proven, by: By::Nothing });
                continue;
            };
            let halves = leaf.portion.split(split).expect("only exact divisions are made");
            let sides = [Half::AtLeast, Half::AtMost].map(|half| SplitSide::of_pixel(split, half));
            for (portion, side) in halves.into_iter().zip(sides) {
                let effort = BoundEffort { steps: STEPS, enough: self.until.enough(self.best) };
                let within = linear.within(&portion);
                let objective = self.problem.weights();
                let proof = within.prove_from(objective, &leaf.lines, &effort, self.budget);
                nodes += 1;
                let path = leaf.path.then(side);
                // What holds for a part's parent holds for the part.
                let proven = ProvenBound::by_lines(&proof, fresh, path.depth(), self.keep);
                let proven = proven.or_lower(&leaf.proven);
                let Proof { spending, lines, .. } = proof;
                leaves.push(PixelNode { path, portion, proven, spending, lines });
            }
        }
        let open = |leaf: PixelNode| Part { path: leaf.path, proven: leaf.proven, by: By::Pixels };
        parts.extend(leaves.into_iter().map(open));
        (parts, nodes)
    }

    /// Climbs, in the whole set, from where the bound of a part is attained.
    fn climb(&self, part: &InputSet, spending: &[SpentMove]) -> Candidate {
        let mut point = part.centre().to_vec();
        for SpentMove { at, amount, .. } in spending {
            point[at.pixel] += at.sign * amount;
        }
        let mut trace = Trace::new(&self.problem.network);
        let start = self.problem.evaluate(self.problem.set.project(&point), &mut trace);
        ascend_from(self.problem, start, &mut trace, self.budget)
    }

    /// Where to divide: at half of what the bound spends on the pixel that it gains most by.
    fn division(&self, leaf: &PixelNode) -> Option<PixelSplit> {
        let part = leaf.path.set(&self.problem.set);
        let mut by_worth: Vec<&SpentMove> =
            leaf.spending.iter().filter(|s| s.worth > 0.0).collect();
        by_worth.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.index.cmp(&b.index)));
        by_worth.into_iter().find_map(|&spending| {
            let amount = ((spending.amount / 2.0) / GRAIN).round() * GRAIN;
            let divides = amount > 0.0 && amount < spending.amount;
            let Move { pixel, sign, .. } = spending.at;
            let split = PixelSplit { pixel, up: sign > 0.0, amount };
            (divides && part.split(split).is_some()).then_some(split)
        })
    }
}
