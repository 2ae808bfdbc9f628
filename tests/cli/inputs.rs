//! Inputs as they are: another data set, a convolutional model, names of classes, normalisation, ranges.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{FIXTURE, directory, ends_with, mistake, rw_adv, stdout};

const CNN: &str = "models/fashion_cnn.onnx";
const FASHION: [&str; 4] = ["--data", "data/fashion", "--classes", "data/fashion/classes.txt"];

fn fashion(arguments: &[&str]) -> String {
    stdout(&[&["--model", CNN], &FASHION[..], arguments].concat())
}

/// An `.npy` file of float32.
fn npy(path: &Path, shape: &str, values: &[f32]) {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(path, bytes).expect("writes");
}

#[test]
fn a_convolutional_model_of_another_data_set_is_attacked_and_certified() {
    let printed = fashion(&["--images", "8", "--delta", "0.3", "--branch", "0"]);
    assert!(printed.contains("ankle-boot") && printed.contains("pullover"), "{printed}");
    assert!(printed.contains(" robust ") && printed.contains("8 searched"), "{printed}");
    let far = fashion(&["--images", "3", "--delta", "8", "--goal", "verdict", "--branch", "0"]);
    assert!(far.contains(" adversarial "), "{far}");
    let lines: Vec<&str> = printed.lines().collect();
    let target = lines[0].find("target").expect("a column") + "target".len();
    assert!(lines[1..9].iter().all(|line| line.as_bytes()[target] == b' '), "{printed}");
}

#[test]
fn targets_and_labels_are_called_by_their_names() {
    let typed = ["--images", "4", "--delta", "0.1", "--branch", "0", "--json"];
    let by_name = fashion(&[&typed[..], &["--target", "sandal"]].concat());
    let by_number = fashion(&[&typed[..], &["--target", "5"]].concat());
    let targets = |text: &str| -> Vec<(u64, u64)> {
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let number = |value: &Value| value.as_u64().expect("a number");
        let mut pairs: Vec<_> =
            records.map(|record| (number(&record["image"]), number(&record["target"]))).collect();
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(targets(&by_name), targets(&by_number));
    assert_eq!(targets(&by_name)[0], (0, 5));
    let with = |more: &[&str], words: &[&str]| {
        let typed = ["--model", CNN, "--images", "4", "--delta", "1"];
        mistake(&[&typed[..], &FASHION[..], more].concat(), words);
    };
    with(&["--target", "sandals"], &["--target", "sandals", "sandal, shirt"]);
    with(&["--target", "10"], &["--target 10", "T-shirt"]);
    let folder = directory();
    let labels = folder.path().join("labels.txt");
    fs::write(&labels, "sandal\n".repeat(199) + "boot\n").expect("writes");
    with(&["--labels", labels.to_str().expect("UTF-8")], &["labels.txt: line 200", "boot"]);
    fs::write(&labels, "sandal\n".repeat(199)).expect("writes");
    with(&["--labels", labels.to_str().expect("UTF-8")], &["199 labels for 200 images"]);
    let names = folder.path().join("names.txt");
    fs::write(&names, "a\nb\n").expect("writes");
    let names = names.to_str().expect("UTF-8");
    let typed = ["--model", CNN, "--data", "data/fashion", "--delta", "1", "--classes", names];
    mistake(&typed, &["names.txt", "2 names", "10 classes"]);
}

#[test]
fn names_are_kept_beside_the_results() {
    let folder = directory();
    let out = folder.path().join("out");
    let out = out.to_str().expect("UTF-8");
    fashion(&["--images", "2", "--delta", "8", "--goal", "verdict", "--branch", "0", "--out", out]);
    let summary = fs::read(Path::new(out).join("summary.json")).expect("is there");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    assert_eq!(summary["settings"]["class_names"][9], "ankle-boot");
    let page = fs::read_to_string(Path::new(out).join("report.html")).expect("is there");
    assert!(page.contains("ankle-boot"));
    // Names of files speak them, too, and records name the files.
    let records = fs::read_to_string(Path::new(out).join("results.jsonl")).expect("is there");
    let stored: Vec<String> = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter_map(|record| record["npy"].as_str().map(str::to_owned))
        .collect();
    assert!(stored.iter().any(|name| name.contains("_ankle-boot_to_")), "{stored:?}");
    assert!(stored.iter().all(|name| Path::new(out).join(name).exists()), "{stored:?}");
    stdout(&["report", out]);
}

#[test]
fn a_normalised_model_is_written_beside_its_results_and_its_proofs() {
    let folder = directory();
    let out = folder.path().join("out");
    let out = out.to_str().expect("UTF-8");
    let proofs = format!("{out}/proofs");
    let typed =
        ["--model", FIXTURE, "--images", "3", "--delta", "0.5", "--mean=-0.5", "--std", "2"];
    stdout(&[&typed[..], &["--out", out, "--proof", &proofs, "-q"]].concat());
    let model = format!("{out}/model.onnx");
    let checked = stdout(&["check-proof", "--model", &model, &proofs, "--data", "data"]);
    assert!(checked.contains("3"), "{checked}");
    // The same model by its file gives the same records.
    let records = |model: &str, more: &[&str]| {
        let typed = ["--model", model, "--images", "3", "--delta", "0.5", "--json", "-q"];
        let printed = stdout(&[&typed[..], more].concat());
        let mut margins: Vec<String> = printed
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .map(|record| format!("{} {}", record["image"], record["margin"]))
            .collect();
        margins.sort();
        margins
    };
    let same = records(FIXTURE, &["--mean=-0.5", "--std", "2"]);
    assert_eq!(records(&model, &[]), same);
    assert_ne!(records(FIXTURE, &[]), same);
    // (x + 1/2) / 2 spreads [0, 1] over [1/4, 3/4].
    assert_eq!(records(FIXTURE, &["--range", "0.25,0.75"]), same);
    let typed = ["--model", FIXTURE, "--images", "1", "--delta", "1"];
    let with = |more: &[&str], words: &[&str]| mistake(&[&typed[..], more].concat(), words);
    with(&["--std", "0"], &["--std", "positive"]);
    with(&["--mean", "1,2,3"], &["3 values of mean", "784"]);
    with(&["--range", "1,0"], &["--range", "in order"]);
    with(&["--range", "1"], &["--range", "LO,HI"]);
    with(&["--range", "0,1", "--std", "2"], &["--range", "--std"]);
    with(&["--std", "2", "--proof", &format!("{out}/p")], &["--proof", "--out"]);
    // The checker reads the model with its normalisation.
    assert_eq!(records(FIXTURE, &["--mean=-0.5", "--std", "2", "--check-proofs"]), same);
}

#[test]
fn weights_in_another_file_go_with_a_normalised_model() {
    let folder = directory();
    let images = folder.path().join("a.npy");
    npy(&images, "2, 8", &(0..16).map(|k| k as f32 / 16.0).collect::<Vec<_>>());
    let (images, out) = (images.to_str().expect("UTF-8"), folder.path().join("out"));
    let out = out.to_str().expect("UTF-8");
    let proofs = format!("{out}/proofs");
    let model = "tests/zoo/accepted/torch_new_wide.onnx";
    let asked = ["--model", model, "--data", images, "--delta", "0.1", "--mean=0.5", "--std", "2"];
    stdout(&[&asked[..], &["--out", out, "--proof", &proofs, "--check-proofs", "-q"]].concat());
    // The file of weights lies beside the model again, so that others read it.
    let written = format!("{out}/model.onnx");
    stdout(&["inspect", &written]);
    stdout(&["check-proof", "--model", &written, &proofs]);
    let same = ["--model", &written, "--data", images, "--delta", "0.1", "--json", "-q"];
    // Records come in the order in which they are done.
    let records = stdout(&same);
    let image = |line| serde_json::from_str::<Value>(line).expect("JSON")["image"].as_u64();
    let images: HashSet<Option<u64>> = records.lines().map(image).collect();
    let summary = fs::read(Path::new(out).join("summary.json")).expect("is there");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    let inspected = stdout(&["inspect", &written]);
    assert!(inspected.contains(summary["settings"]["model_sha256"].as_str().expect("text")));
    assert_eq!(images, HashSet::from([Some(0), Some(1)]));
}

#[test]
fn values_of_another_range_are_refused_or_taken() {
    let folder = directory();
    let file = folder.path().join("a.npy");
    npy(&file, "1, 784", &(0..784).map(|k| (k % 256) as f32).collect::<Vec<_>>());
    let path = file.to_str().expect("UTF-8");
    let typed = ["--model", FIXTURE, "--delta", "0.1", "--branch", "0", "--data", path];
    mistake(&typed, &["a.npy", "value 2 is 2", "[0, 1]", "divide by 255", "--range"]);
    stdout(&[&typed[..], &["--range", "0,255"]].concat());
    mistake(&[&typed[..], &["--range", "0,254"]].concat(), &["value 255 is 255", "[0, 254]"]);
    npy(&file, "1, 784", &[-0.5; 784]);
    mistake(&typed, &["value 0 is -0.5", "--mean, --std"]);
}

#[test]
fn predictions_by_chance_are_warned_of() {
    let warned = |more: &[&str]| {
        let typed = ["--model", FIXTURE, "--images", "20", "--delta", "0.01", "--branch", "0"];
        let output = ends_with(0, rw_adv(&[&typed[..], more].concat()));
        String::from_utf8(output.stderr).expect("text")
    };
    let wrong = warned(&["--range", "1,2"]);
    assert!(wrong.contains("predicted as labelled") && wrong.contains("--mean, --std"), "{wrong}");
    assert!(!warned(&[]).contains("predicted as labelled"));
    assert!(!warned(&["--range", "1,2", "-q"]).contains("predicted as labelled"));
}

#[test]
fn without_data_the_option_is_named() {
    let folder = directory();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join(FIXTURE);
    let mut command = rw_adv(&["--model", model.to_str().expect("UTF-8"), "--delta", "1"]);
    command.current_dir(folder.path());
    let said = String::from_utf8(ends_with(2, command).stderr).expect("text");
    assert!(said.contains("--data") && said.lines().count() == 1, "{said}");
}
