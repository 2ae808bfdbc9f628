//! Property files: is there an input that gives outputs as the file describes them?
//!
//! `sat` comes with an input, stored in `f32` and replayed in the ONNX file, that keeps every condition of the file to the letter. `unsat` is
//! proven, for the network as a function and for the file's own `f32` run. All else is unknown.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::encode::{EncodeError, interior_point};
use crate::judge::{Judge, JudgeError, Judgement, Verdict};
use crate::observer::Observer;
use crate::onnx::OnnxModel;
use crate::problem::{Objective, PropertyRow};
use crate::proof::{BoxTreeProof, CaseStatement};
use crate::sets::{Constraint, Domain, InputSet};
use crate::solve::{Decision, Goal, Solution, SolveError, SolveOptions, Solver, Stop};
use crate::tolerance;
use crate::vnnlib::{InputCase, NetworkDeclaration, VnnlibQuery};

/// A model, and what a property file asks of it.
pub struct Verification {
    judge: Judge,
    query: VnnlibQuery,
    options: SolveOptions,
}

/// The answer, in the words of VNN-COMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerifyResult {
    /// There is a counterexample.
    Sat,
    /// There is none: proven.
    Unsat,
    /// Neither was found out.
    Unknown,
    /// Neither was found out within the time.
    Timeout,
}

impl VerifyResult {
    /// The name in records and result files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sat => "sat",
            Self::Unsat => "unsat",
            Self::Unknown => "unknown",
            Self::Timeout => "timeout",
        }
    }
}

/// An input that has what the file describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counterexample {
    /// The input.
    pub inputs: Vec<f32>,
    /// The outputs that the ONNX file gives for it.
    pub outputs: Vec<f32>,
}

/// The answer to a property file, and what it took.
#[derive(Clone, Debug)]
pub struct VerifyAnswer {
    /// The answer.
    pub result: VerifyResult,
    /// The counterexample, if there is one.
    pub counterexample: Option<Counterexample>,
    /// The network as a file in VNN-LIB 2.0 declares it.
    pub network: Option<NetworkDeclaration>,
    /// Sets of inputs that the file speaks of.
    pub cases: usize,
    /// Conjunctions over them.
    pub conjunctions: usize,
    /// Those that are proven to be impossible.
    pub excluded: usize,
    /// No input gives the smallest row of a conjunction a larger value: proven. None if there is a conjunction without a bound.
    pub bound: Option<f64>,
    /// Parts of the sets bounded.
    pub nodes: usize,
    /// Starts of searches.
    pub starts: usize,
    /// LPs solved.
    pub lps: usize,
    /// Why work ended.
    pub stop: Stop,
    /// What proves that there is no counterexample, if that is so and was to be kept: of each case what is shown, and why.
    pub proof: Option<Vec<(CaseStatement, BoxTreeProof)>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The property is about another network.
    #[error("the property has {property} {what}, the model has {model}")]
    Size {
        /// `inputs` or `outputs`.
        what: &'static str,
        /// How many the property has.
        property: usize,
        /// How many the model has.
        model: usize,
    },
    /// The outputs are not the network's.
    #[error(
        "the model ends in {op}, of which only the order of outputs is kept: comparisons of two outputs are supported, thresholds and sums are not"
    )]
    NotOrder {
        /// The operator that was cut off.
        op: String,
    },
    /// The output is a label.
    #[error("the model ends in {op}: its output is not a number that a property can be about")]
    Label {
        /// The operator that was cut off.
        op: String,
    },
    /// The pipeline gave none.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

impl From<JudgeError> for VerifyError {
    fn from(error: JudgeError) -> Self {
        Self::Solve(error.into())
    }
}

impl Verification {
    /// States the problem.
    ///
    /// # Errors
    /// When the property is about another network, or about values that the model's last operator changes.
    pub fn new(
        model: &OnnxModel,
        query: VnnlibQuery,
        options: &SolveOptions,
    ) -> Result<Self, VerifyError> {
        check_final_ops(&model.final_ops, &query)?;
        let judge = Judge::new(Arc::clone(&model.network), model.replay.clone());
        Self::of_judge(judge, query, options)
    }

    /// The same for a network and whoever replays it.
    ///
    /// # Errors
    /// When the property is about another network.
    pub fn of_judge(
        judge: Judge,
        query: VnnlibQuery,
        options: &SolveOptions,
    ) -> Result<Self, VerifyError> {
        let network = judge.network();
        for (what, property, model) in [
            ("inputs", query.inputs(), network.inputs()),
            ("outputs", query.outputs(), network.outputs()),
        ] {
            if property != model {
                return Err(VerifyError::Size { what, property, model });
            }
        }
        let options = SolveOptions { goal: Goal::Verdict, threshold: None, ..*options };
        Ok(Self { judge, query, options })
    }

    /// What is asked.
    pub fn query(&self) -> &VnnlibQuery {
        &self.query
    }

    /// Decides case by case, until one has a counterexample. Each gets its share of the time; where that was not enough, another one of
    /// what the others have left.
    ///
    /// # Errors
    /// When the file cannot be run, or a point contradicts a bound.
    pub fn solve(
        &self,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<VerifyAnswer, VerifyError> {
        let cases = self.query.case_count();
        let mut of_cases: Vec<CaseAnswer> = (0..cases).map(|_| CaseAnswer::default()).collect();
        let mut open: Vec<usize> = (0..cases).collect();
        let mut witness = None;
        while !open.is_empty() && witness.is_none() {
            for (done, &case) in open.iter().enumerate() {
                let share = budget.share(open.len() - done);
                let judgement = self.solve_case(case, &mut of_cases[case], &share, observer)?;
                if let Some(found) = judgement.as_ref().and_then(Judgement::witness) {
                    witness = Some(found.point().values().to_vec());
                    break;
                }
            }
            if budget.is_spent() {
                break;
            }
            open.retain(|&case| of_cases[case].is_short_of_time());
        }
        let counterexample = witness.map(|inputs| self.counterexample(inputs)).transpose()?;
        let network = self.query.network().cloned();
        let answer = VerifyAnswer::of_cases(&of_cases, counterexample, budget);
        let is_kept = self.options.proofs && answer.result == VerifyResult::Unsat;
        let proof = if is_kept { self.proof(of_cases) } else { None };
        Ok(VerifyAnswer { network, proof, ..answer })
    }

    /// What proves that no case has a counterexample, if there is a proof of each.
    fn proof(&self, of_cases: Vec<CaseAnswer>) -> Option<Vec<(CaseStatement, BoxTreeProof)>> {
        let proven = |(case, answer): (usize, CaseAnswer)| {
            let InputCase { domain, property } = self.query.case(case);
            Some((CaseStatement::new(&domain, &property)?, answer.tree?))
        };
        of_cases.into_iter().enumerate().map(proven).collect()
    }

    /// What a proof would state: the cases of the file. `None` if a set is no box.
    pub fn statement(query: &VnnlibQuery) -> Option<Vec<CaseStatement>> {
        let case = |case: usize| {
            let InputCase { domain, property } = query.case(case);
            CaseStatement::new(&domain, &property)
        };
        (0..query.case_count()).map(case).collect()
    }

    fn counterexample(&self, inputs: Vec<f32>) -> Result<Counterexample, VerifyError> {
        Ok(Counterexample { outputs: self.judge.replay(&inputs)?, inputs })
    }

    /// Decides one case; the judgement of its best point, if there is one.
    fn solve_case(
        &self,
        case: usize,
        known: &mut CaseAnswer,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Option<Judgement>, VerifyError> {
        let InputCase { domain, property } = self.query.case(case);
        known.conjunctions = property.any_of.len();
        let set = match input_set(&domain, budget) {
            Ok(Some(set)) => set,
            Ok(None) => {
                known.settle(Verdict::Robust, Stop::Robust);
                return Ok(None);
            }
            Err(stop) => {
                known.settle(Verdict::Unknown, stop);
                return Ok(None);
            }
        };
        let solver = Solver::new(self.judge.clone(), set, &self.options);
        let seed = self.options.search.seed;
        let mut decision = solver.decide(&property, seed, budget, observer)?;
        known.add(&decision);
        known.tree = decision.tree.take();
        Ok(Some(decision.judgement))
    }
}

/// The set of a domain. `None` if it is empty: proven. A stop if neither it nor that is found.
fn input_set(domain: &Domain, budget: &Budget) -> Result<Option<InputSet>, Stop> {
    if domain.constraints.is_empty() {
        return Ok(Some(InputSet::new_box(&domain.lower, &domain.upper)));
    }
    if domain.constraints.iter().any(|constraint| is_out_of_reach(domain, constraint)) {
        return Ok(None);
    }
    match interior_point(domain, budget) {
        Ok(centre) => Ok(Some(InputSet::of_domain(domain, centre))),
        Err(EncodeError::Budget) if budget.is_cancelled() => Err(Stop::Interrupted),
        Err(EncodeError::Budget) => Err(Stop::Time),
        // An LP that is called infeasible is no proof.
        Err(_) => Err(Stop::Trouble),
    }
}

/// Whether no point of the box keeps a constraint, by far more than rounding.
fn is_out_of_reach(domain: &Domain, constraint: &Constraint) -> bool {
    let (mut least, mut most, mut size) = (0.0, 0.0, 0.0);
    for &(input, weight) in constraint.terms() {
        let sides = [weight * domain.lower[input], weight * domain.upper[input]];
        least += sides[0].min(sides[1]);
        most += sides[0].max(sides[1]);
        size += sides[0].abs().max(sides[1].abs());
    }
    let off = tolerance::CONSTRAINT * (1.0 + size);
    least > constraint.upper() + off || most < constraint.lower() - off
}

/// Only what the cut off operators keep may be asked.
fn check_final_ops(final_ops: &[String], query: &VnnlibQuery) -> Result<(), VerifyError> {
    if let Some(op) = final_ops.iter().find(|op| *op == "ArgMax") {
        return Err(VerifyError::Label { op: op.clone() });
    }
    let Some(op) = final_ops.first() else { return Ok(()) };
    for case in 0..query.case_count() {
        let rows = query.case(case).property.any_of.into_iter().flat_map(|all| all.all_of);
        if !rows.into_iter().all(|row| compares_two_outputs(&row)) {
            return Err(VerifyError::NotOrder { op: op.clone() });
        }
    }
    Ok(())
}

/// Whether a row is a multiple of the difference of two outputs.
fn compares_two_outputs(row: &PropertyRow) -> bool {
    let Objective { weights, constant } = &row.objective;
    let counted: Vec<f64> = weights.iter().copied().filter(|weight| *weight != 0.0).collect();
    *constant == 0.0 && row.slack == 0.0 && matches!(counted[..], [a, b] if a == -b)
}

/// What is known about one case.
#[derive(Debug, Default)]
struct CaseAnswer {
    /// None until it is looked at.
    verdict: Option<(Verdict, Stop)>,
    conjunctions: usize,
    excluded: usize,
    bound: Option<f64>,
    nodes: usize,
    starts: usize,
    lps: usize,
    tree: Option<BoxTreeProof>,
}

impl CaseAnswer {
    fn settle(&mut self, verdict: Verdict, stop: Stop) {
        self.verdict = Some((verdict, stop));
        if verdict == Verdict::Robust {
            (self.excluded, self.bound) = (self.conjunctions, Some(f64::NEG_INFINITY));
        }
    }

    fn add(&mut self, decision: &Decision) {
        let solutions = &decision.solutions;
        self.verdict = Some((decision.verdict, decision.stop));
        let is_robust = |s: &&Solution| s.verdict == Some(Verdict::Robust);
        self.excluded = self.excluded.max(solutions.iter().filter(is_robust).count());
        let bounds: Option<Vec<f64>> =
            solutions.iter().map(|s| s.bound.map(|bound| bound.value())).collect();
        let all = bounds.filter(|bounds| bounds.len() == self.conjunctions);
        self.bound = all.map(|bounds| bounds.into_iter().fold(f64::NEG_INFINITY, f64::max));
        for solution in solutions {
            self.nodes += solution.tree.nodes;
            self.starts += solution.search.starts;
            self.lps += solution.search.work.lps;
        }
    }

    fn is_short_of_time(&self) -> bool {
        self.verdict.is_none_or(|(verdict, stop)| verdict == Verdict::Unknown && stop == Stop::Time)
    }
}

impl VerifyAnswer {
    fn of_cases(
        cases: &[CaseAnswer],
        counterexample: Option<Counterexample>,
        budget: &Budget,
    ) -> Self {
        let sum = |count: fn(&CaseAnswer) -> usize| cases.iter().map(count).sum();
        let is_robust = |case: &CaseAnswer| matches!(case.verdict, Some((Verdict::Robust, _)));
        let open = cases.iter().find(|case| !is_robust(case));
        let bounds: Option<Vec<f64>> = cases.iter().map(|case| case.bound).collect();
        let (result, stop) = match (&counterexample, open) {
            (Some(_), _) => (VerifyResult::Sat, Stop::First),
            (None, None) => (VerifyResult::Unsat, Stop::Robust),
            _ if budget.is_cancelled() => (VerifyResult::Unknown, Stop::Interrupted),
            _ if budget.is_spent() => (VerifyResult::Timeout, Stop::Time),
            (None, Some(case)) => {
                let stop = case.verdict.map_or(Stop::NoGain, |(_, stop)| stop);
                (VerifyResult::Unknown, stop)
            }
        };
        Self {
            result,
            counterexample,
            network: None,
            cases: cases.len(),
            conjunctions: sum(|case| case.conjunctions),
            excluded: sum(|case| case.excluded),
            bound: bounds.map(|bounds| bounds.into_iter().fold(f64::NEG_INFINITY, f64::max)),
            nodes: sum(|case| case.nodes),
            starts: sum(|case| case.starts),
            lps: sum(|case| case.lps),
            stop,
            proof: None,
        }
    }
}
