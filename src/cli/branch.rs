//! Whether and how far to divide the set.

use rw_adv::solve::BranchLimits;

use crate::values::{at_least_one, positive};

#[derive(clap::Args)]
pub struct BranchArgs {
    /// Branch and bound if one bound does not decide: at most NODES nodes, or as many as needed
    ///
    /// Branches on how the budget is spent (in a box: on inputs), and on the signs of neurons if few are unstable. With --goal verdict it
    /// ends when there is an adversary or every part is robust; with --goal optimum, when the bound is within --gap of the margin; or at
    /// --time-limit.
    #[arg(long, value_name = "NODES", num_args = 0..=1, default_missing_value = UNLIMITED, value_parser = nodes, hide_short_help = true)]
    branch: Option<usize>,
    /// With --branch: the gap below which a value counts as optimal
    #[arg(long, value_name = "GAP", default_value_t = 1e-4, value_parser = positive, requires = "branch", hide_short_help = true)]
    gap: f64,
}

const UNLIMITED: &str = "unlimited";

fn nodes(text: &str) -> Result<usize, String> {
    if text == UNLIMITED { Ok(usize::MAX) } else { at_least_one(text) }
}

impl BranchArgs {
    /// For so many problems at once.
    pub fn options(&self, problems: usize) -> Option<BranchLimits> {
        let parallel = problems < rayon::current_num_threads();
        self.branch.map(|nodes| BranchLimits { nodes, gap: self.gap, parallel })
    }
}
