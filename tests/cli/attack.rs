//! Records of attacks: targets, seeds, threads, goals, methods, bounds.

use serde_json::Value;

use crate::common::{FIXTURE, file, json_lines, mistake, number, stdout, without_times};
use crate::{count, numbers, records};

#[test]
fn the_first_five_test_digits_are_7_2_1_0_4() {
    let records = records(&["--images", "5", "--delta", "5"]);
    assert_eq!(numbers(&records, "label"), [7, 2, 1, 0, 4]);
    for record in &records {
        assert_eq!(record["predicted"], record["label"]);
        assert_ne!(record["target"], record["predicted"]);
        assert!(record["distance"].as_f64().is_some_and(|d| d < 5.0));
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
        "bound_method",
        "optimal",
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
fn the_number_of_threads_changes_nothing_but_times() {
    for delta in ["3", "5"] {
        let timeless = |threads| {
            let mut records = records(&["--images", "12", "--delta", delta, "--threads", threads]);
            records.iter_mut().for_each(without_times);
            records
        };
        let one = timeless("1");
        assert_eq!(one.len(), 12);
        assert_eq!(one, timeless("2"), "delta {delta}");
    }
}

#[test]
fn another_seed_is_another_search() {
    let seeds =
        |seed| numbers(&records(&["--images", "2", "--delta", "3", "--seed", seed]), "seed");
    assert_eq!(seeds("7"), seeds("7"));
    assert_ne!(seeds("7"), seeds("8"));
    assert_ne!(seeds("7")[0], seeds("7")[1]);
}

#[test]
fn all_targets_are_every_label_but_the_predicted_one() {
    let records = records(&["--images", "3", "--delta", "2", "--target", "all"]);
    assert_eq!(records.len(), 27);
    for of_image in records.chunks(9) {
        let predicted = numbers(of_image, "predicted")[0];
        let others: Vec<u64> = (0..10).filter(|&label| label != predicted).collect();
        assert_eq!(numbers(of_image, "target"), others);
    }
}

#[test]
fn an_image_that_is_predicted_as_the_target_is_left_out() {
    // The fixture gets images 30 and 32 right: a 3 both.
    let records = records(&["--images", "28..34", "--delta", "2", "--target", "3"]);
    assert!(numbers(&records, "target").iter().all(|&target| target == 3));
    assert!(numbers(&records, "predicted").iter().all(|&predicted| predicted != 3));
    assert_eq!(numbers(&records, "image"), [28, 29, 31, 33]);
    mistake(
        &["--model", FIXTURE, "--delta", "2", "--target", "3", "--images", "30,32"],
        &["--target 3", "every image is predicted as its target already"],
    );
}

#[test]
fn a_target_file_names_images_and_targets() {
    let (_directory, path) = file("targets.csv", "image,target\n5,3\n2,8\n5,0\n");
    let listed = records(&["--delta", "2", "--target", &path]);
    assert_eq!(numbers(&listed, "image"), [2, 5, 5]);
    assert_eq!(numbers(&listed, "target"), [8, 0, 3]);
    let selected = records(&["--delta", "2", "--target", &path, "--images", "5"]);
    assert_eq!(numbers(&selected, "image"), [2]);
}

/// Each record's bound is above its margin, decides what it may decide, and closes the gap where it says so.
#[test]
fn bounds_gaps_and_verdicts_of_a_record_agree() {
    let mut optimal = 0;
    for delta in ["0.5", "2", "5"] {
        for record in records(&["--images", "30", "--delta", delta, "--branch", "0"]) {
            let [margin, bound, gap] =
                ["margin", "upper_bound", "gap"].map(|field| number(&record, field));
            assert!(margin <= bound && (bound - margin - gap).abs() < 1e-12, "{record}");
            assert_eq!(record["optimal"] == true, gap < 1e-6, "{record}");
            assert_eq!(record["bound_method"], "envelope");
            match record["verdict"].as_str() {
                Some("adversarial") => assert!(margin > 0.0 && bound > 0.0, "{record}"),
                Some("robust") => assert!(margin < 0.0 && bound < 0.0, "{record}"),
                _ => assert!(margin <= 0.0 || record["margin_f32"].as_f64() <= Some(0.0)),
            }
            optimal += usize::from(record["optimal"] == true);
        }
    }
    assert!(optimal > 5, "{optimal} gaps are closed");
}

#[test]
fn all_targets_together_tell_the_robust_accuracy() {
    let text = stdout(&["--model", FIXTURE, "--images", "6", "--delta", "0.5", "--target", "all"]);
    assert!(text.contains("robust accuracy against these targets: "), "{text}");
    let records = records(&["--images", "6", "--delta", "0.5", "--target", "all"]);
    assert_eq!(records.len(), 54);
    // What is excluded for every target is excluded for the runner-up, too.
    let robust = count(&records, "verdict", "robust");
    assert!(robust > 30, "{robust} targets are excluded");
}

#[test]
fn for_a_verdict_a_search_ends_at_the_first_adversary() {
    let first = records(&["--images", "12", "--delta", "5", "--goal", "verdict"]);
    let whole = records(&["--images", "12", "--delta", "5"]);
    // Some margins meet their bound.
    assert_eq!(count(&whole, "stop", "no_gain") + count(&whole, "stop", "optimal"), 12);
    assert!(count(&first, "stop", "first") > 3);
    for (first, whole) in first.iter().zip(&whole) {
        assert_eq!(first["verdict"], whole["verdict"]);
        assert_eq!(first["verdict"] == "adversarial", first["stop"] == "first");
        assert!(first["starts"].as_u64() <= whole["starts"].as_u64());
        assert!(first["margin"].as_f64() <= whole["margin"].as_f64());
    }
}

#[test]
fn no_other_method_is_better_than_the_own_one_on_the_fixture() {
    let margin = |record: &Value| number(record, "margin");
    let own = records(&["--images", "6", "--delta", "5"]);
    for method in ["paper", "sample-mip", "milp", "apgd", "frank-wolfe"] {
        let asked = ["--images", "6", "--delta", "5", "--time-limit", "2", "--method", method];
        for (own, other) in own.iter().zip(&records(&asked)) {
            assert!(margin(own) >= margin(other) - 1e-6, "{method}: {own} {other}");
            assert!(other["upper_bound"].as_f64() >= other["margin"].as_f64(), "{method}: {other}");
            let claims = other["claimed_bound"].as_f64();
            assert!(claims.is_none_or(|bound| bound >= margin(own) - 1e-6), "{method}: {other}");
        }
    }
}

#[test]
fn branch_and_bound_claims_what_the_search_finds() {
    let asked = ["--images", "6", "--delta", "2"];
    let own = records(&asked);
    for start in [&["--method", "milp"][..], &["--method", "milp", "--warm-start"]] {
        let milp = records(&[&asked, start].concat());
        // Where the certified bound is met, branch and bound is not waited for.
        let claims = own.iter().zip(&milp).filter(|(_, milp)| milp["stop"] == "claimed");
        let claims: Vec<_> = claims.collect();
        assert!(!claims.is_empty());
        for (own, milp) in claims {
            let pair = own["margin"].as_f64().zip(milp["claimed_bound"].as_f64());
            assert!(pair.is_some_and(|(a, b)| (a - b).abs() < 1e-4), "{own} {milp}");
        }
    }
    let warm = ["--model", FIXTURE, "--delta", "2", "--warm-start"];
    mistake(&warm, &["--warm-start", "only --method milp"]);
}

/// Dividing the set never contradicts what is known at the root, and the tree does not depend on the threads.
#[test]
fn branching_lowers_bounds_and_decides() {
    let asked = ["--images", "6", "--delta", "5"];
    let root = records(&asked);
    let branch = [&asked[..], &["--branch", "200", "--gap", "0.01"]].concat();
    let divided = records(&branch);
    let one = records(&[&branch[..], &["--threads", "1"]].concat());
    let mut lower = 0;
    for ((root, divided), one) in root.iter().zip(&divided).zip(&one) {
        assert!(
            number(divided, "upper_bound") <= number(root, "upper_bound") + 1e-9,
            "{root} {divided}"
        );
        assert!(number(divided, "upper_bound") >= number(divided, "margin"), "{divided}");
        assert!(number(divided, "margin") >= number(root, "margin") - 1e-9, "{root} {divided}");
        assert!(root["verdict"] == "unknown" || divided["verdict"] == root["verdict"], "{divided}");
        let closed = divided["gap"].as_f64().is_some_and(|gap| gap <= 0.01);
        assert_eq!(divided["optimal"], closed, "{divided}");
        assert!(closed || divided["stop"] == "nodes", "{divided}");
        for field in ["nodes", "depth", "upper_bound", "margin"] {
            assert_eq!(divided[field], one[field], "{field}");
        }
        lower += usize::from(divided["bound_method"] == "branch");
    }
    assert!(lower > 0);
    let verdicts = records(&[&asked[..], &["--goal", "verdict", "--branch", "500"]].concat());
    for (verdict, root) in verdicts.iter().zip(&root) {
        assert!(root["verdict"] == "unknown" || verdict["verdict"] == root["verdict"], "{verdict}");
    }
    mistake(&["--model", FIXTURE, "--delta", "2", "--gap", "0.1"], &["--branch"]);
}
