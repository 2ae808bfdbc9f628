//! The paper's experiments in a few seconds: all files are there, and a run is continued, not begun anew. Searches beside an earlier program.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{FIXTURE, directory, read, refused, rw_adv, succeeds, typed};

fn bench(experiment: &str, out: &Path, more: &[&str]) -> Command {
    let asked = ["bench", "paper", "--experiment", experiment, "--seconds", "0.1"];
    rw_adv(&[&asked[..], &["--out", typed(out)], more].concat())
}

/// What every run leaves behind.
fn check_files(out: &Path, figures: &[&str], runs: usize) {
    let csv = read(&out.join("instances.csv"));
    assert_eq!(csv.lines().count(), runs + 1, "{csv}");
    let columns = csv.lines().next().map(|header| header.split(',').count());
    assert!(csv.lines().all(|line| Some(line.split(',').count()) == columns), "{csv}");
    assert_eq!(read(&out.join("runs.jsonl")).lines().count(), runs);
    let report = read(&out.join("REPORT.md"));
    for words in ["rw against apgd: ", "local searches per hour", "within 0.1 % of the best of all"]
    {
        assert!(report.contains(words), "{words} in {report}");
    }
    for figure in figures {
        assert!(report.contains(&format!("{figure}.svg")), "{figure} in {report}");
        assert!(read(&out.join(format!("{figure}.svg"))).contains("<svg"));
        let picture = fs::read(out.join(format!("{figure}.png"))).expect("drawn");
        assert!(picture.starts_with(b"\x89PNG"), "{figure}");
    }
}

#[test]
fn random_networks_are_compared_and_the_run_goes_on_where_it_stopped() {
    let directory = directory();
    let out = directory.path().join("random");
    let sizes = ["--sizes", "5x1x8,5x2x8", "--seeds", "50..52"];
    let few = [&sizes[..], &["--methods", "rw,apgd"]].concat();
    succeeds(bench("random", &out, &few));
    let before = read(&out.join("runs.jsonl"));
    check_files(&out, &["rw_apgd", "cactus", "anytime"], 8);

    // A torn line is run again, all others stay; more methods join.
    let torn = before.len() - 20;
    fs::write(out.join("runs.jsonl"), &before[..torn]).expect("writable");
    succeeds(bench("random", &out, &sizes));
    let after = read(&out.join("runs.jsonl"));
    let kept: Vec<&str> = before.lines().take(7).collect();
    assert_eq!(after.lines().take(7).collect::<Vec<_>>(), kept);
    fs::write(out.join("runs.jsonl"), whole_lines(&after)).expect("writable");
    let figures = [
        "figure2_rw_sample-mip",
        "figure2_paper_sample-mip",
        "figure3_rw_milp",
        "figure3_paper_milp",
        "rw_paper",
        "rw_frank-wolfe",
    ];
    check_files(&out, &figures, 24);

    // The page of all runs, from what this one left behind.
    let page = rw_adv(&["bench", "paper-report", typed(directory.path())]);
    assert!(succeeds(page).starts_with("written: "));
    let page = read(&directory.path().join("README.md"));
    for words in ["RW at least 1 % better than SM", "| 5x1x8 | – |", "figure3_rw_milp.png"] {
        assert!(page.contains(words), "{words} in {page}");
    }

    // Nothing is left to do: nothing is run.
    let said = succeeds(bench("random", &out, &sizes));
    assert!(!said.contains("seed50"), "{said}");
    let other = ["bench", "paper", "--experiment", "random", "--seconds", "0.2"];
    let other = rw_adv(&[&other[..], &["--out", typed(&out)], &sizes].concat());
    refused(other, &["--seconds 0.1 there, 0.2 asked"]);
}

fn whole_lines(text: &str) -> String {
    text.lines().filter(|line| line.ends_with('}')).map(|line| format!("{line}\n")).collect()
}

#[test]
fn images_are_compared() {
    let directory = directory();
    let out = directory.path().join("mnist");
    let fixture = ["--model", FIXTURE, "--images", "2", "--delta", "3"];
    succeeds(bench("mnist", &out, &fixture));
    check_files(&out, &["figure4_rw_milp", "figure4_paper_milp", "rw_apgd", "cactus"], 12);
}

#[test]
fn a_walk_is_drawn_over_linear_regions() {
    let directory = directory();
    for (name, mark) in [("walk.svg", &b"<svg"[..]), ("walk.png", b"\x89PNG")] {
        let path = directory.path().join(name);
        let said = succeeds(rw_adv(&["bench", "walk-figure", "--out", typed(&path)]));
        assert!(said.starts_with("step 1: ") && said.contains("1 of them overshot"), "{said}");
        let drawn = fs::read(&path).expect("drawn");
        assert!(drawn.windows(mark.len()).any(|bytes| bytes == mark), "{name}");
    }
    let path = directory.path().join("none.png");
    let many_inputs = ["bench", "walk-figure", "--model", FIXTURE, "--out", typed(&path)];
    refused(rw_adv(&many_inputs), &["2 inputs"]);
}

#[test]
fn a_solver_that_is_missing_is_left_out_and_named() {
    let directory = directory();
    let out = directory.path().join("scip");
    let asked = ["--sizes", "5x1x8", "--seeds", "50", "--methods", "rw,scip"];
    let said = succeeds(bench("random", &out, &[&asked[..], &["--solve-mps", "no/such"]].concat()));
    assert!(said.contains("scip: left out"), "{said}");
    assert_eq!(read(&out.join("runs.jsonl")).lines().count(), 1);
}

#[test]
fn sizes_seeds_and_methods_that_are_none_are_named() {
    let directory = directory();
    let out = directory.path().join("none");
    for (option, value) in [("--sizes", "10x2"), ("--seeds", "5..5"), ("--methods", "magic")] {
        refused(bench("random", &out, &[option, value]), &[option, value]);
    }
    assert!(!out.exists());
}

#[test]
fn a_search_beside_the_same_program_is_equal() {
    let ours = env!("CARGO_BIN_EXE_rw-adv");
    let asked = ["bench", "search", "--model", FIXTURE, "--images", "5"];
    let said = succeeds(rw_adv(&[&asked[..], &["--against", ours, "--rounds", "2"]].concat()));
    assert!(said.contains("equal to 1e-6 on 5 of 5, better on 0, worse on 0"), "{said}");
    let iterations = said.lines().find(|line| line.starts_with("iterations")).expect("counted");
    assert!(iterations.ends_with("1.00"), "{said}");
    let nothing = rw_adv(&[&asked[..], &["--against", "no/such/program"]].concat());
    refused(nothing, &["no/such/program"]);
    refused(rw_adv(&["bench", "search", "--model", FIXTURE, "--images", "50..52"]), &["--against"]);
}
