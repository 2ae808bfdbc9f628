//! What was found once is found again: the margins of the fixture, and one test per bug, named after it.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::time::Duration;

use rw_adv::attack::classify;
use rw_adv::bounds::{Arithmetic, LinearBounds, UpperRelaxation};
use rw_adv::budget::Budget;
use rw_adv::data::{DataSource, Dataset};
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::Problem;
use rw_adv::search::{Method, SearchOptions, SearchStop, search};
use rw_adv::sets::{InputSet, Norm, PixelRange};
use serde_json::Value;

use common::{FIXTURE, json_lines, stdout};

const MARGINS: &str = "tests/fixture_margins.json";

fn records(arguments: &[&str]) -> Vec<Value> {
    // No search of these tests needs a second; one that has no end fails, and does not hang.
    let asked = ["--model", FIXTURE, "--json", "--time-limit", "60"];
    let records = json_lines(&stdout(&[&asked[..], arguments].concat()));
    assert!(records.iter().all(|record| record["stop"] != "time"));
    records
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
    let model = OnnxModel::load(FIXTURE.as_ref()).expect("the fixture loads");
    let source = DataSource { path: "data".into(), ..DataSource::default() };
    let data = Dataset::open(&source, &model.input_dims).expect("the bundled images");
    let sample = data.sample(1).expect("an image");
    let predicted = classify(&model, &sample).expect("a classifier").predicted;
    let set = InputSet::ball(Norm::L1, &sample.widened(), 2.0, PixelRange::UNIT);
    let problem = Problem::margin(&model.network, set, predicted, Label(7));
    let bounds = LinearBounds::new(
        &model.network,
        &problem.set,
        UpperRelaxation::Chords,
        Arithmetic::Exact,
        &Budget::unlimited(),
    );
    let budget = Budget::start(Some(Duration::from_secs(60)), None);
    let options = SearchOptions { method: Method::Paper, ..SearchOptions::default() };
    let found =
        search(&problem, &|| bounds.neurons(), &options, &budget, |_| ControlFlow::Continue(()));
    assert_eq!(found.stop, SearchStop::Patience);
}
