//! Whether and how far to divide the set.

use rw_adv::network::Network;
use rw_adv::solve::BranchLimits;

use crate::values::positive;

#[derive(clap::Args)]
pub struct BranchArgs {
    /// Branch and bound if one bound does not decide: at most NODES nodes, 0 for none, or without a number as many as needed
    ///
    /// Branches on how the budget is spent (in a box: on inputs), and on the signs of neurons if few are unstable. With --goal verdict it
    /// ends when there is an adversary or every part is robust; with --goal optimum, when the bound is within --gap of the margin; or at
    /// --time-limit. Attacks that are not told otherwise spend at most 250 nodes on a verdict that the first bound leaves open, large
    /// networks fewer.
    #[arg(long, value_name = "NODES", num_args = 0..=1, default_missing_value = UNLIMITED, value_parser = nodes, hide_short_help = true)]
    branch: Option<usize>,
    /// With --branch: the gap below which a value counts as optimal
    #[arg(long, value_name = "GAP", default_value_t = 1e-4, value_parser = positive, requires = "branch", hide_short_help = true)]
    gap: f64,
}

const UNLIMITED: &str = "unlimited";

fn nodes(text: &str) -> Result<usize, String> {
    if text == UNLIMITED { Ok(usize::MAX) } else { text.parse().map_err(|_| "not a number".into()) }
}

impl BranchArgs {
    /// For so many problems at once, if it is asked for.
    pub fn options(&self, problems: usize) -> Option<BranchLimits> {
        let parallel = problems < rayon::current_num_threads();
        let nodes = self.branch.filter(|&nodes| nodes > 0);
        nodes.map(|nodes| BranchLimits { nodes, gap: self.gap, parallel })
    }

    /// The same for attacks, which branch for a verdict unless they are told not to.
    pub fn attack_options(&self, problems: usize, network: &Network) -> Option<BranchLimits> {
        let parallel = problems < rayon::current_num_threads();
        let verdict = || BranchLimits::for_verdict(BranchLimits::default_nodes(network), parallel);
        if self.branch.is_none() { Some(verdict()) } else { self.options(problems) }
    }
}
