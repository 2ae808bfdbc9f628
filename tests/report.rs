//! What a run leaves behind for people and for other programs: `report.html`, CSV, JUnit, and its exit code.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use common::{
    BackgroundRun, FIXTURE, directory, ends_with, mistake, read, report_data, rw_adv,
    sorted_records, text, typed,
};

/// Runs to this exit code; gives what was said on stderr.
fn run(arguments: &[&str], code: i32) -> String {
    text(ends_with(code, rw_adv(arguments)).stderr)
}

/// A run of the fixture into a directory that goes away with the first part.
fn results(arguments: &[&str]) -> (TempDir, PathBuf) {
    let directory = directory();
    let out = directory.path().join("out");
    let fixed = ["--model", FIXTURE, "--out", typed(&out)];
    assert_eq!(run(&[&fixed, arguments].concat(), 0), "");
    (directory, out)
}

fn records(out: &Path) -> Vec<Value> {
    sorted_records(&read(&out.join("results.jsonl")))
}

#[test]
fn a_run_leaves_a_report_that_can_be_made_again_without_model_and_data() {
    let (_directory, out) = results(&["--images", "4", "--delta", "3", "--target", "all"]);
    let data = report_data(&out);
    let records = records(&out);
    assert_eq!(data["count"], 36);
    for (k, record) in records.iter().enumerate() {
        for field in ["image", "target", "verdict", "changed_pixels"] {
            let column = &data["columns"][field];
            assert_eq!(column.get(k).unwrap_or(column), &record[field], "{field}");
        }
        let curve: Vec<f64> = serde_json::from_value(data["curves"][k].clone()).expect("numbers");
        let last = curve.last().expect("every search begins somewhere");
        assert!((last - record["margin"].as_f64().expect("a number")).abs() < 1e-3, "{record}");
        assert!(curve.chunks(2).is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1]), "{curve:?}");
    }
    assert_eq!(data["pictures"]["images"], serde_json::json!([0, 1, 2, 3]));
    assert_eq!((&data["pictures"]["width"], &data["pictures"]["height"]), (&28.into(), &28.into()));
    assert_eq!(data["settings"]["model"], FIXTURE);
    let first = read(&out.join("report.html"));
    fs::remove_file(out.join("report.html")).expect("removed");
    assert_eq!(run(&["report", typed(&out)], 0), "");
    assert_eq!(read(&out.join("report.html")), first);
    // A run that was killed has no summary; its records are reported nevertheless.
    fs::remove_file(out.join("summary.json")).expect("removed");
    run(&["report", typed(&out)], 0);
    assert_eq!(
        (&report_data(&out)["count"], &report_data(&out)["interrupted"]),
        (&36.into(), &Value::Null)
    );
}

#[test]
fn what_is_no_picture_has_a_report_too() {
    let directory = directory();
    let data = directory.path().join("x.csv");
    // Two inputs of five numbers, as NumPy writes them.
    let npy = data.with_extension("npy");
    let header =
        format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 5), }");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.bytes());
    bytes.extend((0..10).flat_map(|k| (k as f32 / 10.0).to_le_bytes()));
    fs::write(&npy, bytes).expect("written");
    let out = directory.path().join("out");
    let model = "tests/zoo/accepted/acasxu_style.onnx";
    let asked = ["--model", model, "--data", typed(&npy), "--delta", "0.5", "--out", typed(&out)];
    assert_eq!(run(&asked, 0), "");
    let data = report_data(&out);
    assert_eq!((&data["count"], &data["pictures"]), (&2.into(), &Value::Null));
    let largest = data["largest"][0].as_array().expect("changes");
    assert!(!largest.is_empty() && largest.len() <= 5, "{largest:?}");
}

#[test]
fn csv_has_a_row_per_image_and_target() {
    let (directory, out) = results(&["--images", "3", "--delta", "2", "--target", "all"]);
    let (kept, again) = (directory.path().join("a.csv"), directory.path().join("b.csv"));
    run(&["report", typed(&out), "--csv", typed(&kept)], 0);
    let mut table = csv::Reader::from_path(&kept).expect("a table");
    let head = table.headers().expect("a head").clone();
    assert_eq!(head.iter().take(3).collect::<Vec<_>>(), ["image", "label", "predicted"]);
    let rows: Vec<csv::StringRecord> = table.records().map(|row| row.expect("a row")).collect();
    let records = records(&out);
    assert_eq!((rows.len(), records.len()), (27, 27));
    for (row, record) in rows.iter().zip(&records) {
        for (field, cell) in head.iter().zip(row) {
            let expected = match &record[field] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            assert_eq!(cell, expected, "{field}");
        }
    }
    // Without a directory, from what is in memory; an older and longer file is replaced.
    fs::write(&again, "x".repeat(100_000)).expect("written");
    let asked = ["--model", FIXTURE, "--images", "3", "--delta", "2", "--target", "all"];
    run(&[&asked[..], &["--csv", typed(&again)]].concat(), 0);
    let timeless = |path: &Path| -> Vec<Vec<String>> {
        let mut table = csv::Reader::from_path(path).expect("a table");
        let head = table.headers().expect("a head").clone();
        // Times differ, and only a directory has files.
        let kept = |field: &str| !["seconds", "seconds_to_best", "png", "npy"].contains(&field);
        let rows = table.records().map(|row| row.expect("a row"));
        let cells = |row: csv::StringRecord| -> Vec<String> {
            let pairs = head.iter().zip(&row).filter(|(field, _)| kept(field));
            pairs.map(|(_, cell)| cell.to_owned()).collect()
        };
        rows.map(cells).collect()
    };
    assert_eq!(timeless(&again), timeless(&kept));
}

#[test]
fn junit_has_a_case_per_image() {
    let directory = directory();
    let file = directory.path().join("junit.xml");
    // Image 8 is misclassified by the fixture.
    let asked = ["--model", FIXTURE, "--images", "10", "--delta", "3", "--junit", typed(&file)];
    run(&[&asked[..], &["--json"]].concat(), 0);
    let xml = read(&file);
    assert_eq!(xml.matches("<testcase ").count(), 10, "{xml}");
    assert!(xml.contains(r#"tests="10""#), "{xml}");
    assert!(xml.contains(r#"type="misclassified" message="predicted as 6, labelled 5""#), "{xml}");
    assert!(xml.contains(&format!("rw-adv {FIXTURE} l1 3")), "{xml}");
}

#[test]
fn certified_accuracy_decides_the_exit_code() {
    let base = ["--model", FIXTURE, "--images", "10", "--goal", "verdict", "--delta"];
    let asked = |more: &[&'static str]| [&base[..], more].concat();
    // All but the misclassified one are certified at so small a budget.
    assert_eq!(run(&asked(&["0.01", "--fail-under", "90%"]), 0), "");
    assert_eq!(run(&asked(&["0.01", "--fail-under", "0.9", "--exit-code"]), 0), "");
    let line = run(&asked(&["0.01", "--fail-under", "91%"]), 1);
    assert_eq!(
        line,
        "rw-adv: certified accuracy 90.00 % (9 of 10 images) is below --fail-under 91.00 %\n"
    );
    // Undecided and attacked images are not certified.
    run(&asked(&["5", "--fail-under", "0.5"]), 1);
    assert_eq!(run(&asked(&["5", "--fail-under", "0"]), 0), "");
    for bad in ["90", "101%", "-1%", "most"] {
        let option = format!("--fail-under={bad}");
        mistake(&[&base[..], &["5", &option]].concat(), &["--fail-under", bad]);
    }
}

#[test]
fn a_stored_run_can_be_guarded_and_drawn_afterwards() {
    let (directory, out) = results(&["--images", "5", "--delta", "3"]);
    assert!(run(&["report", typed(&out), "--fail-under", "1"], 1).contains("certified accuracy"));
    assert_eq!(run(&["report", typed(&out), "--fail-under", "0"], 0), "");
    let files = ["p.svg", "p.png", "s.png", "j.xml"];
    let [svg, png, strip, junit] = files.map(|name| directory.path().join(name));
    run(&["report", typed(&out), "--plot", typed(&svg), "--junit", typed(&junit)], 0);
    run(&["report", typed(&out), "--plot", typed(&png), "--strip", typed(&strip)], 0);
    assert!(read(&svg).contains("Margin and bound"));
    for picture in [&png, &strip] {
        assert!(fs::read(picture).expect("written").starts_with(b"\x89PNG"));
    }
    assert_eq!(read(&junit).matches("<testcase ").count(), 5);
}

#[test]
fn radii_maxima_and_instances_have_reports() {
    let directory = directory();
    let place = |name: &str| directory.path().join(name);
    let (radii, maximum, instances) = (place("radii"), place("maximum"), place("instances"));
    let asked = ["radius", "--model", FIXTURE, "--images", "2", "--out", typed(&radii)];
    run(&asked, 0);
    let data = report_data(&radii);
    assert_eq!((&data["kind"], &data["count"]), (&"radii".into(), &2.into()));
    assert_eq!(data["pictures"]["images"], serde_json::json!([0, 1]));
    assert_eq!(data["pictures"]["exact"], true);
    let asked = ["maximize", "--model", FIXTURE, "--objective", "y0", "--patience", "1"];
    run(&[&asked[..], &["--out", typed(&maximum)]].concat(), 0);
    assert_eq!(report_data(&maximum)["point"].as_array().map(Vec::len), Some(784));
    let property = place("p.vnnlib");
    let inputs = (0..784)
        .map(|k| format!("(declare-const X_{k} Real)(assert (<= X_{k} 0.1))(assert (>= X_{k} 0))"));
    let outputs = (0..10).map(|k| format!("(declare-const Y_{k} Real)"));
    let text: String = inputs.chain(outputs).chain(["(assert (>= Y_0 1000))".into()]).collect();
    fs::write(&property, text).expect("written");
    run(&["verify", FIXTURE, typed(&property), "--out", typed(&instances)], 0);
    let data = report_data(&instances);
    assert_eq!((&data["kind"], &data["columns"]["result"]), (&"instances".into(), &"unsat".into()));
    for out in [&radii, &maximum, &instances] {
        let first = read(&out.join("report.html"));
        assert_eq!(run(&["report", typed(out)], 0), "");
        assert_eq!(read(&out.join("report.html")), first);
        let origin = &report_data(out)["origin"];
        assert!(origin["begun"].as_str().is_some_and(|date| date.ends_with(" UTC")), "{origin}");
    }
}

#[test]
fn two_runs_are_compared() {
    let (_first, a) = results(&["--images", "6", "--delta", "1", "--goal", "verdict"]);
    let (_second, b) = results(&["--images", "6", "--delta", "4", "--goal", "verdict"]);
    let compared = |arguments: &[&str], code| {
        let output = ends_with(code, rw_adv(&[&["compare"], arguments].concat()));
        text(output.stdout)
    };
    let told = compared(&[typed(&a), typed(&b)], 0);
    assert!(told.contains("budget: 1.0 in A, 4.0 in B"), "{told}");
    assert!(told.contains("6 records in both, 0 only in A, 0 only in B"), "{told}");
    assert!(told.contains("worse   image "), "{told}");
    let json: Value =
        serde_json::from_str(&compared(&[typed(&a), typed(&b), "--json"], 0)).expect("JSON");
    let certified = |side: &str| json["numbers"][0][side].as_f64().expect("a number");
    assert!(certified("a") > certified("b"), "{json}");
    // A larger budget is certified on fewer images; the other way round nothing is worse.
    compared(&[typed(&a), typed(&b), "--exit-code"], 1);
    compared(&[typed(&b), typed(&a), "--exit-code"], 0);
    compared(&[typed(&a), typed(&a), "--exit-code"], 0);
    for (of, file) in [("margin", "m.svg"), ("seconds", "s.png")] {
        let file = a.join(file);
        compared(&[typed(&a), typed(&b), "--plot", typed(&file), "--of", of], 0);
        assert!(fs::metadata(&file).expect("written").len() > 1000);
    }
    mistake(&["compare", typed(&a), "no/such"], &["no/such"]);
    mistake(
        &["compare", typed(&a), typed(&b), "--plot", "x.svg", "--of", "radius"],
        &["--of radius"],
    );
}

#[test]
fn places_that_are_not_are_named() {
    let (directory, out) = results(&["--images", "1", "--delta", "1"]);
    mistake(&["report"], &["DIR"]);
    mistake(&["report", "no/such"], &["no/such", "results.jsonl"]);
    mistake(&["report", "models"], &["models", "results.jsonl"]);
    mistake(&["report", typed(&out), "--csv", "no/such/x.csv"], &["no/such/x.csv", "cannot write"]);
    mistake(&["report", typed(&out), "--junit", "models"], &["models", "cannot write"]);
    mistake(&["report", typed(&out), "--plot", "plot.gif"], &["--plot", ".svg or .png"]);
    mistake(&["report", typed(&out), "--plot", "no/such/x.png"], &["no/such/x.png"]);
    mistake(&["report", typed(&out), "--strip", "strip.svg"], &["--strip", ".png"]);
    mistake(&["report", typed(&out), "--strip", "strip.png"], &["--strip", "no pictures"]);
    let asked = ["--model", FIXTURE, "--images", "1", "--delta", "1", "--csv", "no/such/x.csv"];
    mistake(&asked, &["no/such/x.csv", "cannot write"]);
    let damaged = read(&out.join("results.jsonl")).replacen("image", "imago", 1) + "{}\n";
    fs::write(out.join("results.jsonl"), damaged).expect("written");
    mistake(&["report", typed(&out)], &["results.jsonl", "line 1", "missing field `image`"]);
    let radii = directory.path().join("radii");
    let asked = ["radius", "--model", FIXTURE, "--images", "1", "--max-delta", "0.1"];
    run(&[&asked[..], &["--out", typed(&radii)]].concat(), 0);
    let table = directory.path().join("radii.csv");
    mistake(&["report", typed(&radii), "--csv", typed(&table)], &["holds no attacks"]);
    assert!(!table.exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_has_a_report() {
    let directory = directory();
    let (out, table) = (directory.path().join("out"), directory.path().join("t.csv"));
    let endless = ["--model", FIXTURE, "--images", "6", "--delta", "5", "--patience", "1000000"];
    let more = ["--threads", "2", "--fail-under", "1"];
    let files = ["--out", typed(&out), "--csv", typed(&table)];
    let run = BackgroundRun::begin(rw_adv(&[&endless[..], &more, &files].concat()));
    let (printed, _) = run.interrupt_after(Duration::from_millis(300));
    let data = report_data(&out);
    assert_eq!((&data["interrupted"], &data["asked"]), (&true.into(), &6.into()));
    let count = data["count"].as_u64().expect("a number");
    assert!((1..6).contains(&count), "{printed}");
    assert_eq!(read(&table).lines().count() as u64, count + 1);
}
