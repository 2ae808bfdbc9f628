//! `rw-adv bench search`: what the search alone costs and finds, beside an earlier program.
//!
//! Both programs run as processes of their own, in alternation, on the same images. CPU time is what the system counts for a process that has
//! ended (user time, all threads).

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Deserialize;

use super::images::ImageArgs;
use super::measure::{cpu_of_children, yes_or_no};
use crate::values::at_least_one;

/// What commit 87bed78 found on the first 50 images of 2×500 at Δ = 5, seed 0.
const REFERENCE: &str = include_str!("reference/search_87bed78.csv");

/// Margins that differ by no more count as equal.
const EQUAL: f64 = 1e-6;
/// The goals: the share of the CPU time, the share of equal (or better) margins, and how much worse a margin may be.
const CPU_GOAL: f64 = 0.4;
const EQUAL_GOAL: f64 = 0.96;
const WORSE_GOAL: f64 = 1e-4;

#[derive(Args)]
pub struct SearchArgs {
    #[command(flatten)]
    images: ImageArgs,
    /// An earlier rw-adv to compare with, CPU time included [default: stored margins of commit 87bed78, without CPU time]
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Seed of the searches
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Runs of each program, in alternation
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    rounds: usize,
}

/// What is compared of one record.
#[derive(Clone, Copy, Debug, Deserialize)]
struct SearchRow {
    image: usize,
    target: usize,
    margin: f64,
    starts: usize,
    regions: usize,
    lps: usize,
    iterations: usize,
}

/// A number that is added up over all records.
type RowCount = fn(&SearchRow) -> usize;

/// All records of one program, by image and target, and the CPU time that they took.
#[derive(Clone, Debug, Default)]
struct SearchRun {
    rows: BTreeMap<(usize, usize), SearchRow>,
    cpu: Option<f64>,
}

impl SearchRun {
    fn read(text: &str) -> Result<Self> {
        let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
        let keyed = rows.map(|row| row.map(|row: SearchRow| ((row.image, row.target), row)));
        Ok(Self { rows: keyed.collect::<Result<_, _>>()?, cpu: None })
    }

    fn sum(&self, of: impl Fn(&SearchRow) -> usize) -> usize {
        self.rows.values().map(of).sum()
    }
}

/// Searches without branching, beside what an earlier program does.
pub fn run(out: &mut impl Write, args: &SearchArgs) -> Result<()> {
    let ours = std::env::current_exe().context("our own program")?;
    let (mut this, mut earlier) = (SearchRun::default(), SearchRun::default());
    for _ in 0..args.rounds {
        add(&mut this, searched(&ours, args)?);
        if let Some(program) = &args.against {
            add(&mut earlier, searched(program, args)?);
        }
    }
    if args.against.is_none() {
        earlier = SearchRun::read(REFERENCE)?;
        earlier.rows.retain(|key, _| this.rows.contains_key(key));
        let is_whole = earlier.rows.len() == this.rows.len();
        ensure!(
            is_whole,
            "there is no reference for all of these images: name a program with --against"
        );
    }
    compare(out, &this, &earlier)
}

/// Another run of the same program: the CPU times add up.
fn add(to: &mut SearchRun, run: SearchRun) {
    let cpu = to.cpu.unwrap_or(0.0) + run.cpu.unwrap_or(0.0);
    *to = SearchRun { cpu: run.cpu.map(|_| cpu), ..run };
}

/// One run of a program.
fn searched(program: &Path, args: &SearchArgs) -> Result<SearchRun> {
    let table =
        std::env::temp_dir().join(format!("rw-adv-bench-search-{}.csv", std::process::id()));
    let mut command = Command::new(program);
    let ImageArgs { model, data, images, delta } = &args.images;
    command.arg("--model").arg(model).arg("--data").arg(data);
    command.args(["--images", &images.to_string(), "--delta", &delta.to_string()]);
    command.args(["--seed", &args.seed.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A program that branches by default is told not to; earlier ones do not know this.
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut dry = Command::new(program);
    dry.args(&arguments).args(["--branch", "0", "--dry-run"]);
    dry.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if dry.status().with_context(|| program.display().to_string())?.success() {
        command.args(["--branch", "0"]);
    }
    command.arg("--csv").arg(&table);
    let before = cpu_of_children();
    let status = command.status().with_context(|| program.display().to_string())?;
    let cpu = cpu_of_children().zip(before).map(|(after, before)| after - before);
    if !status.success() {
        bail!("{}: ended with {status}", program.display());
    }
    let text = fs::read_to_string(&table).with_context(|| table.display().to_string())?;
    let _ = fs::remove_file(&table);
    Ok(SearchRun { cpu, ..SearchRun::read(&text)? })
}

fn compare(out: &mut impl Write, this: &SearchRun, earlier: &SearchRun) -> Result<()> {
    ensure!(
        this.rows.keys().eq(earlier.rows.keys()),
        "the two programs have answered different questions"
    );
    writeln!(out, "{:<12} {:>10} {:>10} {:>6}", "", "this", "earlier", "ratio")?;
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { f64::NAN };
    let counts: [(&str, RowCount); 4] = [
        ("starts", |row| row.starts),
        ("regions", |row| row.regions),
        ("LPs", |row| row.lps),
        ("iterations", |row| row.iterations),
    ];
    for (name, of) in counts {
        let (a, b) = (this.sum(of), earlier.sum(of));
        writeln!(out, "{name:<12} {a:>10} {b:>10} {:>6.2}", ratio(a as f64, b as f64))?;
    }
    let mut cheap = "not measured";
    if let (Some(a), Some(b)) = (this.cpu, earlier.cpu) {
        writeln!(out, "{:<12} {a:>10.2} {b:>10.2} {:>6.2}", "CPU seconds", ratio(a, b))?;
        cheap = yes_or_no(ratio(a, b) <= CPU_GOAL);
    }
    let pairs = this.rows.iter().zip(earlier.rows.values());
    let gains: Vec<(usize, f64)> =
        pairs.map(|((key, a), b)| (key.0, a.margin - b.margin)).collect();
    let better = gains.iter().filter(|(_, gain)| *gain > EQUAL).count();
    let worse: Vec<_> = gains.iter().filter(|(_, gain)| *gain < -EQUAL).collect();
    let equal = gains.len() - better - worse.len();
    writeln!(
        out,
        "margins: equal to {EQUAL:e} on {equal} of {}, better on {better}, worse on {}",
        gains.len(),
        worse.len()
    )?;
    for (image, gain) in &worse {
        writeln!(out, "  image {image}: {:.2e} lower", -gain)?;
    }
    let most = worse.iter().map(|(_, gain)| -gain).fold(0.0, f64::max);
    let close = (equal + better) as f64 >= EQUAL_GOAL * gains.len() as f64;
    writeln!(
        out,
        "goals: CPU time at most {CPU_GOAL} of the earlier: {cheap}; {EQUAL_GOAL} of the margins no lower: {}; none lower by more than {WORSE_GOAL:e}: {}",
        yes_or_no(close),
        yes_or_no(most <= WORSE_GOAL)
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "image,target,margin,starts,regions,lps,iterations\n";

    fn said(ours: &str, theirs: &str, cpu: Option<(f64, f64)>) -> String {
        let read = |text: &str, cpu| {
            let run = SearchRun::read(&format!("{HEAD}{text}")).expect("a table");
            SearchRun { cpu, ..run }
        };
        let mut out = Vec::new();
        let (this, earlier) = (read(ours, cpu.map(|c| c.0)), read(theirs, cpu.map(|c| c.1)));
        compare(&mut out, &this, &earlier).expect("the same questions");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn ratios_and_worse_margins_are_told() {
        let ours = "0,1,-1.5,10,20,30,40\n1,2,0.25,1,1,1,1\n";
        let theirs = "0,1,-1.25,20,40,60,80\n1,2,0.25,1,1,1,1\n";
        let text = said(ours, theirs, Some((3.0, 10.0)));
        assert!(text.contains("equal to 1e-6 on 1 of 2, better on 0, worse on 1"), "{text}");
        assert!(text.contains("image 0: 2.50e-1 lower"), "{text}");
        assert!(text.contains("0.30") && text.contains("0.4 of the earlier: yes"), "{text}");
        assert!(text.contains("no lower: no; none lower by more than 1e-4: no"), "{text}");
        let better = said(theirs, ours, None);
        assert!(better.contains("better on 1, worse on 0"), "{better}");
        assert!(better.contains("not measured; 0.96 of the margins no lower: yes"), "{better}");
    }

    #[test]
    fn the_stored_reference_is_whole() {
        let reference = SearchRun::read(REFERENCE).expect("a table");
        assert_eq!(reference.rows.len(), 50);
        assert_eq!(reference.sum(|row| row.lps), 25026);
    }
}
