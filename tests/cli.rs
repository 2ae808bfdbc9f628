//! The binary as a user runs it: output, exit codes, and one line for every mistake.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use rw_adv::data::{DataSource, Dataset};
use rw_adv::onnx::OnnxModel;
use rw_adv::sets::Norm;
use serde_json::Value;

const FIXTURE: &str = "models/mnist_2x16.onnx";
const MODEL: &str = "models/mnist_2x500.onnx";

fn rw_adv(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("rw-adv").expect("the binary is built");
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("RW_ADV_LOG").args(arguments);
    command
}

fn stdout(arguments: &[&str]) -> String {
    let output = rw_adv(arguments).assert().success().get_output().clone();
    let said = String::from_utf8_lossy(&output.stderr);
    // On a slow machine.
    let only_progress = said.lines().all(|line| line.starts_with("rw-adv: progress: "));
    assert!(only_progress, "{said}");
    String::from_utf8(output.stdout).expect("text")
}

/// Runs with a mistake in it: exit code 2, nothing on stdout, one line on stderr with all `words`.
fn mistake(arguments: &[&str], words: &[&str]) {
    let output = rw_adv(arguments).assert().code(2).get_output().clone();
    let line = String::from_utf8(output.stderr).expect("text");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    for word in words {
        assert!(line.contains(word), "expected '{word}' in: {line}");
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The records of a run of the fixture, by image and target: they come in the order in which searches end.
fn records(arguments: &[&str]) -> Vec<Value> {
    let text = stdout(&[&["--model", FIXTURE, "--json"], arguments].concat());
    let mut records = json_lines(&text);
    records.sort_by_key(|record| (record["image"].as_u64(), record["target"].as_u64()));
    records
}

fn numbers(records: &[Value], field: &str) -> Vec<u64> {
    records.iter().map(|record| record[field].as_u64().expect("a number")).collect()
}

fn count(records: &[Value], field: &str, wanted: &str) -> usize {
    records.iter().filter(|record| record[field] == wanted).count()
}

/// The values of an `.npy` file of so many 64-bit floats.
fn doubles(path: &Path, count: usize) -> Vec<f64> {
    let bytes = fs::read(path).expect("readable");
    let values = &bytes[bytes.len() - 8 * count..];
    values.as_chunks().0.iter().copied().map(f64::from_le_bytes).collect()
}

/// A file in a directory of its own that goes away with it.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(name);
    fs::write(&path, text).expect("written");
    let path = path.to_str().expect("UTF-8").to_owned();
    (directory, path)
}

#[test]
fn inspect_shows_the_layers_and_the_check() {
    let text = stdout(&["inspect", MODEL]);
    assert!(text.contains("784 -> 500 -> 500 -> 10"), "{text}");
    assert!(text.contains("largest difference to tract"), "{text}");
}

#[test]
fn inspect_as_json_says_what_became_of_every_node() {
    let value: Value = serde_json::from_str(&stdout(&["inspect", MODEL, "--json"])).expect("JSON");
    assert_eq!(value["widths"], serde_json::json!([784, 500, 500, 10]));
    assert!(value["check"]["largest_difference"].as_f64().is_some_and(|d| d < 1e-4));
    assert_eq!(value["nodes"].as_array().map(Vec::len), Some(5));
    assert_eq!(value["sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn a_dropped_softmax_is_mentioned() {
    let text = stdout(&["inspect", "tests/zoo/accepted/softmax_opset13.onnx"]);
    assert!(text.contains("dropped") && text.contains("Softmax"), "{text}");
}

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
fn results_go_to_the_directory_and_are_never_overwritten() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let out = directory.path().join("out");
    let out = out.to_str().expect("UTF-8");
    let arguments = ["--model", FIXTURE, "--images", "3,7,9", "--delta", "2.5", "--out", out];
    let text = stdout(&arguments);
    // A head, three records, three lines of summary.
    assert_eq!(text.lines().count(), 7, "{text}");
    let stored = fs::read_to_string(Path::new(out).join("results.jsonl")).expect("written");
    let mut images = numbers(&json_lines(&stored), "image");
    images.sort_unstable();
    assert_eq!(images, [3, 7, 9]);
    let summary = fs::read_to_string(Path::new(out).join("summary.json")).expect("written");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["summary"]["records"], 3);
    assert_eq!(summary["settings"]["delta"], 2.5);
    mistake(&arguments, &[out, "holds results already"]);
}

#[test]
fn help_and_version_work() {
    assert!(stdout(&["--help"]).contains("inspect"));
    assert!(stdout(&["--version"]).contains("HiGHS 1.14"));
}

#[test]
fn the_log_goes_to_stderr_from_the_level_asked_for_on() {
    let stderr = |level: &str| {
        let run = rw_adv(&["inspect", FIXTURE]).env("RW_ADV_LOG", level).assert().success();
        String::from_utf8(run.get_output().stderr.clone()).expect("text")
    };
    for level in ["info", "DEBUG"] {
        let log = stderr(level);
        assert!(log.starts_with("rw-adv: info: ") && log.contains(FIXTURE), "{log}");
        assert_eq!(log.lines().count(), 1, "{log}");
    }
    for level in ["", "warn", "error", "off"] {
        assert_eq!(stderr(level), "");
    }
    let refused = rw_adv(&["inspect", FIXTURE]).env("RW_ADV_LOG", "loud").assert().code(2);
    let line = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert_eq!(line, "rw-adv: RW_ADV_LOG: 'loud' is none of off, error, warn, info and debug\n");
    assert!(stdout(&["--help"]).contains("RW_ADV_LOG"));
}

#[test]
fn a_misspelt_option_is_answered_with_the_right_one() {
    mistake(&["--modle", "x"], &["--modle", "--model"]);
}

#[test]
fn missing_and_impossible_options_are_named() {
    mistake(&[], &["--model", "--delta"]);
    mistake(&["--model", FIXTURE], &["--delta"]);
    mistake(&["--model", FIXTURE, "--delta", "five"], &["--delta", "five"]);
    mistake(&["--model", FIXTURE, "--delta", "0"], &["--delta", "positive"]);
    mistake(&["--model", FIXTURE, "--delta", "-1"], &["--delta", "positive"]);
    mistake(&["--model", FIXTURE, "--delta", "NaN"], &["--delta", "positive"]);
    mistake(&["--model", FIXTURE, "--delta", "inf"], &["--delta", "positive"]);
    mistake(
        &["--model", FIXTURE, "--delta", "5", "--split", "validation"],
        &["--split", "validation"],
    );
    mistake(&["--model", FIXTURE, "--delta", "5", "--images", "many"], &["--images", "many"]);
    mistake(&["--model", FIXTURE, "--delta", "5", "--images", "0"], &["--images"]);
    mistake(&["--model", FIXTURE, "--delta", "5", "--images", "9..3"], &["--images", "9..3"]);
    mistake(
        &["--model", FIXTURE, "--delta", "5", "--images", "9990..10010"],
        &["9990..10010", "10000"],
    );
}

#[test]
fn models_that_are_not_are_named() {
    let data = ["--delta", "5", "--images", "1"];
    let with = |model: &'static str| [&["--model", model], &data[..]].concat();
    mistake(&with("no/such.onnx"), &["no/such.onnx", "cannot read"]);
    mistake(&with("models"), &["models", "directory"]);
    mistake(&with("README.md"), &["README.md", "not an ONNX model"]);
    mistake(&with("tests/zoo/refused/maxpool.onnx"), &["maxpool.onnx", "MaxPool", "pool1"]);
    mistake(&with("tests/zoo/accepted/one_output.onnx"), &["one_output.onnx"]);
    mistake(&["inspect", "no/such.onnx"], &["no/such.onnx"]);
}

#[test]
fn data_that_is_not_is_named() {
    let with =
        |data: &'static str| ["--model", FIXTURE, "--delta", "5", "--images", "1", "--data", data];
    mistake(&with("no/such/data"), &["no/such/data"]);
    mistake(&with("models/README.md"), &["models/README.md"]);
    mistake(&with("src"), &["src"]);
    mistake(&with("no/*.png"), &["no/*.png"]);
}

#[test]
fn images_of_another_size_than_the_models_are_refused() {
    mistake(
        &["--model", "tests/zoo/accepted/opset_13.onnx", "--delta", "1", "--images", "1"],
        &["28", "784", "8"],
    );
}

#[test]
fn an_unwritable_place_is_named_before_anything_is_computed() {
    mistake(
        &["--model", FIXTURE, "--delta", "5", "--images", "1", "--out", "README.md/x"],
        &["README.md/x"],
    );
    mistake(
        &["--model", FIXTURE, "--delta", "5", "--images", "1", "--out", "/proc/rw-adv"],
        &["/proc/rw-adv"],
    );
}

#[test]
fn the_number_of_threads_changes_nothing_but_times() {
    for delta in ["3", "5"] {
        let timeless = |threads| {
            let mut records = records(&["--images", "12", "--delta", delta, "--threads", threads]);
            for record in &mut records {
                let fields = record.as_object_mut().expect("an object");
                assert!(fields.remove("seconds").is_some());
                assert!(fields.remove("seconds_to_best").is_some());
            }
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

#[test]
fn targets_that_are_not_are_named() {
    let with = |target: &str, words: &[&str]| {
        let arguments = ["--model", FIXTURE, "--delta", "2", "--images", "1", "--target", target];
        mistake(&arguments, words);
    };
    with("10", &["--target", "10", "0 to 9"]);
    with("runnerup", &["--target", "runnerup", "runner-up"]);
    with("no/such.csv", &["--target", "no/such.csv"]);
    for (text, words) in [
        ("", &["empty"][..]),
        ("picture,label\n1,2\n", &["line 1", "image,target", "picture,label"]),
        ("image,target\n", &["line 1", "no image"]),
        ("image,target\n1,2\n\n3\n", &["line 4", "3"]),
        ("image,target\n1,2,3\n", &["line 2", "1,2,3"]),
        ("image,target\n1,two\n", &["line 2", "two"]),
        ("image,target\n1,10\n", &["line 2", "10", "0 to 9"]),
        ("image,target\n10000,1\n", &["line 2", "10000"]),
        ("image,target\n1,2\n1,2\n", &["line 3", "twice"]),
    ] {
        let (_directory, path) = file("bad.csv", text);
        with(&path, &[words, &["bad.csv"]].concat());
    }
}

#[test]
fn options_of_the_search_that_make_no_sense_are_named() {
    let with = |option, value| {
        mistake(&["--model", FIXTURE, "--delta", "2", option, value], &[option, value]);
    };
    with("--threads", "0");
    with("--threads", "two");
    with("--time-limit", "0");
    with("--time-limit", "soon");
    with("--patience", "some");
    with("--seed", "x");
    with("--norm", "l2");
    with("--method", "magic");
}

#[test]
fn a_time_limit_ends_a_search_that_would_go_on() {
    let text = stdout(&[
        "--model",
        MODEL,
        "--images",
        "1",
        "--delta",
        "5",
        "--json",
        "--time-limit",
        "1",
        "--patience",
        "1000000",
    ]);
    let record = &json_lines(&text)[0];
    assert_eq!(record["stop"], "time");
    let seconds = record["seconds"].as_f64().expect("a number");
    assert!((1.0..3.0).contains(&seconds), "{seconds}");
}

#[test]
fn with_exit_code_an_adversary_gives_1() {
    let base = ["--model", FIXTURE, "--images", "4..6", "--json", "--delta"];
    let code = |more: &[&str]| {
        let output = rw_adv(&[&base[..], more].concat()).output().expect("runs");
        (
            output.status.code(),
            count(&json_lines(&String::from_utf8_lossy(&output.stdout)), "verdict", "adversarial"),
        )
    };
    assert_eq!(code(&["5", "--exit-code"]), (Some(1), 2));
    assert_eq!(code(&["5"]), (Some(0), 2));
    assert_eq!(code(&["0.01", "--exit-code"]), (Some(0), 0));
}

/// Each record's bound is above its margin, decides what it may decide, and closes the gap where it says so.
#[test]
fn bounds_gaps_and_verdicts_of_a_record_agree() {
    let mut optimal = 0;
    for delta in ["0.5", "2", "5"] {
        for record in records(&["--images", "30", "--delta", delta]) {
            let number = |field: &str| record[field].as_f64().expect(field);
            let (margin, bound, gap) = (number("margin"), number("upper_bound"), number("gap"));
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
fn a_goal_that_does_not_exist_is_refused() {
    mistake(
        &["--model", FIXTURE, "--images", "1", "--delta", "5", "--goal", "both"],
        &["--goal", "both"],
    );
}

#[test]
fn for_a_verdict_a_search_ends_at_the_first_adversary() {
    let first = records(&["--images", "12", "--delta", "5", "--goal", "verdict"]);
    let whole = records(&["--images", "12", "--delta", "5"]);
    assert_eq!(count(&whole, "stop", "no_gain"), 12);
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
    let margin = |record: &Value| record["margin"].as_f64().expect("a number");
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
        let of = |record: &Value, field: &str| record[field].as_f64().expect("a number");
        assert!(of(divided, "upper_bound") <= of(root, "upper_bound") + 1e-9, "{root} {divided}");
        assert!(of(divided, "upper_bound") >= of(divided, "margin"), "{divided}");
        assert!(of(divided, "margin") >= of(root, "margin") - 1e-9, "{root} {divided}");
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

#[test]
fn the_problem_of_one_image_and_target_is_written_for_other_solvers() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("one.lp");
    let file = path.to_str().expect("UTF-8");
    let one = ["--images", "3,", "--delta", "2", "--write-model", file];
    let one: Vec<&str> = ["--model", FIXTURE].into_iter().chain(one).collect();
    stdout(&one);
    let text = std::fs::read_to_string(&path).expect("written");
    for word in ["max", "up_", "down_", "h_1_", "z_1_", "bin"] {
        assert!(text.to_lowercase().contains(word), "{word}");
    }
    mistake(&[&one[..], &["--target", "all"]].concat(), &["--write-model", "one target, 9"]);
    let two = ["--model", FIXTURE, "--images", "2", "--delta", "2", "--write-model", file];
    mistake(&two, &["--write-model", "one image, 2"]);
}

/// Every adversary as it is on disk: inside the box, strictly inside the ball, and fooling the file.
#[test]
fn stored_adversaries_are_what_their_records_say() {
    let model = OnnxModel::load(FIXTURE.as_ref()).expect("the fixture loads");
    let open = |path: &Path| {
        let source = DataSource { path: path.to_owned(), ..DataSource::default() };
        Dataset::open(&source, &model.input_dims).expect("readable")
    };
    let widened = |x: &[f32]| -> Vec<f64> { x.iter().copied().map(f64::from).collect() };
    let originals = open("data".as_ref());
    for (norm, name, delta) in
        [(Norm::L1, "l1", "5"), (Norm::L1, "l1", "2.3"), (Norm::Linf, "linf", "0.05")]
    {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let out = directory.path().join("out");
        let arguments = ["--images", "12", "--norm", name, "--delta", delta, "--out"];
        let records = records(&[&arguments[..], &[out.to_str().expect("UTF-8")]].concat());
        assert!(count(&records, "verdict", "adversarial") > 0, "{name} {delta}");
        let delta: f64 = delta.parse().expect("a number");
        for record in &records {
            assert_eq!(record["norm"], name);
            let adversarial = record["verdict"] == "adversarial";
            assert_eq!(record["npy"].is_string(), adversarial);
            assert_eq!(record["png"].is_string(), adversarial);
            let field = |field: &str| record[field].as_f64().expect("a number");
            assert_eq!(field("margin") > 0.0, adversarial);
            if !adversarial {
                continue;
            }
            let index = field("image") as usize;
            let original = originals.sample(index).expect("readable").pixels;
            let stored = |field: &str| {
                let path = out.join(record[field].as_str().expect("a path"));
                open(&path).sample(0).expect("readable").pixels
            };
            let margin_at = |x: &[f32]| {
                let logits = model.replay.logits(x).expect("tract runs");
                let of = |label: &str| f64::from(logits[field(label) as usize]);
                of("target") - of("predicted")
            };
            let (point, picture) = (stored("npy"), stored("png"));
            for x in [&point, &picture] {
                assert!(x.iter().all(|value| (0.0..=1.0).contains(value)));
                assert!(norm.distance(&widened(x), &widened(&original)) < delta);
            }
            let distance = norm.distance(&widened(&point), &widened(&original));
            assert!((distance - field("distance")).abs() < 1e-12);
            let changed = point.iter().zip(&original).filter(|(x, o)| x != o).count();
            assert_eq!(changed, field("changed_pixels") as usize);
            assert!(margin_at(&point) > 0.0);
            assert!((margin_at(&point) - field("margin_f32")).abs() < 1e-12);
            assert!((margin_at(&picture) - field("margin_png")).abs() < 1e-12);
            let beside = |name: &str| out.join(format!("adversarial/{index}{name}"));
            let read = |name: &str| open(&beside(name)).sample(0).expect("readable").pixels;
            assert_eq!(read(".npy"), original);
            assert_eq!(read(".png"), original);
            let stem = format!("_c{}_w{}", record["predicted"], record["target"]);
            let difference = doubles(&beside(&format!("{stem}_difference.npy")), point.len());
            let sum = |(original, change): (&f32, &f64)| f64::from(*original) + change;
            let sums: Vec<f64> = original.iter().zip(&difference).map(sum).collect();
            assert_eq!(sums, widened(&point));
            assert_eq!(norm.distance(&difference, &vec![0.0; point.len()]), field("distance"));
            for picture in ["difference.png", "strip.png"] {
                assert!(beside(&format!("{stem}_{picture}")).exists());
            }
        }
        let stored = fs::read_dir(out.join("adversarial")).expect("readable").count();
        assert_eq!(stored, 7 * count(&records, "verdict", "adversarial"));
        let stored = fs::read_to_string(out.join("results.jsonl")).expect("written");
        let mut stored = json_lines(&stored);
        stored.sort_by_key(|record| record["image"].as_u64());
        assert_eq!(stored, records);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_found() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let directory = tempfile::tempdir().expect("a temporary directory");
    let out = directory.path().join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_rw-adv"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--model", FIXTURE, "--images", "6", "--delta", "5", "--patience", "1000000"])
        .args(["--threads", "2", "--out"])
        .arg(&out)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // The table's head is printed when the searches begin.
    let mut table = BufReader::new(child.stdout.take().expect("piped"));
    let mut head = String::new();
    table.read_line(&mut head).expect("text");
    std::thread::sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("runs").success());
    let mut rest = String::new();
    table.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("ends").code(), Some(130), "{head}{rest}");
    let mut complaints = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut complaints).expect("text");
    assert!(complaints.lines().count() <= 1, "{complaints}");

    let stored = fs::read_to_string(out.join("results.jsonl")).expect("written");
    assert!(stored.ends_with('\n'));
    let records = json_lines(&stored);
    // What was being searched is written, what was not begun is not.
    assert!((1..6).contains(&records.len()), "{stored}");
    assert_eq!(count(&records, "stop", "interrupted"), records.len(), "{stored}");
    let summary = fs::read_to_string(out.join("summary.json")).expect("written");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["summary"]["records"], records.len());
}

/// The shell lets files grow to two kilobytes: to the program that is a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_is_one_line() {
    for (delta, place) in [("5", "adversarial/"), ("0.01", "sketches.jsonl")] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = Command::new("sh")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_rw-adv"))
            .args(["--model", FIXTURE, "--images", "4..8", "--delta", delta, "--out"])
            .arg(directory.path().join("out"))
            .output()
            .expect("runs");
        let line = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.contains(place) && line.contains("cannot write"), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_one_line() {
    for format in [&["--json"][..], &[]] {
        let full = fs::File::options().write(true).open("/dev/full").expect("there on Linux");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_rw-adv"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["--model", FIXTURE, "--images", "3", "--delta", "5"])
            .args(format)
            .stdout(full)
            .output()
            .expect("runs");
        let line = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.contains("stdout"), "{line}");
    }
}

#[test]
fn a_reader_that_goes_away_does_not_cost_records() {
    use std::process::Stdio;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let out = directory.path().join("out");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_rw-adv"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--model", FIXTURE, "--images", "30", "--delta", "5", "--quiet", "--out"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let stored = fs::read_to_string(out.join("results.jsonl")).expect("written");
    assert_eq!(json_lines(&stored).len(), 30);
}

#[test]
fn a_mistake_does_not_take_the_result_directory() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let out = directory.path().join("out");
    let out = out.to_str().expect("UTF-8");
    // Image 0 is a 7 already.
    mistake(
        &["--model", FIXTURE, "--images", "0,", "--delta", "5", "--target", "7", "--out", out],
        &["--target 7"],
    );
    stdout(&["--model", FIXTURE, "--images", "0,", "--delta", "5", "--target", "3", "--out", out]);
}

#[test]
fn impossible_numbers_for_measurements_are_named() {
    mistake(&["bench", "quality", "--seconds=-1"], &["--seconds"]);
    mistake(&["bench", "quality", "--proof-seconds=nan"], &["--proof-seconds"]);
    mistake(&["bench", "random", "--seconds", "1e30"], &["--seconds"]);
    mistake(&["bench", "walk", "--delta=-1"], &["--delta"]);
    mistake(&["bench", "random", "--widths", "3"], &["--widths"]);
    mistake(&["--model", FIXTURE, "--delta", "5", "--patience", "0"], &["--patience"]);
}

/// The radii of the fixture's images, by image.
fn radius_records(arguments: &[&str]) -> Vec<Value> {
    let text = stdout(&[&["radius", "--model", FIXTURE, "--json"], arguments].concat());
    let mut records = json_lines(&text);
    records.sort_by_key(|record| record["image"].as_u64());
    records
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
        let radius = |field: &str| record[field].as_f64().expect("a number");
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
            let at = |field: &str| record[field].as_f64().expect("a number");
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
fn radii_go_to_a_directory_of_their_own() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let out = directory.path().join("out");
    let path = out.to_str().expect("UTF-8");
    let run = ["radius", "--model", FIXTURE, "--images", "2", "--out", path];
    stdout(&run);
    let records = json_lines(&fs::read_to_string(out.join("radii.jsonl")).expect("written"));
    assert_eq!(records.len(), 2);
    let source = |path: &Path| DataSource { path: path.to_owned(), ..DataSource::default() };
    for record in &records {
        let image = Dataset::open(&source(Path::new("data")), &[784]).expect("there");
        let image = image.sample(record["image"].as_u64().expect("a number") as usize);
        let stored = out.join(record["npy"].as_str().expect("a file"));
        let stored = Dataset::open(&source(&stored), &[784]).expect("there").sample(0);
        let [image, stored] = [image, stored].map(|sample| {
            sample.expect("readable").pixels.into_iter().map(f64::from).collect::<Vec<f64>>()
        });
        assert_eq!(record["attack_radius"], Norm::L1.distance(&image, &stored));
        assert!(out.join(record["png"].as_str().expect("a file")).exists());
    }
    let summary = fs::read_to_string(out.join("summary.json")).expect("written");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["schema"], "rw-adv/radius/1");
    assert_eq!(
        (&summary["summary"]["records"], &summary["settings"]["max_delta"]),
        (&2.into(), &784.0.into())
    );
    mistake(&run, &["holds results already"]);
    mistake(&["--model", FIXTURE, "--delta", "5", "--out", path], &["holds results already"]);
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
    let radius = |records: &[Value]| records[0]["attack_radius"].as_f64().expect("a number");
    assert!(radius(&nearest) < radius(&one));
}

#[test]
fn options_of_radii_that_make_no_sense_are_named() {
    mistake(&["radius"], &["--model"]);
    let with = |more: &[&str], words: &[&str]| {
        mistake(&[&["radius", "--model", FIXTURE], more].concat(), words);
    };
    with(&["--precision", "0"], &["--precision", "0.000001"]);
    with(&["--precision", "nan"], &["--precision"]);
    with(&["--precision", "fine"], &["--precision", "not a number"]);
    with(&["--max-delta=-1"], &["--max-delta"]);
    with(&["--patience", "0"], &["--patience"]);
    with(&["--target", "11"], &["--target", "0 to 9"]);
    with(&["--images", "20000"], &["20000"]);
    with(&["--norm", "l2"], &["l2"]);
    with(&["--delta", "5"], &["--delta"]);
    with(&["--images", "0,", "--target", "7"], &["--target 7"]);
}

#[cfg(unix)]
#[test]
fn interrupted_radii_keep_what_is_known() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let directory = tempfile::tempdir().expect("a temporary directory");
    let out = directory.path().join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_rw-adv"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["radius", "--model", FIXTURE, "--images", "6", "--patience", "1000000"])
        .args(["--threads", "2", "--out"])
        .arg(&out)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut table = BufReader::new(child.stdout.take().expect("piped"));
    let mut text = String::new();
    table.read_line(&mut text).expect("text");
    std::thread::sleep(Duration::from_millis(500));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("runs").success());
    table.read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("ends").code(), Some(130), "{text}");
    assert!(text.contains("interrupted: "), "{text}");
    let records = json_lines(&fs::read_to_string(out.join("radii.jsonl")).expect("written"));
    assert!((1..6).contains(&records.len()), "{text}");
    assert_eq!(count(&records, "stop", "interrupted"), records.len(), "{text}");
    assert!(out.join("summary.json").exists());
}
