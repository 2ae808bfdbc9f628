//! `rw-adv bench paper-report DIR`: all runs in one page, `DIR/README.md`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use rw_adv::bounds::{Arithmetic, BoundOptions, LinearBounds, UpperRelaxation};
use rw_adv::budget::Budget;

use super::compare::MethodComparison;
use super::instances::{Instance, NetworkSize};
use super::store::StoredRuns;
use super::verdict::{OURS, PRINTED};
use super::{claims, files, table1, verdict};

/// The parts of the reproduction: the folder of each, and what it is.
const PARTS: [(&str, &str); 6] = [
    ("random", "the paper's random networks"),
    ("mnist", "the optimal adversary on MNIST"),
    ("small", "small networks that branch and bound finishes"),
    ("long", "random networks, longer"),
    ("long-mnist", "the optimal adversary, longer"),
    ("first", "the printed algorithm until its first local search ends"),
];

#[derive(Args)]
pub struct PaperReportArgs {
    /// The folder with the runs: random, mnist, small, long, long-mnist and first, as far as they exist
    #[arg(value_name = "DIR", default_value = "docs/paper")]
    directory: PathBuf,
}

/// One part that was run.
struct ReproductionPart {
    name: &'static str,
    what: &'static str,
    stored: StoredRuns,
}

impl ReproductionPart {
    fn results(&self) -> MethodComparison<'_> {
        self.stored.comparison()
    }
}

pub fn run(out: &mut impl Write, args: &PaperReportArgs) -> Result<()> {
    let mut parts = Vec::new();
    for (name, what) in PARTS {
        if let Some(stored) = StoredRuns::read(&args.directory.join(name))? {
            files::rewrite(&args.directory.join(name), &stored.manifest, &stored.comparison())?;
            parts.push(ReproductionPart { name, what, stored });
        }
    }
    let text = page(&args.directory, &parts)?;
    let path = args.directory.join("README.md");
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    writeln!(out, "written: {}", path.display())?;
    Ok(())
}

fn page(directory: &Path, parts: &[ReproductionPart]) -> Result<String> {
    let find = |name: &str| parts.iter().find(|part| part.name == name);
    let mut text = introduction(parts);
    let mut rows =
        find("random").map(|part| claims::of_random(&part.results())).unwrap_or_default();
    rows.extend(find("mnist").map(|part| claims::of_images(&part.results())).unwrap_or_default());
    text += "\n## The paper's claims\n\nPercentages are shares of the instances that both methods have run.\n\n";
    text += &claims::table(&rows);
    if let Some(random) = find("random") {
        text += &bounds_section(&random.results())?;
        text += &table1_section(random);
    }
    text += &figures_section(directory, parts);
    text += &long_section(parts);
    if let Some(first) = find("first") {
        text += &first_section(first);
    }
    if let Ok(peers) = fs::read_to_string(directory.join("peers.md")) {
        text += &format!("\n{peers}");
    }
    Ok(text)
}

fn introduction(parts: &[ReproductionPart]) -> String {
    let mut text = "# The paper's experiments, number by number\n\n\
        Everything that Tong, Cai and Serra 2024 measured, with its counterpart here. This page is written by `rw-adv bench paper-report docs/paper` \
        from the runs below; each of them can be stopped and continued with its command. Each part has a `REPORT.md`, and `instances.csv` with every value.\n\n\
        | part | command | instances | share of a core |\n|---|---|---|---|\n"
        .to_owned();
    for ReproductionPart { name, what, stored } in parts {
        let results = stored.comparison();
        let share = match results.core_share() {
            Some(share) => format!("{:.0} %", 100.0 * share),
            None => "not recorded; wall clock".to_owned(),
        };
        text += &format!(
            "| [{name}]({name}/REPORT.md): {what} | `{}` | {} | {share} |\n",
            stored.manifest.command,
            results.instances.len()
        );
    }
    for ReproductionPart { name, stored, .. } in parts {
        if !stored.manifest.note.is_empty() {
            text += &format!("\n`{name}`: {}\n", stored.manifest.note);
        }
    }
    text + "\nTimes are CPU seconds of one thread (of the solver's process for Gurobi and SCIP), because the machine was shared: the last column tells how \
        much of a core the threads got; where it says so, times are those of the wall clock. The paper had 10 cores, an hour and Gurobi 10.0.1 for each network. `paper` is its Algorithms 1 and 2 as printed \
        but for obvious slips, `rw` is ours, `sample-mip` is its SM, `milp` is HiGHS 1.14 on the whole problem with presolve off (with presolve, this \
        version gives wrong optima), `gurobi` and `scip` are called through `scripts/solve_mps.py` (`scripts/requirements-solvers.txt`); PyPI's Gurobi \
        takes 2,000 columns and rows, which larger networks exceed. The random networks are PyTorch's, bit for bit (`scripts/check_torch.py`), on \
        processors with AVX2. The MNIST model is `models/mnist_2x500.onnx`, because the paper's is not published. Every value is that of the network's own \
        forward pass.\n"
}

/// The paper's four cases with an unbounded relaxation: it does not name them, so all networks like them are shown.
fn bounds_section(results: &MethodComparison) -> Result<String> {
    let mut text = "\n### Unbounded relaxations\n\n\
        In four of the paper's networks Gurobi did not solve the relaxation, more often with 10 inputs and several layers; the paper calls these relaxations \
        unbounded and suspects numerical trouble. It does not name the networks, but its count 11.5 for 10x3x500 is no mean over five of them. Here every \
        neuron has finite bounds before an LP is made. All networks with 10 inputs and more than one layer, with a certified upper bound over the box:\n\n\
        | network | best value found | certified bound |\n|---|---|---|\n"
        .to_owned();
    for row in &results.instances {
        let Ok(size) = row.group.parse::<NetworkSize>() else { continue };
        let seed = row.name.rsplit("seed").next().and_then(|seed| seed.parse().ok());
        let (10, 2.., Some(seed)) = (size.inputs, size.layers, seed) else { continue };
        let problem = Instance::random(size, seed).problem()?;
        let (unlimited, options) = (Budget::unlimited(), BoundOptions::default());
        let (upper, exact) = (UpperRelaxation::Envelopes, Arithmetic::Exact);
        let linear = LinearBounds::new(&problem.network, &problem.set, upper, exact, &unlimited);
        let bound = linear.certify(problem.weights(), &options, &unlimited).value();
        text += &format!("| {} | {:.6} | {bound:.6} |\n", row.name, row.best());
    }
    Ok(text)
}

fn table1_section(random: &ReproductionPart) -> String {
    let (results, seconds) = (random.results(), random.stored.manifest.seconds);
    let mut text = format!(
        "\n## Table 1: finished local searches per hour\n\n\
        Ours are counted in {seconds} s of one thread and scaled to an hour; × is ours divided by the paper's. Of `rw`, a climb that leads into \
        an earlier one counts, too; of `sample-mip`, a sampled region that is too far below the best to be followed.\n\n"
    );
    text += &table1::table(&results, seconds);
    if let Some((ratio, size)) = table1::smallest_ratio(&results, 500, seconds) {
        text += &format!(
            "\nAt width 500 `rw` finishes at least {ratio:.0} times as many local searches per hour as the paper's RW ({size}).\n"
        );
    }
    text
}

fn figures_section(directory: &Path, parts: &[ReproductionPart]) -> String {
    let mut text = "\n## Figures\n".to_owned();
    let mut show = |title: &str, file: String| {
        if directory.join(&file).exists() {
            text += &format!("\n**{title}**\n\n![{title}]({file})\n");
        }
    };
    show(
        "Figure 1. A walk from A to its end; the step out of a region (red) overshoots the hatched one. `rw-adv bench walk-figure --out docs/paper/figure1.png`",
        "figure1.png".to_owned(),
    );
    for (number, part, others, what) in [
        (2, "random", &["sample-mip"][..], "RW against SM, by inputs and configuration"),
        (3, "random", &verdict::MILP_SOLVERS[..], "RW against a MILP solver, depths together"),
        (4, "mnist", &verdict::MILP_SOLVERS[..], "the optimal adversary, RW against a MILP solver"),
    ] {
        for other in others {
            for first in [PRINTED, OURS] {
                let title = format!("Figure {number}. {what}: `{first}` and `{other}`");
                show(&title, format!("{part}/figure{number}_{first}_{other}.png"));
            }
        }
    }
    let drawn = parts.len();
    if drawn == 0 { text + "\nNothing was run yet.\n" } else { text }
}

fn long_section(parts: &[ReproductionPart]) -> String {
    let mut text = "\n## Longer runs\n".to_owned();
    for part in parts.iter().filter(|part| part.name.starts_with("long")) {
        let results = part.results();
        text +=
            &format!("\n`{}`, {} s for each method:\n\n", part.name, part.stored.manifest.seconds);
        text += &format!("| instance | {} |\n", results.methods.join(" | "));
        text += &format!("|---|{}\n", "---|".repeat(results.methods.len()));
        for row in &results.instances {
            let best = row.best();
            let cells = results.methods.iter().map(|method| match row.value(method) {
                Some(value) if value == best => format!("**{value:.6}**"),
                Some(value) => format!("{value:.6}"),
                None => "–".to_owned(),
            });
            text += &format!("| {} | {} |\n", row.name, cells.collect::<Vec<_>>().join(" | "));
        }
        text.push('\n');
        for line in verdict::sentences(&results) {
            text += &format!("- {line}\n");
        }
    }
    text
}

fn first_section(first: &ReproductionPart) -> String {
    let results = first.results();
    let mut text = "\n## The first local search of the printed algorithm\n\n\
        Its relaxation, solved to the end, and the walk from there, once for each size.\n\n\
        | network | CPU seconds | how it ended | value |\n|---|---|---|---|\n"
        .to_owned();
    for row in &results.instances {
        let Some(run) = row.run(PRINTED) else { continue };
        let ended = if run.finished > 0 {
            "local optimum"
        } else if run.seconds < first.stored.manifest.seconds {
            "walk into a region that it had been in"
        } else {
            "out of time"
        };
        text += &format!("| {} | {:.1} | {ended} | {:.6} |\n", row.name, run.seconds, run.value);
    }
    text
}
