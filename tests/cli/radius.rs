//! `rw-adv radius`.

use serde_json::Value;

use crate::common::{FIXTURE, number, sorted_records, stdout};
use crate::{count, records};

/// The radii of the fixture's images, by image.
fn radius_records(arguments: &[&str]) -> Vec<Value> {
    sorted_records(&stdout(&[&["radius", "--model", FIXTURE, "--json"], arguments].concat()))
}

#[test]
fn radii_are_a_table_and_a_histogram() {
    let text = stdout(&["radius", "--model", FIXTURE, "--images", "7..10"]);
    let lines: Vec<&str> = text.lines().collect();
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    let columns = "image label predicted certified attacked target ratio seconds";
    assert_eq!(head.join(" "), columns);
    // Image 8 is a 5 that the fixture takes for a 6: its radii are those of the 6.
    let wrong: Vec<&&str> = lines.iter().filter(|line| line.ends_with("  misclassified")).collect();
    assert_eq!(wrong.len(), 1, "{text}");
    assert_eq!(wrong[0].split_whitespace().take(3).collect::<Vec<_>>(), ["8", "5", "6"]);
    assert!(lines[4].starts_with("3 images in ") && lines[4].ends_with("; 1 misclassified"));
    assert!(lines[5].starts_with("certified mean ") && lines[6].starts_with("attacked  mean "));
    let bars = |name: &str| -> usize {
        let counts = lines[7..].iter().filter_map(|line| line.split(name).nth(1));
        let counts = counts.filter_map(|rest| rest.split_whitespace().next());
        counts.map(|count| count.parse::<usize>().expect("a count")).sum()
    };
    assert_eq!((bars("certified"), bars("attacked")), (3, 3), "{text}");
    assert!(text.is_ascii());
}

#[test]
fn a_radius_record_has_every_field_of_the_contract() {
    let wanted = [
        "schema",
        "image",
        "label",
        "predicted",
        "misclassified",
        "norm",
        "certified_radius",
        "attack_radius",
        "target",
        "changed_pixels",
        "seconds",
        "stop",
        "seed",
        "png",
        "npy",
    ];
    for record in radius_records(&["--images", "3", "--seed", "5"]) {
        let fields: Vec<&str> =
            record.as_object().expect("an object").keys().map(String::as_str).collect();
        let mut sorted = wanted.to_vec();
        sorted.sort_unstable();
        assert_eq!(fields, sorted);
        assert_eq!(record["schema"], "rw-adv/radius/1");
        assert_eq!((&record["norm"], &record["stop"]), (&"l1".into(), &"precision".into()));
        assert_eq!((&record["seed"], &record["png"]), (&5.into(), &Value::Null));
        let radius = |field: &str| number(&record, field);
        assert!(0.0 < radius("certified_radius"), "{record}");
        assert!(radius("certified_radius") < radius("attack_radius"), "{record}");
    }
}

#[test]
fn the_attack_agrees_with_the_radii() {
    for norm in ["l1", "linf"] {
        for record in radius_records(&["--images", "2", "--norm", norm]) {
            let image = format!("{},", record["image"]);
            let verdicts = |delta: f64| {
                let delta = delta.to_string();
                let asked = ["--images", &image, "--target", "all", "--delta", &delta];
                let more = ["--norm", norm, "--goal", "verdict"];
                records(&[&asked[..], &more].concat())
            };
            let at = |field: &str| number(&record, field);
            let certified = verdicts(at("certified_radius"));
            assert_eq!(count(&certified, "verdict", "robust"), 9, "{record}");
            let attacked = verdicts(1.02 * at("attack_radius"));
            assert!(count(&attacked, "verdict", "adversarial") > 0, "{record}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_radius() {
    let run = |threads: &str| {
        let mut records = radius_records(&["--images", "6", "--threads", threads]);
        for record in &mut records {
            record["seconds"] = Value::Null;
        }
        records
    };
    assert_eq!(run("1"), run("2"));
}

#[test]
fn radii_end_with_the_largest_budget_and_with_the_time() {
    for record in radius_records(&["--images", "2", "--max-delta", "1"]) {
        assert_eq!((&record["certified_radius"], &record["stop"]), (&1.0.into(), &"robust".into()));
        assert_eq!((&record["attack_radius"], &record["target"]), (&Value::Null, &Value::Null));
    }
    for record in radius_records(&["--images", "2", "--time-limit", "0.000001"]) {
        assert_eq!(record["stop"], "time");
    }
    // The nearest label is at most as far away as any one.
    let nearest = radius_records(&["--images", "1"]);
    let one = radius_records(&["--images", "1", "--target", "4"]);
    assert_eq!(one[0]["target"], 4);
    let radius = |records: &[Value]| number(&records[0], "attack_radius");
    assert!(radius(&nearest) < radius(&one));
}
