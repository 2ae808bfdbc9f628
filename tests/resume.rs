//! Runs that are killed and continued: the same records in the end, whatever the moment.
#![cfg(unix)]
#![allow(clippy::print_stderr)]

mod common;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use common::{
    BackgroundRun, FIXTURE, directory, ends_with, files, json_lines, read, read_json, refused,
    report_data, rw_adv, rw_adv_on_full_disk, succeeds, text, timeless_records, typed,
};

/// Four images with nine targets each; searches that end by themselves.
const ATTACK: &[&str] =
    &["--model", FIXTURE, "--images", "4", "--delta", "4", "--target", "all", "--patience", "10"];
const RADIUS: &[&str] =
    &["radius", "--model", FIXTURE, "--images", "6", "--patience", "1", "--precision", "0.1"];

fn command(arguments: &[&str], out: &Path, more: &[&str]) -> Command {
    rw_adv(&[arguments, &["--out", typed(out)], more].concat())
}

/// Runs to its end; gives what was printed.
fn finish(arguments: &[&str], out: &Path, more: &[&str]) -> String {
    succeeds(command(arguments, out, more))
}

/// Begins in the background; nobody reads what it prints.
fn begin(arguments: &[&str], out: &Path, more: &[&str]) -> Child {
    let mut command = command(arguments, out, more);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
}

/// A report that shows every record, each with its picture and how its margin grew: the same as that of an undisturbed run.
fn assert_same_report(out: &Path, whole: &Path) {
    let [ours, theirs] = [out, whole].map(report_data);
    assert_eq!(ours["count"], theirs["count"]);
    assert_eq!((&ours["pictures"], &ours["interrupted"]), (&theirs["pictures"], &false.into()));
    assert!(ours["pictures"]["images"].as_array().is_some_and(|images| !images.is_empty()));
    let curves = ours["curves"].as_array().expect("a list");
    assert!(curves.iter().all(|curve| !curve.as_array().expect("a list").is_empty()));
    // Of sketches too there is nothing torn and nothing twice.
    let sketches = |out: &Path| {
        let timeless = |mut line: Value| {
            line.as_object_mut().expect("an object").remove("curve");
            line.to_string()
        };
        let lines = json_lines(&read(&out.join("sketches.jsonl")));
        let mut lines: Vec<String> = lines.into_iter().map(timeless).collect();
        lines.sort();
        lines
    };
    assert_eq!(sketches(out), sketches(whole));
}

/// Bytes in a file, or in all files of a folder.
fn length(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok()?.metadata().ok())
            .filter(fs::Metadata::is_file)
            .map(|metadata| metadata.len())
            .sum(),
        Err(_) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
    }
}

/// Kills a run as soon as its records have grown by so many bytes, or the run has come so far as to have a directory,
/// and not at once. Machines differ in speed; this way every one gets to every stage.
fn kill_after(mut child: Child, file: &Path, bytes: u64, rng: &mut impl Rng) {
    while length(file) < bytes && child.try_wait().expect("a child").is_none() {
        std::thread::yield_now();
    }
    for _ in 0..rng.random_range(0..2000) {
        std::hint::spin_loop();
    }
    child.kill().expect("can be killed");
    child.wait().expect("is gone");
}

/// What a kill in the middle of a write would leave: a piece of the last line.
fn tear(file: &Path, rng: &mut impl Rng) {
    let text = fs::read(file).unwrap_or_default();
    let last = text.split_inclusive(|&byte| byte == b'\n').next_back().unwrap_or_default();
    let torn = rng.random_range(0..=last.len());
    if let Ok(opened) = File::options().write(true).open(file) {
        opened.set_len((text.len() - torn) as u64).expect("can be cut");
    }
}

/// Kills the run again and again at random moments and then lets it finish.
fn kill_and_resume(arguments: &[&str], name: &str, kills: usize, seed: u64) {
    let directory = directory();
    let (whole, out) = (directory.path().join("whole"), directory.path().join("out"));
    finish(arguments, &whole, &["--threads", "2"]);
    let expected = timeless_records(&whole.join(name));
    let full = length(&whole.join(name));
    let file = out.join(name);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut in_between = 0;
    for kill in 0..kills {
        let threads = ["1", "2", "3"][rng.random_range(0..3)];
        let mut child = begin(arguments, &out, &["--resume", "--threads", threads]);
        // The first moments are before there is any record at all, the others anywhere.
        let grown = if kill < 3 { 0 } else { rng.random_range(1..=full / 4) };
        let target = (length(&file) + grown).min(full);
        if kill == 0 {
            // Before anything else happens.
            child.kill().expect("can be killed");
        }
        kill_after(child, &file, target, &mut rng);
        in_between += usize::from((1..full).contains(&length(&file)));
        // Sketches come first: where one is torn, its record is not there yet.
        if rng.random_bool(0.5) {
            tear(&file, &mut rng);
        } else if length(&file) == 0 {
            tear(&out.join("sketches.jsonl"), &mut rng);
        }
        // Every now and then from the beginning.
        if length(&file) > full * 9 / 10 {
            fs::remove_dir_all(&out).expect("removed");
        }
    }
    eprintln!("{in_between} of {kills} kills left some of the records");
    finish(arguments, &out, &["--resume"]);
    assert_eq!(timeless_records(&file), expected);
    let folder = "adversarial";
    assert_eq!(files(&out.join(folder)), files(&whole.join(folder)));
    if name == "results.jsonl" {
        assert_same_report(&out, &whole);
    }
    let summary = |out: &Path| read_json(&out.join("summary.json"))["settings"].clone();
    assert_eq!(summary(&out), summary(&whole));
}

#[test]
fn attacks_killed_at_twenty_moments_end_with_the_same_records() {
    kill_and_resume(ATTACK, "results.jsonl", 24, 7);
}

#[test]
fn radii_killed_at_random_moments_end_with_the_same_records() {
    kill_and_resume(RADIUS, "radii.jsonl", 8, 8);
}

#[test]
fn shards_killed_at_random_moments_are_merged_to_the_same_records() {
    let directory = directory();
    let (whole, out) = (directory.path().join("whole"), directory.path().join("out"));
    finish(ATTACK, &whole, &[]);
    let name = "results.jsonl";
    let full = length(&whole.join(name));
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let attempts = out.join("attempts");
    for kill in 0..8 {
        let shard = ["1/2", "2/2", "1/1"][kill % 3];
        let child = begin(ATTACK, &out, &["--shard", shard]);
        let target = length(&attempts) + rng.random_range(1..=full / 8);
        kill_after(child, &attempts, target, &mut rng);
    }
    finish(ATTACK, &out, &["--shard", "1/1"]);
    succeeds(rw_adv(&["merge", typed(&out)]));
    assert_eq!(timeless_records(&out.join(name)), timeless_records(&whole.join(name)));
    assert_eq!(files(&out.join("adversarial")), files(&whole.join("adversarial")));
    assert_same_report(&out, &whole);
}

/// Whatever is on disk when a run is killed, every record's witness is there, and its picture.
#[test]
fn a_record_never_names_a_file_that_is_not_there() {
    let directory = directory();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for kill in 0..6 {
        let out = directory.path().join(kill.to_string());
        let file = out.join("results.jsonl");
        let child = begin(ATTACK, &out, &[]);
        let bytes = rng.random_range(1..15_000);
        kill_after(child, &file, bytes, &mut rng);
        let text = read(&file);
        let drawn = read(&out.join("sketches.jsonl"));
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let record: Value = serde_json::from_str(line).expect("whole");
            for name in ["npy", "png"].iter().filter_map(|&field| record[field].as_str()) {
                assert!(length(&out.join(name)) > 0, "{name}");
            }
            let (image, target) = (&record["image"], &record["target"]);
            let sketch = format!("{{\"image\":{image},\"target\":{target},\"changes\":");
            assert!(drawn.lines().any(|line| line.starts_with(&sketch)), "{sketch}");
        }
    }
}

#[test]
fn a_finished_run_is_continued_by_doing_nothing() {
    let directory = directory();
    let out = directory.path().join("out");
    // Where nothing is, a run begins.
    finish(ATTACK, &out, &["--resume", "--threads", "1"]);
    let before = (timeless_records(&out.join("results.jsonl")), files(&out.join("adversarial")));
    let printed = finish(ATTACK, &out, &["--resume", "--threads", "2"]);
    assert!(printed.contains("nothing to do: all 36 were finished before"), "{printed}");
    assert!(printed.contains("36 searched: "), "{printed}");
    assert_eq!(
        (timeless_records(&out.join("results.jsonl")), files(&out.join("adversarial"))),
        before
    );
    // Earlier adversaries count.
    ends_with(1, command(ATTACK, &out, &["--resume", "--exit-code"]));
}

#[test]
fn what_differs_from_the_first_run_is_refused_and_told() {
    let directory = directory();
    let out = directory.path().join("out");
    let base = ["--images", "2", "--delta", "1", "--patience", "1"];
    let with = |model: &str, more: &[&str]| {
        let arguments = [&["--model", model], &base[..]].concat();
        command(&arguments, &out, &[&["--resume"], more].concat())
    };
    succeeds(with(FIXTURE, &[]));
    let place = typed(&out);
    refused(with(FIXTURE, &["--seed", "4"]), &[place, "--seed 0 there, 4 asked"]);
    refused(with(FIXTURE, &["--goal", "verdict"]), &["--goal optimum there, verdict asked"]);
    refused(with(FIXTURE, &["--time-limit", "3"]), &["--time-limit none there, 3.0 asked"]);
    refused(with(FIXTURE, &["--norm", "linf"]), &["--norm l1 there, linf asked"]);
    refused(with(FIXTURE, &["--target", "all"]), &["--target runner-up there, all asked"]);
    refused(with("models/mnist_2x50.onnx", &[]), &["another model: SHA-256"]);
    // The same images, one label of which is another.
    let labels = directory.path().join("labels.txt");
    fs::write(&labels, "7\n3\n".to_owned() + &"0\n".repeat(9998)).expect("written");
    let labels = ["--labels", typed(&labels)];
    refused(with(FIXTURE, &labels), &["other images or labels: SHA-256"]);
    let radius = ["radius", "--model", FIXTURE, "--images", "2"];
    refused(command(&radius, &out, &["--resume"]), &["records of attacks there, radii asked"]);
    // The same model and images under other names are the same.
    let copy = directory.path().join("copy.onnx");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(FIXTURE), &copy).expect("copied");
    succeeds(with(typed(&copy), &["--threads", "1"]));
    succeeds(with(FIXTURE, &["--data", "./data/"]));
}

#[test]
fn without_resume_results_are_left_alone() {
    let directory = directory();
    let out = directory.path().join("out");
    let arguments = ["--model", FIXTURE, "--images", "1", "--delta", "1", "--patience", "1"];
    finish(&arguments, &out, &[]);
    let before = fs::read(out.join("results.jsonl")).expect("written");
    refused(command(&arguments, &out, &[]), &["holds results already", "--resume"]);
    // Neither is a directory that was only begun, nor one of an older program.
    let begun = directory.path().join("begun");
    fs::create_dir(&begun).expect("made");
    fs::copy(out.join("manifest.json"), begun.join("manifest.json")).expect("copied");
    refused(command(&arguments, &begun, &[]), &["--resume"]);
    finish(&arguments, &begun, &["--resume"]);
    let older = directory.path().join("older");
    fs::create_dir(&older).expect("made");
    fs::write(older.join("results.jsonl"), &before).expect("written");
    refused(command(&arguments, &older, &["--resume"]), &["older", "manifest.json"]);
    assert_eq!(fs::read(older.join("results.jsonl")).expect("there"), before);
}

#[test]
fn damaged_records_are_dropped_and_made_again() {
    let directory = directory();
    let out = directory.path().join("out");
    finish(ATTACK, &out, &[]);
    let file = out.join("results.jsonl");
    let expected = timeless_records(&file);
    let whole = fs::read(&file).expect("written");
    let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    let zeros = [0u8; 700];
    let damaged: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\n\n{}\n[1,2]\n\xff\xfe\n".to_vec(),
        [lines[0], &lines[1][..100], lines[2]].concat(),
        [&lines[..20].concat(), &zeros[..]].concat(),
        [&lines.concat()[..], &lines[3][..lines[3].len() - 1]].concat(),
    ];
    for text in damaged {
        fs::write(&file, &text).expect("written");
        finish(ATTACK, &out, &["--resume"]);
        assert_eq!(timeless_records(&file), expected);
    }
    // A record that somebody copied from elsewhere.
    let strange = String::from_utf8_lossy(lines[0]).replacen("\"image\":", "\"image\":9", 1);
    fs::write(&file, strange).expect("written");
    refused(command(ATTACK, &out, &["--resume"]), &["results.jsonl", "not asked for"]);
    for text in ["", "{\"schema\":", "{}"] {
        fs::write(out.join("manifest.json"), text).expect("written");
        refused(command(ATTACK, &out, &["--resume"]), &["manifest.json", "cannot read"]);
    }
}

/// What Ctrl-C called off is written, and done again.
#[test]
fn interrupted_searches_are_done_again() {
    let directory = directory();
    let out = directory.path().join("out");
    let whole = directory.path().join("whole");
    let arguments = ["--model", FIXTURE, "--images", "3", "--delta", "4", "--patience", "1000"];
    finish(&arguments, &whole, &[]);
    let run = BackgroundRun::begin(command(&arguments, &out, &[]));
    run.interrupt_after(Duration::ZERO);
    finish(&arguments, &out, &["--resume"]);
    let name = "results.jsonl";
    assert_eq!(timeless_records(&out.join(name)), timeless_records(&whole.join(name)));
}

/// What was finished before counts in everything that is written at the end; a dry run writes none of it.
#[test]
fn exports_of_a_continued_run_are_of_all_its_records() {
    let directory = directory();
    let out = directory.path().join("out");
    let [table, cases] = ["t.csv", "c.xml"].map(|name| directory.path().join(name));
    let exports = ["--csv", typed(&table), "--junit", typed(&cases), "--fail-under", "1"];
    finish(ATTACK, &out, &[]);
    let file = out.join("results.jsonl");
    let whole = read(&file);
    // As if it had been killed when half of the records were there.
    let half: String = whole.split_inclusive('\n').take(18).collect();
    fs::write(&file, half).expect("written");
    fs::remove_file(out.join("report.html")).expect("removed");
    finish(ATTACK, &out, &[&["--resume", "--dry-run"], &exports[..]].concat());
    for file in [&table, &cases, &out.join("report.html")] {
        assert!(!file.exists(), "{}", file.display());
    }
    let resumed = command(ATTACK, &out, &[&["--resume"], &exports[..]].concat());
    let said = text(ends_with(1, resumed).stderr);
    assert!(said.contains("of 4 images) is below --fail-under"), "{said}");
    assert_eq!(read(&table).lines().count(), 1 + 36);
    assert_eq!(read(&cases).matches("<testcase ").count(), 4);
    assert_eq!(report_data(&out)["count"], 36);
}

/// Proofs of finished records stay, the others are made again, and a directory of proofs is taken up only on purpose.
#[test]
fn proofs_are_continued_with_their_run() {
    let directory = directory();
    let [out, proofs] = ["out", "proofs"].map(|name| directory.path().join(name));
    let arguments = ["--model", FIXTURE, "--images", "3", "--delta", "0.5", "--patience", "1"];
    let with = ["--proof", typed(&proofs)];
    finish(&arguments, &out, &with);
    let before = files(&proofs);
    assert_eq!(before.len(), 3);
    let other = directory.path().join("other");
    refused(command(&arguments, &other, &with), &["proofs", "holds"]);
    // As if it had been killed after the first record, while a proof was written.
    let file = out.join("results.jsonl");
    let whole = read(&file);
    fs::write(&file, whole.split_inclusive('\n').next().expect("a record")).expect("written");
    let record: Value =
        serde_json::from_str(whole.lines().next().expect("a record")).expect("JSON");
    let kept = format!("{}_c", record["image"]);
    for name in before.keys().filter(|name| !name.starts_with(&kept)) {
        fs::write(proofs.join(name), "{").expect("written");
    }
    finish(&arguments, &out, &[&["--resume"], &with[..]].concat());
    assert_eq!(files(&proofs), before);
}

#[test]
fn two_runs_do_not_write_to_one_directory() {
    let directory = directory();
    let out = directory.path().join("out");
    let arguments = ["--model", FIXTURE, "--images", "2", "--delta", "4", "--patience", "1000000"];
    let first = BackgroundRun::begin(command(&arguments, &out, &[]));
    let words = ["another rw-adv is writing there"];
    refused(command(&arguments, &out, &["--resume"]), &words);
    refused(rw_adv(&["merge", typed(&out)]), &words);
    first.kill();
}

/// With room again, the run goes on.
#[test]
fn a_full_disk_costs_no_records() {
    let directory = directory();
    let (out, whole) = (directory.path().join("out"), directory.path().join("whole"));
    // Without adversaries, so that it is the records that do not fit.
    let arguments = ["--model", FIXTURE, "--images", "4", "--delta", "0.01", "--patience", "1"];
    finish(&arguments, &whole, &[]);
    let confined = |blocks: &str| {
        let more = ["--resume", "--out", typed(&out)];
        rw_adv_on_full_disk(blocks, &[&arguments[..], &more].concat())
    };
    refused(confined("0"), &["manifest.json", "cannot write"]);
    // The manifest fits into a few blocks of 512 bytes, four records and their pictures do not.
    refused(confined("6"), &[".jsonl", "cannot write"]);
    finish(&arguments, &out, &["--resume"]);
    let name = "results.jsonl";
    assert_eq!(timeless_records(&out.join(name)), timeless_records(&whole.join(name)));
}
