//! What is known about an objective while work goes on.

use super::answer::{Stop, TreeSummary};
use crate::bounds::CertifiedBound;
use crate::branch::{BranchResult, ProvenBound};
use crate::budget::Budget;
use crate::proof::Claim;
use crate::search::SearchResult;

/// What is known so far.
pub(super) struct Known {
    /// The best point, and what it took to find it. None while nobody has looked.
    pub search: Option<SearchResult>,
    /// Whether there was more than one climb.
    pub searched: bool,
    /// By bounds of the whole set, at most one for each arithmetic.
    pub whole: Vec<ProvenBound>,
    /// By branch and bound.
    divided: Vec<(CertifiedBound, Option<Claim>)>,
    /// What branch and bound did.
    pub tree: TreeSummary,
    /// Why work ended, for now.
    pub stop: Stop,
}

impl Known {
    pub fn new(search: Option<SearchResult>, whole: Vec<ProvenBound>, stop: Stop) -> Self {
        let (searched, divided, tree) = (false, Vec::new(), TreeSummary::default());
        Self { search, searched, whole, divided, tree, stop }
    }

    /// Nothing.
    pub fn nothing() -> Self {
        Self::new(None, Vec::new(), Stop::NoGain)
    }

    /// Adds what a search found.
    pub fn add_search(&mut self, found: SearchResult) {
        self.search = Some(found.after(self.search.take()));
        self.searched = true;
    }

    /// The lowest bound; infinite if there is none.
    pub fn lowest(&self) -> f64 {
        self.bounds().iter().map(CertifiedBound::value).fold(f64::INFINITY, f64::min)
    }

    /// Work ended for a share of the time only: there is more.
    pub fn forget_time(&mut self) {
        if self.stop == Stop::Time {
            self.stop = Stop::NoGain;
        }
    }

    /// Whether there is a reason, and time, to go on.
    pub fn is_open(&self) -> bool {
        self.stop.may_branch()
    }

    /// Adds what branch and bound found that was to show `proven`.
    pub fn add(&mut self, mut result: BranchResult, proven: Stop, budget: &Budget) {
        self.stop = Stop::of_branch(result.stop, proven);
        self.divided.push((result.bound, result.claim()));
        if let Some(search) = &mut self.search {
            search.improve(&result.best, budget.elapsed());
        }
    }

    /// Adds the bound that a tree proved for several objectives at once, and why it ended.
    pub fn add_shared(&mut self, bound: CertifiedBound, stop: Stop) {
        self.stop = stop;
        self.divided.push((bound, None));
    }

    /// All bounds of the whole set.
    pub fn bounds(&self) -> Vec<CertifiedBound> {
        let divided = self.divided.iter().map(|(bound, _)| *bound);
        self.whole.iter().filter_map(ProvenBound::certified).chain(divided).collect()
    }

    /// The lowest claim in exact arithmetic, and that in f32.
    pub fn claims(self) -> Vec<Claim> {
        let of_whole = self.whole.iter().filter_map(ProvenBound::claim);
        let all: Vec<Claim> =
            self.divided.into_iter().filter_map(|(_, claim)| claim).chain(of_whole).collect();
        let (in_f32, exact): (Vec<Claim>, Vec<Claim>) = all.into_iter().partition(|c| c.f32);
        let lowest =
            |claims: Vec<Claim>| claims.into_iter().min_by(|a, b| a.bound.total_cmp(&b.bound));
        [exact, in_f32].into_iter().filter_map(lowest).collect()
    }
}
