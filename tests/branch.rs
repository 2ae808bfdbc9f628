//! Branch and bound as a user runs it: optima, verdicts, and proofs that somebody else checks.

mod common;

use std::fs;
use std::path::Path;

use serde_json::Value;

use common::{
    FIXTURE, LARGE, directory, mistake, number, rw_adv, sorted_records, stdout, text, typed,
    unpacked,
};

fn records(arguments: &[&str]) -> Vec<Value> {
    sorted_records(&stdout(&[arguments, &["--json"]].concat()))
}

/// Runs the checker: its exit code, and what it says on both streams.
fn check(model: &str, proofs: &Path) -> (Option<i32>, String) {
    let mut checker = rw_adv(&["check-proof", "--model", model, typed(proofs)]);
    let output = checker.output().expect("runs");
    (output.status.code(), text([output.stdout, output.stderr].concat()))
}

#[test]
fn every_optimum_of_the_fixture_is_proven_and_the_proofs_hold() {
    let directory = directory();
    let proofs = directory.path().join("proofs");
    let asked = ["--model", FIXTURE, "--images", "12", "--delta", "5", "--branch"];
    let kept = ["--proof", typed(&proofs)];
    let found = records(&[&asked[..], &kept[..]].concat());
    assert_eq!(found.len(), 12);
    for record in &found {
        assert_eq!(record["optimal"], true, "{record}");
        assert!(number(record, "gap") <= 1e-4, "{record}");
        if number(record, "nodes") > 0.0 {
            assert_eq!(record["stop"], "optimal", "{record}");
            let trace = record["bound_trace"].as_array().expect("a trace");
            let last = trace.last().and_then(|pair| pair[1].as_f64()).expect("a bound");
            assert!((last - number(record, "upper_bound")).abs() <= 1e-4, "{record}");
        }
    }
    assert!(found.iter().any(|record| number(record, "nodes") > 0.0));
    let (code, said) = check(FIXTURE, &proofs);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("12 proofs hold, 0 do not"), "{said}");
    // What is checked is what was recorded.
    for record in &found {
        let bound = format!("(exactly {})", number(record, "upper_bound"));
        assert!(said.contains(&bound), "{bound} in {said}");
    }
    // Proofs are not written over others.
    mistake(&[&asked[..], &kept[..]].concat(), &["holds"]);
}

#[test]
fn a_robust_image_of_the_large_model_is_proven_by_parts_of_its_budget() {
    let directory = directory();
    let proofs = directory.path().join("proofs");
    let asked = ["--model", LARGE, "--images", "3,", "--delta", "5", "--goal", "verdict"];
    let kept = ["--branch", "--proof", typed(&proofs)];
    let found = records(&[&asked[..], &kept[..]].concat());
    assert_eq!(found[0]["verdict"], "robust");
    assert!(number(&found[0], "nodes") > 0.0, "the root decides: take another image");
    let (code, said) = check(LARGE, &proofs);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("robust"), "{said}");
    let text = unpacked(&proofs.join("3_c0_w2.json.gz"));
    // A proof need not be packed.
    let file = directory.path().join("forged.json");
    assert!(text.contains("at_least") && text.contains("at_most"), "no pixel is divided");

    // Any leaf taken away, and the rest proves nothing.
    let proof: Value = serde_json::from_str(&text).expect("JSON");
    let leaves = proof["claims"][0]["leaves"].as_array().expect("leaves").len();
    for leaf in (0..leaves).step_by(5) {
        let mut forged = proof.clone();
        forged["claims"][0]["leaves"].as_array_mut().expect("leaves").remove(leaf);
        does_not_hold(&file, &forged, "");
    }
    let mut forged = proof.clone();
    forged["claims"][0]["bound"] = Value::from(-5.0);
    does_not_hold(&file, &forged, "claims -5, but only");
    let mut forged = proof.clone();
    let divided = forged["claims"][0]["leaves"][0]["sides"][0].as_object_mut().expect("a side");
    let (_, share) = divided.iter_mut().next().expect("one side");
    share["amount"] = Value::from(share["amount"].as_f64().expect("an amount") / 2.0);
    does_not_hold(&file, &forged, "not on a side of a split");
    let mut forged = proof;
    forged["delta"] = Value::from(6.0);
    does_not_hold(&file, &forged, "is proven");
}

/// A proof that does not hold: exit code 1, and why.
fn does_not_hold(file: &Path, forged: &Value, why: &str) {
    fs::write(file, forged.to_string()).expect("writable");
    let (code, said) = check(LARGE, file);
    assert_eq!(code, Some(1), "{why}: {said}");
    assert!(said.contains("DOES NOT HOLD") && said.contains(why), "{why}: {said}");
}

#[test]
fn what_a_proof_states_can_be_expected() {
    let directory = directory();
    let proofs = directory.path().join("proofs");
    records(&["--model", FIXTURE, "--images", "1", "--delta", "2", "--proof", typed(&proofs)]);
    let check = |more: &[&str]| {
        let asked = ["check-proof", "--model", FIXTURE, typed(&proofs)];
        let output = rw_adv(&[&asked[..], more].concat()).output().expect("runs");
        (output.status.code(), text([output.stdout, output.stderr].concat()))
    };
    let held = ["delta=2", "norm=l1", "image=0", "predicted=7", "bound=-1", "verdict=robust"];
    for expected in held {
        assert_eq!(check(&["--expect", expected]).0, Some(0), "{expected}");
    }
    for expected in ["delta=5", "norm=linf", "image=1", "target=2", "bound=-9", "model=0"] {
        let (code, said) = check(&["--expect", expected]);
        assert!(code == Some(1) && said.contains("is expected"), "{expected}: {said}");
    }
    mistake(&["check-proof", "--model", FIXTURE, "--expect", "colour=red", "x"], &["colour"]);
    // The image is what the data has under its number, and exact numbers prove the same.
    assert_eq!(check(&["--data", "data", "--exact"]).0, Some(0));
    let said = check(&[]).1;
    for word in [
        "l1 distance of at most 2",
        "0 <= x <= 1",
        "784 values",
        "model      SHA-256",
        "y3 - y7",
        "in float32",
    ] {
        assert!(said.contains(word), "{word} in {said}");
    }
}

#[test]
fn answers_are_checked_before_they_are_written() {
    let asked = ["--model", FIXTURE, "--images", "4", "--delta", "3", "--branch"];
    let plain = records(&asked);
    let checked = records(&[&asked[..], &["--check-proofs"]].concat());
    let guarded = records(&[&asked[..], &["--fail-under", "0"]].concat());
    for ((plain, checked), guarded) in plain.iter().zip(&checked).zip(&guarded) {
        assert_eq!(plain["upper_bound"], checked["upper_bound"]);
        assert_eq!(plain["verdict"], guarded["verdict"]);
    }
    // A model that the checker does not read.
    let other = "tests/zoo/accepted/conv_pool.onnx";
    if Path::new(other).exists() {
        mistake(
            &["maximize", "--model", other, "--objective", "y0", "--check-proofs"],
            &["not supported"],
        );
    }
}

#[test]
fn what_is_no_proof_is_named() {
    let directory = directory();
    let (code, said) = check(FIXTURE, directory.path());
    assert!(code == Some(2) && said.contains("holds no proofs"), "{said}");
    let file = directory.path().join("torn.json");
    for text in ["", "{", "[]", "{\"schema\": \"rw-adv/1\"}"] {
        fs::write(&file, text).expect("writable");
        let (code, said) = check(FIXTURE, &file);
        assert!(code == Some(2) && said.contains("torn.json"), "{text}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let (code, said) = check(FIXTURE, Path::new("nowhere.json"));
    assert!(code == Some(2) && said.contains("nowhere.json"), "{said}");
}

#[test]
fn a_proof_of_another_model_does_not_hold() {
    let directory = directory();
    let proofs = directory.path().join("proofs");
    let kept = ["--proof", typed(&proofs)];
    records(&[&["--model", FIXTURE, "--images", "1", "--delta", "1"], &kept[..]].concat());
    let (code, said) = check("models/mnist_2x50.onnx", &proofs);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("another model"), "{said}");
    assert_eq!(check(FIXTURE, &proofs).0, Some(0));
}

#[test]
fn a_box_is_divided_until_the_maximum_is_proven() {
    let model = "tests/zoo/accepted/acasxu_style.onnx";
    let asked = ["maximize", "--model", model, "--objective", "y0 - y1", "--box", "-0.5,0.5"];
    let one = &records(&[&asked[..], &["--branch"]].concat())[0];
    assert_eq!(one["optimal"], true, "{one}");
    assert_eq!((&one["bound_method"], &one["stop"]), (&"branch".into(), &"optimal".into()));
    let milp = &records(&[&asked[..], &["--method", "milp"]].concat())[0];
    assert!((number(milp, "claimed_bound") - number(one, "value")).abs() <= 1e-4, "{milp} {one}");
}

#[test]
fn the_table_of_branch_and_bound_is_printed() {
    let small = ["--small-model", FIXTURE, "--small-images", "3", "--optima", "3:20"];
    let milp = ["--milps", "2", "--milp-seconds", "20"];
    let large = ["bench", "complete", "--images", "1", "--verdicts", "1:5"];
    let text = stdout(&[&large[..], &small, &milp].concat());
    for line in ["1 of 1 decided", "3 of 3 optima proven", "2 instances: ours"] {
        assert!(text.contains(line), "{line} in {text}");
    }
}
