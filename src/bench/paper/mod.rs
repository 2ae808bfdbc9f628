//! `rw-adv bench paper`: the paper's experiments with every method, side by side, in equal time.

mod claims;
mod compare;
mod figures;
mod files;
mod instances;
mod markdown;
mod method_run;
mod methods;
mod reproduction;
mod store;
mod table1;
mod verdict;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use clap::ValueEnum;
use rayon::prelude::*;
use rw_adv::data::Selection;
use rw_adv::onnx::OnnxModel;
use rw_adv::search::Method;

use sha2::{Digest, Sha256};

use super::images::ImageArgs;
use crate::interrupt::{catch_interrupts, is_interrupted};
use crate::values::{at_least_one, positive};
use compare::MethodComparison;
use instances::{Instance, NetworkSize, Seeds};
use method_run::RunLimit;
use methods::NamedMethod;
pub use reproduction::{PaperReportArgs, run as report};
use store::{PaperManifest, PaperStore};

#[derive(clap::Args)]
pub struct PaperArgs {
    /// Random networks over the unit box, or the optimal adversary on images
    #[arg(long, value_enum)]
    experiment: Experiment,
    /// CPU time of each method on each instance, in one thread, neuron bounds included
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    seconds: f64,
    /// Directory of the results; one left unfinished with the same settings is continued [default: bench-EXPERIMENT]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Which methods; gurobi and scip are called through --solve-mps, and left out where they are not installed
    #[arg(long, value_delimiter = ',', default_values = Method::NAMES, value_parser = methods::names())]
    methods: Vec<String>,
    /// The command for gurobi and scip, split at spaces: a Python that has them installed, and the script
    #[arg(long, value_name = "COMMAND", default_value = "python3 scripts/solve_mps.py")]
    solve_mps: String,
    /// End each search after so many starts [default: as many as there is time for]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    starts: Option<usize>,
    /// Continue a run that another build began
    #[arg(long)]
    any_build: bool,
    /// Random networks: inputs, hidden layers and width, such as 1000x2x500 [default: the paper's 18]
    #[arg(long, value_delimiter = ',', value_name = "NxLxW")]
    sizes: Vec<NetworkSize>,
    /// Random networks: seeds, as for torch.manual_seed
    #[arg(long, default_value = "50..55")]
    seeds: Seeds,
    /// Images: the classifier
    #[arg(long, value_name = "FILE", default_value = "models/mnist_2x500.onnx")]
    model: PathBuf,
    /// Images: where they are
    #[arg(long, value_name = "PATH", default_value = "data")]
    data: PathBuf,
    /// Images: which
    #[arg(long, value_name = "WHICH", default_value = "50")]
    images: Selection,
    /// Images: L1 budget
    #[arg(long, default_value_t = 5.0, value_parser = positive)]
    delta: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Experiment {
    Random,
    Mnist,
}

impl Experiment {
    fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Mnist => "mnist",
        }
    }
}

pub fn run(out: &mut (impl Write + Send), args: PaperArgs) -> Result<()> {
    match args.experiment {
        Experiment::Random => {
            let sizes = if args.sizes.is_empty() {
                NetworkSize::of_the_paper()
            } else {
                args.sizes.clone()
            };
            let of_size =
                |&size| args.seeds.0.iter().map(move |&seed| Instance::random(size, seed));
            let instances: Vec<Instance> = sizes.iter().flat_map(of_size).collect();
            compare(out, &args, &instances, BTreeMap::new())
        }
        Experiment::Mnist => {
            let images = ImageArgs {
                model: args.model.clone(),
                data: args.data.clone(),
                images: args.images.clone(),
                delta: args.delta,
            };
            let (model, list) = images.open()?;
            let of_image = |image| Instance::image(&images, &model.network, image);
            let instances: Vec<Instance> = list.iter().map(of_image).collect();
            compare(out, &args, &instances, settings(&args, &model))
        }
    }
}

/// What else makes a difference for images.
fn settings(args: &PaperArgs, model: &OnnxModel) -> BTreeMap<String, String> {
    let model = format!("{} (SHA-256 {})", args.model.display(), model.sha256);
    let data = args.data.display().to_string();
    let all = [("--model", model), ("--data", data), ("--delta", args.delta.to_string())];
    all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// What was typed, with the program's name alone.
fn command_line() -> String {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let quoted = |arg: &String| if arg.contains(' ') { format!("\"{arg}\"") } else { arg.clone() };
    let words: Vec<String> =
        std::iter::once("rw-adv".to_owned()).chain(args.iter().map(quoted)).collect();
    words.join(" ")
}

/// Which build runs: two builds of one version may differ.
fn binary_sha256() -> Result<String> {
    let path = std::env::current_exe().context("the running program")?;
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    Ok(hex::encode(Sha256::digest(bytes)))
}

/// Runs all methods on all instances, and writes what comes out.
fn compare(
    out: &mut (impl Write + Send),
    args: &PaperArgs,
    instances: &[Instance],
    settings: BTreeMap<String, String>,
) -> Result<()> {
    let directory = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("bench-{}", args.experiment.name())));
    let methods = methods::resolve(&args.methods, &args.solve_mps, out)?;
    let manifest = PaperManifest {
        experiment: args.experiment.name().to_owned(),
        seconds: args.seconds,
        command: command_line(),
        settings,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        binary: if args.any_build { None } else { Some(binary_sha256()?) },
    };
    let mut store = PaperStore::open(&directory, &manifest)?;
    catch_interrupts()?;
    let limit = RunLimit { seconds: args.seconds, starts: args.starts.unwrap_or(usize::MAX) };
    run_all(out, instances, &methods, limit, &mut store)?;
    if is_interrupted() {
        writeln!(out, "interrupted: the same command goes on in {}", directory.display())?;
        return Ok(());
    }
    let names: Vec<(String, String)> =
        instances.iter().map(|i| (i.name.clone(), i.group.clone())).collect();
    let methods = methods.iter().map(|method| method.name.to_owned()).collect();
    let results = MethodComparison::new(methods, &names, &store.runs);
    files::write(&store.directory, &manifest, &results)?;
    for line in verdict::sentences(&results) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "written: {}/REPORT.md", directory.display())?;
    Ok(())
}

/// Runs what the store does not have yet, on all cores.
fn run_all(
    out: &mut (impl Write + Send),
    instances: &[Instance],
    methods: &[NamedMethod],
    limit: RunLimit,
    store: &mut PaperStore,
) -> Result<()> {
    let all = instances.iter().flat_map(|i| methods.iter().map(move |&method| (i, method)));
    let left: Vec<(&Instance, NamedMethod)> =
        all.filter(|(instance, method)| !store.has(&instance.name, method.name)).collect();
    writeln!(
        out,
        "{:<24} {:<12} {:>14} {:>9} {:>9} {:>8}",
        "instance", "method", "value", "best at", "finished", "seconds"
    )?;
    let shared = Mutex::new((store, out));
    // In order: rayon would split a slice in halves, and an interrupted run would lack the second half.
    left.into_iter().par_bridge().try_for_each(|(instance, method)| -> Result<()> {
        if is_interrupted() {
            return Ok(());
        }
        let run = method_run::run(instance, method, limit)?;
        if is_interrupted() {
            return Ok(());
        }
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (store, out) = &mut *shared;
        writeln!(
            out,
            "{:<24} {:<12} {:>14.6} {:>9.2} {:>9} {:>8.2}{}",
            run.instance,
            run.method,
            run.value,
            run.seconds_to_best,
            run.finished,
            run.seconds,
            if run.refused { "  skipped: more than its licence allows" } else { "" }
        )?;
        out.flush()?;
        store.add(run)
    })
}
