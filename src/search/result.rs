//! What a search found, and why it ended.

use std::time::Duration;

use crate::encode::LpWork;
use crate::problem::Candidate;

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStop {
    /// As many starts in a row as [`patience`](super::SearchOptions::patience) allows brought no gain, or as many starts were made as are allowed.
    Patience,
    /// The time is up.
    Time,
    /// The search was cancelled.
    Cancelled,
    /// The callback returned `Break`: the best point is good enough.
    Enough,
    /// The MILP solver claims that no point is better.
    Claimed,
    /// The MILP solver gave no answer.
    Trouble,
    /// The external solver does not take this problem: it is not installed, or its licence allows smaller ones only.
    Refused,
}

/// What a search tells while it runs.
#[derive(Clone, Copy, Debug)]
pub enum SearchEvent<'c> {
    /// A point that is better than all before.
    Better(&'c Candidate),
    /// A start was followed to its end, or could not be made.
    StartFinished,
}

/// When each better margin was found, from the start of the work on.
pub type Curve = Vec<(Duration, f64)>;

/// What a search found.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The best point.
    pub best: Candidate,
    /// Number of starts.
    pub starts: usize,
    /// Local searches that ended before the time was up.
    pub finished: usize,
    /// Points that the method itself came to; the set's centre, with which every search begins, is none of them.
    pub points: usize,
    /// What the MILP solver claims no point can exceed: not a certificate.
    pub claimed_bound: Option<f64>,
    /// What the LPs have cost.
    pub work: LpWork,
    /// When the best point was found.
    pub time_to_best: Duration,
    /// How the margin grew, up to the best point.
    pub curve: Curve,
    /// Why the search ended.
    pub stop: SearchStop,
}

impl SearchResult {
    /// This result, after that of an earlier search on the same problem: the better point, and both curves.
    pub fn after(mut self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        let reached = earlier.best.margin;
        self.curve.retain(|&(_, margin)| margin > reached);
        self.curve.splice(0..0, earlier.curve);
        if reached > self.best.margin {
            (self.best, self.time_to_best) = (earlier.best, earlier.time_to_best);
        }
        self
    }

    /// Takes over a point that is better.
    pub(crate) fn improve(&mut self, better: &Candidate, when: Duration) {
        if better.margin > self.best.margin {
            (self.best, self.time_to_best) = (better.clone(), when);
            self.curve.push((when, better.margin));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a search found that reached these margins, a second each.
    fn found(begin: u64, margins: &[f64]) -> SearchResult {
        let curve: Curve =
            (begin..).map(Duration::from_secs).zip(margins.iter().copied()).collect();
        let &(time_to_best, margin) = curve.last().expect("a margin");
        SearchResult {
            best: Candidate { point: vec![margin], margin },
            starts: 1,
            finished: 1,
            points: margins.len(),
            claimed_bound: None,
            work: LpWork::default(),
            time_to_best,
            curve,
            stop: SearchStop::Patience,
        }
    }

    #[test]
    fn a_curve_goes_on_where_an_earlier_search_ended() {
        let seconds = |found: &SearchResult| -> Vec<(u64, f64)> {
            found.curve.iter().map(|&(time, margin)| (time.as_secs(), margin)).collect()
        };
        let earlier = || Some(found(0, &[-3.0, 1.0]));
        let better = found(5, &[-3.0, 0.0, 2.0]).after(earlier());
        assert_eq!(seconds(&better), [(0, -3.0), (1, 1.0), (7, 2.0)]);
        assert_eq!((better.best.margin, better.time_to_best.as_secs()), (2.0, 7));
        let mut worse = found(5, &[-3.0, 0.0]).after(earlier());
        assert_eq!(seconds(&worse), [(0, -3.0), (1, 1.0)]);
        assert_eq!((worse.best.margin, worse.time_to_best.as_secs()), (1.0, 1));
        assert_eq!(found(5, &[4.0]).after(None).best.margin, 4.0);
        for margin in [1.5, 1.25] {
            let candidate = Candidate { point: vec![margin], margin };
            worse.improve(&candidate, Duration::from_secs(9));
        }
        assert_eq!(seconds(&worse)[2..], [(9, 1.5)]);
        assert_eq!(worse.best.point, [1.5]);
    }
}
