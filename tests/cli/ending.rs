//! How runs end: limits, Ctrl-C, full disks, readers that go away.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{
    BackgroundRun, FIXTURE, LARGE, directory, ends_with, json_lines, number, read, read_json,
    refused, rw_adv, rw_adv_on_full_disk, stdout, text, typed,
};
use crate::count;

#[test]
fn a_time_limit_ends_a_search_that_would_go_on() {
    let endless = ["--model", LARGE, "--images", "1", "--delta", "5", "--patience", "1000000"];
    let printed = stdout(&[&endless[..], &["--json", "--time-limit", "1"]].concat());
    let record = &json_lines(&printed)[0];
    assert_eq!(record["stop"], "time");
    assert!((1.0..3.0).contains(&number(record, "seconds")), "{record}");
}

#[test]
fn with_exit_code_an_adversary_gives_1() {
    let base = ["--model", FIXTURE, "--images", "4..6", "--json", "--delta"];
    for (more, code, adversaries) in
        [(&["5", "--exit-code"][..], 1, 2), (&["5"], 0, 2), (&["0.01", "--exit-code"], 0, 0)]
    {
        let output = ends_with(code, rw_adv(&[&base[..], more].concat()));
        let records = json_lines(&text(output.stdout));
        assert_eq!(count(&records, "verdict", "adversarial"), adversaries, "{more:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_found() {
    let directory = directory();
    let out = directory.path().join("out");
    let endless = ["--model", FIXTURE, "--images", "6", "--delta", "5", "--patience", "1000000"];
    let more = ["--threads", "2", "--out", typed(&out)];
    let run = BackgroundRun::begin(rw_adv(&[&endless[..], &more].concat()));
    let (_, complaints) = run.interrupt_after(Duration::from_millis(300));
    assert!(complaints.lines().count() <= 1, "{complaints}");

    let stored = read(&out.join("results.jsonl"));
    assert!(stored.ends_with('\n'));
    let records = json_lines(&stored);
    // What was being searched is written, what was not begun is not.
    assert!((1..6).contains(&records.len()), "{stored}");
    assert_eq!(count(&records, "stop", "interrupted"), records.len(), "{stored}");
    let summary = read_json(&out.join("summary.json"));
    assert_eq!(summary["summary"]["records"], records.len());
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_one_line() {
    for (delta, place) in [("5", "adversarial/"), ("0.01", "sketches.jsonl")] {
        let directory = directory();
        let out = directory.path().join("out");
        let asked = ["--model", FIXTURE, "--images", "4..8", "--delta", delta];
        let run = rw_adv_on_full_disk("4", &[&asked[..], &["--out", typed(&out)]].concat());
        refused(run, &[place, "cannot write"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_one_line() {
    for format in [&["--json"][..], &[]] {
        let full = fs::File::options().write(true).open("/dev/full").expect("there on Linux");
        let asked = ["--model", FIXTURE, "--images", "3", "--delta", "5"];
        let mut run = rw_adv(&[&asked[..], format].concat());
        let output = run.stdout(full).output().expect("runs");
        let line = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.lines().count() == 1 && line.contains("stdout"), "{line}");
    }
}

#[test]
fn a_reader_that_goes_away_does_not_cost_records() {
    let directory = directory();
    let out = directory.path().join("out");
    let asked = ["--model", FIXTURE, "--images", "30", "--delta", "5", "--quiet"];
    let mut run = rw_adv(&[&asked[..], &["--out", typed(&out)]].concat());
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    let said = text(output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    assert_eq!(json_lines(&read(&out.join("results.jsonl"))).len(), 30);
}

#[cfg(unix)]
#[test]
fn interrupted_radii_keep_what_is_known() {
    let directory = directory();
    let out = directory.path().join("out");
    let endless = ["radius", "--model", FIXTURE, "--images", "6", "--patience", "1000000"];
    let more = ["--threads", "2", "--out", typed(&out)];
    let run = BackgroundRun::begin(rw_adv(&[&endless[..], &more].concat()));
    let (printed, _) = run.interrupt_after(Duration::from_millis(500));
    assert!(printed.contains("interrupted: "), "{printed}");
    let records = json_lines(&read(&out.join("radii.jsonl")));
    assert!((1..6).contains(&records.len()), "{printed}");
    assert_eq!(count(&records, "stop", "interrupted"), records.len(), "{printed}");
    assert!(out.join("summary.json").exists());
}
