//! `rw-adv verify`: VNN-LIB properties of ONNX networks, one or many.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use rw_adv::budget::Budget;
use rw_adv::onnx;
use rw_adv::record::json::{self, Fields};
use rw_adv::record::{RecordedResult, VerifyInstance, VerifyRecord, VerifySettings};
use rw_adv::report::text;
use rw_adv::report::text::verify::ResultWords;
use rw_adv::run::{Batch, BatchResult, PropertyProofFiles, VerifyItem, VerifyJob};
use rw_adv::search::SearchOptions;
use rw_adv::solve::{BranchLimits, Goal, SolveOptions};
use rw_adv::tolerance::OPTIMAL_GAP;
use rw_adv::vnnlib::ListedInstance;
use sha2::{Digest, Sha256};

use super::run_args::{RunArgs, show_plan};
use super::screen::Screen;
use super::self_check::SelfCheckArgs;
use super::terminal::{ProgressSink, Terminal};
use crate::interrupt::catch_interrupts;
use crate::values::at_least_one;

/// Exit code of a run in which some files could not be used.
const BAD_INPUT: u8 = 2;

#[derive(clap::Args)]
pub struct VerifyArgs {
    /// MODEL.onnx PROPERTY.vnnlib; with --network, the property alone
    #[arg(value_name = "FILE", num_args = 0..=2, required_unless_present = "instances", conflicts_with = "instances")]
    files: Vec<PathBuf>,
    /// Many instances: a CSV file with a line NETWORK,PROPERTY,SECONDS for each, paths relative to it, as in VNN-COMP
    #[arg(long, value_name = "CSV")]
    instances: Option<PathBuf>,
    /// The file of the network that a property in VNN-LIB 2.0 declares; results are told in the words of its standard
    #[arg(long, value_name = "NAME=FILE", conflicts_with = "instances")]
    network: Vec<NamedNetwork>,
    /// Which output of the model, if it has several
    #[arg(long, value_name = "NAME", conflicts_with = "instances")]
    output: Option<String>,
    /// Write the result as VNN-COMP wants it: a line sat, unsat, unknown or timeout, then the counterexample
    #[arg(long, value_name = "FILE", conflicts_with = "instances")]
    results: Option<PathBuf>,
    /// Starts in a row without gain after which a search ends, and branch and bound begins
    #[arg(long, value_name = "STARTS", default_value_t = SearchOptions::default().patience, value_parser = at_least_one, hide_short_help = true)]
    patience: usize,
    /// Bound at most so many parts of each conjunction's set [default: as many as it takes]
    #[arg(long, value_name = "NODES", value_parser = at_least_one, hide_short_help = true)]
    nodes: Option<usize>,
    /// Write a proof of every unsat to a new directory, for `rw-adv check-proof`
    ///
    /// One file for each instance, NUMBER_MODEL_PROPERTY.json.gz. Bounds are made so that they can be proven: that may take more parts, and the
    /// proofs take memory until they are written. There are no proofs of properties that have linear conditions on several inputs, nor for models that the checker does not read;
    /// a warning tells.
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    proof: Option<PathBuf>,
    #[command(flatten)]
    self_check: SelfCheckArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// `--network`: the name in the property, and the file.
#[derive(Clone)]
struct NamedNetwork {
    name: String,
    file: PathBuf,
}

impl FromStr for NamedNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, file)) if !name.is_empty() && !file.is_empty() => {
                Ok(Self { name: name.into(), file: file.into() })
            }
            _ => Err("must be NAME=FILE".into()),
        }
    }
}

/// Prints one result, or a table of many.
pub fn run(args: VerifyArgs, screen: Screen) -> Result<ExitCode> {
    let clock = Budget::unlimited();
    args.run.start_threads()?;
    let items = args.items()?;
    let mut job = VerifyJob::new(args.options(items.len()), args.output.clone());
    job.self_check = args.self_check.is_asked();
    let settings = args.settings(&items, &job.options)?;
    let destination = args.run.out.destination()?;
    if args.run.dry_run {
        return show_plan(&job, &items, &settings, &destination, args.run.json);
    }
    // What is written to is opened before anything is computed.
    let results = args.results.as_ref().map(|path| open(path)).transpose()?;
    job.proofs = args.open_proofs()?;
    let batch = Batch::open(&job, items, settings, &destination)?;
    catch_interrupts()?;
    if args.instances.is_none() {
        let result = batch.run(&args.run.limits(), &clock, &mut ProgressSink::new(screen));
        return args.tell_one(result, results);
    }
    let keeps = destination.directory.is_some();
    let mut terminal = Terminal::new(screen, args.run.json, keeps, batch.left());
    terminal.begin::<VerifyRecord>()?;
    let result = batch.run(&args.run.limits(), &clock, &mut terminal);
    let seconds = result.new_seconds();
    let told = result.stored.map_err(Into::into).and_then(|()| {
        terminal.print_text(|out| {
            text::continued(out, result.finished_before, result.records.len())?;
            text::verify::summary(out, &result.summary, seconds)
        })
    });
    result.solved?;
    told?;
    let has_errors = result.summary.results.contains_key(&RecordedResult::Error);
    Ok(exit_code(result.interrupted, has_errors))
}

fn exit_code(interrupted: bool, has_errors: bool) -> ExitCode {
    match (interrupted, has_errors) {
        (true, _) => ExitCode::from(130),
        (false, true) => ExitCode::from(BAD_INPUT),
        (false, false) => ExitCode::SUCCESS,
    }
}

fn open(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("--results {}", path.display()))
}

impl VerifyArgs {
    fn options(&self, instances: usize) -> SolveOptions {
        let search = SearchOptions {
            seed: self.run.seed,
            patience: self.patience,
            ..SearchOptions::default()
        };
        let parallel = instances < rayon::current_num_threads();
        let nodes = self.nodes.unwrap_or(usize::MAX);
        let branch = Some(BranchLimits { nodes, gap: OPTIMAL_GAP, parallel });
        let proofs = self.proof.is_some() || self.self_check.is_asked();
        SolveOptions { search, goal: Goal::Verdict, branch, proofs, ..SolveOptions::default() }
    }

    /// Where proofs go. Those of a run that is continued, or shared, are there already.
    fn open_proofs(&self) -> Result<Option<PropertyProofFiles>> {
        let Some(directory) = &self.proof else { return Ok(None) };
        let opened = match self.run.out.is_continued() {
            true => PropertyProofFiles::resume(directory, self.run.out.is_shared()),
            false => PropertyProofFiles::create(directory),
        };
        Ok(opened.map(Some)?)
    }

    fn items(&self) -> Result<Vec<VerifyItem>> {
        let timeout = self.run.time_limit;
        if let Some(list) = &self.instances {
            let listed = ListedInstance::read(list)?;
            let item = |(instance, listed): (usize, ListedInstance)| {
                let ListedInstance { model, property, timeout: own } = listed;
                let files = [&model, &property].map(|name| ListedInstance::file(list, name));
                let timeout = [own, timeout].into_iter().flatten().reduce(f64::min);
                item(VerifyInstance { instance, model, property, timeout }, files, None)
            };
            return Ok(listed.into_iter().enumerate().map(item).collect());
        }
        let (files, network) = match (&self.network[..], &self.files[..]) {
            ([], [model, property]) => ([model.clone(), property.clone()], None),
            ([network], [property]) => {
                ([network.file.clone(), property.clone()], Some(network.name.clone()))
            }
            ([], _) => bail!("verify: takes MODEL.onnx PROPERTY.vnnlib (try --help)"),
            ([_], _) => bail!("verify: takes one PROPERTY.vnnlib with --network (try --help)"),
            (_, _) => bail!("--network: several networks are not supported"),
        };
        let [model, property] = files.each_ref().map(|file| file.display().to_string());
        let instance = VerifyInstance { instance: 0, model, property, timeout };
        Ok(vec![item(instance, files, network)])
    }

    fn settings(&self, items: &[VerifyItem], options: &SolveOptions) -> Result<Fields> {
        let instances = self.instances.as_ref().or(self.files.last());
        Ok(json::fields(&VerifySettings {
            instances: instances.map_or(String::new(), |file| file.display().to_string()),
            instances_sha256: sha256_of_all(items)?,
            output: self.output.clone(),
            time_limit: self.run.time_limit,
            branch: options.branch.map(|branch| branch.nodes),
            patience: options.search.patience,
            seed: self.run.seed,
        }))
    }

    /// Prints the only result, and writes it to the file that was asked for.
    fn tell_one(&self, result: BatchResult<VerifyJob>, results: Option<File>) -> Result<ExitCode> {
        result.solved?;
        result.stored?;
        let Some(record) = result.records.last() else { return Ok(exit_code(true, false)) };
        let words = match self.network[..] {
            [] => ResultWords::Competition,
            _ => ResultWords::Standard,
        };
        if let (Some(mut file), Some(path)) = (results, &self.results) {
            let told = match record.result {
                // The competition knows no other word for it.
                RecordedResult::Error => writeln!(file, "error"),
                _ => text::verify::result(&mut file, record, words),
            };
            told.with_context(|| format!("--results {}", path.display()))?;
        }
        if let Some(error) = &record.error {
            bail!("{error}");
        }
        let mut stdout = io::stdout().lock();
        let printed = if self.run.json {
            json::line(&mut stdout, record)
        } else {
            text::verify::result(&mut stdout, record, words)
        };
        printed.and_then(|()| stdout.flush()).context("stdout")?;
        Ok(exit_code(result.interrupted, false))
    }
}

fn item(
    instance: VerifyInstance,
    [model, property]: [PathBuf; 2],
    network: Option<String>,
) -> VerifyItem {
    VerifyItem { instance, model, property, network }
}

/// One SHA-256 over the files of all instances, and their timeouts. A file that cannot be read counts as that.
fn sha256_of_all(items: &[VerifyItem]) -> Result<String> {
    let mut from_path: HashMap<&Path, Vec<u8>> = HashMap::new();
    let mut all = Sha256::new();
    for item in items {
        for path in [item.model.as_path(), item.property.as_path()] {
            let sha256 = from_path.entry(path).or_insert_with(|| {
                // Weights may lie in files beside the model's.
                let model = (path == item.model).then(|| onnx::sha256(path)).flatten();
                let bytes = || fs::read(path).map_or(Vec::new(), |b| Sha256::digest(b).to_vec());
                model.map_or_else(bytes, String::into_bytes)
            });
            all.update((sha256.len() as u64).to_le_bytes());
            all.update(&*sha256);
        }
        all.update(item.instance.timeout.unwrap_or(f64::INFINITY).to_le_bytes());
    }
    Ok(hex::encode(all.finalize()))
}
