//! The command line itself: help, completions, manual, verbosity, colours, files of options, dry runs.

mod common;

use std::fs;
use std::process::Command;

use serde_json::Value;

use common::{
    FIXTURE, directory, ends_with, file, mistake, rw_adv, sorted_records, stdout, text, typed,
    without_times,
};

const SMALL: &[&str] = &[
    "--model",
    FIXTURE,
    "--images",
    "4..6",
    "--delta",
    "5",
    "--patience",
    "1",
    "--goal",
    "verdict",
];

/// The names of options in a text.
fn options(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let words = text.split(|c: char| !is_part(c)).filter(|word| word.starts_with("--"));
    words.filter(|word| word.len() > 2).collect()
}

/// The commands that the long help lists.
fn commands() -> Vec<String> {
    let help = stdout(&["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| line.is_empty() || line.starts_with(' '));
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let lines = names.filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    let mut names: Vec<String> = lines.map(str::to_owned).collect();
    names.retain(|name| {
        name != "help" && rw_adv(&[name, "--help"]).output().expect("runs").status.success()
    });
    names
}

#[test]
fn short_help_fits_a_screen_and_long_help_has_everything() {
    let (short, long) = (stdout(&["-h"]), stdout(&["--help"]));
    assert!(short.lines().count() <= 24, "{short}");
    assert!(short.lines().all(|line| line.chars().count() <= 80), "{short}");
    assert_eq!(stdout(&["--model", FIXTURE, "-h"]), short);
    for option in options(&short) {
        assert!(long.contains(option), "{option}");
    }
    for command in commands() {
        assert!(short.contains(&command), "{command}");
    }
    assert!(commands().len() >= 8, "{:?}", commands());
    for option in
        ["--verbose", "--quiet", "--color", "--config", "--dry-run", "--resume", "--shard"]
    {
        assert!(long.contains(option), "{option}");
    }
    assert!(long.contains("Examples:"));
}

#[test]
fn every_command_has_help() {
    for command in commands() {
        let (short, long) = (stdout(&[&command, "-h"]), stdout(&[&command, "--help"]));
        assert!(short.contains("Usage:") && long.contains("Usage:"), "{command}");
    }
}

#[test]
fn misspelt_names_are_answered_with_the_nearest() {
    mistake(&["--modle", "x"], &["--modle", "'--model'"]);
    mistake(&["radius", "--modle", "x"], &["--modle", "'--model'"]);
    mistake(&["--model", FIXTURE, "--dleta", "5"], &["--dleta", "'--delta'"]);
    mistake(&["inspct", FIXTURE], &["inspct", "inspect"]);
    mistake(&["--goal", "verdct"], &["verdct", "verdict"]);
}

#[test]
fn options_before_a_command_that_would_go_unheard_are_refused() {
    mistake(&["--delta", "5", "radius", "--model", FIXTURE], &["--delta", "radius"]);
    mistake(&["--json", "inspect", FIXTURE], &["--json", "inspect"]);
    // Those of every command may stand before it.
    assert!(stdout(&["--color", "never", "inspect", FIXTURE]).contains("784"));
}

#[test]
fn loudness_is_asked_for() {
    let inspect = ["inspect", FIXTURE];
    let stderr = |arguments: &[&str]| text(ends_with(0, rw_adv(arguments)).stderr);
    let with = |more: &[&str]| stderr(&[&inspect[..], more].concat());
    assert_eq!(with(&[]), "");
    assert!(with(&["-v"]).starts_with("rw-adv: info: "));
    assert_eq!(with(&["-q"]), "");
    let attack = |more: &[&str]| stderr(&[SMALL, more].concat());
    assert!(!attack(&["-v"]).contains("debug: "));
    mistake(&["-v", "-q", "inspect", FIXTURE], &["--verbose", "--quiet"]);
    // The option wins over the environment.
    let quiet = rw_adv(&["-q", "inspect", FIXTURE]).env("RW_ADV_LOG", "debug").output();
    assert!(quiet.expect("runs").stderr.is_empty());
}

#[test]
fn progress_is_told_to_programs_and_the_time_to_people() {
    let stderr = |more: &[&str]| text(ends_with(0, rw_adv(&[SMALL, more].concat())).stderr);
    let told = stderr(&["--progress", "json"]);
    let last: Value = serde_json::from_str(told.lines().last().expect("a line")).expect("JSON");
    assert_eq!(
        (&last["event"], &last["done"], &last["asked"]),
        (&"progress".into(), &2.into(), &2.into())
    );
    assert_eq!(last["verdicts"].as_object().map(|counts| counts.len()), Some(3));
    assert_eq!(stderr(&["--progress", "none"]), "");
    let time = stderr(&["-v"]);
    let line = time.lines().find(|line| line.contains("time: ")).expect("where the time went");
    assert!(line.contains("search ") && line.contains(" threads: "), "{line}");
    mistake(&[SMALL, &["--progress", "always"]].concat(), &["--progress", "always"]);
}

#[test]
fn mistakes_are_one_sentence() {
    mistake(&[], &["not provided: --model <FILE>, --delta <DELTA> (try --help)"]);
    mistake(&["--modle", "x"], &["unexpected argument '--modle' found; tip: "]);
    mistake(
        &["--goal", "verdct"],
        &["'--goal <GOAL>'; [possible values: optimum, verdict]; tip: "],
    );
}

#[test]
fn colours_are_for_those_who_ask_and_change_nothing_else() {
    let with = |more: &[&str]| stdout(&[SMALL, more].concat());
    let (red, end) = ("\u{1b}[31m", "\u{1b}[0m");
    for plain in [with(&[]), with(&["--color", "auto"]), with(&["--color=never"])] {
        assert!(!plain.contains('\u{1b}') && plain.contains("adversarial"), "{plain}");
    }
    let coloured = with(&["--color", "always"]);
    assert!(coloured.contains(&format!("{red}adversarial{end}")), "{coloured}");
    // Who asks gets them, whatever the environment says.
    let asked = rw_adv(&[SMALL, &["--color", "always"]].concat()).env("NO_COLOR", "1").output();
    assert!(String::from_utf8_lossy(&asked.expect("runs").stdout).contains(red));
    mistake(&[SMALL, &["--color", "sometimes"]].concat(), &["--color", "sometimes", "auto"]);
    assert!(stdout(&["--color", "always", "--help"]).contains('\u{1b}'));
    assert!(!stdout(&["--help"]).contains('\u{1b}'));
    let json = with(&["--color", "always", "--json"]);
    assert!(!json.contains('\u{1b}'));
}

#[test]
fn a_file_of_options_is_as_good_as_typing_and_typing_wins() {
    let text = "model = \"models/mnist_2x16.onnx\"\nimages = [4, 5]\ndelta = 5.0\npatience = 1\n\
                goal = 'verdict'\njson = true\nverbose = 0\n";
    let (_directory, path) = file("run.toml", text);
    let settled = |text: &str| -> Vec<Value> {
        let mut records = sorted_records(text);
        records.iter_mut().for_each(without_times);
        records
    };
    let typed = settled(&stdout(&[SMALL, &["--json"]].concat()));
    assert_eq!(settled(&stdout(&["--config", &path])), typed);
    let joined = format!("--config={path}");
    let narrowed = settled(&stdout(&[&joined, "--images", "5,", "--delta=0.01"]));
    assert_eq!(narrowed.len(), 1);
    assert_eq!((&narrowed[0]["image"], &narrowed[0]["delta"]), (&5.into(), &0.01.into()));
    // One image, not a count of them.
    let (_directory, one) = file("one.toml", &text.replace("[4, 5]", "[7]"));
    assert_eq!(settled(&stdout(&["--config", &one]))[0]["image"], 7);
    // Other commands have other options.
    let (_directory, radius) =
        file("r.toml", "model = \"models/mnist_2x16.onnx\"\nimages = 1\nmax-delta = 1\n");
    assert!(stdout(&["radius", "--config", &radius]).contains("1 images in "));
    mistake(&["radius", "--config", &path], &[&path, "unknown key 'delta'"]);
}

#[test]
fn files_of_options_that_make_no_sense_are_named() {
    mistake(&["--config", "no/such.toml"], &["no/such.toml", "cannot read"]);
    mistake(&["--config", FIXTURE], &[FIXTURE]);
    for (text, words) in [
        ("modle = 'x'\n", &["unknown key 'modle'", "'model'"][..]),
        ("time_limit = 3\n", &["unknown key 'time_limit'", "'time-limit'"]),
        ("zzzzz = 3\n", &["unknown key 'zzzzz'"]),
        ("config = 'other.toml'\n", &["unknown key 'config'"]),
        ("help = true\n", &["unknown key 'help'"]),
        ("delta = 5\ndelta = 6\n", &["line 2"]),
        ("delta 5\n", &["line 1"]),
        ("json = 1\n", &["json", "true or false"]),
        ("delta = true\n", &["delta", "number"]),
        ("[radius]\nimages = 3\n", &["unknown key 'radius'"]),
        ("delta = 1979-05-27\n", &["delta"]),
    ] {
        let (_directory, path) = file("bad.toml", text);
        mistake(&["--config", &path], &[words, &["bad.toml"]].concat());
    }
    let (_directory, path) = file("five.toml", "model = 'x'\ndelta = 'five'\n");
    mistake(&["--config", &path], &["--delta", "five", "not a number", "five.toml"]);
}

#[test]
fn a_dry_run_tells_what_would_be_done_and_writes_nothing() {
    let directory = directory();
    let out = directory.path().join("out");
    let place = typed(&out);
    let milp = directory.path().join("x.mps");
    let dry = ["--dry-run", "--out", place, "--target", "all"];
    let written = ["--write-model", typed(&milp)];
    let plan = stdout(&[SMALL, &dry, &written].concat());
    for word in [FIXTURE, "784 -> 16 -> 16 -> 10", "2 of 2", "budget: 5.0", place, "18 to make"] {
        assert!(plan.contains(word), "expected '{word}' in: {plan}");
    }
    assert!(fs::read_dir(directory.path()).expect("there").next().is_none());
    let json = stdout(&[SMALL, &dry, &["--json"]].concat());
    let plan: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(plan["settings"]["delta"], 5.0);
    assert_eq!(plan["items"].as_array().map(Vec::len), Some(2));
    // What would be refused is refused, and what is done is told.
    let run = |more: &[&'static str]| [SMALL, &["--out", place, "--target", "all"], more].concat();
    stdout(&run(&["--shard", "1/2"]));
    mistake(&run(&["--dry-run"]), &["holds results already"]);
    mistake(&run(&["--dry-run", "--resume", "--seed", "1"]), &["--seed 0 there, 1 asked"]);
    assert!(stdout(&run(&["--dry-run", "--resume"])).contains("9 to make, 9 of 18 are finished"));
    let shard = stdout(&run(&["--dry-run", "--shard", "2/2"]));
    assert!(shard.contains("9 to make, 0 of 9 are finished"), "{shard}");
    let radius = stdout(&["radius", "--model", FIXTURE, "--images", "3", "--dry-run"]);
    assert!(radius.contains("3 to make") && radius.contains("nothing is kept"), "{radius}");
}

#[test]
fn completions_are_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = stdout(&["completions", shell]);
        assert!(script.contains("time-limit") && script.contains("radius"), "{shell}");
    }
    mistake(&["completions", "tcsh"], &["tcsh", "bash"]);
    let (_directory, path) = file("rw-adv", &stdout(&["completions", "bash"]));
    if let Ok(checked) = Command::new("bash").args(["-n", &path]).status() {
        assert!(checked.success());
    }
}

#[test]
fn the_manual_has_a_page_for_the_program_and_each_command() {
    let page = stdout(&["man"]);
    assert!(page.contains(".TH rw-adv 1") && page.contains("\\-\\-delta"), "{page}");
    for command in commands() {
        assert!(stdout(&["man", &command]).contains(".TH"), "{command}");
    }
    assert!(stdout(&["man", "radius"]).contains("\\-\\-precision"));
    // What short help leaves out is explained here.
    assert!(page.contains("one share of the images"), "{page}");
    mistake(&["man", "nothing"], &["nothing"]);
}

/// Output that nobody reads is no mistake, and what cannot be written is one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_one_line() {
    for arguments in [&["man"][..], &["completions", "bash"], &[SMALL, &["--dry-run"]].concat()] {
        let full = fs::File::options().write(true).open("/dev/full").expect("there on Linux");
        let output = rw_adv(arguments).stdout(full).output().expect("runs");
        let line = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(line.lines().count() == 1 && line.contains("stdout"), "{line}");
    }
}
