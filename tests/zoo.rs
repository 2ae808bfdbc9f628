//! The exporter zoo: what must load and compute what onnxruntime computes, and what must be refused by name.
//! `scripts/make_zoo.py` makes it; `tests/zoo/README.md` tells what is in it.

use std::path::{Path, PathBuf};

use rw_adv::onnx::OnnxModel;
use serde::Deserialize;

#[derive(Deserialize)]
struct Accepted {
    file: String,
    input: Vec<usize>,
    /// None where only the answers are promised, not the layers.
    widths: Option<Vec<usize>>,
    /// The output to look at, if there are several.
    output: Option<String>,
    inputs: Vec<Vec<f32>>,
    logits: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Refused {
    file: String,
    words: Vec<String>,
}

fn zoo(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zoo").join(name)
}

fn table<T: for<'a> Deserialize<'a>>(name: &str) -> Vec<T> {
    let text = std::fs::read_to_string(zoo(name)).expect("the table is there");
    serde_json::from_str(&text).expect("the table is as the script writes it")
}

/// The difference that f32 rounding explains: onnxruntime and tract sum in different orders.
fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-5 * (1.0 + scale)
}

#[test]
fn every_accepted_file_computes_what_onnxruntime_computes() {
    let cases: Vec<Accepted> = table("expected.json");
    assert!(cases.len() >= 100, "the zoo has shrunk to {}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        if let Err(why) = check(case) {
            wrong.push(format!("{}: {why}", case.file));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(case: &Accepted) -> Result<(), String> {
    let path = zoo("accepted").join(&case.file);
    let model = OnnxModel::load_output(&path, case.output.as_deref()).map_err(|e| e.to_string())?;
    let widths = model.network.widths();
    if case.widths.as_ref().is_some_and(|expected| *expected != widths) {
        return Err(format!("widths {widths:?}, expected {:?}", case.widths));
    }
    if widths.last() != case.logits.first().map(Vec::len).as_ref() {
        return Err(format!("widths {widths:?} for logits {:?}", case.logits));
    }
    if model.input_dims != case.input {
        return Err(format!("input {:?}, expected {:?}", model.input_dims, case.input));
    }
    for (x, expected) in case.inputs.iter().zip(&case.logits) {
        let scale = expected.iter().fold(0.0, |m: f64, y| m.max(y.abs()));
        let theirs = model.replay.logits(x).map_err(|e| e.to_string())?;
        let ours = model.network.logits(&x.iter().copied().map(f64::from).collect::<Vec<_>>());
        for ((ours, theirs), expected) in ours.iter().zip(theirs).zip(expected) {
            if !close(*ours, *expected, scale) || !close(f64::from(theirs), *expected, scale) {
                return Err(format!("ours {ours}, tract's {theirs}, onnxruntime's {expected}"));
            }
        }
    }
    Ok(())
}

#[test]
fn every_refused_file_is_refused_in_one_line_that_names_the_culprit() {
    let cases: Vec<Refused> = table("refused.json");
    assert!(cases.len() >= 50, "the zoo has shrunk to {}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        match OnnxModel::load(&zoo("refused").join(&case.file)) {
            Ok(model) => wrong.push(format!("{}: loaded as {:?}", case.file, model.network)),
            Err(error) => {
                let line = error.to_string();
                let named = case.words.iter().all(|word| line.contains(word.as_str()));
                if !named
                    || line.contains('\n')
                    || line.contains("panicked")
                    || !line.contains(&case.file)
                {
                    wrong.push(format!("{}: expected {:?} in: {line}", case.file, case.words));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_of_the_zoo_is_in_a_table() {
    let accepted = table::<Accepted>("expected.json").into_iter().map(|c| ("accepted", c.file));
    let refused = table::<Refused>("refused.json").into_iter().map(|c| ("refused", c.file));
    let listed: Vec<PathBuf> =
        accepted.chain(refused).map(|(dir, file)| zoo(dir).join(file)).collect();
    for directory in ["accepted", "refused"] {
        for entry in zoo(directory).read_dir().expect("the zoo is there") {
            let path = entry.expect("readable").path();
            let data = path.extension().is_some_and(|e| e == "data");
            assert!(data || listed.contains(&path), "{} is in no table", path.display());
        }
    }
}
