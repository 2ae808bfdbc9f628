//! `rw-adv-check`: checks proofs without any code of the program that made them.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rw_adv_check::{EXPECTED, Model, read_any};

const USAGE: &str = "\
usage: rw-adv-check [--exact] [--expect KEY=VALUE]... MODEL PROOF...

Checks proofs of bounds and properties of an ONNX model. PROOF is a file (.json, .json.gz) or a directory of them.
Prints for each the whole theorem that is proven.

  --exact             exact numbers instead of f64 rounded outward: for small networks
  --expect KEY=VALUE  refuse other theorems: delta=5, norm=l1, image=4, predicted=7, target=9,
                      model=SHA-256, centre=SHA-256, verdict=robust, bound=-0.5 (or lower);
                      of a proof about a property: model=SHA-256, verdict=unsat

Exit codes: 0 all proofs hold; 1 one does not; 2 a file cannot be read.
";

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(code) => code,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "rw-adv-check: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(args: Vec<String>) -> Result<ExitCode, String> {
    let (mut exact, mut expected, mut files) = (false, Vec::new(), Vec::new());
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--exact" => exact = true,
            "--expect" => {
                let text = args.next().unwrap_or_default();
                if !EXPECTED.iter().any(|key| text.starts_with(&format!("{key}="))) {
                    return Err(format!("--expect: needs KEY=VALUE, not {text:?}\n{USAGE}"));
                }
                expected.push(text);
            }
            "--help" | "-h" => {
                print(USAGE)?;
                return Ok(ExitCode::SUCCESS);
            }
            _ if arg.starts_with('-') => return Err(format!("unknown option {arg}\n{USAGE}")),
            _ => files.push(PathBuf::from(arg)),
        }
    }
    let [model, proofs @ ..] = &files[..] else { return Err(USAGE.into()) };
    let model = Model::read(model)?;
    let (mut held, mut failed) = (0, 0);
    for file in proof_files(proofs)? {
        let (count, line) = match read_any(&file)?.check(&model, exact, &expected) {
            Ok(theorem) => (&mut held, format!("holds: {theorem}")),
            Err(problem) => (&mut failed, format!("DOES NOT HOLD: {problem}")),
        };
        *count += 1;
        print(&format!("{}: {line}\n", file.display()))?;
    }
    print(&format!("{held} proofs hold, {failed} do not\n"))?;
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(text: &str) -> Result<(), String> {
    io::stdout().write_all(text.as_bytes()).map_err(|e| e.to_string())
}

/// The files named, and the proofs in the directories named, sorted.
fn proof_files(named: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let fail = |e: io::Error| format!("{}: {e}", path.display());
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(fail)? {
            inside.push(entry.map_err(fail)?.path());
        }
        inside.retain(|file| is_proof(file));
        inside.sort();
        files.append(&mut inside);
    }
    if files.is_empty() { Err("there are no proofs".into()) } else { Ok(files) }
}

fn is_proof(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.ends_with(".json") || name.ends_with(".json.gz"))
}
