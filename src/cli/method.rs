//! Which algorithm, and how long it goes on without gain.

use anyhow::{Result, bail};
use clap::ValueEnum;
use rw_adv::search::{Method, SearchOptions};
use rw_adv::walk::WayOut;

use crate::values::{at_least_one, method};

/// How to search.
#[derive(clap::Args)]
pub struct MethodArgs {
    /// Algorithm
    ///
    /// rw is ours. The others are baselines: paper is Algorithms 1 and 2 of Tong, Cai and Serra; sample-mip is by Perakis
    /// and Tsiourvas; milp is HiGHS on the whole problem; apgd is by Croce and Hein (projected gradient if there is no L1
    /// budget); frank-wolfe is our starts and first-order ascent without any LP; external is the MILP solver of --solver.
    #[arg(long, default_value = "rw", value_name = "METHOD", value_parser = method())]
    method: Method,
    /// With --method external: the command that solves a MILP, split at spaces
    ///
    /// It is called as `COMMAND MODEL.mps SECONDS OUT` and writes to OUT a line `COLUMN VALUE` for each column that is not 0, and, if it knows them,
    /// `# bound VALUE` and `# status optimal`. `python3 scripts/solve_mps.py gurobi` is such a command.
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    solver: Option<String>,
    /// With --method milp: begin with what rw finds in a tenth of the time
    #[arg(long, hide_short_help = true)]
    warm_start: bool,
    /// How walks leave a region: flip the neurons that block the optimum, or overshoot by the paper's epsilon
    #[arg(long, value_enum, default_value_t = WayOutArg::Flip, hide_short_help = true)]
    way_out: WayOutArg,
    /// End a search after this many starts in a row without gain
    #[arg(long, value_name = "N", default_value_t = SearchOptions::default().patience, value_parser = at_least_one)]
    patience: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum WayOutArg {
    Flip,
    Epsilon,
}

impl MethodArgs {
    /// The options of a search with this seed.
    pub fn options(&self, seed: u64) -> Result<SearchOptions> {
        let &Self { method, warm_start, patience, .. } = self;
        let method = match (method, &self.solver) {
            (Method::External { .. }, Some(solver)) if !solver.trim().is_empty() => {
                Method::External { solver: solver.clone().leak() }
            }
            (Method::External { .. }, _) => bail!("--method external: needs --solver COMMAND"),
            (_, Some(_)) => bail!("--solver: only --method external calls a solver"),
            (Method::Milp { .. }, None) => Method::Milp { warm: warm_start },
            _ if warm_start => bail!("--warm-start: only --method milp can begin with a point"),
            (method, None) => method,
        };
        let way_out = match self.way_out {
            WayOutArg::Flip => WayOut::Flip,
            WayOutArg::Epsilon => WayOut::Epsilon,
        };
        Ok(SearchOptions { seed, patience, method, way_out, ..SearchOptions::default() })
    }
}
