//! How far an image may be changed before its label falls: a lower end that is proven and an upper end that was found,
//! both by bisection on the budget.
//!
//! The promise: there is no adversary within [`Radii::certified`], and one at [`Radii::attacked`]. Every step of either
//! bisection stands for itself, a proof over a whole ball or a witness with its own distance, so nothing is assumed
//! about what lies between. What may be missed is a larger proof or a nearer adversary, never the order of the two.

mod costs;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use costs::{NextProof, ProofCosts};

use crate::attack::{Attack, AttackError, ImageAttack};
use crate::budget::Budget;
use crate::data::Sample;
use crate::judge::{EightBit, Verdict, Witness};
use crate::network::{Label, widened};
use crate::observer::{Observer, Phase};
use crate::onnx::OnnxModel;
use crate::search::SearchOptions;
use crate::sets::Norm;
use crate::solve::{BranchLimits, Goal};

/// Below one grey level of an 8-bit picture, precision is relative to this instead of to the radius.
const GREY_LEVEL: f64 = 1.0 / 255.0;

/// The first budget tried, as a share of the largest: for MNIST an L1 distance of 3 or one grey level, where radii of
/// trained networks begin. Others cost a few doublings or halvings more.
const FIRST_SHARE: f64 = 1.0 / 256.0;

/// What is asked of every image.
#[derive(Clone, Copy, Debug)]
pub struct RadiusOptions {
    /// In which norm.
    pub norm: Norm,
    /// The largest budget tried.
    pub max_delta: f64,
    /// How wide a bisection's last step may be, relative to the radius, or to one grey level (1/255) if that is larger.
    pub precision: f64,
    /// How to search. Many searches run for one image: a small patience is enough.
    pub search: SearchOptions,
    /// Nodes of branch and bound for each budget between the two radii; 0: none.
    pub nodes: usize,
}

impl RadiusOptions {
    /// Patience unless another is asked for.
    pub const PATIENCE: usize = 20;
    /// Precision unless another is asked for.
    pub const PRECISION: f64 = 0.01;

    /// A budget whose ball covers all inputs: 1 in L∞, the number of inputs in L1.
    pub fn covering(norm: Norm, inputs: usize) -> f64 {
        match norm {
            Norm::L1 => inputs as f64,
            Norm::Linf => 1.0,
        }
    }

    fn first_delta(&self) -> f64 {
        FIRST_SHARE * self.max_delta
    }

    /// How much below `high` is not worth looking.
    fn width(&self, high: f64) -> f64 {
        self.precision * high.max(GREY_LEVEL)
    }

    /// Are the ends of a bisection close enough?
    fn is_close(&self, low: f64, high: f64) -> bool {
        low >= high - self.width(high)
    }
}

/// Why work on an image ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RadiusStop {
    /// Both radii are as precise as was asked.
    Precision,
    /// No adversary was found up to the largest budget.
    NoAdversary,
    /// It is proven that there is none up to the largest budget.
    Robust,
    /// The time is up.
    Time,
    /// The budget's flag was set.
    Interrupted,
    /// There is nothing to ask: the record says why.
    Error,
}

impl RadiusStop {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Precision => "precision",
            Self::NoAdversary => "no_adversary",
            Self::Robust => "robust",
            Self::Time => "time",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        }
    }
}

/// The nearest adversary that was found.
#[derive(Clone, Debug)]
pub struct Adversary {
    /// The label it gets.
    pub target: Label,
    /// The point.
    pub witness: Witness,
    /// Its 8-bit picture.
    pub picture: Option<EightBit>,
}

impl Adversary {
    /// Distance from the image.
    pub fn distance(&self) -> f64 {
        self.witness.point().distance()
    }
}

/// The answer for one image.
#[derive(Clone, Debug)]
pub struct Radii {
    /// No input this near (or nearer) gets one of the targets; 0 when nothing is proven.
    pub certified: f64,
    /// An input that does, strictly farther away.
    pub adversary: Option<Adversary>,
    /// Why work ended.
    pub stop: RadiusStop,
}

impl Radii {
    /// The smallest budget with an adversary.
    pub fn attacked(&self) -> Option<f64> {
        self.adversary.as_ref().map(Adversary::distance)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RadiusError {
    /// A search ended badly.
    #[error(transparent)]
    Attack(#[from] AttackError),
    /// An adversary where a proof says that there is none.
    #[error(
        "an adversary at distance {distance} contradicts the certified radius {certified}: please report this bug"
    )]
    Contradiction {
        /// The adversary's distance.
        distance: f64,
        /// The radius.
        certified: f64,
    },
}

/// The radii of one image: the smallest over its targets.
///
/// Half of the time, if it is limited, is for the proof.
///
/// # Errors
/// When the judge cannot run the model, or proof and search contradict each other.
///
/// # Panics
/// When there is no target.
pub fn radii(
    model: &OnnxModel,
    sample: &Sample,
    (predicted, targets): (Label, &[Label]),
    options: &RadiusOptions,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Radii, RadiusError> {
    assert!(!targets.is_empty(), "an image without targets has no radius");
    let aims = targets.iter().map(|&target| Aim { target, proven: 0.0, nodes: 0 }).collect();
    let mut image = Image { model, sample, predicted, options, aims, observer };
    let proof_done = image.certify(&budget.half())?;
    let (mut adversary, mut attack_done) = image.attack(&image.attack_budget(budget))?;
    if options.nodes > 0 {
        attack_done &= image.branch(&mut adversary, budget)?;
    }
    let certified = image.certified();
    let stop = match adversary {
        _ if certified >= options.max_delta => RadiusStop::Robust,
        Some(_) if proof_done && attack_done => RadiusStop::Precision,
        None if proof_done && attack_done => RadiusStop::NoAdversary,
        _ if budget.is_cancelled() => RadiusStop::Interrupted,
        _ => RadiusStop::Time,
    };
    Ok(Radii { certified, adversary, stop })
}

/// A target, and up to which budget it is proven to be out of reach. A proof over a ball holds in every smaller one.
struct Aim {
    target: Label,
    proven: f64,
    /// Nodes that its last proof by branch and bound took.
    nodes: usize,
}

struct Image<'a> {
    model: &'a OnnxModel,
    sample: &'a Sample,
    predicted: Label,
    options: &'a RadiusOptions,
    /// The most promising first.
    aims: Vec<Aim>,
    observer: &'a dyn Observer,
}

/// Hears of phases and starts alone: margins and bounds are about one of many budgets.
struct PhaseObserver<'o>(&'o dyn Observer);

impl Observer for PhaseObserver<'_> {
    fn entered(&self, phase: Phase) {
        self.0.entered(phase);
    }

    fn start_finished(&self) {
        self.0.start_finished();
    }
}

/// How hard to look for an adversary.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttackEffort {
    /// Climbs, milliseconds each.
    Climb,
    /// Climbs, then searches.
    Search,
}

impl<'a> Image<'a> {
    fn attack_within(&self, delta: f64) -> ImageAttack {
        let Self { model, sample, predicted, options, .. } = *self;
        let RadiusOptions { norm, search, .. } = *options;
        ImageAttack::new(
            model,
            sample,
            predicted,
            &Attack { delta, norm, search, goal: Goal::Verdict, branch: None, proofs: false },
        )
    }

    /// Of what is left of the time, if branch and bound wants some too, half is for the attack.
    fn attack_budget<'b>(&self, budget: &'b Budget<'b>) -> Budget<'b> {
        if self.options.nodes > 0 { budget.half() } else { budget.capped(None) }
    }

    /// Raises the lower radius by branch and bound: each budget is proven, or attacked, or given up. Says whether it came to an end before the
    /// time did.
    fn branch(
        &mut self,
        nearest: &mut Option<Adversary>,
        budget: &Budget,
    ) -> Result<bool, RadiusError> {
        let options = self.options;
        // Above this, branch and bound gave up.
        let mut high = f64::INFINITY;
        let mut costs = ProofCosts::new(self.certified());
        loop {
            let low = self.certified();
            self.observer.bracketed(low, nearest.as_ref().map(Adversary::distance));
            let top = nearest.as_ref().map_or(options.max_delta, Adversary::distance).min(high);
            if options.is_close(low, top) || low >= options.max_delta {
                // What was given up for want of time might have been proven with more.
                return Ok(budget.left().is_none() || top < high);
            }
            if budget.is_spent() {
                return Ok(false);
            }
            let (delta, share) = match budget.left() {
                // Every question comes to an end by itself.
                None => (0.5 * (low + top), budget.capped(None)),
                Some(left) => {
                    let left = left.as_secs_f64();
                    let NextProof { delta, limit } =
                        costs.next((low, top), options.width(top), left);
                    let end = budget.elapsed() + Duration::from_secs_f64(limit);
                    (delta, budget.capped(Some(end)))
                }
            };
            let before = budget.elapsed();
            let decided = self.decide(delta, nearest, &share)?;
            let seconds = (budget.elapsed() - before).as_secs_f64();
            log::debug!("radius {delta:.4} of {low:.4} to {top:.4}: {decided} in {seconds:.2} s");
            if self.certified() >= delta {
                costs.add_proven(delta, seconds);
            } else if !decided {
                costs.add_given_up(delta, seconds);
                high = delta;
            }
        }
    }

    /// Proves every target out of reach within `delta`, or finds a nearer adversary. `false` if there is neither.
    fn decide(
        &mut self,
        delta: f64,
        nearest: &mut Option<Adversary>,
        budget: &Budget,
    ) -> Result<bool, RadiusError> {
        let Self { model, sample, predicted, options, observer, .. } = *self;
        let RadiusOptions { norm, search, nodes, .. } = *options;
        let branch = Some(BranchLimits::for_verdict(nodes, false));
        // A search just below the nearest adversary has found nothing already.
        let search = SearchOptions { patience: 1, ..search };
        let attack = Attack { delta, norm, search, goal: Goal::Verdict, branch, proofs: false };
        let image = ImageAttack::new(model, sample, predicted, &attack);
        for place in 0..self.aims.len() {
            if self.aims[place].proven >= delta {
                continue;
            }
            let target = self.aims[place].target;
            let answer = image.attack(target, budget, &PhaseObserver(observer))?;
            if let Some(witness) = answer.solution.judgement.witness() {
                let found = self.drawn_in(&image, place, witness)?;
                self.put_first(place);
                if nearest.as_ref().is_none_or(|best| found.distance() < best.distance()) {
                    *nearest = Some(found);
                }
                return Ok(true);
            }
            if answer.verdict != Verdict::Robust {
                self.put_first(place);
                return Ok(false);
            }
            let aim = &mut self.aims[place];
            (aim.proven, aim.nodes) = (delta, answer.solution.tree.nodes);
        }
        // Whether a budget is too large shows soonest on the target that takes most.
        self.aims.sort_by_key(|aim| std::cmp::Reverse(aim.nodes));
        Ok(true)
    }

    /// The largest budget within which every target is out of reach.
    fn certified(&self) -> f64 {
        self.aims.iter().map(|aim| aim.proven).fold(f64::INFINITY, f64::min)
    }

    /// The target that gave way moves to the front: it will do so again.
    fn put_first(&mut self, place: usize) {
        self.aims[..=place].rotate_right(1);
    }

    /// Doubles the budget while it can be certified, then bisects. Says whether it came to an end before the time did.
    fn certify(&mut self, budget: &Budget) -> Result<bool, RadiusError> {
        let options = self.options;
        let (mut low, mut high) = (0.0, None);
        let mut delta = options.first_delta();
        while !budget.is_spent() {
            self.observer.entered(Phase::Bounds);
            if self.proves(delta, budget)? {
                low = delta;
                self.observer.bracketed(low, None);
            } else if budget.is_spent() {
                // It might have been proven with more time.
                return Ok(false);
            } else {
                high = Some(delta);
            }
            delta = match high {
                None if low >= options.max_delta => return Ok(true),
                None => (2.0 * low).min(options.max_delta),
                Some(high) if options.is_close(low, high) => return Ok(true),
                Some(high) => 0.5 * (low + high),
            };
        }
        Ok(false)
    }

    /// Is every target out of reach within `delta`? The first that may not be ends the question.
    fn proves(&mut self, delta: f64, budget: &Budget) -> Result<bool, RadiusError> {
        let image = self.attack_within(delta);
        for place in 0..self.aims.len() {
            let aim = &mut self.aims[place];
            if aim.proven >= delta {
                continue;
            }
            if !image.excludes(aim.target, budget)? {
                self.put_first(place);
                return Ok(false);
            }
            aim.proven = delta;
        }
        Ok(true)
    }

    /// Doubles the budget until there is an adversary, then looks for nearer ones down to what is proven. Says whether it
    /// came to an end before the time did.
    ///
    /// Searches in vain are what costs most. So climbs have a try at all budgets first, and searches begin just below
    /// what climbs have reached, in strides that double while they find something: most often, one finds nothing.
    fn attack(&mut self, budget: &Budget) -> Result<(Option<Adversary>, bool), RadiusError> {
        let options = self.options;
        let mut nearest = None;
        for effort in [AttackEffort::Climb, AttackEffort::Search] {
            let mut delta = self.certified();
            while nearest.is_none() && delta < options.max_delta && !budget.is_spent() {
                delta = (2.0 * delta).clamp(options.first_delta(), options.max_delta);
                nearest = self.within(delta, None, effort, budget)?;
            }
        }
        let Some(mut nearest) = nearest else { return Ok((None, !budget.is_spent())) };
        for effort in [AttackEffort::Climb, AttackEffort::Search] {
            let mut low = self.certified();
            let mut stride = match effort {
                AttackEffort::Climb => f64::INFINITY,
                AttackEffort::Search => 1.0,
            };
            while !options.is_close(low, nearest.distance()) {
                let high = nearest.distance();
                let delta = (0.5 * (low + high)).max(high - stride * options.width(high));
                match self.within(delta, Some(&nearest), effort, budget)? {
                    Some(nearer) => (nearest, stride) = (nearer, 2.0 * stride),
                    // It might have been found with more time.
                    None if budget.is_spent() => return Ok((Some(nearest), false)),
                    None => low = delta,
                }
            }
        }
        Ok((Some(nearest), true))
    }

    /// An adversary within `delta`, the nearest one that climbs lead to, or else the first one that a search finds.
    fn within(
        &mut self,
        delta: f64,
        known: Option<&Adversary>,
        effort: AttackEffort,
        budget: &Budget,
    ) -> Result<Option<Adversary>, RadiusError> {
        self.observer.entered(Phase::Search);
        self.observer.bracketed(self.certified(), known.map(Adversary::distance));
        let image = self.attack_within(delta);
        let reachable: Vec<usize> =
            (0..self.aims.len()).filter(|&place| self.aims[place].proven < delta).collect();
        let mut nearest: Option<(usize, Adversary)> = None;
        for &place in &reachable {
            let target = self.aims[place].target;
            let known = known.filter(|known| known.target == target);
            let known = known.map(|known| widened(known.witness.point().values()));
            let starts = [known.as_deref(), None];
            for start in &starts[usize::from(known.is_none())..] {
                let judgement = image.climb(target, *start, budget)?;
                let Some(witness) = judgement.witness() else { continue };
                let found = self.drawn_in(&image, place, witness)?;
                let nearer = |(_, best): &(usize, Adversary)| found.distance() < best.distance();
                if nearest.as_ref().is_none_or(nearer) {
                    nearest = Some((place, found));
                }
            }
        }
        if nearest.is_none() && effort == AttackEffort::Search {
            for &place in &reachable {
                if budget.is_spent() {
                    break;
                }
                let target = self.aims[place].target;
                let answer = image.attack(target, budget, &PhaseObserver(self.observer))?;
                if let Some(witness) = answer.solution.judgement.witness() {
                    nearest = Some((place, self.drawn_in(&image, place, witness)?));
                    break;
                }
                if answer.verdict == Verdict::Robust {
                    self.aims[place].proven = delta;
                }
            }
        }
        Ok(nearest.map(|(place, adversary)| {
            self.put_first(place);
            adversary
        }))
    }

    /// The nearest point on the way from the image to a witness that is one too, as far as bisection tells.
    fn drawn_in(
        &self,
        image: &ImageAttack,
        place: usize,
        witness: &Witness,
    ) -> Result<Adversary, RadiusError> {
        let Aim { target, proven, .. } = self.aims[place];
        let (from, to) = (widened(&self.sample.pixels), widened(witness.point().values()));
        let whole_way = witness.point().distance();
        let mut low = proven;
        let mut witness = witness.clone();
        while !self.options.is_close(low, witness.point().distance()) {
            let distance = 0.5 * (low + witness.point().distance());
            let share = distance / whole_way;
            let point: Vec<f64> = from.iter().zip(&to).map(|(x, y)| x + share * (y - x)).collect();
            match image.judge(target, &point)?.witness() {
                Some(nearer) => witness = nearer.clone(),
                None => low = distance,
            }
        }
        let distance = witness.point().distance();
        if distance <= proven {
            return Err(RadiusError::Contradiction { distance, certified: proven });
        }
        let picture = image.picture(target, &witness)?;
        Ok(Adversary { target, witness, picture })
    }
}
