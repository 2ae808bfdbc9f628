//! The pipeline for one image and its targets: bounds, search, judge.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds::{Arithmetic, BoundEffort, CertifiedBound, LinearBounds, UpperRelaxation};
use crate::branch::{
    BranchOptions, BranchResult, BranchStop, FEW, ProvenBound, TreeEvent, Until, branch_and_bound,
};
use crate::budget::Budget;
use crate::data::{PictureLayout, Sample};
use crate::encode::{Milp, MilpWriteError};
use crate::judge::{Case, Contradiction, EightBit, Judge, JudgeError, Judgement, Verdict, Witness};
use crate::network::{Label, Trace};
use crate::observer::{Observer, TreeState};
use crate::onnx::{OnnxModel, ReplayError, TractRunner};
use crate::problem::{Candidate, Problem};
use crate::proof::Claim;
use crate::search::{Method, SearchOptions, SearchResult, SearchStop, ascend, ascend_from, search};
use crate::sets::{InputSet, Norm, PixelRange};

/// Who wins at an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
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
pub fn classify(model: &OnnxModel, sample: &Sample) -> Result<Classification, ClassifyError> {
    let theirs = model.replay.logits(&sample.pixels)?;
    let (predicted, runner_up) = best_two(&theirs).ok_or(ClassifyError::OneOutput)?;
    Ok(Classification { predicted: Label(predicted), runner_up: Label(runner_up) })
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
    /// Whether to keep what proves the bounds.
    pub proofs: bool,
}

/// How far to divide the set.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Parts bounded at most.
    pub nodes: usize,
    /// Below this gap a margin counts as optimal.
    pub gap: f64,
    /// Whether parts are bounded on all threads: good where there are fewer problems than threads. Otherwise a thread that waits would begin
    /// another problem, and the clock of this one would run on.
    pub parallel: bool,
}

impl Attack {
    /// The best adversary and the smallest bound within an L1 distance, searched as usual.
    pub fn within(delta: f64) -> Self {
        let search = SearchOptions::default();
        let (goal, branch, proofs) = (Goal::Optimum, None, false);
        Self { delta, norm: Norm::L1, search, goal, branch, proofs }
    }

    /// Below this gap a margin counts as optimal.
    pub fn gap(&self) -> f64 {
        self.branch.map_or(OPTIMAL_GAP, |branch| branch.gap)
    }

    /// Where inputs may lie around a sample.
    fn set(&self, sample: &Sample) -> InputSet {
        InputSet::ball(self.norm, &sample.pixels, self.delta, PixelRange::UNIT)
    }
}

/// When an answer is good enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// The largest margin and the smallest bound.
    #[default]
    Optimum,
    /// One adversary, or a bound below zero.
    Verdict,
}

/// Why work on an image and target ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

    /// Whether there is a reason, and time, to divide the set.
    pub(crate) fn may_divide(self) -> bool {
        let finished = [Self::First, Self::Robust, Self::Optimal, Self::Time, Self::Interrupted];
        !finished.contains(&self)
    }

    /// Why dividing ended that was to show `proven`.
    pub(crate) fn of_tree(tree: BranchStop, proven: Self) -> Self {
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
    pub judged: Judgement,
    /// No point of the set has a larger margin. None when bounding was not needed.
    pub bound: Option<CertifiedBound>,
    /// The 8-bit picture of an adversarial point.
    pub picture: Option<EightBit>,
    /// What the search did.
    pub found: SearchResult,
    /// What dividing the set did.
    pub tree: TreeSummary,
    /// What proves the bounds, if that was to be kept: at most one claim in exact arithmetic and one in f32.
    pub claims: Vec<Claim>,
    /// Why work ended.
    pub stop: Stop,
    /// The seed of this image and target.
    pub seed: u64,
}

/// How the set was divided: not at all, by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeSummary {
    /// Parts bounded.
    pub nodes: usize,
    /// Divisions one after the other, at most.
    pub depth: usize,
    /// Parts that were still to be divided.
    pub open: usize,
    /// Time spent on all that.
    pub time: Duration,
    /// When which bound was reached, from the start of the work on this image and target.
    pub trace: Vec<(Duration, f64)>,
}

impl TreeSummary {
    pub(crate) fn add(&mut self, branched: &BranchResult, time: Duration) {
        self.time += time;
        self.nodes += branched.nodes;
        self.depth = self.depth.max(branched.depth);
        self.open += branched.open;
        self.trace.extend(&branched.trace);
    }

    /// The trace for records.
    pub fn seconds_and_bounds(&self) -> Vec<(f64, f64)> {
        self.trace.iter().map(|&(at, bound)| (at.as_secs_f64(), bound)).collect()
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
    exact: OnceLock<Arc<LinearBounds>>,
    in_f32: OnceLock<Arc<LinearBounds>>,
    observer: Option<&'m dyn Observer>,
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
        Self { model, sample, predicted, attack: *attack, set, exact, in_f32, observer: None }
    }

    /// The same, with somebody who hears of every improvement.
    pub fn observed_by(self, observer: &'m dyn Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    fn tell(&self, better: &Candidate) {
        self.observer.inspect(|observer| observer.better(better));
    }

    fn tell_division(&self, state: &TreeState) {
        self.observer.inspect(|observer| observer.divided(state));
    }

    fn tell_bounds(&self, bounds: &[ProvenBound]) {
        self.observer
            .inspect(|observer| bounds.iter().for_each(|one| observer.bounded(&one.bound)));
    }

    fn bounds(&self, arithmetic: Arithmetic, budget: &Budget) -> &Arc<LinearBounds> {
        let place = match arithmetic {
            Arithmetic::Exact => &self.exact,
            Arithmetic::F32 => &self.in_f32,
        };
        let network = &self.model.network;
        let new =
            if self.attack.branch.is_some() { LinearBounds::divisible } else { LinearBounds::new };
        place.get_or_init(|| {
            Arc::new(new(network, &self.set, UpperRelaxation::Envelopes, arithmetic, budget))
        })
    }

    /// Searches for the input closest to fooling the model into `target`, bounds how close any input can come, and judges.
    ///
    /// # Errors
    /// When the judge cannot run the model.
    pub fn attack(&self, target: Label, budget: &Budget) -> Result<Answer, VerifyError> {
        let Self { sample, attack, .. } = self;
        let (problem, judge, case) = (self.problem(target), self.the_judge(), self.case(target));
        let seed = item_seed(attack.search.seed, sample.index, target);
        let options = SearchOptions { seed, ..attack.search };
        let fools = |candidate: &Candidate| {
            candidate.margin > 0.0
                && judge.judge(&case, &candidate.point).is_ok_and(|j| j.witness().is_some())
        };
        let at_root = match attack.goal {
            Goal::Optimum => self.optimum(&problem, &options, budget),
            Goal::Verdict => self.decide(&problem, &options, budget, &fools),
        };
        let (root, tree) = match attack.branch {
            Some(branch) => self.divide(&problem, at_root, branch, budget, &fools),
            None => (at_root, TreeSummary::default()),
        };
        let judged = judge.judge(&case, &root.found.best.point)?;
        let picture = match judged.witness() {
            Some(witness) => self.picture(target, witness)?,
            None => None,
        };
        let bounds = root.bounds();
        let verdict = judged.verdict(&bounds)?;
        let bound = bounds.into_iter().min_by(|a, b| a.value().total_cmp(&b.value()));
        let (found, stop, claims) = (root.found.clone(), root.stop, root.claims());
        Ok(Answer { verdict, judged, bound, picture, found, tree, claims, stop, seed })
    }

    /// Writes the problem as a MILP for other solvers. The columns `up_7` and `down_7` are how far pixel 7 is moved from the image.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_milp(
        &self,
        target: Label,
        path: &Path,
        budget: &Budget,
    ) -> Result<(), MilpWriteError> {
        let problem = self.problem(target);
        let neurons = self.bounds(Arithmetic::Exact, budget).neurons();
        Milp::new(&problem, neurons).write(path, 0.0)
    }

    /// Whether a bound that holds in f32 proves that no point of the set fools the model into `target`.
    pub fn excludes(&self, target: Label, budget: &Budget) -> bool {
        let bound = self.certify_sign(&self.problem(target), budget).bound;
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
    ) -> Result<Judgement, JudgeError> {
        let problem = self.problem(target);
        let mut trace = Trace::new(&problem.network);
        let start = start.map_or_else(|| self.set.centre().to_vec(), |x| self.set.project(x));
        let start = problem.evaluate(start, &mut trace);
        self.judge(target, &ascend_from(&problem, start, &mut trace, budget).point)
    }

    /// How a point fares once it is stored.
    ///
    /// # Errors
    /// When the point makes no sense, or the judge cannot run the model.
    pub fn judge(&self, target: Label, point: &[f64]) -> Result<Judgement, JudgeError> {
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

    fn problem(&self, target: Label) -> Problem {
        Problem::margin(&self.model.network, self.set.clone(), self.predicted, target)
    }

    fn the_judge(&self) -> Judge<'m, TractRunner> {
        Judge::new(&self.model.network, &self.model.replay)
    }

    fn case(&self, target: Label) -> Case<'m> {
        let Attack { norm, delta, .. } = self.attack;
        Case { original: &self.sample.pixels, norm, delta, predicted: self.predicted, target }
    }

    /// The smallest bound, then the largest margin; a bound below zero once more for f32.
    fn optimum(&self, problem: &Problem, options: &SearchOptions, budget: &Budget) -> Root {
        let ascended = self.ascends().then(|| ascend(problem, budget));
        let linear = self.bounds(Arithmetic::Exact, &budget.half());
        // A bound that meets the margin need not be lower.
        let known = ascended.as_ref().map_or(f64::NEG_INFINITY, |found| found.best.margin);
        let effort = BoundEffort { enough: known + 0.5 * OPTIMAL_GAP, ..BoundEffort::default() };
        let proof = linear.prove(problem.weights(), &effort, &budget.half());
        let mut bounds = vec![ProvenBound::of_whole(&proof, self.attack.proofs)];
        if proof.bound.value() < 0.0 {
            bounds.push(self.certify_sign(problem, &budget.half()));
        }
        let optimal = proof.bound.value() - OPTIMAL_GAP;
        self.tell_bounds(&bounds);
        let found = search(problem, &|| linear.neurons(), options, budget, |better| {
            self.tell(better);
            if better.margin > optimal { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let stop = Stop::of(found.stop, Stop::Optimal);
        Root::new(found.after(ascended), bounds, stop)
    }

    /// Whether a first climb of our own comes before the search: other methods are to show what they find themselves.
    fn ascends(&self) -> bool {
        self.attack.search.method == Method::Rw
    }

    /// Cheap attack, bound, search: whichever decides first.
    fn decide(
        &self,
        problem: &Problem,
        options: &SearchOptions,
        budget: &Budget,
        fools: &dyn Fn(&Candidate) -> bool,
    ) -> Root {
        let ascended = self.ascends().then(|| ascend(problem, budget));
        if let Some(found) = ascended.clone().filter(|found| fools(&found.best)) {
            self.tell(&found.best);
            return Root::new(found, Vec::new(), Stop::First);
        }
        let bound = self.certify_sign(problem, &budget.half());
        self.tell_bounds(std::slice::from_ref(&bound));
        if bound.bound.value() < 0.0 {
            let found = ascended.unwrap_or_else(|| ascend(problem, budget));
            return Root::new(found, vec![bound], Stop::Robust);
        }
        let in_f32 = self.bounds(Arithmetic::F32, budget);
        let found = search(problem, &|| in_f32.neurons(), options, budget, |better| {
            self.tell(better);
            if fools(better) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let stop = Stop::of(found.stop, Stop::First);
        Root::new(found.after(ascended), vec![bound], stop)
    }

    /// Divides the set where its bounds have not decided: first for the sign, in f32, then, if the optimum is wanted, for the gap.
    fn divide(
        &self,
        problem: &Problem,
        mut root: Root,
        branch: Branch,
        budget: &Budget,
        fools: &dyn Fn(&Candidate) -> bool,
    ) -> (Root, TreeSummary) {
        let mut tree = TreeSummary::default();
        if !root.stop.may_divide() {
            return (root, tree);
        }
        let mut go = |root: &mut Root, arithmetic, whole, until, proven| {
            let nodes = branch.nodes - tree.nodes.min(branch.nodes);
            let keep = self.attack.proofs;
            let options = BranchOptions { nodes, until, keep, few: FEW, parallel: branch.parallel };
            let best = root.found.best.clone();
            let watch = |event: TreeEvent| {
                match event {
                    TreeEvent::Better(better) => self.tell(better),
                    TreeEvent::Divided(state) => self.tell_division(&state),
                }
                match (until, event) {
                    (Until::Below(_), TreeEvent::Better(better)) if fools(better) => {
                        ControlFlow::Break(())
                    }
                    _ => ControlFlow::Continue(()),
                }
            };
            let begun = budget.elapsed();
            let linear = self.bounds(arithmetic, &budget.half());
            let branched = branch_and_bound(problem, linear, whole, best, &options, budget, watch);
            tree.add(&branched, budget.elapsed() - begun);
            root.stop = Stop::of_tree(branched.stop, proven);
            root.add(branched, budget);
        };
        let of_sign = root.whole.iter().find(|proven| proven.bound.holds_in_f32()).cloned();
        let is_robust = of_sign.as_ref().is_some_and(|proven| proven.bound.value() < 0.0);
        if !is_robust && !fools(&root.found.best) {
            let whole = of_sign.unwrap_or_else(|| self.certify_sign(problem, &budget.half()));
            let in_f32 = Arithmetic::F32;
            go(&mut root, in_f32, whole, Until::Below(0.0), Stop::Robust);
        }
        let goes_on = ![Stop::Time, Stop::Interrupted].contains(&root.stop);
        if self.attack.goal == Goal::Optimum && goes_on {
            let exact = root.whole.iter().find(|proven| !proven.bound.holds_in_f32());
            if let Some(whole) = exact.cloned() {
                let gap = Until::Gap(branch.gap);
                go(&mut root, Arithmetic::Exact, whole, gap, Stop::Optimal);
            }
        }
        (root, tree)
    }

    /// A bound that holds in f32, no lower than it takes to be below zero.
    fn certify_sign(&self, problem: &Problem, budget: &Budget) -> ProvenBound {
        let effort = BoundEffort { enough: 0.0, ..BoundEffort::default() };
        let linear = self.bounds(Arithmetic::F32, budget);
        ProvenBound::of_whole(&linear.prove(problem.weights(), &effort, budget), self.attack.proofs)
    }
}

/// What is known of the whole set.
struct Root {
    found: SearchResult,
    /// By bounds of the whole set, at most one for each arithmetic.
    whole: Vec<ProvenBound>,
    /// By dividing it.
    divided: Vec<(CertifiedBound, Option<Claim>)>,
    stop: Stop,
}

impl Root {
    fn new(found: SearchResult, whole: Vec<ProvenBound>, stop: Stop) -> Self {
        Self { found, whole, divided: Vec::new(), stop }
    }

    fn add(&mut self, mut branched: BranchResult, budget: &Budget) {
        self.divided.push((branched.bound, branched.claim()));
        self.found.improve(&branched.best, budget.elapsed());
    }

    fn bounds(&self) -> Vec<CertifiedBound> {
        let divided = self.divided.iter().map(|(bound, _)| *bound);
        self.whole.iter().map(|proven| proven.bound).chain(divided).collect()
    }

    /// The lowest claim in exact arithmetic, and that in f32.
    fn claims(self) -> Vec<Claim> {
        let of_whole = self.whole.iter().filter_map(ProvenBound::claim);
        let all: Vec<Claim> =
            self.divided.into_iter().filter_map(|(_, claim)| claim).chain(of_whole).collect();
        let (in_f32, exact): (Vec<Claim>, Vec<Claim>) = all.into_iter().partition(|c| c.f32);
        let lowest =
            |claims: Vec<Claim>| claims.into_iter().min_by(|a, b| a.bound.total_cmp(&b.bound));
        [exact, in_f32].into_iter().filter_map(lowest).collect()
    }
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
