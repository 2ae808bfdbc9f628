//! A MILP solver outside this program: the whole problem goes out as an MPS file, and its solution comes back as text. What the solver says of its
//! point does not count; the point is evaluated like everybody's.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::encode::{LpWork, Milp};
use crate::search::incumbent::Incumbent;
use crate::search::result::SearchStop;
use crate::search::task::{MethodResult, SearchTask};

/// Beyond its time a solver may take this long, and a quarter of its time, to load a model and to write its answer.
const GRACE: Duration = Duration::from_secs(20);
/// How often we look whether the solver has ended.
const PAUSE: Duration = Duration::from_millis(20);
/// What a solver gets where there is no limit: a year.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a solver wrote.
#[derive(Debug, Default, PartialEq)]
struct SolverAnswer {
    /// By column, unless it found no point.
    values: Option<HashMap<String, f64>>,
    /// What it claims no point can exceed.
    bound: Option<f64>,
    /// It claims that its point is optimal.
    optimal: bool,
    /// It does not take this problem, for this reason.
    refused: Option<String>,
}

/// Writes the problem, calls the solver, and judges its point.
pub(in crate::search) fn external(task: &SearchTask, incumbent: &mut Incumbent) -> MethodResult {
    let mut ended = MethodResult {
        stop: SearchStop::Trouble,
        starts: 1,
        finished: 0,
        work: LpWork::default(),
        claimed_bound: None,
    };
    if let Some(stop) = incumbent.stop() {
        return MethodResult { stop, ..ended };
    }
    let command = task.options.method.solver().unwrap_or_default();
    match solve(task, command, incumbent) {
        Ok(SolverAnswer { refused: Some(reason), .. }) => {
            log::warn!("{command}: {reason}");
            return MethodResult { stop: SearchStop::Refused, ..ended };
        }
        Ok(SolverAnswer { bound, optimal, .. }) => {
            ended.claimed_bound = bound;
            ended.finished = usize::from(optimal);
            ended.stop = if optimal { SearchStop::Claimed } else { SearchStop::Time };
        }
        Err(error) => log::warn!("{command}: {error}"),
    }
    // A claim of optimality stands, even when the time is up as well.
    let stop = if ended.finished > 0 { None } else { incumbent.stop() };
    MethodResult { stop: stop.unwrap_or(ended.stop), ..ended }
}

fn solve(
    task: &SearchTask,
    command: &str,
    incumbent: &mut Incumbent,
) -> Result<SolverAnswer, String> {
    let problem = task.problem;
    let folder = WorkFolder::new().map_err(|error| format!("no temporary folder: {error}"))?;
    let (model, out) = (folder.0.join("model.mps"), folder.0.join("solution.txt"));
    let file = Milp::new(problem, task.bounds()).into_file();
    file.write(&model, 0.0).map_err(|error| error.to_string())?;
    run(command, &model, &out, incumbent)?;
    let text = fs::read_to_string(&out).map_err(|error| format!("no solution file: {error}"))?;
    let answer = parse(&text)?;
    if let Some(values) = &answer.values {
        let mut trace = problem.trace();
        incumbent.offer(problem.evaluate(file.point(values), &mut trace));
    }
    Ok(answer)
}

/// Runs the solver until it ends, takes far too long, or the search is cancelled.
fn run(command: &str, model: &Path, out: &Path, incumbent: &Incumbent) -> Result<(), String> {
    let budget = incumbent.budget;
    let seconds = budget.left().unwrap_or(NO_LIMIT);
    let patience = budget.wall_left().unwrap_or(NO_LIMIT).mul_f64(1.25) + GRACE;
    let mut words = command.split_whitespace();
    let program = words.next().ok_or("no command")?;
    let mut child = Command::new(program)
        .args(words)
        .arg(model)
        .arg(seconds.as_secs_f64().to_string())
        .arg(out)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("cannot be run: {error}"))?;
    let begin = budget.wall_elapsed();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("ended with {status}")),
            Ok(None) if budget.is_cancelled() => return Err(kill(&mut child, "cancelled")),
            Ok(None) if budget.wall_elapsed() - begin > patience => {
                return Err(kill(&mut child, "still at work long after its time: killed"));
            }
            Ok(None) => thread::sleep(PAUSE),
            Err(error) => return Err(kill(&mut child, &error.to_string())),
        }
    }
}

fn kill(child: &mut Child, why: &str) -> String {
    // It may have ended by itself in the meantime.
    let _ = child.kill();
    let _ = child.wait();
    why.to_owned()
}

/// Reads `COLUMN VALUE` lines, and what the solver says in lines that begin with `#`.
fn parse(text: &str) -> Result<SolverAnswer, String> {
    let mut answer = SolverAnswer::default();
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("solution file, line {}: {line:?} is not understood", number + 1);
        let line = line.trim();
        if let Some(said) = line.strip_prefix('#') {
            let said = said.trim();
            if let Some(bound) = said.strip_prefix("bound ") {
                let bound: f64 = bound.trim().parse().map_err(|_| wrong())?;
                answer.bound = Some(bound).filter(|bound| bound.is_finite());
            } else if said == "status optimal" {
                answer.optimal = true;
            } else if let Some(reason) = said.strip_prefix("refused ") {
                answer.refused = Some(reason.to_owned());
            }
        } else if !line.is_empty() {
            let mut words = line.split_whitespace();
            let (Some(name), Some(value), None) = (words.next(), words.next(), words.next()) else {
                return Err(wrong());
            };
            let value: f64 = value.parse().map_err(|_| wrong())?;
            answer.values.get_or_insert_default().insert(name.to_owned(), value);
        }
    }
    // Without a point there is no optimum.
    answer.optimal &= answer.values.is_some();
    Ok(answer)
}

/// A folder of our own, removed at the end.
struct WorkFolder(PathBuf);

impl WorkFolder {
    fn new() -> io::Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rw-adv-milp-{}-{number}", process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            log::warn!("{}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solution_files_are_read() {
        let answer = parse("# Solution of x\n# bound 1.5\n# status optimal\nup_3 0.25\nz_1_2 1\n");
        let answer = answer.expect("a solution file");
        assert_eq!((answer.bound, answer.optimal), (Some(1.5), true));
        let values = answer.values.expect("a point");
        assert_eq!((values.len(), values["up_3"]), (2, 0.25));
        let nothing = parse("# status optimal\n# bound inf\n").expect("a solution file");
        assert_eq!(nothing, SolverAnswer::default());
        let refused = parse("# refused the licence allows 2000 columns\n").expect("a file");
        assert_eq!(refused.refused.as_deref(), Some("the licence allows 2000 columns"));
        for wrong in ["up_3", "up_3 much", "a b c", "# bound high"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
