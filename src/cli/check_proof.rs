//! `rw-adv check-proof`: whether what branch and bound claims follows from what it wrote down.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Error, Result, bail};
use flate2::read::MultiGzDecoder;
use rw_adv::bounds::Arithmetic;
use rw_adv::data::{DataSource, Dataset, Split};
use rw_adv::onnx::OnnxModel;
use rw_adv::proof::{CaseStatement, ProofFile, RowStatement, SCHEMA, Statement, check};
use rw_adv::record::json;
use rw_adv::verify::Verification;
use rw_adv::vnnlib::VnnlibQuery;
use rw_adv_check::format::Statement as CheckedStatement;
use rw_adv_check::property::{PropertyCase, PropertyProof, Row};
use rw_adv_check::{AnyProof, EXPECTED, Model, read_any};
use sha2::{Digest, Sha256};

#[derive(clap::Args)]
pub struct CheckProofArgs {
    /// The model that the proofs are about (.onnx or .onnx.gz)
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Which output of the model, if it has several
    #[arg(long, value_name = "NAME", requires = "replay")]
    output: Option<String>,
    /// The images that the proofs are about, as of the run: each proof's image must be the one of its number
    ///
    /// Without it the number of an image is what the proof says. The image itself, its values, is in the proof.
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Which set of an MNIST directory: train or test
    #[arg(long, requires = "data", default_value_t = Split::Test)]
    split: Split,
    /// The property file (.vnnlib or .vnnlib.gz) that the proofs are about: their cases must be those of the file
    ///
    /// Without it the property is what the proof says. Its boxes and rows are in the proof.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    property: Option<PathBuf>,
    /// What every proof must be about: delta=5, norm=l1, image=4, predicted=7, target=9, model=SHA-256, centre=SHA-256, verdict=robust,
    /// bound=-0.5 (or lower); of a proof about a property: model=SHA-256, verdict=unsat
    ///
    /// May be repeated. A proof that is about something else counts as one that does not hold. Without verdict=robust a proof may show any
    /// bound.
    #[arg(long, value_name = "KEY=VALUE", value_parser = expectation)]
    expect: Vec<String>,
    /// Use exact numbers instead of f64 rounded outward: for small networks
    #[arg(long)]
    exact: bool,
    /// Use the code that made the proofs: for models that the checker does not support
    #[arg(long, conflicts_with_all = ["expect", "data", "exact"])]
    replay: bool,
    /// Proofs, or directories of them
    #[arg(required = true, value_name = "PROOF")]
    proofs: Vec<PathBuf>,
}

/// `KEY=VALUE`, as it was typed.
fn expectation(text: &str) -> Result<String, String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE, as in delta=5")?;
    let (key, value) = (key.trim(), value.trim());
    match EXPECTED.contains(&key) {
        true => Ok(format!("{key}={value}")),
        false => Err(format!("'{key}' is none of {}", EXPECTED.join(", "))),
    }
}

/// Checks every proof, and prints the theorem that it proves. Exit code 1 if any does not hold.
pub fn run(args: &CheckProofArgs) -> Result<ExitCode> {
    let checker = ProofReader::new(args)?;
    let mut stdout = io::stdout().lock();
    let (mut held, mut failed) = (0, 0);
    for file in files(&args.proofs)? {
        match checker.examine(&file)? {
            Ok(line) => {
                held += 1;
                writeln!(stdout, "{}: holds: {line}", file.display())?;
            }
            Err(error) => {
                failed += 1;
                writeln!(stdout, "{}: DOES NOT HOLD: {error}", file.display())?;
            }
        }
        stdout.flush()?;
    }
    writeln!(stdout, "{held} proofs hold, {failed} do not")?;
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What proofs are checked with.
enum ProofReader<'a> {
    /// The checker that shares no code, and the images if they were named.
    Independent { model: Box<Model>, data: Option<Box<Dataset>>, args: &'a CheckProofArgs },
    /// The code that made the proofs.
    Replay(Box<OnnxModel>),
}

impl<'a> ProofReader<'a> {
    fn new(args: &'a CheckProofArgs) -> Result<Self> {
        if args.replay {
            return Ok(Self::Replay(Box::new(OnnxModel::load_output(
                &args.model,
                args.output.as_deref(),
            )?)));
        }
        let model = Model::read(&args.model).map_err(Error::msg);
        let model = Box::new(model.context("the checker (see --replay)")?);
        let data = match &args.data {
            None => None,
            Some(path) => {
                let dims = OnnxModel::load(&args.model)?.input_dims;
                let (path, split) = (path.clone(), args.split);
                let source = DataSource { path, split, ..DataSource::default() };
                Some(Box::new(Dataset::open(&source, &dims)?))
            }
        };
        Ok(Self::Independent { model, data, args })
    }

    /// What a proof shows, or why it shows nothing.
    fn examine(&self, file: &Path) -> Result<Result<String, String>> {
        match self {
            Self::Replay(model) => {
                let proof = read(file)?;
                Ok(replay(model, &proof).map_err(|error| format!("{error:#}")))
            }
            Self::Independent { model, data, args } => {
                let proof = read_any(file).map_err(Error::msg)?;
                if let (Some(data), AnyProof::Bound(proof)) = (data, &proof)
                    && let CheckedStatement::Image(image) = &proof.statement
                    && (image.image >= data.len()
                        || data.sample(image.image)?.pixels != image.original)
                {
                    return Ok(Err(format!("its image is not image {} of the data", image.image)));
                }
                if let Some(property) = &args.property {
                    let AnyProof::Property(proof) = &proof else {
                        return Ok(Err("it is not about a property".into()));
                    };
                    if !is_about(proof, property)? {
                        return Ok(Err(format!(
                            "its cases are not those of {}",
                            property.display()
                        )));
                    }
                }
                Ok(proof.check(model, args.exact, &args.expect))
            }
        }
    }
}

/// Whether a proof is about the cases of a property file.
fn is_about(proof: &PropertyProof, property: &Path) -> Result<bool> {
    let bytes = fs::read(property).with_context(|| property.display().to_string())?;
    let stated = Verification::statement(&VnnlibQuery::read(property)?);
    let Some(stated) = stated else { return Ok(false) };
    let row = |a: &RowStatement, b: &Row| {
        (&a.terms, a.constant, a.strict) == (&b.terms, b.constant, b.strict)
    };
    let rows = |a: &Vec<RowStatement>, b: &Vec<Row>| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| row(a, b))
    };
    let case = |a: &CaseStatement, b: &PropertyCase| {
        let same_box = (&a.lower, &a.upper) == (&b.lower, &b.upper);
        let any_of = || a.any_of.iter().zip(&b.any_of).all(|(a, b)| rows(a, b));
        same_box && a.any_of.len() == b.any_of.len() && any_of()
    };
    let same_cases = stated.len() == proof.cases.len()
        && stated.iter().zip(&proof.cases).all(|(a, b)| case(a, b));
    Ok(same_cases && proof.property_sha256 == hex::encode(Sha256::digest(bytes)))
}

/// The files named, and those in the directories named, in order.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let list = fs::read_dir(path).with_context(|| path.display().to_string())?;
        let mut inside = Vec::new();
        for entry in list {
            let file = entry.with_context(|| path.display().to_string())?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".json") || name.ends_with(".json.gz") {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            bail!("{}: holds no proofs", path.display());
        }
        inside.sort();
        files.append(&mut inside);
    }
    Ok(files)
}

fn read(file: &Path) -> Result<ProofFile> {
    let stored = fs::read(file).with_context(|| file.display().to_string())?;
    let mut text = Vec::new();
    if stored.starts_with(&[0x1f, 0x8b]) {
        let unpacked = MultiGzDecoder::new(&stored[..]).read_to_end(&mut text);
        unpacked.with_context(|| file.display().to_string())?;
    } else {
        text = stored;
    }
    let proof: ProofFile =
        json::parse(&text).with_context(|| format!("{}: not a proof", file.display()))?;
    if proof.schema != SCHEMA {
        bail!("{}: is a {:?}, not a {SCHEMA:?}", file.display(), proof.schema);
    }
    Ok(proof)
}

/// What a proof shows by the code that made it, or why it shows nothing.
fn replay(model: &OnnxModel, proof: &ProofFile) -> Result<String> {
    if proof.model_sha256 != model.sha256 {
        bail!("it is about another model");
    }
    let network = &model.network;
    let problem = proof.statement.problem(network).map_err(Error::msg)?;
    if let Statement::Image(image) = &proof.statement {
        let logits = model.replay.logits(&image.original)?;
        let predicted =
            (0..logits.len()).reduce(|best, i| if logits[i] > logits[best] { i } else { best });
        if predicted != Some(image.predicted) {
            bail!("the model does not give its image the label {}", image.predicted);
        }
    }
    let mut shown = Vec::new();
    for claim in &proof.claims {
        let (arithmetic, name) = if claim.f32 {
            (Arithmetic::F32, "in f32")
        } else {
            (Arithmetic::Exact, "in exact arithmetic")
        };
        let checked = check(network, &problem.set, problem.weights(), arithmetic, claim);
        let checked = checked.with_context(|| name)?;
        // What is said of the objective is said with its constant.
        let bound = (checked.bound + problem.question.constant).next_up();
        let shown_bound = (bound * 1e6).ceil() / 1e6;
        shown.push(format!("at most {shown_bound:.6} {name} by {} leaves", checked.leaves));
    }
    match shown.is_empty() {
        true => bail!("it claims nothing"),
        false => Ok(format!("by the code that made it: {}", shown.join(" and "))),
    }
}
