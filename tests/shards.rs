//! Shares of one run on many machines: every attempt has files of its own, and together they are what one machine finds.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use common::{
    FIXTURE, directory, ends_with, files, json_lines, read, read_json, refused, report_data,
    rw_adv, succeeds, text, timeless_records, typed,
};

/// Five images with two targets each.
const TARGETS: &str = "image,target\n0,3\n0,2\n1,8\n1,3\n2,7\n2,8\n3,6\n3,2\n4,9\n4,8\n";

/// A file of targets, and room for results.
struct Experiment {
    directory: tempfile::TempDir,
}

impl Experiment {
    fn new() -> Self {
        let directory = directory();
        fs::write(directory.path().join("targets.csv"), TARGETS).expect("written");
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn attack(&self, out: &str, more: &[&str]) -> Command {
        let mut command = rw_adv(&["--model", FIXTURE, "--delta", "4", "--patience", "2"]);
        command.arg("--target").arg(self.path("targets.csv"));
        command.arg("--out").arg(self.path(out)).args(more);
        command
    }

    fn on(&self, verb: &str, out: &str, more: &[&str]) -> Command {
        rw_adv(&[&[verb, typed(&self.path(out))], more].concat())
    }

    fn status(&self, out: &str, more: &[&str]) -> String {
        succeeds(self.on("status", out, more))
    }

    fn merge(&self, out: &str, code: i32) -> String {
        let output = ends_with(code, self.on("merge", out, &[]));
        text([output.stdout, output.stderr].concat())
    }

    fn attempts(&self, out: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(out).join("attempts")).expect("there");
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.expect("readable").path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        files.sort();
        files
    }
}

fn summary(out: &Path) -> Value {
    let mut summary = read_json(&out.join("summary.json"));
    summary.as_object_mut().expect("an object").remove("seconds");
    summary
}

fn assert_same(place: &Experiment, out: &str, whole: &str) {
    let [out, whole] = [out, whole].map(|name| place.path(name));
    let name = "results.jsonl";
    assert_eq!(timeless_records(&out.join(name)), timeless_records(&whole.join(name)));
    assert_eq!(files(&out.join("adversarial")), files(&whole.join("adversarial")));
    assert_eq!(summary(&out), summary(&whole));
    let [ours, theirs] = [&out, &whole].map(|out| report_data(out));
    assert_eq!((&ours["count"], &ours["asked"]), (&theirs["count"], &theirs["asked"]));
    assert!(theirs["pictures"].is_object());
    assert_eq!((&ours["pictures"], &ours["largest"]), (&theirs["pictures"], &theirs["largest"]));
}

#[test]
fn shards_together_are_what_one_machine_finds() {
    let place = Experiment::new();
    succeeds(place.attack("whole", &[]));
    succeeds(place.attack("out", &["--shard", "2/3"]));
    assert_eq!(place.status("out", &["--shards", "3"]), "1,3\n");
    assert_eq!(place.status("out", &["--shards", "3", "--lines"]), "1\n3\n");
    assert_eq!(place.status("out", &[]), "incomplete: 4 of 10 records\n");
    // Looked at before it is merged: what is there, with its pictures.
    let table = place.path("t.csv");
    succeeds(place.on("report", "out", &["--csv", typed(&table)]));
    let data = report_data(&place.path("out"));
    assert_eq!((&data["count"], &data["asked"]), (&4.into(), &10.into()));
    assert_eq!(data["pictures"]["images"], serde_json::json!([1, 4]));
    assert_eq!(read(&table).lines().count(), 1 + 4);
    let said = place.merge("out", 3);
    assert!(said.starts_with("incomplete: 4 of 10 records\n"), "{said}");
    let merged = report_data(&place.path("out"));
    for field in ["count", "asked", "columns", "curves", "pictures"] {
        assert_eq!(merged[field], data[field], "{field}");
    }
    // What was merged is not done again, and the number of shards may change.
    assert_eq!(place.status("out", &["--shards", "5"]), "1,3-4\n");
    for (index, cpus) in ["1", "2", "3", "4"].iter().zip(["1", "2", "1", "2"]) {
        let mut shard = place.attack("out", &["--shard", "auto", "--shards", "4"]);
        shard.env("SLURM_ARRAY_TASK_ID", index).env("SLURM_CPUS_PER_TASK", cpus);
        // On a resubmit this counts something else.
        shard.env("SLURM_ARRAY_TASK_COUNT", "1");
        succeeds(shard);
    }
    assert_eq!(place.status("out", &["--shards", "4"]), "");
    assert_eq!(place.status("out", &[]), "complete: 10 of 10 records\n");
    assert_eq!(place.attempts("out").len(), 5);
    let said = place.merge("out", 0);
    assert!(said.contains("complete: 10 of 10 records\n10 searched in "), "{said}");
    assert_same(&place, "out", "whole");
    // Merging again changes nothing, nor does a plain run that continues.
    place.merge("out", 0);
    assert_same(&place, "out", "whole");
    succeeds(place.attack("out", &["--resume"]));
    assert_same(&place, "out", "whole");
}

#[test]
fn a_shard_that_runs_twice_at_a_time_is_counted_once() {
    let place = Experiment::new();
    succeeds(place.attack("whole", &[]));
    let children: Vec<_> = ["1/2", "1/2", "2/2", "2/2"]
        .map(|shard| {
            let mut command = place.attack("out", &["--shard", shard]);
            command.stdout(Stdio::null()).spawn().expect("starts")
        })
        .into();
    for mut child in children {
        assert!(child.wait().expect("ends").success());
    }
    assert_eq!(place.attempts("out").len(), 4);
    place.merge("out", 0);
    assert_same(&place, "out", "whole");
}

#[test]
fn a_plain_run_takes_over_what_shards_have_done() {
    let place = Experiment::new();
    succeeds(place.attack("whole", &[]));
    succeeds(place.attack("out", &["--shard", "1/2"]));
    let printed = succeeds(place.attack("out", &["--resume"]));
    assert!(printed.contains("continued: 6 were finished before"), "{printed}");
    assert_same(&place, "out", "whole");
    refused(place.attack("out", &[]), &["holds results already"]);
}

#[test]
fn torn_attempts_are_done_again() {
    let place = Experiment::new();
    succeeds(place.attack("whole", &[]));
    succeeds(place.attack("out", &["--shard", "1/1"]));
    let file = &place.attempts("out")[0];
    let text = fs::read(file).expect("written");
    fs::write(file, &text[..text.len() - 50]).expect("written");
    assert_eq!(place.status("out", &["--shards", "1"]), "1\n");
    place.merge("out", 3);
    succeeds(place.attack("out", &["--shard", "1/1"]));
    assert_eq!(place.attempts("out").len(), 2);
    place.merge("out", 0);
    assert_same(&place, "out", "whole");
}

#[test]
fn contradictory_attempts_are_refused_with_4_and_nothing_is_written() {
    let place = Experiment::new();
    succeeds(place.attack("out", &["--shard", "1/1"]));
    let file = place.attempts("out").remove(0);
    let found = read(&file);
    let record: Value = serde_json::from_str(found.lines().next().expect("a line")).expect("JSON");
    let forged = file.with_file_name("1-forged.jsonl");
    let forge = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let mut other = record.clone();
        change(&mut other);
        fs::write(&forged, format!("{other}\n")).expect("written");
        let said = place.merge("out", 4);
        assert_eq!(said.lines().count(), 1, "{said}");
        for word in words.iter().chain(&["contradictory", "attempts/1-"]) {
            assert!(said.contains(word), "expected '{word}' in: {said}");
        }
        assert!(!place.path("out").join("results.jsonl").exists());
        assert!(!place.path("out").join("summary.json").exists());
    };
    let verdict = record["verdict"].as_str().expect("a verdict").to_owned();
    let other = if verdict == "adversarial" { "robust" } else { "adversarial" };
    if verdict != "unknown" {
        forge(&|record| record["verdict"] = other.into(), &["adversarial", "robust"]);
    }
    forge(&|record| record["upper_bound"] = (-1e3).into(), &["a bound of -1000"]);
    forge(&|record| record["predicted"] = 5.into(), &["predicted as"]);
    forge(&|record| record["image"] = 77.into(), &["image 77", "not asked for"]);
    fs::remove_file(&forged).expect("removed");
    place.merge("out", 0);
}

/// Two attempts that came to different ends are no contradiction: the one that tells more is kept, with its own files.
#[test]
fn of_two_records_the_better_one_is_kept_with_its_files() {
    let place = Experiment::new();
    succeeds(place.attack("out", &["--shard", "1/1"]));
    let file = place.attempts("out").remove(0);
    let found = read(&file);
    let mut records = json_lines(&found).into_iter();
    let record = records.find(|record| record["verdict"] == "adversarial");
    let record = record.expect("an adversary");
    let mut better = record.clone();
    let margin = record["margin"].as_f64().expect("a number");
    better["margin"] = (margin + 1e-9).into();
    let other = file.with_file_name("1-other");
    fs::write(other.with_extension("jsonl"), format!("{better}\n")).expect("written");
    fs::create_dir_all(other.join("adversarial")).expect("made");
    let name = record["npy"].as_str().expect("a file");
    let key = (record["image"].as_u64().expect("a number"), record["target"].as_u64());
    let merged =
        || timeless_records(&place.path("out").join("results.jsonl"))[&key]["margin"].clone();
    // Without its file, or with a torn one, there is no witness: the other record is kept.
    place.merge("out", 0);
    assert_eq!(merged(), record["margin"]);
    let mut point = fs::read(file.with_extension("").join(name)).expect("there");
    fs::write(other.join(name), &point[..point.len() / 2]).expect("written");
    place.merge("out", 0);
    assert_eq!(merged(), record["margin"]);
    *point.last_mut().expect("not empty") ^= 1;
    fs::write(other.join(name), &point).expect("written");
    place.merge("out", 0);
    assert_eq!(fs::read(place.path("out").join(name)).expect("there"), point);
    assert_eq!(merged(), better["margin"]);
}

#[test]
fn shards_that_make_no_sense_are_named() {
    let place = Experiment::new();
    let auto = ["--shard", "auto", "--shards", "4"];
    for shard in ["0/4", "5/4", "1", "x/4", "0/0"] {
        refused(place.attack("out", &["--shard", shard]), &["--shard", shard]);
    }
    refused(place.attack("out", &["--shard", "auto"]), &["--shard auto", "--shards"]);
    refused(place.attack("out", &["--shard", "1/2", "--shards", "2"]), &["--shards"]);
    refused(place.attack("out", &["--shards", "2"]), &["--shard"]);
    refused(place.attack("out", &auto), &["SLURM_ARRAY_TASK_ID", "--shard I/4"]);
    for (index, name) in [("0", "HQ_TASK_ID"), ("5", "PARALLEL_SEQ"), ("one", "PARALLEL_SEQ")] {
        let mut command = place.attack("out", &auto);
        command.env(name, index);
        refused(command, &[name, index, "from 1 to 4"]);
    }
    let no_out = ["--model", FIXTURE, "--delta", "1", "--shard", "1/2"];
    refused(rw_adv(&no_out), &["--out"]);
    assert!(!place.path("out").exists(), "nothing was begun");
    for verb in ["status", "merge"] {
        refused(place.on(verb, "out", &[]), &["manifest.json"]);
    }
}

#[test]
fn a_shard_of_another_run_is_refused() {
    let place = Experiment::new();
    succeeds(place.attack("out", &["--shard", "1/2"]));
    refused(
        place.attack("out", &["--shard", "2/2", "--seed", "1"]),
        &["holds another run", "--seed 0 there, 1 asked"],
    );
    // The file of the targets has the same name, but others in it.
    fs::write(place.path("targets.csv"), TARGETS.replace("4,8\n", "4,7\n")).expect("written");
    refused(place.attack("out", &["--shard", "2/2"]), &["holds another run", "other targets"]);
}

#[test]
fn radii_are_shared_the_same_way() {
    let place = Experiment::new();
    let radius = |out: &str, more: &[&str]| {
        let mut command =
            rw_adv(&["radius", "--model", FIXTURE, "--images", "5", "--precision", "0.1"]);
        command.args(["--patience", "1"]).arg("--out").arg(place.path(out)).args(more);
        command
    };
    succeeds(radius("whole", &[]));
    succeeds(radius("out", &["--shard", "2/2"]));
    assert_eq!(place.status("out", &["--shards", "2"]), "1\n");
    place.merge("out", 3);
    succeeds(radius("out", &["--shard", "1/2"]));
    place.merge("out", 0);
    let [out, whole] = ["out", "whole"].map(|name| place.path(name));
    let name = "radii.jsonl";
    assert_eq!(timeless_records(&out.join(name)), timeless_records(&whole.join(name)));
    assert_eq!(files(&out.join("adversarial")), files(&whole.join("adversarial")));
    let file = place.attempts("out").remove(0);
    let found = read(&file);
    let mut forged: Value = serde_json::from_str(found.lines().next().expect("one")).expect("JSON");
    forged["attack_radius"] = 1e-3.into();
    fs::write(file.with_file_name("9-forged.jsonl"), format!("{forged}\n")).expect("written");
    assert!(place.merge("out", 4).contains("an adversary at 0.001 and none within"));
}

/// An attempt that cannot be begun says so before anything is computed.
#[cfg(unix)]
#[test]
fn an_unwritable_place_is_named() {
    let place = Experiment::new();
    succeeds(place.attack("out", &["--shard", "1/2"]));
    let attempts = place.path("out").join("attempts");
    fs::remove_dir_all(&attempts).expect("removed");
    fs::write(&attempts, "in the way").expect("written");
    refused(place.attack("out", &["--shard", "2/2"]), &["attempts"]);
    ends_with(2, place.on("merge", "out", &[]));
}
