//! What was found once is found again: the margins of the fixture, and one test per bug, named after it.

use std::collections::BTreeMap;
use std::fs;

use assert_cmd::Command;
use serde_json::Value;

const MODEL: &str = "models/mnist_2x16.onnx";
const MARGINS: &str = "tests/fixture_margins.json";

fn records(arguments: &[&str]) -> Vec<Value> {
    let mut command = Command::cargo_bin("rw-adv").expect("the binary is built");
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["--model", MODEL, "--json"]);
    // No search of these tests needs a second; one that has no end fails, and does not hang.
    command.timeout(std::time::Duration::from_secs(120));
    let output = command.args(arguments).assert().success().get_output().clone();
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// `image predicted target`, and the margin.
fn margins(records: &[Value]) -> BTreeMap<String, f64> {
    let key = |r: &Value| {
        format!("{:03} {} {}", r["image"].as_u64().unwrap_or(999), r["predicted"], r["target"])
    };
    records.iter().map(|r| (key(r), r["margin"].as_f64().expect("a number"))).collect()
}

/// Rewrite the margins, after a change that is meant to move them, with
/// `RW_ADV_BLESS=1 cargo test --release --test regressions`.
#[test]
fn the_fixtures_margins_are_those_on_file() {
    let found = margins(&records(&["--images", "20", "--delta", "5", "--seed", "0"]));
    if std::env::var_os("RW_ADV_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("JSON");
        fs::write(MARGINS, text + "\n").expect("written");
    }
    let text = fs::read_to_string(MARGINS).expect("on file");
    let filed: BTreeMap<String, f64> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(filed.len(), 20);
    assert!(found.keys().eq(filed.keys()), "{found:?}\n{filed:?}");
    for (image, margin) in &found {
        let before = filed[image];
        assert!((margin - before).abs() <= 1e-6, "{image}: {margin}, on file {before}");
    }
}

/// Two unstable neurons, neither of which the relaxation could be fixed against: the search went round and round.
#[test]
fn a_relaxation_in_which_no_fixing_is_feasible_does_not_hang_the_search() {
    let of_image = records(&["--images", "1..2", "--delta", "2", "--target", "7"]);
    assert_eq!(of_image[0]["stop"], "no_gain");
}
