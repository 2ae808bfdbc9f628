//! The pipeline for one image and its targets: bounds, search, judge.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;

use crate::bounds::{Above, Arithmetic, CertifiedBound, Effort, LinearBounds};
use crate::budget::Budget;
use crate::encode::Relaxation;
use crate::input::{InputSet, Norm, PictureLayout, Sample};
use crate::lp::LpError;
use crate::network::{Label, Trace};
use crate::onnx::{OnnxModel, Replay, ReplayError};
use crate::query::{Candidate, Query};
use crate::search::{
    BranchOptions, BranchStop, Branched, Found, Method, SearchOptions, SearchStop, Until, ascend,
    ascend_from, branch_and_bound, search,
};
use crate::verdict::{Case, Contradiction, EightBit, Judge, JudgeError, Judged, Verdict, Witness};

/// Who wins at an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The label that the file, run by tract, gives; the lower one of equals.
    pub predicted: Label,
    /// The label with the second largest logit of that run.
    pub runner_up: Label,
}

/// Why an image cannot be classified.
#[derive(Debug, thiserror::Error)]
pub enum ClassifyError {
    /// The file's own run failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// There is nobody to compare with.
    #[error("the model has one output: a classifier needs at least two")]
    OneOutput,
}

/// Classifies a sample by tract's run of the file.
///
/// # Errors
/// When tract fails, or the model is no classifier.
pub fn classify(model: &OnnxModel, sample: &Sample) -> Result<Standing, ClassifyError> {
    let theirs = model.replay.logits(&sample.pixels)?;
    let (predicted, runner_up) = best_two(&theirs).ok_or(ClassifyError::OneOutput)?;
    Ok(Standing { predicted: Label(predicted), runner_up: Label(runner_up) })
}

/// What is asked of every image.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// How far an image may be changed.
    pub delta: f64,
    /// In which norm.
    pub norm: Norm,
    /// How to search.
    pub search: SearchOptions,
    /// What is wanted.
    pub goal: Goal,
    /// Whether to divide the set where one bound is not enough.
    pub branch: Option<Branch>,
}

/// How far to divide the set.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Parts bounded at most.
    pub nodes: usize,
    /// Below this gap a margin counts as optimal.
    pub gap: f64,
}

impl Attack {
    /// Below this gap a margin counts as optimal.
    pub fn gap(&self) -> f64 {
        self.branch.map_or(OPTIMAL_GAP, |branch| branch.gap)
    }

    /// Where inputs may lie around a sample.
    fn set(&self, sample: &Sample) -> InputSet {
        let centre: Vec<f64> = sample.pixels.iter().copied().map(f64::from).collect();
        match self.norm {
            Norm::L1 => InputSet::l1_ball(&centre, self.delta),
            Norm::Linf => InputSet::linf_ball(&centre, self.delta),
        }
    }
}

/// When an answer is good enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// The largest margin and the smallest bound.
    #[default]
    Optimum,
    /// One adversary, or a bound below zero.
    Verdict,
}

/// Why work on an image and target ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// So many starts in a row brought nothing.
    NoGain,
    /// The time is up.
    Time,
    /// Somebody called it off.
    Interrupted,
    /// An adversary was found, and one is enough.
    First,
    /// The margin meets the bound.
    Optimal,
    /// There is no adversary, and no more was asked.
    Robust,
    /// Branch and bound claims that nothing is better: not a proof.
    Claimed,
    /// The solver gave up.
    Trouble,
    /// So many parts of the set were bounded.
    Nodes,
}

impl Stop {
    /// Why a search ended that was told `enough` to stop.
    pub(crate) fn of(search: SearchStop, enough: Self) -> Self {
        match search {
            SearchStop::Patience => Self::NoGain,
            SearchStop::Time => Self::Time,
            SearchStop::Cancelled => Self::Interrupted,
            SearchStop::Enough => enough,
            SearchStop::Claimed => Self::Claimed,
            SearchStop::Trouble => Self::Trouble,
        }
    }

    /// Why dividing ended that was to show `proven`.
    fn of_tree(tree: BranchStop, proven: Self) -> Self {
        match tree {
            BranchStop::Proven => proven,
            BranchStop::Nodes => Self::Nodes,
            BranchStop::Time => Self::Time,
            BranchStop::Cancelled => Self::Interrupted,
            BranchStop::Enough => Self::First,
        }
    }

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoGain => "no_gain",
            Self::Time => "time",
            Self::Interrupted => "interrupted",
            Self::First => "first",
            Self::Optimal => "optimal",
            Self::Robust => "robust",
            Self::Claimed => "claimed",
            Self::Trouble => "trouble",
            Self::Nodes => "nodes",
        }
    }
}

/// The answer for one image and target.
#[derive(Debug)]
pub struct Answer {
    /// What the judge says.
    pub verdict: Verdict,
    /// The best point as it would be stored, adversarial or not.
    pub judged: Judged,
    /// No point of the set has a larger margin. None when bounding was not needed.
    pub bound: Option<CertifiedBound>,
    /// The 8-bit picture of an adversarial point.
    pub picture: Option<EightBit>,
    /// What the search did.
    pub found: Found,
    /// What dividing the set did.
    pub tree: Tree,
    /// Why work ended.
    pub stop: Stop,
    /// The seed of this image and target.
    pub seed: u64,
}

/// How the set was divided: not at all, by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Parts bounded.
    pub nodes: usize,
    /// Divisions one after the other, at most.
    pub depth: usize,
    /// Parts that were still to be divided.
    pub open: usize,
}

impl Tree {
    fn with(self, branched: &Branched) -> Self {
        Self {
            nodes: self.nodes + branched.nodes,
            depth: self.depth.max(branched.depth),
            open: self.open + branched.open,
        }
    }
}

impl Answer {
    /// How much better an adversary could at most be.
    pub fn gap(&self) -> Option<f64> {
        self.bound.map(|bound| bound.value() - self.judged.point().margin())
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The judge could not judge.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Search and proof disagree.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
}

/// An image under attack: what all its targets share. Bounds are made when the first target needs them.
pub struct Subject<'m> {
    model: &'m OnnxModel,
    sample: &'m Sample,
    predicted: Label,
    attack: Attack,
    set: InputSet,
    exact: OnceLock<LinearBounds<'m>>,
    in_f32: OnceLock<LinearBounds<'m>>,
}

impl<'m> Subject<'m> {
    /// Nothing is computed yet.
    pub fn new(
        model: &'m OnnxModel,
        sample: &'m Sample,
        predicted: Label,
        attack: &Attack,
    ) -> Self {
        let (exact, in_f32) = (OnceLock::new(), OnceLock::new());
        let set = attack.set(sample);
        Self { model, sample, predicted, attack: *attack, set, exact, in_f32 }
    }

    fn bounds(&self, arithmetic: Arithmetic, budget: &Budget) -> &LinearBounds<'m> {
        let place = match arithmetic {
            Arithmetic::Exact => &self.exact,
            Arithmetic::F32(_) => &self.in_f32,
        };
        let network = &self.model.network;
        place.get_or_init(|| {
            LinearBounds::new(network, &self.set, Above::Envelopes, arithmetic, budget)
        })
    }

    /// Searches for the input closest to fooling the model into `target`, bounds how close any input can come, and judges.
    ///
    /// # Errors
    /// When the judge cannot run the model.
    pub fn attack(&self, target: Label, budget: &Budget) -> Result<Answer, VerifyError> {
        let Self { sample, attack, .. } = self;
        let (query, judge, case) = (self.query(target), self.the_judge(), self.case(target));
        let seed = item_seed(attack.search.seed, sample.index, target);
        let options = SearchOptions { seed, ..attack.search };
        let fools = |candidate: &Candidate| {
            candidate.margin > 0.0
                && judge.judge(&case, &candidate.point).is_ok_and(|j| j.witness().is_some())
        };
        let at_root = match attack.goal {
            Goal::Optimum => self.optimum(&query, &options, budget),
            Goal::Verdict => self.decide(&query, &options, budget, &fools),
        };
        let (Root { found, bounds, stop }, tree) = match attack.branch {
            Some(branch) => self.divide(&query, at_root, branch, budget, &fools),
            None => (at_root, Tree::default()),
        };
        let judged = judge.judge(&case, &found.best.point)?;
        let picture = match judged.witness() {
            Some(witness) => self.picture(target, witness)?,
            None => None,
        };
        let verdict = judged.verdict(&bounds)?;
        let bound = bounds.into_iter().min_by(|a, b| a.value().total_cmp(&b.value()));
        Ok(Answer { verdict, judged, bound, picture, found, tree, stop, seed })
    }

    /// Writes the problem as a MILP for other solvers. The columns `up_7` and `down_7` are how far pixel 7 is moved from the image.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_milp(&self, target: Label, path: &Path, budget: &Budget) -> Result<(), LpError> {
        let query = self.query(target);
        let neurons = self.bounds(Arithmetic::Exact, budget).neurons();
        Relaxation::for_milp(&query, neurons).write_milp(path, 0.0)
    }

    /// Whether a bound that holds in f32 proves that no point of the set fools the model into `target`.
    pub fn excludes(&self, target: Label, budget: &Budget) -> bool {
        let bound = self.certify_sign(&self.query(target), budget);
        bound.holds_in_f32() && bound.value() < 0.0
    }

    /// The cheap attack alone, judged: one climb, from the image or from the point of the set nearest to `start`.
    ///
    /// # Errors
    /// When the judge cannot run the model.
    pub fn climb(
        &self,
        target: Label,
        start: Option<&[f64]>,
        budget: &Budget,
    ) -> Result<Judged, JudgeError> {
        let query = self.query(target);
        let mut trace = Trace::new(query.network);
        let start = start.map_or_else(|| self.set.centre().to_vec(), |x| self.set.project(x));
        let start = query.evaluate(start, &mut trace);
        self.judge(target, &ascend_from(&query, start, &mut trace, budget).point)
    }

    /// How a point fares once it is stored.
    ///
    /// # Errors
    /// When the point makes no sense, or the judge cannot run the model.
    pub fn judge(&self, target: Label, point: &[f64]) -> Result<Judged, JudgeError> {
        self.the_judge().judge(&self.case(target), point)
    }

    /// A witness as an 8-bit picture, if the model looks at pictures and there is one in the set.
    ///
    /// # Errors
    /// When the judge cannot run the model.
    pub fn picture(
        &self,
        target: Label,
        witness: &Witness,
    ) -> Result<Option<EightBit>, JudgeError> {
        if PictureLayout::from_dims(&self.model.input_dims).is_none() {
            return Ok(None);
        }
        self.the_judge().eight_bit(&self.case(target), witness.point())
    }

    fn query(&self, target: Label) -> Query<'m> {
        Query::margin(&self.model.network, self.set.clone(), self.predicted, target)
    }

    fn the_judge(&self) -> Judge<'m, Replay> {
        Judge::new(&self.model.network, &self.model.replay)
    }

    fn case(&self, target: Label) -> Case<'m> {
        let Attack { norm, delta, .. } = self.attack;
        Case { original: &self.sample.pixels, norm, delta, predicted: self.predicted, target }
    }

    /// The smallest bound, then the largest margin; a bound below zero once more for f32.
    fn optimum(&self, query: &Query, options: &SearchOptions, budget: &Budget) -> Root {
        let ascended = self.ascends().then(|| ascend(query, budget));
        let linear = self.bounds(Arithmetic::Exact, &budget.half());
        // A bound that meets the margin need not be lower.
        let known = ascended.as_ref().map_or(f64::NEG_INFINITY, |found| found.best.margin);
        let effort = Effort { enough: known + 0.5 * OPTIMAL_GAP, ..Effort::default() };
        let mut bounds = vec![linear.certify(&query.objective, &effort, &budget.half())];
        if bounds[0].value() < 0.0 {
            bounds.push(self.certify_sign(query, &budget.half()));
        }
        let optimal = bounds[0].value() - OPTIMAL_GAP;
        let found = search(query, &|| linear.neurons(), options, budget, |better| {
            if better.margin > optimal { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let stop = Stop::of(found.stop, Stop::Optimal);
        Root { found: found.after(ascended), bounds, stop }
    }

    /// Whether a first climb of our own comes before the search: other methods are to show what they find themselves.
    fn ascends(&self) -> bool {
        self.attack.search.method == Method::Rw
    }

    /// Cheap attack, bound, search: whichever decides first.
    fn decide(
        &self,
        query: &Query,
        options: &SearchOptions,
        budget: &Budget,
        fools: &dyn Fn(&Candidate) -> bool,
    ) -> Root {
        let ascended = self.ascends().then(|| ascend(query, budget));
        if let Some(found) = ascended.clone().filter(|found| fools(&found.best)) {
            return Root { found, bounds: Vec::new(), stop: Stop::First };
        }
        let bound = self.certify_sign(query, &budget.half());
        if bound.value() < 0.0 {
            let found = ascended.unwrap_or_else(|| ascend(query, budget));
            return Root { found, bounds: vec![bound], stop: Stop::Robust };
        }
        let in_f32 = self.bounds(Arithmetic::F32(&self.model.roundings), budget);
        let found = search(query, &|| in_f32.neurons(), options, budget, |better| {
            if fools(better) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let stop = Stop::of(found.stop, Stop::First);
        Root { found: found.after(ascended), bounds: vec![bound], stop }
    }

    /// Divides the set where its bounds have not decided: first for the sign, in f32, then, if the optimum is wanted, for the gap.
    fn divide(
        &self,
        query: &Query,
        root: Root,
        branch: Branch,
        budget: &Budget,
        fools: &dyn Fn(&Candidate) -> bool,
    ) -> (Root, Tree) {
        let Root { mut found, mut bounds, mut stop } = root;
        let mut tree = Tree::default();
        let finished = [Stop::First, Stop::Robust, Stop::Optimal, Stop::Time, Stop::Interrupted];
        if finished.contains(&stop) {
            return (Root { found, bounds, stop }, tree);
        }
        let go = |arithmetic, root, until, found: &mut Found, tree: &mut Tree| {
            let options =
                BranchOptions { nodes: branch.nodes - tree.nodes.min(branch.nodes), until };
            let best = found.best.clone();
            let enough = |better: &Candidate| match until {
                Until::Below(_) if fools(better) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            let branched =
                branch_and_bound(query, arithmetic, root, best, &options, budget, enough);
            found.improve(&branched.best, budget.elapsed());
            *tree = tree.with(&branched);
            branched
        };
        let of_sign = bounds.iter().copied().find(|bound| bound.holds_in_f32());
        let is_robust = of_sign.is_some_and(|bound| bound.value() < 0.0);
        if !is_robust && !fools(&found.best) {
            let root = of_sign.unwrap_or_else(|| self.certify_sign(query, &budget.half()));
            let in_f32 = Arithmetic::F32(&self.model.roundings);
            let branched = go(in_f32, root, Until::Below(0.0), &mut found, &mut tree);
            bounds.push(branched.bound);
            stop = Stop::of_tree(branched.stop, Stop::Robust);
        }
        if self.attack.goal == Goal::Optimum && ![Stop::Time, Stop::Interrupted].contains(&stop) {
            let gap = Until::Gap(branch.gap);
            let lowest = bounds.iter().copied().reduce(CertifiedBound::or_lower);
            if let Some(root) = lowest {
                let branched = go(Arithmetic::Exact, root, gap, &mut found, &mut tree);
                bounds.push(branched.bound);
                stop = Stop::of_tree(branched.stop, Stop::Optimal);
            }
        }
        (Root { found, bounds, stop }, tree)
    }

    /// A bound that holds in f32, no lower than it takes to be below zero.
    fn certify_sign(&self, query: &Query, budget: &Budget) -> CertifiedBound {
        let effort = Effort { enough: 0.0, ..Effort::default() };
        let linear = self.bounds(Arithmetic::F32(&self.model.roundings), budget);
        linear.certify(&query.objective, &effort, budget)
    }
}

/// What is known of the whole set.
struct Root {
    found: Found,
    bounds: Vec<CertifiedBound>,
    stop: Stop,
}

/// Below this gap a margin counts as optimal.
pub const OPTIMAL_GAP: f64 = 1e-6;

/// A seed of its own for every image and target, whoever searches them and in whatever order (SplitMix64).
fn item_seed(seed: u64, image: usize, target: Label) -> u64 {
    [image as u64, target.0 as u64].iter().fold(seed, |state, part| {
        let mut z = state.wrapping_add(*part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// The places of the largest and second largest value; of equals, the first. `None` below two values.
fn best_two(values: &[f32]) -> Option<(usize, usize)> {
    let largest = |skip: Option<usize>| {
        let places = (0..values.len()).filter(|&i| Some(i) != skip);
        places.reduce(|best, i| if values[i] > values[best] { i } else { best })
    };
    let first = largest(None)?;
    Some((first, largest(Some(first))?))
}

#[cfg(test)]
mod tests {
    use super::best_two;

    #[test]
    fn of_equals_the_first_wins() {
        assert_eq!(best_two(&[1.0, 3.0, 2.0]), Some((1, 2)));
        assert_eq!(best_two(&[2.0, 2.0, 2.0]), Some((0, 1)));
        assert_eq!(best_two(&[-1.0, -2.0]), Some((0, 1)));
        assert_eq!(best_two(&[1.0]), None);
        assert_eq!(best_two(&[]), None);
    }
}
