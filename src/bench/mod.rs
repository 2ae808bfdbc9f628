//! `rw-adv bench`: the figures behind our claims, each a ratio or a count within one run.

mod bounds;
mod complete;
mod growth;
mod images;
mod measure;
mod paper;
mod pass;
mod quality;
mod radii;
mod random;
mod region;
mod runs;
mod search;
mod walk;
mod walk_figure;

use std::io;

use anyhow::Result;
use clap::Subcommand;

use crate::values::positive;
use complete::CompleteArgs;
use growth::GrowthArgs;
use images::ImageArgs;
use paper::{PaperArgs, PaperReportArgs};
use pass::PassArgs;
use quality::QualityArgs;
use radii::RadiiArgs;
use random::RandomArgs;
use runs::RunsArgs;
use search::SearchArgs;
use walk_figure::WalkFigureArgs;

#[derive(Subcommand)]
pub enum Bench {
    /// The same region LPs solved on demand and written out in full: equal optima, and how much faster
    Region(ImageArgs),
    /// Region LPs in walks, and whole searches, on one core
    Walk(ImageArgs),
    /// How often the search finds the optimum that branch and bound proves
    Quality(QualityArgs),
    /// Upper bounds, from the dual norm's to ours, beside the best margins found
    Bounds {
        #[command(flatten)]
        images: ImageArgs,
        /// L1 budgets, one table each
        #[arg(long, value_delimiter = ',', default_value = "1,2,3,5", value_parser = positive)]
        deltas: Vec<f64>,
    },
    /// Branch and bound: what is decided on a large network, and optima proved on a small one beside a MILP solver
    Complete(CompleteArgs),
    /// The paper's experiments with all methods in equal time: tables, figures, a report
    Paper(PaperArgs),
    /// All runs of the paper's experiments in one page, beside the paper's own numbers
    PaperReport(PaperReportArgs),
    /// The search alone beside an earlier rw-adv: CPU time, LPs and margins
    Search(SearchArgs),
    /// Whole runs as ratios: with and without files, all verdicts at Δ = 3, certified and attacked radii
    Runs(RunsArgs),
    /// Certified and attacked radii with branching, in so much CPU time for each image
    Radii(RadiiArgs),
    /// Finished local searches per hour on random networks with many inputs
    Random(RandomArgs),
    /// A walk drawn over the linear regions of a network with two inputs: the paper's Figure 1
    WalkFigure(WalkFigureArgs),
    /// Time and memory for one image and so many starts on wider, deeper and larger random networks, relative to their weights
    Growth(GrowthArgs),
    /// One forward and one backward pass of a model, beside the time it takes to read as many weights
    Pass(PassArgs),
}

/// Runs one benchmark and prints what it measured.
pub fn run(bench: Bench) -> Result<()> {
    let mut out = io::stdout();
    match bench {
        Bench::Region(args) => region::run(&mut out, &args),
        Bench::Walk(args) => walk::run(&mut out, &args),
        Bench::Quality(args) => quality::run(&mut out, &args),
        Bench::Bounds { images, deltas } => bounds::run(&mut out, images, &deltas),
        Bench::Complete(args) => complete::run(&mut out, &args),
        Bench::Paper(args) => paper::run(&mut out, args),
        Bench::PaperReport(args) => paper::report(&mut out, &args),
        Bench::Search(args) => search::run(&mut out, &args),
        Bench::Runs(args) => runs::run(&mut out, &args),
        Bench::Radii(args) => radii::run(&mut out, &args),
        Bench::Random(args) => random::run(&mut out, &args),
        Bench::WalkFigure(args) => walk_figure::run(&mut out, &args),
        Bench::Growth(args) => growth::run(&mut out, &args),
        Bench::Pass(args) => pass::run(&mut out, &args),
    }
}
