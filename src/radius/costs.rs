//! Which budget to prove next by branch and bound, when time is limited.
//!
//! What a proof takes grows about exponentially with the budget: a step too far is lost with all its time, a step too short gains little. So
//! budgets are climbed from what is proven, each as far as the time seems to allow, judged by what the steps before took.

// These numbers do best on what proofs for five MNIST images took (docs/measurements.md), with 15 and with 60 seconds for each.

/// Of the time that is left, a step should take so much, if it takes what is expected.
const SHARE: f64 = 0.15;

/// A step that takes so much longer than expected is given up, but not before it has had this share of the time that is left.
const PATIENCE: f64 = 3.0;
const LEAST_SHARE: f64 = 0.5;

/// By which power of e the cost grows while the budget grows by itself, before anything is known, and for a step of which length this guess
/// counts among those that were seen.
const GROWTH: f64 = 60.0;
const GUESSED_STEP: f64 = 0.03;

/// Costs below this, in seconds, say nothing of larger ones.
const SMALLEST_COST: f64 = 0.2;

/// No step is longer than this share of the budget, twice that behind a step that took hardly anything, and so on.
const LONGEST_STEP: f64 = 0.04;

/// What proofs of growing budgets took.
pub struct ProofCosts {
    /// The largest budget proven, and the seconds that it took.
    last: (f64, f64),
    /// Growth that was seen: the sum over steps of changes in the logarithms of budgets and of costs.
    steps: (f64, f64),
    /// The longest step, as a share of the budget.
    longest: f64,
}

/// A budget to prove next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextProof {
    pub delta: f64,
    /// The seconds after which it is given up.
    pub limit: f64,
}

impl ProofCosts {
    /// A budget proven without branching.
    pub fn new(delta: f64) -> Self {
        Self { last: (delta, SMALLEST_COST), steps: (0.0, 0.0), longest: LONGEST_STEP }
    }

    /// By which power of e the cost grows while the budget grows by itself.
    fn growth(&self) -> f64 {
        let (budgets, costs) = self.steps;
        let growth = (costs + GUESSED_STEP * GROWTH) / (budgets + GUESSED_STEP);
        growth.clamp(GROWTH / 3.0, 3.0 * GROWTH)
    }

    /// A budget between `low`, which is proven, and `high`, which is not worth proving; `width` is the shortest step, `left` are the seconds that
    /// are left.
    pub fn next(&self, (low, high): (f64, f64), width: f64, left: f64) -> NextProof {
        let (last, cost) = self.last;
        if last <= 0.0 {
            return NextProof { delta: 0.5 * (low + high), limit: LEAST_SHARE * left };
        }
        let wanted = (SHARE * left / cost).max(1.0).ln() / self.growth();
        let step = wanted.min(self.longest) * last;
        let delta = (last + step).max(low + width).min(0.5 * (low + high).max(low + width));
        let expected = cost * (self.growth() * (delta / last - 1.0)).exp();
        NextProof { delta, limit: (PATIENCE * expected).max(LEAST_SHARE * left).min(left) }
    }

    /// A budget was proven, in so many seconds.
    pub fn add_proven(&mut self, delta: f64, seconds: f64) {
        let cost = seconds.max(SMALLEST_COST);
        self.longest = if seconds < SMALLEST_COST { 2.0 * self.longest } else { LONGEST_STEP };
        self.add_growth(delta, cost);
        self.last = (delta, cost.max(self.last.1));
    }

    /// A budget was not proven in so many seconds.
    pub fn add_given_up(&mut self, delta: f64, seconds: f64) {
        self.longest = LONGEST_STEP;
        // As far as anybody knows, it was half done.
        self.add_growth(delta, 2.0 * seconds.max(SMALLEST_COST));
    }

    fn add_growth(&mut self, delta: f64, cost: f64) {
        let (last, before) = self.last;
        if cost > SMALLEST_COST && delta > last && last > 0.0 {
            self.steps.0 += delta / last - 1.0;
            self.steps.1 += (cost / before).max(1.0).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a proof takes that grows by this power of e.
    fn cost(growth: f64, delta: f64) -> f64 {
        0.2 * (growth * (delta - 1.0)).exp()
    }

    #[test]
    fn steps_end_between_what_is_proven_and_what_is_not_worth_proving() {
        for left in [1e-3, 0.1, 10.0, 1e4] {
            for high in [1.005, 1.02, 1.5, f64::INFINITY] {
                let next = ProofCosts::new(1.0).next((1.0, high), 0.01, left);
                assert!(1.0 < next.delta && next.delta < high.min(1.11), "{next:?}");
                assert!(0.0 < next.limit && next.limit <= left, "{next:?}");
            }
        }
    }

    #[test]
    fn steps_reach_most_of_what_the_time_allows_whatever_the_growth() {
        for growth in [15.0, 30.0, 45.0, 80.0, 120.0] {
            let (mut costs, mut left) = (ProofCosts::new(1.0), 60.0);
            let (mut low, mut high) = (1.0, 2.0);
            while left > 1e-9 && high - low > 0.01 {
                let NextProof { delta, limit } = costs.next((low, high), 0.01, left);
                let seconds = cost(growth, delta);
                if seconds <= limit {
                    costs.add_proven(delta, seconds);
                    low = delta;
                } else {
                    costs.add_given_up(delta, limit);
                    high = delta;
                }
                left -= seconds.min(limit);
            }
            // With an oracle all time would go to the largest budget that it is enough for.
            let reachable = (60.0_f64 / 0.2).ln() / growth;
            assert!(low - 1.0 > 0.7 * reachable.min(0.5), "{growth}: {low}, {reachable}");
        }
    }
}
