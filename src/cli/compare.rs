//! `rw-adv compare`: two result directories side by side.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rw_adv::record::{
    ComparedPoint, Contents, RunComparison, compare_attacks, compare_instances, compare_radii, json,
};
use rw_adv::report::figure::{Scatter, Series};
use rw_adv::report::text;
use rw_adv::run::{contents_of, read_run};

use crate::values::file_of;

/// Exit code where two records cannot both be true: as of `merge`.
const CONTRADICTORY: u8 = 4;

#[derive(clap::Args)]
pub struct CompareArgs {
    /// The first result directory: the --out of a run
    a: PathBuf,
    /// The second: of another model, another budget, another method
    b: PathBuf,
    /// Also draw each record as a point, A to the right, B upward (.svg or .png)
    #[arg(long, value_name = "FILE", value_parser = file_of(["svg", "png"]))]
    plot: Option<PathBuf>,
    /// What the plot shows: margin, bound, radius, adversary or seconds [default: margin, radius, or seconds of instances]
    #[arg(long, value_name = "WHAT", requires = "plot", value_parser = ["margin", "bound", "radius", "adversary", "seconds"])]
    of: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Exit with code 1 if less is certified in B than in A: fewer images, a smaller mean certified radius, or fewer decided instances
    #[arg(long)]
    exit_code: bool,
}

/// Prints what differs.
pub fn run(args: &CompareArgs) -> Result<ExitCode> {
    let kinds = [contents_of(&args.a)?, contents_of(&args.b)?];
    if kinds[0] != kinds[1] {
        let [a, b] = kinds.map(Contents::name);
        bail!("{}: holds {b}, {} holds {a}", args.b.display(), args.a.display());
    }
    let (a, b) = (args.a.as_path(), args.b.as_path());
    let compared = match kinds[0] {
        Contents::Attacks => compare_attacks(&read_run(a)?, &read_run(b)?),
        Contents::Radii => compare_radii(&read_run(a)?, &read_run(b)?),
        Contents::Instances => compare_instances(&read_run(a)?, &read_run(b)?),
        Contents::Maximum => {
            bail!("{}: holds one maximum: there is nothing to compare", a.display())
        }
    };
    if compared.both == 0 {
        bail!("{} and {}: have no record in common", a.display(), b.display());
    }
    if let Some(file) = &args.plot {
        draw(file, &compared, args)?;
    }
    let names = [a, b].map(|path| path.display().to_string());
    let mut stdout = io::stdout().lock();
    let printed = match args.json {
        true => json::line(&mut stdout, &compared),
        false => text::comparison(&mut stdout, &compared, [&names[0], &names[1]]),
    };
    printed.and_then(|()| stdout.flush()).context("stdout")?;
    if !compared.contradictions.is_empty() {
        return Ok(ExitCode::from(CONTRADICTORY));
    }
    let is_worse = args.exit_code && compared.is_worse();
    if is_worse {
        let [before, after] = compared.certified;
        // Nothing is left to do when stderr is gone.
        let _ =
            writeln!(io::stderr(), "rw-adv: less is certified in B: {after} against {before} in A");
    }
    Ok(if is_worse { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn draw(file: &Path, compared: &RunComparison, args: &CompareArgs) -> Result<()> {
    let wanted = match args.of.as_deref() {
        Some("radius") => Some("certified radius"),
        Some("adversary") => Some("distance of the nearest adversary"),
        other => other,
    };
    let is_wanted = |(title, _): &&(&str, Vec<ComparedPoint>)| wanted.is_none_or(|w| w == *title);
    let Some((title, points)) = compared.plots.iter().find(is_wanted) else {
        bail!("--of {}: these results have none", args.of.as_deref().unwrap_or_default());
    };
    let group = |name: &str, change: i8| Series {
        name: name.into(),
        points: points.iter().filter(|p| p.change == change).map(|p| (p.a, p.b)).collect(),
    };
    let groups = [group("same verdict", 0), group("worse in B", -1), group("better in B", 1)];
    let figure = Scatter {
        title: format!("{}{}", title[..1].to_uppercase(), &title[1..]),
        subtitle: format!("{} records in both", points.len()),
        x_label: format!("A: {}", args.a.display()),
        y_label: format!("B: {}", args.b.display()),
        log: *title == "seconds",
        groups: groups.into_iter().filter(|group| !group.points.is_empty()).collect(),
    }
    .drawing();
    let is_png = file.extension().is_some_and(|end| end == "png");
    let drawn = if is_png { figure.png() } else { figure.svg().map(String::into_bytes) };
    let written = drawn.and_then(|bytes| fs::write(file, bytes));
    written.with_context(|| format!("{}: cannot write", file.display()))
}
