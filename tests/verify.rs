//! `rw-adv verify` and `rw-adv supports` as a user, the competition and VNN-LIB's standard run them.

mod common;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::*;
use rw_adv::onnx::OnnxModel;
use serde_json::Value;
use tempfile::TempDir;

/// 5 inputs, 5 outputs.
const ACAS: &str = "tests/zoo/accepted/acasxu_style.onnx";

/// A property of the unit box in VNN-LIB 1.0.
fn property(inputs: usize, outputs: usize, assertions: &str) -> String {
    let declared = |letter: char, many: usize| -> String {
        (0..many).map(|i| format!("(declare-const {letter}_{i} Real)\n")).collect()
    };
    let bounds: String = (0..inputs)
        .map(|i| format!("(assert (<= X_{i} 1.0))\n(assert (>= X_{i} 0.0))\n"))
        .collect();
    declared('X', inputs) + &declared('Y', outputs) + &bounds + assertions
}

/// A property of the same kind for [`ACAS`], as a file.
fn acas(assertions: &str) -> (TempDir, String) {
    file("p.vnnlib", &property(5, 5, assertions))
}

/// The same in VNN-LIB 2.0.
fn acas_two(assertions: &str) -> (TempDir, String) {
    let bounds: String =
        (0..5).map(|i| format!("(assert (and (<= X[0,{i}] 1.0) (>= X[0,{i}] 0.0)))\n")).collect();
    let tensors = "(declare-input X float32 [1,5]) (declare-output Y Real [5])";
    let network = format!("(vnnlib-version <2.0>)\n(declare-network acas {tensors})\n");
    file("p.vnnlib", &(network + &bounds + assertions))
}

/// The numbers of `((X_0 v)` … `(Y_0 v))`, by letter.
fn assignment(text: &str) -> (Vec<f32>, Vec<f32>) {
    let inside = text.trim().strip_prefix('(').and_then(|t| t.strip_suffix(')')).expect("brackets");
    let values = |letter: char| {
        let of_letter = inside.lines().filter(move |line| line.contains(letter));
        let value = |(i, line): (usize, &str)| {
            let text = line.strip_prefix(&format!("({letter}_{i} ")).expect("in order");
            text.strip_suffix(')').expect("a bracket").parse::<f64>().expect("a number") as f32
        };
        of_letter.enumerate().map(value).collect()
    };
    (values('X'), values('Y'))
}

#[test]
fn sat_comes_with_an_input_that_the_file_confirms() {
    let (_folder, file) = acas("(assert (or (and (>= Y_0 Y_1) (<= Y_2 100)) (>= Y_0 1000)))");
    let folder = directory();
    let results = folder.path().join("results.txt");
    let text = stdout(&["verify", ACAS, &file, "--results", typed(&results)]);
    assert_eq!(read(&results), text);
    let (first, rest) = text.split_once('\n').expect("lines");
    assert_eq!(first, "sat");
    let (inputs, outputs) = assignment(rest);
    assert!(inputs.len() == 5 && inputs.iter().all(|x| (0.0..=1.0).contains(x)));
    let model = OnnxModel::load(Path::new(env!("CARGO_MANIFEST_DIR")).join(ACAS).as_ref());
    assert_eq!(model.expect("loads").replay.logits(&inputs).expect("runs"), outputs);
    assert!(outputs[0] >= outputs[1]);
}

#[test]
fn unsat_and_unknown_are_words() {
    let (_folder, file) = acas("(assert (>= Y_0 1000))");
    assert_eq!(stdout(&["verify", ACAS, &file]), "unsat\n");
    let record = &json_lines(&stdout(&["verify", ACAS, &file, "--json"]))[0];
    assert_eq!(
        (record["result"].as_str(), record["stop"].as_str()),
        (Some("unsat"), Some("robust"))
    );
    assert!(number(record, "upper_bound") < 0.0);
    assert_eq!(record["schema"], "rw-adv/verify/1");
    // Between what is found and what is proven.
    let options = ["--model", FIXTURE, "--objective", "y0 - y1", "--patience", "2", "--json"];
    let maximum = &json_lines(&stdout(&[&["maximize"], &options[..]].concat()))[0];
    let (value, bound) = (number(maximum, "value"), number(maximum, "upper_bound"));
    assert!(bound - value > 0.1, "{value} {bound}");
    let threshold = format!("(assert (>= (- Y_0 Y_1) {}))", 0.5 * (value + bound));
    let (_folder, file) = file_of_mnist(&threshold);
    let text = stdout(&["verify", FIXTURE, &file, "--nodes", "1", "--patience", "2"]);
    assert_eq!(text, "unknown\n");
}

fn file_of_mnist(assertions: &str) -> (TempDir, String) {
    file("mnist.vnnlib", &property(784, 10, assertions))
}

#[test]
fn time_limits_are_kept() {
    // A box this large is not decided in a second.
    let (_folder, file) = file_of_mnist("(assert (and (>= Y_0 (+ Y_1 200)) (>= Y_0 (+ Y_2 200))))");
    for (options, word) in [
        (vec![LARGE, file.as_str()], "timeout\n"),
        (vec![file.as_str(), "--network", "N=models/mnist_2x500.onnx"], ""),
    ] {
        let begun = Instant::now();
        let arguments = [&["verify", "--timeout", "1"], &options[..]].concat();
        if word.is_empty() {
            mistake(&arguments, &["declares the network none, not N"]);
        } else {
            let text = stdout(&arguments);
            assert!(text == word, "{:?}", text.lines().next());
        }
        // Other tests run beside this one.
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn the_standards_command_line() {
    let (_folder, file) = acas_two("(assert (> Y[0] Y[1]))");
    let network = format!("acas={ACAS}");
    let text = stdout(&["verify", &file, "--network", &network, "--timeout", "60"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        (lines[0], lines[1], lines[7], lines.len()),
        ("sat", "X float32 [1,5]", "Y Real [5]", 13)
    );
    let numbers = |lines: &[&str]| -> Vec<f64> {
        lines.iter().map(|line| line.parse().expect("a number")).collect()
    };
    let (x, y) = (numbers(&lines[2..7]), numbers(&lines[8..13]));
    assert!(x.iter().all(|x| (0.0..=1.0).contains(x)) && y[0] > y[1]);
    mistake(
        &["verify", &file, "--network", "other=a.onnx"],
        &["declares the network acas, not other"],
    );
    let twice = ["--network", &network, "--network", "b=b.onnx"];
    mistake(&[&["verify", file.as_str()], &twice[..]].concat(), &["several networks"]);
    let (_folder, file) = acas_two("(assert (< Y[0] -1000))");
    assert_eq!(stdout(&["verify", &file, "--network", &network]), "unsat\n");
    let spent = stdout(&["verify", &file, "--network", &network, "--timeout", "1e-9"]);
    assert_eq!(spent, "timed-out\n");
    assert_eq!(stdout(&["--name"]), "rw-adv (Relax-and-Walk)\n");
    assert!(stdout(&["supports", "--onnx-operators"]).lines().any(|line| line == "Gemm"));
    assert_eq!(stdout(&["supports", "--vnnlib-versions"]), "1.0\n2.0\n");
    assert_eq!(stdout(&["supports", "--hidden-node-theories"]), "NH\n");
    assert_eq!(stdout(&["supports", "--serialise-assignments"]), "false\n");
    mistake(&["supports"], &["required"]);
}

#[test]
fn behind_a_softmax_only_the_order_of_outputs_is_known() {
    for (model, supported) in
        [("softmax_opset13", true), ("logsoftmax", true), ("softmax_argmax", false)]
    {
        let model = format!("tests/zoo/accepted/{model}.onnx");
        let (_folder, order) = file("o.vnnlib", &property(8, 3, "(assert (>= Y_0 Y_1))"));
        let (_folder, threshold) = file("t.vnnlib", &property(8, 3, "(assert (>= Y_0 0.5))"));
        if supported {
            let text = stdout(&["verify", &model, &order]);
            assert!(text.starts_with("sat\n") || text == "unsat\n", "{text}");
            mistake(&["verify", &model, &threshold], &["only the order of outputs"]);
        } else {
            mistake(&["verify", &model, &order], &["ArgMax"]);
        }
    }
}

#[test]
fn every_mistake_is_one_line() {
    let (_folder, good) = acas("(assert (>= Y_0 1000))");
    let (_folder, bad) = file("bad.vnnlib", "(declare-const X_0 Real)\n(assert (<= X_1 0))");
    let (_folder, small) = file("small.vnnlib", &property(3, 5, "(assert (>= Y_0 1))"));
    let (_folder, list) = file("list.csv", "a.onnx,b.vnnlib,soon\n");
    mistake(&["verify", ACAS, &bad], &["bad.vnnlib: line 2, column 13: 'X_1' is not declared"]);
    mistake(&["verify", ACAS, &small], &["the property has 3 inputs, the model has 5"]);
    mistake(&["verify", ACAS, "no/such.vnnlib"], &["no/such.vnnlib: cannot read"]);
    mistake(&["verify", "no/such.onnx", &good], &["no/such.onnx: cannot read"]);
    mistake(&["verify", ACAS], &["takes MODEL.onnx PROPERTY.vnnlib"]);
    mistake(&["verify"], &["required"]);
    mistake(
        &["verify", "--instances", &list],
        &["list.csv: line 1: expected NETWORK,PROPERTY,SECONDS"],
    );
    mistake(&["verify", ACAS, &good, "--network", "N"], &["must be NAME=FILE"]);
    mistake(&["verify", ACAS, &good, "--results", "no/such/file"], &["--results no/such/file"]);
}

/// Three instances beside their list: sat, unsat, and one whose property is not there. The property of one is gzipped.
fn instances() -> TempDir {
    let folder = directory();
    let at = |name: &str| folder.path().join(name);
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(ACAS), at("a.onnx")).expect("copied");
    fs::write(at("sat.vnnlib"), property(5, 5, "(assert (>= Y_0 -1000))")).expect("written");
    let unsat = property(5, 5, "(assert (>= Y_0 1000))");
    let gz = fs::File::create(at("unsat.vnnlib.gz")).expect("created");
    let mut gz = flate2::write::GzEncoder::new(gz, flate2::Compression::fast());
    gz.write_all(unsat.as_bytes()).expect("written");
    gz.finish().expect("written");
    let list = "a.onnx,sat.vnnlib,60\na.onnx,unsat.vnnlib,60\na.onnx,missing.vnnlib,60\n";
    fs::write(at("instances.csv"), list).expect("written");
    folder
}

/// The results of a file of records, by instance.
fn results(file: &Path) -> Vec<String> {
    let mut records = json_lines(&read(file));
    records.sort_by_key(|record| record["instance"].as_u64());
    records.iter().map(|r| r["result"].as_str().expect("a word").to_owned()).collect()
}

#[test]
fn many_instances_are_answered_recorded_continued_and_shared() {
    let folder = instances();
    let list = folder.path().join("instances.csv");
    let out = folder.path().join("out");
    let run = |more: &[&str]| {
        let arguments = ["verify", "--instances", typed(&list), "--out", typed(&out)];
        rw_adv(&[&arguments, more].concat())
    };
    let text = text(ends_with(2, run(&[])).stdout);
    assert!(text.contains("3 instances in ") && text.contains("1 sat, 1 unsat"), "{text}");
    assert!(text.contains("1 error") && text.contains("missing.vnnlib: cannot read"), "{text}");
    assert_eq!(results(&out.join("verify.jsonl")), ["sat", "unsat", "error"]);
    let summary = read_json(&out.join("summary.json"));
    let counts = &summary["summary"];
    assert_eq!((&counts["results"]["sat"], &counts["asked"]), (&Value::from(1), &Value::from(3)));
    // Nothing is left to do; and not with another seed, nor with other files.
    let again = common::text(ends_with(2, run(&["--resume"])).stdout);
    assert!(again.contains("nothing to do: all 3 were finished before"), "{again}");
    refused(run(&["--resume", "--seed", "1"]), &["--seed"]);
    fs::write(folder.path().join("sat.vnnlib"), property(5, 5, "")).expect("written");
    refused(run(&["--resume"]), &["other networks, properties or timeouts"]);
    // Two shards.
    let out = folder.path().join("shards");
    for shard in ["1/2", "2/2"] {
        let arguments =
            ["verify", "--instances", typed(&list), "--out", typed(&out), "--shard", shard];
        let code = rw_adv(&arguments).output().expect("runs").status.code();
        assert!([Some(0), Some(2)].contains(&code), "{shard}");
    }
    assert_eq!(stdout(&["status", typed(&out)]), "complete: 3 of 3 records\n");
    assert!(stdout(&["merge", typed(&out)]).contains("1 sat, 1 unsat"));
    assert_eq!(results(&out.join("verify.jsonl")), ["sat", "unsat", "error"]);
    succeeds(rw_adv(&["report", typed(&out)]));
    assert!(read(&out.join("report.html")).contains("unsat.vnnlib"));
}

#[test]
fn ctrl_c_keeps_what_is_finished() {
    let folder = directory();
    let at = |name: &str| folder.path().join(name);
    let hard = "(assert (and (>= Y_0 (+ Y_1 200)) (>= Y_0 (+ Y_2 200))))";
    fs::write(at("hard.vnnlib"), property(784, 10, hard)).expect("written");
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join(LARGE);
    let line = format!("{},hard.vnnlib,600\n", model.display());
    fs::write(at("instances.csv"), line).expect("written");
    let (list, out) = (at("instances.csv"), at("out"));
    let run = BackgroundRun::start(rw_adv(&[
        "verify",
        "--instances",
        typed(&list),
        "--out",
        typed(&out),
    ]));
    let (printed, complaints) = run.interrupt_after(Duration::from_millis(1500));
    assert!(printed.contains("interrupted: "), "{printed}{complaints}");
    let status = stdout(&["status", typed(&out)]);
    assert_eq!(status, "incomplete: 0 of 1 records\n");
}

#[test]
fn the_competitions_scripts() {
    let script = |name: &str, arguments: &[&str]| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/vnncomp").join(name);
        let mut command = Command::new(path);
        command.env("RW_ADV", env!("CARGO_BIN_EXE_rw-adv")).args(arguments);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        command
    };
    let folder = directory();
    let results = folder.path().join("results.txt");
    let results = typed(&results);
    let (_folder, sat) = acas("(assert (>= Y_0 -1000))");
    let (_folder, unsat) = acas("(assert (>= Y_0 1000))");
    let (_folder, bad) = file("bad.vnnlib", "(assert");
    for (property, word) in [(&sat, "sat"), (&unsat, "unsat"), (&bad, "error")] {
        succeeds(script("run_instance.sh", &["v1", "acas", ACAS, property, results, "60"]));
        assert_eq!(read(results.as_ref()).lines().next(), Some(word));
    }
    let (_folder, hard) = file_of_mnist("(assert (and (>= Y_0 (+ Y_1 200)) (>= Y_0 (+ Y_2 200))))");
    succeeds(script("run_instance.sh", &["v1", "mnist", LARGE, &hard, results, "2"]));
    assert_eq!(read(results.as_ref()).lines().next(), Some("timeout"));
    succeeds(script("prepare_instance.sh", &["v1", "acas", ACAS, &sat]));
    ends_with(1, script("run_instance.sh", &["v2", "acas", ACAS, &sat, results, "60"]));
    ends_with(2, script("prepare_instance.sh", &["v1", "acas", "no/such.onnx", &sat]));
}

#[test]
fn one_of_several_outputs_is_named() {
    let (_folder, property) = file("p.vnnlib", &property(8, 1, "(assert (>= Y_0 1000.0))\n"));
    let model = "tests/zoo/refused/two_heads.onnx";
    mistake(&["verify", model, &property], &["two_heads.onnx", "--output"]);
    let said = stdout(&["verify", model, &property, "--output", "value"]);
    assert!(said.starts_with("unsat"), "{said}");
    mistake(&["verify", model, &property, "--output", "other"], &["has no output 'other'"]);
}
