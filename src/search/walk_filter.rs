//! Which ends of climbs are worth a walk.

use super::long_walks::{has_long_walks, is_large};
use crate::problem::{Candidate, Problem};

/// Chooses the ends of climbs to walk from. Mostly all. In a box of a larger network, and in large networks, a walk costs as much as many climbs:
/// there the first climbs are only compared and the best is walked from; afterwards those that three times the mean gain of a walk would lift
/// above the incumbent, in large networks the mean gain itself.
pub(super) struct WalkFilter {
    /// Climbs still to be compared, the last one included; `None` where all are walked from.
    to_compare: Option<usize>,
    /// The best end among the climbs that are compared.
    best: Option<Candidate>,
    /// The gain to hope for, in mean gains.
    hope: f64,
    /// Number of walks from ends of climbs, and what they gained in all.
    walks: usize,
    gains: f64,
}

impl WalkFilter {
    /// Climbs that are only compared.
    const FIRST: usize = 10;

    /// The gain to hope for, in mean gains: in a box, and in a large network, where a walk costs more climbs.
    const HOPE: f64 = 3.0;
    const HOPE_IN_LARGE_NETWORK: f64 = 1.0;

    /// A search with little patience compares fewer climbs, so that it walks at all.
    pub fn new(problem: &Problem, patience: usize) -> Self {
        let to_compare = has_long_walks(problem).then_some(Self::FIRST.min(patience));
        let hope =
            if is_large(&problem.network) { Self::HOPE_IN_LARGE_NETWORK } else { Self::HOPE };
        Self { to_compare, best: None, hope, walks: 0, gains: 0.0 }
    }

    /// The point to walk from after a climb to `end`, if any.
    pub fn pick(&mut self, end: Candidate, best_margin: f64) -> Option<Candidate> {
        match &mut self.to_compare {
            None => Some(end),
            Some(0) => {
                let hope = self.hope * self.gains / self.walks.max(1) as f64;
                (end.margin + hope > best_margin).then_some(end)
            }
            Some(left) => {
                *left -= 1;
                if self.best.as_ref().is_none_or(|best| end.margin > best.margin) {
                    self.best = Some(end);
                }
                if *left == 0 { self.best.take() } else { None }
            }
        }
    }

    /// Remembers what a walk from the end of a climb has gained.
    pub fn learn(&mut self, gain: f64) {
        self.walks += 1;
        self.gains += gain;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_first_climbs_the_best_is_walked_from_then_what_may_become_the_best() {
        let end = |margin: f64| Candidate { point: vec![margin], margin };
        let mut filter =
            WalkFilter { to_compare: Some(4), best: None, hope: 3.0, walks: 0, gains: 0.0 };
        for margin in [1.0, 5.0, 1.0] {
            assert_eq!(filter.pick(end(margin), 5.0), None);
        }
        assert_eq!(filter.pick(end(2.0), 5.0), Some(end(5.0)));
        filter.learn(0.7);
        filter.learn(0.3);
        assert_eq!(filter.pick(end(4.4), 6.0), None);
        assert_eq!(filter.pick(end(4.6), 6.0), Some(end(4.6)));
        let mut all = WalkFilter { to_compare: None, best: None, hope: 3.0, walks: 0, gains: 0.0 };
        assert_eq!(all.pick(end(1.0), 9.0), Some(end(1.0)));
    }
}
