//! Networks with awkward numbers: no bound is below a value that is attained, no `robust` is false, every proof is accepted.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::attack::{Answer, Attack, ImageAttack, classify};
use rw_adv::bounds::Arithmetic;
use rw_adv::budget::Budget;
use rw_adv::data::Sample;
use rw_adv::judge::Verdict;
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::Problem;
use rw_adv::proof;
use rw_adv::search::SearchOptions;
use rw_adv::sets::Norm;
use rw_adv::solve::{BranchLimits, Goal};

use crate::network::{HuntedNetwork, Operation};
use crate::numbers::{Exact, exact, pixel};

/// Networks with more products are compared with tract alone: exact numbers grow long.
const MOST_EXACT_PRODUCTS: usize = 800;

/// How near to 0 the largest known margin is put.
const NEAR: [f64; 4] = [1e-7, 1e-9, 1e-12, 0.0];

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The file is refused, for this reason.
    Refused(Refusal),
    /// Nothing is wrong; the verdict.
    Fine(Verdict),
}

/// Why a file, or its image, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its numbers leave f32.
    Overflow,
    /// tract's run differs by more than rounding explains.
    Mismatch,
    /// Another reason.
    Other,
}

impl Refusal {
    fn of(said: &str) -> Self {
        match said {
            _ if said.contains("overflow") || said.contains("float32") => Self::Overflow,
            _ if said.contains("disagrees") => Self::Mismatch,
            _ => Self::Other,
        }
    }
}

/// Runs one case.
///
/// # Errors
/// What is wrong.
pub fn run(seed: u64, directory: &Path) -> Result<Outcome, String> {
    run_and_keep(seed, directory, None)
}

/// The same; `keep` is where the model and what was said of it go, for other programs to look at.
///
/// # Errors
/// What is wrong, or that a file cannot be written.
pub fn run_and_keep(seed: u64, directory: &Path, keep: Option<&Path>) -> Result<Outcome, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rng = &mut rng;
    let depth = rng.random_range(1..=6);
    let small = rng.random_bool(0.8);
    let widest = if small { 6 } else { 64 };
    let hidden: Vec<usize> = (0..depth).map(|_| rng.random_range(1..=widest)).collect();
    let inputs = rng.random_range(1..=if small { 5 } else { 30 });
    let outputs = rng.random_range(2..=4);
    let network = HuntedNetwork::draw(rng, inputs, outputs, &hidden);
    let image: Vec<f32> = (0..inputs).map(|_| pixel(rng)).collect();
    let case = Case::draw(rng, network, image);
    let kept = keep.map(|folder| folder.join(seed.to_string()));
    let (checked, best) = case.check(rng, directory, kept.as_deref())?;
    // Once more where the truth is just above 0: there must be no `robust`.
    if let Some(best) = best.filter(|_| case.is_exact()) {
        case.near_zero(&best, rng).map_or(Ok(()), |near| near.check_near(&best, directory))?;
    }
    Ok(checked)
}

struct Case {
    network: HuntedNetwork,
    image: Vec<f32>,
    attack: Attack,
    target: Label,
}

impl Case {
    fn draw(rng: &mut impl Rng, network: HuntedNetwork, image: Vec<f32>) -> Self {
        let norm = if rng.random_bool(0.7) { Norm::L1 } else { Norm::Linf };
        let most: f64 = if norm == Norm::L1 { image.len() as f64 } else { 1.0 };
        let delta = match rng.random_range(0..10) {
            0 => 1e-6,
            1 => most,
            _ => most * rng.random_range(0.001_f64..0.5).powi(2),
        };
        let search = SearchOptions { patience: 3, ..SearchOptions::default() };
        let goal = if rng.random_bool(0.5) { Goal::Optimum } else { Goal::Verdict };
        let limits = BranchLimits { nodes: 60, gap: 1e-6, parallel: false };
        let branch = rng.random_bool(0.5).then_some(limits);
        let attack = Attack { delta, norm, search, goal, branch, proofs: true };
        let target = Label(rng.random_range(0..network.outputs));
        Self { network, image, attack, target }
    }

    fn is_exact(&self) -> bool {
        self.network.products() <= MOST_EXACT_PRODUCTS
    }

    /// What became of it, and the best point found.
    fn check(
        &self,
        rng: &mut impl Rng,
        directory: &Path,
        keep: Option<&Path>,
    ) -> Result<(Outcome, Option<Vec<f32>>), String> {
        let (model, predicted) = match self.load(directory)? {
            Ok(loaded) => loaded,
            Err(refusal) => return Ok((Outcome::Refused(refusal), None)),
        };
        let target = self.target_from(predicted);
        let answer = self.answer(&model, predicted, target)?;
        let best = answer.solution.judgement.point().values().to_vec();
        let mut points: Vec<Vec<f32>> = (0..12).filter_map(|_| self.point(rng)).collect();
        points.extend([self.image.clone(), best.clone()]);
        for point in &points {
            self.compare(&model, [predicted, target], &answer, point)?;
        }
        self.check_proofs(&model, [predicted, target], &answer)?;
        if let Some(path) = keep {
            points.retain(|point| self.holds(point));
            self.keep(path, &model, [predicted, target], &answer, &points)?;
        }
        Ok((Outcome::Fine(answer.verdict), Some(best)))
    }

    /// Writes the model, and beside it what was said and what tract computes at some points of the set.
    fn keep(
        &self,
        path: &Path,
        model: &OnnxModel,
        [predicted, target]: [Label; 2],
        answer: &Answer,
        points: &[Vec<f32>],
    ) -> Result<(), String> {
        let logits: Result<Vec<_>, _> = points.iter().map(|x| model.replay.logits(x)).collect();
        let said = serde_json::json!({
            "predicted": predicted.0,
            "target": target.0,
            "verdict": answer.verdict.to_string(),
            "points": points,
            "logits": logits.map_err(|e| e.to_string())?,
        });
        fs::write(path.with_extension("onnx"), self.network.onnx())
            .and_then(|()| fs::write(path.with_extension("json"), said.to_string()))
            .map_err(|e| e.to_string())
    }

    fn target_from(&self, predicted: Label) -> Label {
        let other = Label((predicted.0 + 1) % self.network.outputs);
        if self.target == predicted { other } else { self.target }
    }

    fn load(&self, directory: &Path) -> Result<Result<(OnnxModel, Label), Refusal>, String> {
        let path = directory.join("model.onnx");
        fs::write(&path, self.network.onnx()).map_err(|e| e.to_string())?;
        let model = match OnnxModel::load(&path) {
            Ok(model) => model,
            Err(error) => return Ok(Err(Refusal::of(&error.to_string()))),
        };
        match classify(&model, &self.sample()) {
            Ok(labels) => Ok(Ok((model, labels.predicted))),
            Err(error) => Ok(Err(Refusal::of(&error.to_string()))),
        }
    }

    fn sample(&self) -> Sample {
        Sample { index: 0, name: None, pixels: self.image.clone(), label: None }
    }

    fn answer(&self, model: &OnnxModel, predicted: Label, target: Label) -> Result<Answer, String> {
        let image = ImageAttack::new(model, &self.sample(), predicted, &self.attack);
        let budget = Budget::start(Some(Duration::from_secs(20)), None);
        image.attack(target, &budget, &()).map_err(|error| error.to_string())
    }

    /// A point of the set, usually a far one.
    fn point(&self, rng: &mut impl Rng) -> Option<Vec<f32>> {
        let mut point = self.image.clone();
        let mut left = self.attack.delta;
        let share: f64 = if rng.random_bool(0.7) { 1.0 } else { rng.random_range(0.0..1.0) };
        for _ in 0..point.len() {
            let i = rng.random_range(0..point.len());
            let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
            let step = match self.attack.norm {
                Norm::L1 => left * share,
                Norm::Linf => self.attack.delta,
            };
            let moved = (f64::from(self.image[i]) + sign * step).clamp(0.0, 1.0) as f32;
            left -= (f64::from(moved) - f64::from(point[i])).abs();
            point[i] = moved;
            if left <= 0.0 {
                break;
            }
        }
        self.holds(&point).then_some(point)
    }

    /// Whether a point is in the set, exactly.
    fn holds(&self, point: &[f32]) -> bool {
        let moved = |(a, b): (&f32, &f32)| (exact((*a).into()) - &exact((*b).into())).abs();
        let moves = point.iter().zip(&self.image).map(moved);
        let distance = match self.attack.norm {
            Norm::L1 => moves.fold(exact(0.0), |sum, by| sum + &by),
            Norm::Linf => moves.max().unwrap_or_else(|| exact(0.0)),
        };
        distance <= exact(self.attack.delta) && point.iter().all(|x| (0.0..=1.0).contains(x))
    }

    fn margin(&self, [predicted, target]: [Label; 2], point: &[f32]) -> Exact {
        let logits = self.network.logits(point);
        logits[target.0].clone() - &logits[predicted.0]
    }

    /// One point of the set against what was said of the whole.
    fn compare(
        &self,
        model: &OnnxModel,
        labels: [Label; 2],
        answer: &Answer,
        point: &[f32],
    ) -> Result<(), String> {
        if !self.holds(point) {
            return Ok(());
        }
        let [predicted, target] = labels;
        let logits = model.replay.logits(point).map_err(|e| e.to_string())?;
        let in_f32 = f64::from(logits[target.0]) - f64::from(logits[predicted.0]);
        let is_robust = answer.verdict == Verdict::Robust;
        // NaN and infinities count as a flip.
        if is_robust && (in_f32.is_nan() || in_f32 >= 0.0) {
            return Err(format!("robust, but tract gives {in_f32} at {point:?}"));
        }
        if !self.is_exact() {
            return Ok(());
        }
        let margin = self.margin(labels, point);
        if is_robust && !margin.is_negative() {
            return Err(format!("robust, but the margin is {:?} at {point:?}", margin.to_f64()));
        }
        let bound = answer.solution.bound.map(|bound| bound.value()).filter(|b| b.is_finite());
        if let Some(bound) = bound.filter(|&bound| margin > exact(bound)) {
            let (value, excess) = (margin.to_f64(), (margin.clone() - &exact(bound)).to_f64());
            return Err(format!("bound {bound}, but {value:?} at {point:?}: {excess:?} more"));
        }
        Ok(())
    }

    /// Every claim that was kept is accepted.
    fn check_proofs(
        &self,
        model: &OnnxModel,
        [predicted, target]: [Label; 2],
        answer: &Answer,
    ) -> Result<(), String> {
        let set = self.attack.set(&self.image);
        let problem = Problem::margin(&model.network, set, predicted, target);
        for claim in answer.solution.claims.iter().filter(|claim| claim.bound.is_finite()) {
            let arithmetic = if claim.f32 { Arithmetic::F32 } else { Arithmetic::Exact };
            let checked =
                proof::check(&model.network, &problem.set, problem.weights(), arithmetic, claim);
            checked.map_err(|error| format!("a proof of our own is refused: {error}"))?;
        }
        Ok(())
    }

    /// The same network with the margin of a point just above 0.
    fn near_zero(&self, best: &[f32], rng: &mut impl Rng) -> Option<Self> {
        let labels = [Label((self.target.0 + 1) % self.network.outputs), self.target];
        let wanted = exact(NEAR[rng.random_range(0..NEAR.len())]);
        let mut missing = wanted - &self.margin(labels, best);
        let mut network = self.network.clone();
        // Three f32 add up to more than enough digits.
        for _ in 0..3 {
            let part = missing.to_f64() as f32;
            if !part.is_finite() {
                return None;
            }
            missing = missing - &exact(part.into());
            let mut shift = vec![0.0; network.outputs];
            shift[labels[1].0] = part;
            network.operations.push(Operation::Add(shift));
        }
        let (image, attack, target) = (self.image.clone(), self.attack, self.target);
        Some(Self { network, image, attack, target })
    }

    fn check_near(&self, best: &[f32], directory: &Path) -> Result<(), String> {
        let Ok((model, predicted)) = self.load(directory)? else { return Ok(()) };
        let target = self.target_from(predicted);
        let answer = self.answer(&model, predicted, target)?;
        self.compare(&model, [predicted, target], &answer, best)
            .and_then(|()| self.check_proofs(&model, [predicted, target], &answer))
            .map_err(|error| format!("near a tie: {error}"))
    }
}
