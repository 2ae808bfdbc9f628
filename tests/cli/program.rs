//! The program itself: models inspected, help, the log.

use serde_json::Value;

use crate::common::{FIXTURE, LARGE, ends_with, refused, rw_adv, stdout, text};

#[test]
fn inspect_shows_the_layers_and_the_check() {
    let text = stdout(&["inspect", LARGE]);
    assert!(text.contains("784 -> 500 -> 500 -> 10"), "{text}");
    assert!(text.contains("largest difference to tract"), "{text}");
}

#[test]
fn inspect_as_json_says_what_became_of_every_node() {
    let value: Value = serde_json::from_str(&stdout(&["inspect", LARGE, "--json"])).expect("JSON");
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
fn help_and_version_work() {
    assert!(stdout(&["--help"]).contains("inspect"));
    assert!(stdout(&["--version"]).contains("HiGHS 1.14"));
}

#[test]
fn the_log_goes_to_stderr_from_the_level_asked_for_on() {
    let stderr = |level: &str| {
        let mut run = rw_adv(&["inspect", FIXTURE]);
        run.env("RW_ADV_LOG", level);
        text(ends_with(0, run).stderr)
    };
    for level in ["info", "DEBUG"] {
        let log = stderr(level);
        assert!(log.starts_with("rw-adv: info: ") && log.contains(FIXTURE), "{log}");
        assert_eq!(log.lines().count(), 1, "{log}");
    }
    for level in ["", "warn", "error", "off"] {
        assert_eq!(stderr(level), "");
    }
    let mut run = rw_adv(&["inspect", FIXTURE]);
    run.env("RW_ADV_LOG", "loud");
    refused(run, &["rw-adv: RW_ADV_LOG: 'loud' is none of off, error, warn, info and debug\n"]);
    assert!(stdout(&["--help"]).contains("RW_ADV_LOG"));
}
