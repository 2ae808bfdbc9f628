//! `rw-adv check-proof`: whether what branch and bound claims follows from what it wrote down.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Error, Result, bail};
use rw_adv::bounds::Arithmetic;
use rw_adv::onnx::OnnxModel;
use rw_adv::proof::{CheckedClaim, ImageStatement, ProofFile, SCHEMA, Statement, check};
use rw_adv::record::json;

#[derive(clap::Args)]
pub struct CheckProofArgs {
    /// The model that the proofs are about (.onnx or .onnx.gz)
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Proofs, or directories of them
    #[arg(required = true, value_name = "PROOF")]
    proofs: Vec<PathBuf>,
}

/// Checks every proof; one line each. Exit code 1 if any does not hold.
pub fn run(args: &CheckProofArgs) -> Result<ExitCode> {
    let model = OnnxModel::load(&args.model)?;
    let mut stdout = io::stdout().lock();
    let (mut held, mut failed) = (0, 0);
    for file in files(&args.proofs)? {
        let proof = read(&file)?;
        match examine(&model, &proof) {
            Ok(line) => {
                held += 1;
                writeln!(stdout, "{}: holds: {line}", file.display())?;
            }
            Err(error) => {
                failed += 1;
                writeln!(stdout, "{}: DOES NOT HOLD: {error:#}", file.display())?;
            }
        }
        stdout.flush()?;
    }
    writeln!(stdout, "{held} proofs hold, {failed} do not")?;
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
            if file.extension().is_some_and(|end| end == "json") {
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
    let text = fs::read(file).with_context(|| file.display().to_string())?;
    let proof: ProofFile =
        json::parse(&text).with_context(|| format!("{}: not a proof", file.display()))?;
    if proof.schema != SCHEMA {
        bail!("{}: is a {:?}, not a {SCHEMA:?}", file.display(), proof.schema);
    }
    Ok(proof)
}

/// What a proof shows, or why it shows nothing.
fn examine(model: &OnnxModel, proof: &ProofFile) -> Result<String> {
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
    let constant = problem.question.constant;
    let mut shown = Vec::new();
    for claim in &proof.claims {
        let (arithmetic, name) = if claim.f32 {
            (Arithmetic::F32, "f32")
        } else {
            (Arithmetic::Exact, "exact arithmetic")
        };
        let CheckedClaim { bound, leaves } =
            check(network, &problem.set, problem.weights(), arithmetic, claim)
                .with_context(|| format!("in {name}"))?;
        let is_robust = matches!(proof.statement, Statement::Image(_)) && claim.f32 && bound < 0.0;
        let robust = if is_robust { ", robust" } else { "" };
        // What is said of the objective is said with its constant.
        let bound = if constant == 0.0 { bound } else { (bound + constant).next_up() };
        shown.push(format!("{bound:.6} in {name} by {leaves} leaves{robust}"));
    }
    if shown.is_empty() {
        bail!("it claims nothing");
    }
    let about = match &proof.statement {
        Statement::Image(ImageStatement { image, predicted, target, .. }) => {
            format!("image {image}, {predicted} -> {target}")
        }
        Statement::Domain(domain) => {
            let (inputs, constraints) = (domain.centre.len(), domain.constraints.len());
            format!("objective over {inputs} inputs and {constraints} constraints")
        }
    };
    Ok(format!("{about}: {}", shown.join("; ")))
}
