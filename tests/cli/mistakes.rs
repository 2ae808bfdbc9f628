//! One line for every mistake.

use crate::common::{FIXTURE, directory, file, mistake, stdout, typed};

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
        &["--model", FIXTURE, "--delta", "5", "--split", "train", "--data", "docs/strip.png"],
        &["--split train", "docs/strip.png is not an MNIST or CIFAR-10 directory"],
    );
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
    mistake(&with("tests/zoo/refused/tanh.onnx"), &["tanh.onnx", "Tanh", "act1"]);
    mistake(&with("tests/zoo/refused/two_heads.onnx"), &["two_heads.onnx", "--output"]);
    let chosen = ["inspect", "--output", "nothing", "tests/zoo/refused/two_heads.onnx"];
    mistake(&chosen, &["two_heads.onnx", "'nothing'", "logits, value"]);
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
fn a_goal_that_does_not_exist_is_refused() {
    mistake(
        &["--model", FIXTURE, "--images", "1", "--delta", "5", "--goal", "both"],
        &["--goal", "both"],
    );
}

#[test]
fn a_mistake_does_not_take_the_result_directory() {
    let directory = directory();
    let out = directory.path().join("out");
    let out = typed(&out);
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
