//! Solvers outside the program: shell scripts stand in for them. What they claim is kept as a claim, their points are judged like all others.

mod common;

use std::fs;
use std::path::Path;

use common::{FIXTURE, directory, ends_with, json_lines, mistake, read, rw_adv, typed};
use serde_json::Value;

/// What `--method external` makes of image 3 with a solver that runs these commands; and what it says on stderr.
fn attacked(directory: &Path, commands: &str) -> (Value, String) {
    let script = directory.join("solver.sh");
    fs::write(&script, commands).expect("writable");
    let solver = format!("sh {}", typed(&script));
    let asked = ["--model", FIXTURE, "--images", "3,", "--delta", "2", "--time-limit", "5"];
    let external = ["--method", "external", "--solver", &solver, "--json"];
    let output = ends_with(0, rw_adv(&[&asked[..], &external].concat()));
    let text = String::from_utf8(output.stdout).expect("text");
    let said = String::from_utf8(output.stderr).expect("text");
    (json_lines(&text).remove(0), said)
}

#[test]
fn the_solver_gets_a_model_and_a_time_and_its_point_is_judged() {
    let directory = directory();
    let seen = directory.path().join("seen");
    let (_, image) = attacked(directory.path(), "printf '' > $3");
    assert!(image.is_empty(), "{image}");
    // Far more than the budget allows: the point is brought back into the ball. The claims are false.
    let commands = format!(
        "cp $1 {seen}.mps; echo $2 > {seen}.seconds; printf '# bound 1000\\n# status optimal\\nup_0 0.5\\nup_1 99\\nup_2 1\\nup_3 1\\n' > $3",
        seen = typed(&seen)
    );
    let (record, said) = attacked(directory.path(), &commands);
    assert!(said.is_empty(), "{said}");
    assert_eq!(record["claimed_bound"], 1000.0);
    let distance = record["distance"].as_f64().expect("a number");
    assert!(distance < 2.0, "{distance}");
    let (margin, bound) = (&record["margin"], &record["upper_bound"]);
    assert!(margin.as_f64() <= bound.as_f64(), "{record}");
    let seconds: f64 = read(&seen.with_extension("seconds")).trim().parse().expect("a number");
    assert!(seconds > 0.0 && seconds <= 5.0, "{seconds}");
    let model = read(&seen.with_extension("mps"));
    for word in ["OBJSENSE", "MAX", "up_0", "INTORG", "z_1_", "FX BND  one  1.0"] {
        assert!(model.contains(word), "{word}");
    }
}

#[test]
fn a_solver_without_an_answer_is_named() {
    let directory = directory();
    for (commands, complaint) in [
        ("exit 7", "ended with exit status: 7"),
        ("true", "no solution file"),
        ("echo up_3 much > $3", "line 1: \"up_3 much\" is not understood"),
        ("echo '# refused too many columns' > $3", "too many columns"),
    ] {
        let (record, said) = attacked(directory.path(), commands);
        assert!(said.contains(complaint) && said.contains("solver.sh"), "{said}");
        assert_eq!(record["claimed_bound"], Value::Null);
        // The image itself is still there.
        assert_eq!(record["distance"], 0.0, "{record}");
    }
}

#[test]
fn a_solver_and_its_method_belong_together() {
    let asked = ["--model", FIXTURE, "--images", "1", "--delta", "2"];
    mistake(&[&asked[..], &["--method", "external"]].concat(), &["--solver COMMAND"]);
    mistake(&[&asked[..], &["--solver", "true"]].concat(), &["--solver", "--method external"]);
}
