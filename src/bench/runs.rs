//! `rw-adv bench runs`: whole runs of the program as processes of their own, each a ratio: what files cost, Δ = 3, and radii.
//!
//! CPU time is what the system counts for a process that has ended, all threads, its own work for files included.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use rw_adv::record::{AttackRecord, RadiusRecord, Verdict, json};
use serde::de::DeserializeOwned;

use super::measure::{cpu_of_children, cpu_of_this_process, system_of_children, yes_or_no};

/// The goals: what `--out` may add, what Δ = 3 may take, and how far attacked radii may be above certified ones, without and with branching.
const FILES_GOAL: f64 = 1.2;
const FILES_ROUNDS: usize = 5;
const DELTA_3_GOAL: f64 = 10.0;
const RADIUS_GOAL: f64 = 4.25;
const BRANCHED_RADIUS_GOAL: f64 = 5.0;

#[derive(Args)]
pub struct RunsArgs {
    /// The folder with the models mnist_2x16.onnx and mnist_2x500.onnx
    #[arg(long, value_name = "DIR", default_value = "models")]
    models: PathBuf,
    /// The images
    #[arg(long, value_name = "PATH", default_value = "data")]
    data: PathBuf,
    /// An earlier rw-adv, for ratios of CPU time
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Images of the run with and without files; 0 leaves it out
    #[arg(long, default_value_t = 500)]
    files_images: usize,
    /// Images at Δ = 3; 0 leaves it out
    #[arg(long, default_value_t = 50)]
    verdict_images: usize,
    /// Images whose radii are worked out; 0 leaves it out
    #[arg(long, default_value_t = 10)]
    radius_images: usize,
    /// Radii with branching, too, with so many seconds for each image
    #[arg(long, value_name = "SECONDS")]
    branch: Option<f64>,
}

/// What a run printed, and its CPU time.
struct FinishedRun {
    text: Vec<u8>,
    cpu: f64,
}

impl FinishedRun {
    fn of(program: &Path, arguments: &[String]) -> Result<Self> {
        let cpu =
            || cpu_of_children().zip(system_of_children()).map(|(user, system)| user + system);
        let before = cpu();
        let mut command = Command::new(program);
        command.args(arguments).arg("--json").stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output().with_context(|| program.display().to_string())?;
        if !output.status.success() {
            bail!("{}: ended with {}", program.display(), output.status);
        }
        let cpu = cpu().zip(before).map_or(f64::NAN, |(after, before)| after - before);
        Ok(Self { text: output.stdout, cpu })
    }

    fn records<R: DeserializeOwned>(&self) -> Result<Vec<R>> {
        let lines = self.text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| json::parse(line).context("a record")).collect()
    }
}

/// A run of this program and, if one is named, of an earlier one.
struct Runs<'r> {
    args: &'r RunsArgs,
    ours: PathBuf,
}

impl Runs<'_> {
    fn arguments(&self, command: &[&str], model: &str, images: usize) -> Vec<String> {
        let mut arguments: Vec<String> = command.iter().map(ToString::to_string).collect();
        let model = self.args.models.join(model).display().to_string();
        let (data, images) = (self.args.data.display().to_string(), images.to_string());
        let [m, d, i] = ["--model", "--data", "--images"].map(String::from);
        arguments.extend([m, model, d, data, i, images]);
        arguments
    }

    /// The CPU time of an earlier program as text: its ratio.
    fn beside(&self, arguments: &[String], cpu: f64) -> Result<String> {
        let Some(program) = &self.args.against else { return Ok(String::new()) };
        let earlier = FinishedRun::of(program, arguments)?.cpu;
        Ok(format!("; earlier {earlier:.2} CPU s, ratio {:.2}", cpu / earlier))
    }

    fn files(&self, out: &mut impl Write) -> Result<()> {
        let root = std::env::temp_dir().join(format!("rw-adv-bench-runs-{}", std::process::id()));
        let found = self.files_in(&root, out);
        // At the end: a system that has just removed files is slower at making new ones. Where there is nothing to remove, nothing is left
        // to do.
        let _ = std::fs::remove_dir_all(&root);
        found
    }

    fn files_in(&self, root: &Path, out: &mut impl Write) -> Result<()> {
        let mut arguments = self.arguments(&[], "mnist_2x16.onnx", self.args.files_images);
        arguments.extend(["--delta", "5", "--goal", "verdict"].map(String::from));
        let choices = ["none", "adversaries", "all"];
        let (mut without, mut with) = (0.0, [0.0; 3]);
        // The system counts hundredths of a second. In turn, so that what else is at work falls to all alike.
        for round in 0..FILES_ROUNDS {
            without += FinishedRun::of(&self.ours, &arguments)?.cpu;
            for (pictures, with) in choices.iter().zip(&mut with) {
                let folder = root.join(format!("{round}-{pictures}")).display().to_string();
                let more = ["--pictures", pictures, "--out", &folder].map(String::from);
                *with += FinishedRun::of(&self.ours, &[&arguments[..], &more].concat())?.cpu;
            }
        }
        for (pictures, with) in choices.iter().zip(with) {
            let folders = (0..FILES_ROUNDS).map(|k| root.join(format!("{k}-{pictures}")));
            let copied = copy_files(folders, &root.join(format!("copies-{pictures}")))?;
            let ratio = with / without;
            writeln!(
                out,
                "--out, --pictures {pictures}: {with:.2} CPU s, {without:.2} without: ratio {ratio:.2}; at most {FILES_GOAL}: {}. \
                 Writing the same files of adversaries and nothing else: {copied:.2} CPU s, {:.2} of a run without",
                yes_or_no(ratio <= FILES_GOAL),
                copied / without
            )?;
        }
        Ok(())
    }

    fn verdicts(&self, out: &mut impl Write) -> Result<()> {
        let mut arguments = self.arguments(&[], "mnist_2x500.onnx", self.args.verdict_images);
        arguments.extend(["--delta", "3", "--goal", "verdict"].map(String::from));
        let run = FinishedRun::of(&self.ours, &arguments)?;
        let records: Vec<AttackRecord> = run.records()?;
        let decided = records.iter().filter(|record| record.verdict != Verdict::Unknown).count();
        let (cpu, all) = (run.cpu, records.len());
        let beside = self.beside(&arguments, cpu)?;
        writeln!(
            out,
            "Δ = 3: {decided} of {all} decided, {cpu:.2} CPU s{beside}; all in at most {DELTA_3_GOAL}: {}",
            yes_or_no(decided == all && cpu <= DELTA_3_GOAL)
        )?;
        Ok(())
    }

    fn radii(&self, out: &mut impl Write, branch: Option<f64>) -> Result<()> {
        let (command, images) = (["radius"], self.args.radius_images);
        let mut arguments = self.arguments(&command, "mnist_2x500.onnx", images);
        if let Some(seconds) = branch {
            let seconds = seconds.to_string();
            arguments.extend(["--branch", "--threads", "1", "--time-limit"].map(String::from));
            arguments.push(seconds);
        }
        let run = FinishedRun::of(&self.ours, &arguments)?;
        let records: Vec<RadiusRecord> = run.records()?;
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let certified = mean(records.iter().map(|record| record.certified_radius).collect());
        let attacked = mean(records.iter().filter_map(|record| record.attack_radius).collect());
        let goal = if branch.is_some() { BRANCHED_RADIUS_GOAL } else { RADIUS_GOAL };
        // Earlier programs do not branch here.
        let beside =
            if branch.is_some() { String::new() } else { self.beside(&arguments, run.cpu)? };
        let name = if branch.is_some() { "radii with branching" } else { "radii" };
        writeln!(
            out,
            "{name}: certified {certified:.3}, attacked {attacked:.3}, ratio {:.2}; {:.2} CPU s{beside}; certified at least {goal}: {}",
            attacked / certified,
            run.cpu,
            yes_or_no(certified >= goal)
        )?;
        Ok(())
    }
}

/// Writes the adversaries' files of these result directories once more, and tells the CPU time that writing took.
fn copy_files(folders: impl Iterator<Item = PathBuf>, to: &Path) -> Result<f64> {
    let mut files = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder.join("adversarial"))? {
            files.push(std::fs::read(entry?.path())?);
        }
    }
    std::fs::create_dir_all(to)?;
    let before = cpu_of_this_process();
    for (number, bytes) in files.iter().enumerate() {
        std::fs::write(to.join(number.to_string()), bytes)?;
    }
    Ok(cpu_of_this_process().zip(before).map_or(f64::NAN, |(after, before)| after - before))
}

/// Runs the program, and prints one line for each question.
pub fn run(out: &mut impl Write, args: &RunsArgs) -> Result<()> {
    let runs = Runs { args, ours: std::env::current_exe().context("our own program")? };
    if args.files_images > 0 {
        runs.files(out)?;
    }
    if args.verdict_images > 0 {
        runs.verdicts(out)?;
    }
    if args.radius_images > 0 {
        runs.radii(out, None)?;
        if args.branch.is_some() {
            runs.radii(out, args.branch)?;
        }
    }
    Ok(())
}
