//! The reader against files of many exporters: what it reads computes what onnxruntime computes, everything else is refused by name.

use std::path::{Path, PathBuf};

use rw_adv_check::Model;
use serde_json::Value;

fn zoo(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/zoo").join(name)
}

fn table(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(zoo(name)).expect("the table is there");
    serde_json::from_str(&text).expect("JSON")
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().filter_map(Value::as_f64).collect()
}

#[test]
fn what_is_read_computes_what_onnxruntime_computes() {
    let cases = table("expected.json");
    let mut refused = Vec::new();
    for case in &cases {
        let file = case["file"].as_str().expect("a name");
        if case.get("output").is_some() {
            continue; // The checker knows the first output only.
        }
        let model = match Model::read(&zoo("accepted").join(file)) {
            Ok(model) => model,
            Err(why) => {
                assert!(why.contains(file) && why.lines().count() == 1, "{why}");
                refused.push(why);
                continue;
            }
        };
        let widths = model.widths().expect("its layers fit");
        // Without widths, only the answers are promised, not the layers.
        if case.get("widths").is_some() {
            let widths: Vec<f64> = widths.iter().map(|&w| w as f64).collect();
            assert_eq!(floats(&case["widths"]), widths, "{file}");
        }
        let points = case["inputs"].as_array().expect("a list").iter();
        for (point, expected) in points.zip(case["logits"].as_array().expect("a list")) {
            let outputs = model.outputs(&floats(point)).expect("fits");
            let scale = floats(expected).iter().fold(1.0, |most: f64, y| most.max(y.abs()));
            for ((lower, upper), expected) in outputs.into_iter().zip(floats(expected)) {
                let near = lower - 1e-5 * scale <= expected && expected <= upper + 1e-5 * scale;
                assert!(near && upper - lower < 1e-9 * scale, "{file}: {lower} {upper} {expected}");
            }
        }
    }
    // A Resize by 5/3 in which rounding decides what is nearest.
    assert!(refused.len() <= 1, "{} of {} are refused: {refused:#?}", refused.len(), cases.len());
}

#[test]
fn what_must_be_refused_is_refused_or_not_understood() {
    for case in table("refused.json") {
        let file = case["file"].as_str().expect("a name");
        if let Err(why) = Model::read(&zoo("refused").join(file)) {
            assert!(why.contains(file) && why.lines().count() == 1, "{why}");
        }
    }
    assert!(Model::read(&zoo("README.md")).is_err_and(|why| why.contains("not an ONNX file")));
}
