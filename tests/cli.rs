//! The binary as a user runs it: output, exit codes, and one line for every mistake.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const FIXTURE: &str = "models/mnist_2x16.onnx";
const MODEL: &str = "models/mnist_2x500.onnx";

fn rw_adv(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("rw-adv").expect("the binary is built");
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments);
    command
}

fn stdout(arguments: &[&str]) -> String {
    let output = rw_adv(arguments).assert().success().get_output().clone();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Runs with a mistake in it: exit code 2, nothing on stdout, one line on stderr with all `words`.
fn mistake(arguments: &[&str], words: &[&str]) {
    let output = rw_adv(arguments).assert().code(2).get_output().clone();
    let line = String::from_utf8(output.stderr).expect("text");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    for word in words {
        assert!(line.contains(word), "expected '{word}' in: {line}");
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn inspect_shows_the_layers_and_the_check() {
    let text = stdout(&["inspect", MODEL]);
    assert!(text.contains("784 -> 500 -> 500 -> 10"), "{text}");
    assert!(text.contains("largest difference to tract"), "{text}");
}

#[test]
fn inspect_as_json_says_what_became_of_every_node() {
    let value: Value = serde_json::from_str(&stdout(&["inspect", MODEL, "--json"])).expect("JSON");
    assert_eq!(value["widths"], serde_json::json!([784, 500, 500, 10]));
    assert!(value["check"]["largest_difference"].as_f64().is_some_and(|d| d < 1e-4));
    assert_eq!(value["nodes"].as_array().map(Vec::len), Some(5));
    assert_eq!(value["sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn a_dropped_softmax_is_mentioned() {
    let text = stdout(&["inspect", "tests/zoo/accepted/softmax_opset13.onnx"]);
    assert!(text.contains("dropped") && text.contains("Softmax"), "{text}");
}

#[test]
fn the_first_five_test_digits_are_7_2_1_0_4() {
    let records =
        json_lines(&stdout(&["--model", MODEL, "--images", "5", "--delta", "5", "--json"]));
    let labels: Vec<_> = records.iter().map(|r| r["label"].as_u64()).collect();
    assert_eq!(labels, [7, 2, 1, 0, 4].map(Some));
    for record in &records {
        assert_eq!(record["predicted"], record["label"]);
        assert_ne!(record["target"], record["predicted"]);
        assert!(record["margin"].as_f64().is_some_and(|m| m < 0.0));
    }
}

/// Field names are a contract.
#[test]
fn a_record_has_every_field_of_the_contract() {
    let records =
        json_lines(&stdout(&["--model", FIXTURE, "--images", "1", "--delta", "5", "--json"]));
    let record = records[0].as_object().expect("an object");
    for field in [
        "schema",
        "image",
        "label",
        "predicted",
        "target",
        "delta",
        "norm",
        "verdict",
        "margin",
        "margin_f32",
        "margin_png",
        "upper_bound",
        "gap",
        "distance",
        "changed_pixels",
        "starts",
        "regions",
        "lps",
        "seconds",
        "seconds_to_best",
        "stop",
        "seed",
        "png",
        "npy",
    ] {
        assert!(record.contains_key(field), "{field} is missing");
    }
}

#[test]
fn results_go_to_the_directory_and_are_never_overwritten() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let out = directory.path().join("out");
    let out = out.to_str().expect("UTF-8");
    let arguments = ["--model", FIXTURE, "--images", "3,7,9", "--delta", "2.5", "--out", out];
    let text = stdout(&arguments);
    assert_eq!(text.lines().count(), 5, "{text}");
    let stored = fs::read_to_string(Path::new(out).join("results.jsonl")).expect("written");
    let images: Vec<_> = json_lines(&stored).iter().map(|r| r["image"].as_u64()).collect();
    assert_eq!(images, [3, 7, 9].map(Some));
    let summary = fs::read_to_string(Path::new(out).join("summary.json")).expect("written");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["summary"]["records"], 3);
    assert_eq!(summary["settings"]["delta"], 2.5);
    mistake(&arguments, &[out, "holds results already"]);
}

#[test]
fn help_and_version_work() {
    assert!(stdout(&["--help"]).contains("inspect"));
    assert!(stdout(&["--version"]).contains("HiGHS 1.14"));
    assert!(stdout(&["-h"]).lines().count() < 40);
}

#[test]
fn a_misspelt_option_is_answered_with_the_right_one() {
    mistake(&["--modle", "x"], &["--modle", "--model"]);
}

#[test]
fn missing_and_impossible_options_are_named() {
    mistake(&[], &["--model", "--delta"]);
    mistake(&["--model", FIXTURE], &["--delta"]);
    mistake(&["--model", FIXTURE, "--delta", "five"], &["--delta", "five"]);
    mistake(&["--model", FIXTURE, "--delta", "0"], &["--delta", "positive"]);
    mistake(&["--model", FIXTURE, "--delta", "-1"], &["--delta", "positive"]);
    mistake(&["--model", FIXTURE, "--delta", "NaN"], &["--delta", "positive"]);
    mistake(&["--model", FIXTURE, "--delta", "inf"], &["--delta", "positive"]);
    mistake(
        &["--model", FIXTURE, "--delta", "5", "--split", "validation"],
        &["--split", "validation"],
    );
    mistake(&["--model", FIXTURE, "--delta", "5", "--images", "many"], &["--images", "many"]);
    mistake(&["--model", FIXTURE, "--delta", "5", "--images", "0"], &["--images"]);
    mistake(&["--model", FIXTURE, "--delta", "5", "--images", "9..3"], &["--images", "9..3"]);
    mistake(
        &["--model", FIXTURE, "--delta", "5", "--images", "9990..10010"],
        &["9990..10010", "10000"],
    );
}

#[test]
fn models_that_are_not_are_named() {
    let data = ["--delta", "5", "--images", "1"];
    let with = |model: &'static str| [&["--model", model], &data[..]].concat();
    mistake(&with("no/such.onnx"), &["no/such.onnx", "cannot read"]);
    mistake(&with("models"), &["models", "directory"]);
    mistake(&with("README.md"), &["README.md", "not an ONNX model"]);
    mistake(&with("tests/zoo/refused/maxpool.onnx"), &["maxpool.onnx", "MaxPool", "pool1"]);
    mistake(&with("tests/zoo/accepted/one_output.onnx"), &["one_output.onnx"]);
    mistake(&["inspect", "no/such.onnx"], &["no/such.onnx"]);
}

#[test]
fn data_that_is_not_is_named() {
    let with =
        |data: &'static str| ["--model", FIXTURE, "--delta", "5", "--images", "1", "--data", data];
    mistake(&with("no/such/data"), &["no/such/data"]);
    mistake(&with("models/README.md"), &["models/README.md"]);
    mistake(&with("src"), &["src"]);
    mistake(&with("no/*.png"), &["no/*.png"]);
}

#[test]
fn images_of_another_size_than_the_models_are_refused() {
    mistake(
        &["--model", "tests/zoo/accepted/opset_13.onnx", "--delta", "1", "--images", "1"],
        &["28", "784", "8"],
    );
}

#[test]
fn an_unwritable_place_is_named_before_anything_is_computed() {
    mistake(
        &["--model", FIXTURE, "--delta", "5", "--images", "1", "--out", "README.md/x"],
        &["README.md/x"],
    );
    mistake(
        &["--model", FIXTURE, "--delta", "5", "--images", "1", "--out", "/proc/rw-adv"],
        &["/proc/rw-adv"],
    );
}
