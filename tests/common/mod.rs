//! What the tests of the binary share: how it is run, and how what it left behind is read.
#![allow(dead_code, reason = "no test file needs all of it")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A small classifier of digits.
pub const FIXTURE: &str = "models/mnist_2x16.onnx";
/// A large one.
pub const LARGE: &str = "models/mnist_2x500.onnx";

/// What would change an answer, were it set where the tests are run.
const VARIABLES: [&str; 10] = [
    // Out of memory, a backtrace waits for ever.
    "RUST_BACKTRACE",
    "RW_ADV_LOG",
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "TERM",
    "COLUMNS",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_CPUS_PER_TASK",
    "HQ_TASK_ID",
    "PARALLEL_SEQ",
];

/// The binary, in the project's own directory.
pub fn rw_adv(arguments: &[&str]) -> Command {
    in_project(Command::new(env!("CARGO_BIN_EXE_rw-adv")), arguments)
}

/// The binary where no file may become larger than so many blocks of 512 bytes: to the program that is a full disk.
pub fn rw_adv_on_full_disk(blocks: &str, arguments: &[&str]) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", blocks]);
    shell.arg(env!("CARGO_BIN_EXE_rw-adv"));
    in_project(shell, arguments)
}

fn in_project(mut command: Command, arguments: &[&str]) -> Command {
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).args(arguments);
    VARIABLES.iter().for_each(|name| _ = command.env_remove(name));
    command
}

/// Runs to this exit code.
pub fn ends_with(code: i32, mut command: Command) -> Output {
    let output = command.output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    output
}

/// Runs without fail; gives what was printed.
pub fn succeeds(command: Command) -> String {
    text(ends_with(0, command).stdout)
}

/// Runs without fail and without a complaint; gives what was printed.
pub fn stdout(arguments: &[&str]) -> String {
    let output = ends_with(0, rw_adv(arguments));
    let said = text(output.stderr);
    // On a slow machine.
    let only_progress = said.lines().all(|line| line.starts_with("rw-adv: progress: "));
    assert!(only_progress, "{said}");
    text(output.stdout)
}

/// Is refused: exit code 2 and one line on stderr with all `words`. Gives what was printed before.
pub fn refused(command: Command, words: &[&str]) -> String {
    let output = ends_with(2, command);
    let line = text(output.stderr);
    assert_eq!(line.lines().count(), 1, "{line}");
    for word in words {
        assert!(line.contains(word), "expected '{word}' in: {line}");
    }
    text(output.stdout)
}

/// Has a mistake in it: is refused before anything is printed.
pub fn mistake(arguments: &[&str], words: &[&str]) {
    assert_eq!(refused(rw_adv(arguments), words), "");
}

/// A run that goes on while the test does something else.
pub struct BackgroundRun {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    printed: String,
}

impl BackgroundRun {
    /// Starts it.
    pub fn start(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, stdout, printed: String::new() }
    }

    /// Starts it and waits for its first line, which is printed when the work begins.
    pub fn begin(command: Command) -> Self {
        let mut run = Self::start(command);
        run.stdout.read_line(&mut run.printed).expect("text");
        run
    }

    /// Ctrl-C after a while; gives what was printed and what was complained of.
    pub fn interrupt_after(mut self, wait: Duration) -> (String, String) {
        std::thread::sleep(wait);
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("runs").success());
        self.stdout.read_to_string(&mut self.printed).expect("text");
        let code = self.child.wait().expect("ends").code();
        let mut complaints = String::new();
        let stderr = self.child.stderr.as_mut().expect("piped");
        stderr.read_to_string(&mut complaints).expect("text");
        assert_eq!(code, Some(130), "{}{complaints}", self.printed);
        (self.printed, complaints)
    }

    /// Ends it at once.
    pub fn kill(mut self) {
        self.child.kill().expect("can be killed");
        self.child.wait().expect("is gone");
    }
}

/// What was said.
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

/// A path as it is typed.
pub fn typed(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A directory that goes away at the end.
pub fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A file in a directory of its own that goes away with it.
pub fn file(name: &str, contents: &str) -> (TempDir, String) {
    let directory = directory();
    let path = directory.path().join(name);
    fs::write(&path, contents).expect("written");
    let path = typed(&path).to_owned();
    (directory, path)
}

/// What a text file holds.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a gzipped file.
pub fn unpacked(path: &Path) -> String {
    let file = fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzipped text");
    text
}

/// What a JSON file holds, gzipped or not.
pub fn read_json(path: &Path) -> Value {
    let packed = fs::read(path).is_ok_and(|bytes| bytes.starts_with(&[0x1f, 0x8b]));
    let text = if packed { unpacked(path) } else { read(path) };
    serde_json::from_str(&text).expect("JSON")
}

/// A value a line.
pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Records by image and target: they come in the order in which searches end.
pub fn sorted_records(text: &str) -> Vec<Value> {
    let mut records = json_lines(text);
    records.sort_by_key(|record| (record["image"].as_u64(), record["target"].as_u64()));
    records
}

/// A number of a record.
pub fn number(record: &Value, field: &str) -> f64 {
    record[field].as_f64().unwrap_or_else(|| panic!("{field} of {record}"))
}

/// Takes away what the clock says.
pub fn without_times(record: &mut Value) {
    let fields = record.as_object_mut().expect("an object");
    fields.remove("seconds").expect("every record has it");
    fields.remove("seconds_to_best");
}

/// All records of a file, each once and without what the clock says.
pub fn timeless_records(file: &Path) -> BTreeMap<(u64, Option<u64>), Value> {
    let text = read(file);
    assert!(text.is_empty() || text.ends_with('\n'));
    let mut records = BTreeMap::new();
    for mut record in json_lines(&text) {
        without_times(&mut record);
        // Of a radius the target is part of the answer.
        let target = record.get("margin").and(record["target"].as_u64());
        let key = (record["image"].as_u64().expect("a number"), target);
        assert!(records.insert(key, record).is_none(), "{key:?} twice");
    }
    records
}

/// Every file of a folder, by name.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable"));
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
    entries.map(|entry| (name(&entry), fs::read(entry.path()).expect("readable"))).collect()
}

/// The data embedded in a report.
pub fn report_data(out: &Path) -> Value {
    let page = read(&out.join("report.html"));
    let (_, data) = page.split_once(r#"id="data">"#).expect("there is data");
    let (data, _) = data.split_once("</script>").expect("it ends");
    serde_json::from_str(data).expect("JSON")
}
