//! `rw-adv maximize` as a user runs it, on answers that are known by hand or that branch and bound agrees with.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rw_adv::budget::Budget;
use rw_adv::formula::Linear;
use rw_adv::maximize::{Maximization, Maximum};
use rw_adv::onnx::OnnxModel;
use rw_adv::search::{Method, SearchOptions};
use rw_adv::sets::Domain;
use rw_adv::solve::SolveOptions;
use serde_json::Value;

use common::{
    BackgroundRun, FIXTURE, directory, ends_with, file, number, read, read_json, refused, rw_adv,
    succeeds, typed, unpacked,
};

/// 8 inputs, one output.
const REGRESSOR: &str = "tests/zoo/accepted/skl_regressor.onnx";
/// 5 inputs, 5 outputs.
const ACAS: &str = "tests/zoo/accepted/acasxu_style.onnx";

fn maximize(arguments: &[&str]) -> Command {
    rw_adv(&[&["maximize"], arguments].concat())
}

fn stdout(arguments: &[&str]) -> String {
    common::stdout(&[&["maximize"], arguments].concat())
}

/// Runs with a mistake in it: nothing on stdout, one line on stderr that ends like this.
fn mistake(arguments: &[&str], end: &str) {
    common::mistake(&[&["maximize"], arguments].concat(), &["rw-adv: ", &format!("{end}\n")]);
}

fn record(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[arguments, &["--json"]].concat())).expect("JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    let numbers = value.as_array().expect("an array").iter();
    numbers.map(|number| number.as_f64().expect("a number")).collect()
}

/// Equal but for the last digit: `serde_json` reads numbers no better.
fn assert_same(ours: &[f64], theirs: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14 * (1.0 + a.abs());
    assert!(
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(close),
        "{ours:?} {theirs:?}"
    );
}

/// A file of constraints that goes away with its directory.
struct Limits {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl Limits {
    fn new(text: &str) -> Self {
        let (directory, path) = file("limits.txt", text);
        Self { _directory: directory, path: path.into() }
    }

    fn path(&self) -> &str {
        typed(&self.path)
    }
}

fn solve(model: &str, objective: &str, domain: &Domain, method: Method) -> Maximum {
    let model = OnnxModel::load(Path::new(model)).expect("a sound model");
    let (outputs, inputs) = (model.network.outputs(), model.network.inputs());
    let objective = Linear::of_model(objective, outputs, inputs).expect("an expression");
    let budget = Budget::unlimited();
    let search = SearchOptions { method, ..SearchOptions::default() };
    let options = SolveOptions { search, ..SolveOptions::default() };
    let problem =
        Maximization::new(&model, domain, &objective, &options, &budget).expect("a point inside");
    problem.solve(&budget, &()).expect("an answer")
}

#[test]
fn an_objective_with_inputs_weighs_the_point_itself() {
    let model = "tests/zoo/accepted/acasxu_style.onnx";
    let domain = Domain::new_box(5, 0.0, 1.0);
    let plain = solve(model, "y0", &domain, Method::Rw);
    let mixed = solve(model, "y0 - 10*x3 + 2*x0 + 1", &domain, Method::Rw);
    assert_eq!(mixed.measurement.outputs.len(), plain.measurement.outputs.len());
    let value = |maximum: &Maximum| {
        maximum.measurement.outputs[0] - 10.0 * maximum.point[3] + 2.0 * maximum.point[0] + 1.0
    };
    assert!((value(&mixed) - mixed.measurement.value).abs() < 1e-9);
    assert!((mixed.measurement.value_f32 - mixed.measurement.value).abs() < 1e-3);
    let bound = mixed.bound.expect("an optimum was asked for").value();
    assert!(bound >= mixed.measurement.value && bound >= value(&plain));
}

#[test]
fn searches_reach_what_branch_and_bound_claims_to_be_optimal() {
    let limits = Limits::new(
        "x0 + x1 + x2 <= 1\n-0.25 <= x3 - 2*x4 <= 0.5\nx1 = x2  # an equation\nx0 >= -0.5\n",
    );
    for (model, inputs, objectives) in [
        (REGRESSOR, 8, &["y0", "-y0 + 3", "y0 - 0.1*x3"][..]),
        (ACAS, 5, &["y0 - 0.5*y3", "2 y1 - y2", "-y4", "y0 + 0.3*x1 - x4"][..]),
    ] {
        let plain = Domain::new_box(inputs, -1.0, 1.0);
        let cut = plain.clone().with_file(&limits.path).expect("read");
        for (domain, objective) in
            [&plain, &cut].into_iter().flat_map(|d| objectives.iter().map(move |o| (d, *o)))
        {
            let ours = solve(model, objective, domain, Method::Rw);
            let milp = solve(model, objective, domain, Method::Milp { warm: false });
            let claimed = milp.claimed_bound.expect("it ended");
            let case = format!(
                "{model} {objective}: {} {} {claimed}",
                ours.measurement.value, milp.measurement.value
            );
            assert!((milp.measurement.value - claimed).abs() < 1e-5, "{case}");
            assert!((ours.measurement.value - milp.measurement.value).abs() < 1e-5, "{case}");
            for found in [ours, milp] {
                assert!(found.gap().is_some_and(|gap| gap >= 0.0), "{case}");
                assert!(
                    (found.measurement.value - found.measurement.value_f32).abs() < 1e-4,
                    "{case}"
                );
                assert_eq!(found.point, domain.clamped(&found.point), "{case}");
                assert!(found.violation <= 2e-7, "{case}");
                assert_eq!(found.violation, domain.violation(&found.point), "{case}");
            }
        }
    }
}

#[test]
fn a_constraint_makes_value_and_bound_smaller() {
    let sum: Vec<String> = (0..784).map(|i| format!("x{i}")).collect();
    let limits = Limits::new(&format!("{} <= 10\n", sum.join(" + ")));
    let asked = ["--model", FIXTURE, "--objective", "y0 - 0.5*y3", "--patience", "5"];
    let free = record(&asked);
    let held = record(&[&asked[..], &["--constraints", limits.path()]].concat());
    assert!(number(&held, "value") < 0.2 * number(&free, "value"), "{held}");
    assert!(number(&held, "upper_bound") < 0.2 * number(&free, "upper_bound"), "{held}");
    let spent: f64 = numbers(&held["point"]).iter().sum();
    assert!((spent - 10.0).abs() < 1e-4, "{spent}");
}

#[test]
fn the_widest_box_with_constraints_has_an_answer() {
    let limits = Limits::new("x0 + x1 + x2 <= 1\n-0.25 <= x3 - 2*x4 <= 0.5\nx1 = x2\n");
    let asked = ["--model", ACAS, "--objective", "-y4", "--constraints", limits.path()];
    for method in ["rw", "paper", "frank-wolfe"] {
        let wide = ["--method", method, "--patience", "3", "--box", "-1e9,1e9"];
        let record = record(&[&asked[..], &wide].concat());
        let (value, bound) = (number(&record, "value"), number(&record, "upper_bound"));
        assert!(value > 1e8 && value <= bound, "{record}");
        assert!(number(&record, "violation") <= 2e-7, "{record}");
    }
}

#[test]
fn no_time_to_find_a_point_that_keeps_the_constraints_is_said() {
    let limits = Limits::new("x0 + x1 <= 1");
    let asked = ["--model", ACAS, "--objective", "y0", "--constraints", limits.path()];
    mistake(
        &[&asked[..], &["--time-limit", "1e-9"]].concat(),
        "limits.txt: no time to find an input that keeps all of it",
    );
}

#[test]
fn the_text_has_all_that_matters() {
    let text = stdout(&["--model", FIXTURE, "--objective", "y0 - 0.5*y3"]);
    let lines: Vec<&str> = text.lines().collect();
    let heads = [
        "objective  y0 - 0.5*y3",
        "value      ",
        "bound      ",
        "point      784 inputs: ",
        "search     rw: ",
    ];
    assert_eq!(lines.len(), heads.len(), "{text}");
    for (line, head) in lines.iter().zip(heads) {
        assert!(line.starts_with(head), "{text}");
    }
    assert!(lines[4].ends_with("ended by no_gain"), "{text}");
    // Few inputs are printed one by one, so are constraints counted.
    let limits = Limits::new("x7 = 0.25\nx0 <= x1\n");
    let text = stdout(&[
        "--model",
        REGRESSOR,
        "--objective",
        "-y0",
        "--box",
        "-1,2",
        "--constraints",
        limits.path(),
    ]);
    assert!(text.contains("\n           x7 = 0.25\n"), "{text}");
    assert!(text.contains("\n           1 constraints, broken by at most "), "{text}");
}

#[test]
fn the_record_can_be_checked_from_outside() {
    let arguments =
        ["--model", REGRESSOR, "--objective", "2*y0 - 1", "--box", "-1,2", "--seed", "3"];
    let record = record(&arguments);
    for (field, wanted) in [
        ("schema", "rw-adv/maximize/1".into()),
        ("objective", "2*y0 - 1".into()),
        ("box", Value::from(vec![-1.0, 2.0])),
        ("widths", Value::from(vec![8, 6, 5, 1])),
        ("constraints", Value::Null),
        ("constraint_count", 0.into()),
        ("violation", 0.0.into()),
        ("claimed_bound", Value::Null),
        ("method", "rw".into()),
        ("way_out", "flip".into()),
        ("seed", 3.into()),
        ("time_limit", Value::Null),
        ("stop", "no_gain".into()),
    ] {
        assert_eq!(record[field], wanted, "{field}");
    }
    let model = OnnxModel::load(Path::new(REGRESSOR)).expect("a sound model");
    let point = numbers(&record["point"]);
    let [output] = model.network.logits(&point)[..] else { panic!("one output") };
    assert_same(&numbers(&record["outputs"]), &[output]);
    assert_same(&[number(&record, "value")], &[2.0 * output - 1.0]);
    let in_f32: Vec<f32> = point.iter().map(|&x| x as f32).collect();
    let replayed = f64::from(model.replay.logits(&in_f32).expect("it runs")[0]);
    assert_same(&[number(&record, "value_f32")], &[2.0 * replayed - 1.0]);
    let gap = number(&record, "upper_bound") - number(&record, "value");
    assert_same(&[number(&record, "gap")], &[gap]);
    let (lower, upper) = (number(&record, "at_lower"), number(&record, "at_upper"));
    assert_eq!(lower, point.iter().filter(|x| **x == -1.0).count() as f64);
    assert_eq!(upper, point.iter().filter(|x| **x == 2.0).count() as f64);
    for field in ["starts", "regions", "lps", "iterations", "seconds", "seconds_to_best"] {
        assert!(number(&record, field) >= 0.0, "{field}");
    }
    assert_eq!(self::record(&arguments)["point"], record["point"], "same seed, same answer");
}

#[test]
fn branch_and_bound_tells_its_claim() {
    let record = record(&["--model", ACAS, "--objective", "y1 + 0.5", "--method", "milp"]);
    assert_eq!(record["stop"], "claimed");
    let claimed = number(&record, "claimed_bound");
    assert!((claimed - number(&record, "value")).abs() < 1e-5, "{record}");
    assert!(claimed <= number(&record, "upper_bound") + 1e-5, "{record}");
}

#[test]
fn results_are_stored_and_never_overwritten() {
    let directory = directory();
    let out = directory.path().join("new/results");
    let out = typed(&out);
    let arguments = ["--model", ACAS, "--objective", "y0", "--out", out];
    let printed = record(&arguments);
    assert_eq!(read_json(&Path::new(out).join("result.json")), printed);
    let array = fs::read(Path::new(out).join("point.npy")).expect("there");
    let header = String::from_utf8_lossy(&array[..128]).into_owned();
    assert!(header.contains("'<f8'") && header.contains("'shape': (1, 1, 5)"), "{header}");
    let values: Vec<f64> =
        array[128..].as_chunks().0.iter().copied().map(f64::from_le_bytes).collect();
    assert_same(&values, &numbers(&printed["point"]));
    let taken =
        "results: holds results already; continue them with --resume or name another directory";
    mistake(&arguments, taken);
    let nowhere = ["--model", ACAS, "--objective", "y0", "--out", "/dev/null/x"];
    mistake(&nowhere, "Not a directory (os error 20)");
}

#[test]
fn a_finished_result_is_printed_again_and_an_interrupted_one_made_again() {
    let directory = directory();
    let limits = Limits::new("x0 + x1 <= 0.5\n");
    let out = directory.path().join("results");
    let text = typed(&out);
    let constraints = ["--constraints", limits.path()];
    let asked = ["--model", ACAS, "--objective", "y0", "--out", text, "--resume"];
    let asked = [&asked[..], &constraints].concat();
    let first = record(&asked);
    let file = out.join("result.json");
    let stored = fs::read(&file).expect("there");
    assert_eq!(record(&asked), first, "not solved again");
    assert_eq!(fs::read(&file).expect("there"), stored);
    // As if it had been interrupted.
    let text = String::from_utf8(stored).expect("text").replace("no_gain", "interrupted");
    fs::write(&file, text + "{\"schema\":").expect("written");
    let again = record(&asked);
    assert_eq!((&again["stop"], &again["point"]), (&first["stop"], &first["point"]));
    assert_eq!(read(&file).lines().count(), 1);
    // What differs is told.
    let other = "holds another run (--seed 0 there, 1 asked); name another directory";
    mistake(&[&asked[..], &["--seed", "1"]].concat(), other);
    fs::write(&limits.path, "x0 + x1 <= 0.25\n").expect("written");
    refused(maximize(&asked), &["(other constraints: SHA-256 "]);
}

#[test]
fn a_threshold_is_judged_on_both_sides_of_the_optimum() {
    let directory = directory();
    let out = directory.path().join("results");
    let asked = ["--model", ACAS, "--objective", "y0 - 0.5*y3", "--branch", "--threshold"];
    let judged = |threshold: &str, goal: &str, more: &[&str]| {
        record(&[&asked[..], &[threshold, "--goal", goal], more].concat())
    };
    let optimum = judged("0", "optimum", &[]);
    assert_eq!(optimum["optimal"], true, "{optimum}");
    let value = number(&optimum, "value");
    for goal in ["optimum", "verdict"] {
        let below = judged(&(value - 0.01).to_string(), goal, &[]);
        assert_eq!((&below["verdict"], &below["goal"]), (&"adversarial".into(), &goal_of(goal)));
        let above = judged(&(value + 0.01).to_string(), goal, &[]);
        assert_eq!(above["verdict"], "robust", "{above}");
        assert!(number(&above, "upper_bound") < value + 0.01, "{above}");
    }
    // What exceeds the threshold is stored as it was replayed.
    let threshold = value - 0.01;
    let found = judged(&threshold.to_string(), "verdict", &["--out", typed(&out)]);
    assert_eq!(found["witness"], "witness.npy");
    let array = fs::read(out.join("witness.npy")).expect("there");
    let values: Vec<f32> =
        array[128..].as_chunks().0.iter().copied().map(f32::from_le_bytes).collect();
    let model = OnnxModel::load(Path::new(ACAS)).expect("a sound model");
    let outputs = model.replay.logits(&values).expect("it runs");
    assert!(f64::from(outputs[0]) - 0.5 * f64::from(outputs[3]) > threshold);
    let text = stdout(&[&asked[..], &["-1", "--goal", "verdict"]].concat());
    assert!(text.contains("\nverdict    adversarial: an input exceeds -1\n"), "{text}");
    let lacks = ["--model", ACAS, "--objective", "y0", "--goal", "verdict"];
    mistake(&lacks, "not provided: --threshold <VALUE> (try --help)");
}

/// The optimum is what is wanted unless the record says otherwise.
fn goal_of(goal: &str) -> Value {
    if goal == "optimum" { Value::Null } else { goal.into() }
}

#[test]
fn a_dry_run_tells_what_would_be_done_and_does_nothing() {
    let directory = directory();
    let out = directory.path().join("results");
    let asked = ["--model", ACAS, "--objective", "y0", "--out", typed(&out)];
    let text = stdout(&[&asked[..], &["--dry-run"]].concat());
    for line in ["settings  objective: y0", "          bounds of every input: 0.0, 1.0"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.ends_with("records   1 to make, 0 of 1 are finished\n"), "{text}");
    assert!(!out.exists());
    let manifest: Value =
        serde_json::from_str(&stdout(&[&asked[..], &["--dry-run", "--json"]].concat()))
            .expect("JSON");
    assert_eq!(manifest["contents"], "maximum");
    stdout(&asked);
    let mut stored = read_json(&out.join("manifest.json"));
    let origin = stored.as_object_mut().and_then(|fields| fields.remove("origin"));
    let command = origin.as_ref().and_then(|origin| origin["command"].as_str());
    assert!(command.is_some_and(|command| command.contains("maximize --model")), "{origin:?}");
    assert_eq!(stored, manifest);
}

#[test]
fn the_model_is_written_for_other_solvers() {
    let directory = directory();
    let limits = Limits::new("x0 + x1 <= 0.5\n");
    for (name, words) in
        [("net.lp", ["up_0", "h_1_", "z_1_"]), ("net.mps", ["ROWS", "up_4", "INTORG"])]
    {
        let path = directory.path().join(name);
        let file = typed(&path);
        stdout(&[
            "--model",
            ACAS,
            "--objective",
            "y0",
            "--constraints",
            limits.path(),
            "--write-model",
            file,
        ]);
        let text = read(&path);
        for word in words {
            assert!(text.contains(word), "{word} in {text}");
        }
        // Told from the lower bounds, every input moves up only.
        assert!(!text.contains("down_"), "{text}");
    }
    let asked = ["--model", ACAS, "--objective", "y0", "--write-model"];
    let other = "'--write-model <FILE>': must end in .mps or .lp (try --help)";
    mistake(&[&asked[..], &["net.txt"]].concat(), other);
    let nowhere = "rw-adv: /no/such/net.lp: cannot write: No such file or directory (os error 2)";
    mistake(&[&asked[..], &["/no/such/net.lp"]].concat(), nowhere);
}

#[test]
fn every_mistake_is_one_line() {
    let asked = |objective| vec!["--model", FIXTURE, "--objective", objective];
    mistake(
        &asked("y0 + y10"),
        "--objective: column 6: there is no y10: the model has 10 outputs, y0 to y9",
    );
    mistake(
        &asked("y0 +"),
        "--objective: column 5: expected a number or one of y0, y1, …, x0, x1, …, found the end",
    );
    mistake(&asked("3"), "--objective: column 2: no output or input (y0, x0, …) is left in it");
    mistake(
        &["--model", "no.onnx", "--objective", "y0"],
        "no.onnx: cannot read the model: No such file or directory (os error 2)",
    );
    for (given, end) in [
        ("1", "must be two numbers, LOWER,UPPER (try --help)"),
        ("0,one", "must be two numbers, LOWER,UPPER (try --help)"),
        ("0,inf", "every input needs finite bounds, between -1e9 and 1e9 (try --help)"),
        ("-1e10,1", "every input needs finite bounds, between -1e9 and 1e9 (try --help)"),
        ("nan,1", "every input needs finite bounds, between -1e9 and 1e9 (try --help)"),
        ("1,-1", "the lower bound is above the upper (try --help)"),
    ] {
        mistake(&[&asked("y0")[..], &["--box", given]].concat(), end);
    }
    for (text, end) in [
        (
            "x0 <= 1\nx0 + x784 <= 1",
            "limits.txt: line 2: column 6: there is no x784: the model has 784 inputs, x0 to x783",
        ),
        (
            "x0 >= 0.5\n\nx0 <= 0.25",
            "limits.txt: line 3: nothing is left for x0: at least 0.5 and at most 0.25",
        ),
        ("x0 + x1 >= 3", "limits.txt: no input keeps all bounds and constraints"),
        ("x0 + x1 < 3", "limits.txt: line 1: column 9: '<' would leave the border out: write <="),
    ] {
        let limits = Limits::new(text);
        mistake(&[&asked("y0")[..], &["--constraints", limits.path()]].concat(), end);
    }
    mistake(
        &[&asked("y0")[..], &["--constraints", "no.txt"]].concat(),
        "no.txt: No such file or directory (os error 2)",
    );
    let limits = Limits::new("x0 = x1");
    let apgd = [&asked("y0")[..], &["--constraints", limits.path(), "--method", "apgd"]].concat();
    let refused = "rw-adv: the method apgd has no projection onto linear constraints of the inputs";
    mistake(&apgd, refused);
    // What is refused leaves no directory behind.
    let out = limits.path.with_file_name("out");
    mistake(&[&apgd[..], &["--out", typed(&out)]].concat(), refused);
    assert!(!out.exists());
    // Bounds alone are a box.
    let limits = Limits::new("x0 = 0.5");
    stdout(
        &[
            &asked("y0")[..],
            &["--constraints", limits.path(), "--method", "apgd", "--patience", "2"],
        ]
        .concat(),
    );
}

#[test]
fn time_limit_and_interrupt_end_with_what_was_found() {
    let endless = ["--model", FIXTURE, "--objective", "y0", "--patience", "100000000", "--json"];
    let limited = record(&[&endless[..6], &["--time-limit", "0.3"]].concat());
    assert_eq!(limited["stop"], "time");
    let run = BackgroundRun::start(maximize(&endless));
    let (text, _) = run.interrupt_after(Duration::from_secs(2));
    let record: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["stop"], "interrupted");
    assert!(number(&record, "value") > 0.0, "{text}");
}

#[test]
fn a_proof_of_a_maximum_holds_and_a_forged_one_does_not() {
    let limits = Limits::new("x0 + x1 - 2*x3 <= 0.5\nx2 = 0.25\n");
    let proofs = limits.path.with_file_name("proofs");
    let asked = ["--model", ACAS, "--objective", "y0 - y1 + 3", "--constraints", limits.path()];
    let more = ["--branch", "200", "--proof", typed(&proofs)];
    let record = record(&[&asked[..], &more[..]].concat());
    let check = || rw_adv(&["check-proof", "--model", ACAS, typed(&proofs)]);
    let said = succeeds(check());
    let bound = format!("(exactly {})", number(&record, "upper_bound"));
    assert!(
        said.contains("objective over 5 inputs and 1 constraints") && said.contains(&bound),
        "{said}"
    );
    // The same leaves for a larger box prove no such bound.
    let file = proofs.join("maximum.json.gz");
    let text = unpacked(&file);
    let wider = text.replacen("\"upper\":[1.0", "\"upper\":[2.0", 1);
    assert_ne!(text, wider);
    // What is not packed is read as it is.
    fs::write(&file, wider).expect("written");
    ends_with(1, check());
}

#[test]
fn whole_numbers_are_kept_told_written_and_proved() {
    let limits = Limits::new("int x0, x2\nbin x4\nx0 <= 3.5\nx0 + x2 + x1 <= 2.75\n");
    let proofs = limits.path.with_file_name("proofs");
    let model = limits.path.with_file_name("net.lp");
    let asked = ["--model", ACAS, "--objective", "y0 - 0.5*y3", "--constraints", limits.path()];
    let more = ["--branch", "--proof", typed(&proofs), "--write-model", typed(&model)];
    let ours = record(&[&asked[..], &more[..]].concat());
    let point = numbers(&ours["point"]);
    assert!([0, 2, 4].iter().all(|&i| point[i].fract() == 0.0), "{point:?}");
    assert_eq!(ours["integers"], serde_json::json!([0, 2, 4]));
    assert_eq!(ours["optimal"], true);
    // The MILP solver agrees, and reads the same whole numbers.
    let theirs = record(&[&asked[..], &["--method", "milp"]].concat());
    assert!((number(&ours, "value") - number(&theirs, "value")).abs() < 1e-4, "{ours} {theirs}");
    let written = read(&model);
    let general = written.split("General").nth(1).expect("a list of integers");
    assert!(["up_0\n", "up_2\n", "up_4\n"].iter().all(|name| general.contains(name)), "{general}");
    assert!(!general.contains("up_1\n"), "{general}");
    assert!(stdout(&asked).contains("whole numbers only: x0, x2, x4"));
    let check = || rw_adv(&["check-proof", "--model", ACAS, typed(&proofs)]);
    assert!(succeeds(check()).contains("and whole numbers for x0, x2, x4"));
    // Without the whole numbers the leaves do not cover the set.
    let file = proofs.join("maximum.json.gz");
    let text = unpacked(&file);
    let forged = text.replacen("\"integers\":[0,2,4]", "\"integers\":[]", 1);
    assert_ne!(text, forged);
    fs::write(&file, forged).expect("written");
    ends_with(1, check());
}

#[test]
fn mistakes_about_whole_numbers_name_the_line() {
    for (text, end) in [
        ("int x9\n", "line 1: column 5: there is no x9: the model has 5 inputs, x0 to x4"),
        (
            "\nint x1\n0.1 <= x1 <= 0.9",
            "line 3: there is no whole number for x1 between 0.1 and 0.9",
        ),
        (
            "2 <= x1 <= 3\nbin x1",
            "line 2: neither 0 nor 1 is left for x1: at least 2 and at most 3",
        ),
        (
            "int x0, x1\n2*x0 + 2*x1 = 1",
            "no input with whole numbers keeps all bounds and constraints",
        ),
    ] {
        let limits = Limits::new(text);
        let asked = ["--model", ACAS, "--objective", "y0", "--constraints", limits.path()];
        mistake(&asked, end);
    }
}
