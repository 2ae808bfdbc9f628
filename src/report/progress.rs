//! How many are done, the verdicts so far, the time left, and what every thread is at: a bar on stderr if that is a terminal, otherwise a
//! line every ten seconds, or lines of JSON. The only file that says `indicatif`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{
    HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, WeakProgressBar,
};
use serde::Serialize;

use crate::record::json;
use crate::record::{Key, Verdict, WorkState};

const TEMPLATE: &str = "{bar:24} {pos}/{len}  {elapsed} elapsed, {left} left{msg}";

/// How often a bar is drawn again, a line is written where there is no bar, a line of JSON is written.
const BAR_EVERY: Duration = Duration::from_millis(500);
const LINE_EVERY: Duration = Duration::from_secs(10);
const JSON_EVERY: Duration = Duration::from_secs(1);
/// Of more threads than this, the rest is only counted.
const SHOWN_WORK: usize = 8;

/// The bar on the terminal, for a logger that writes there too.
static SHOWN: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// Hides the bar, if there is one, while `write` writes to the terminal. Calls must not be nested, nor made within
/// [`Progress::aside`]: they would deadlock.
pub fn with_bar_aside<T>(write: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown.and_then(|bar| bar.upgrade()) {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// A bar on a terminal, otherwise a line every ten seconds.
    #[default]
    Auto,
    /// A line of JSON every second.
    Json,
    /// Nothing.
    Hidden,
}

/// Progress over all (image, target) pairs, images or instances. Shared between threads.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    counts: Arc<Mutex<Counts>>,
    ticker: Option<Ticker>,
    /// Written once more when all is done.
    last: Option<fn(&ProgressBar, &Counts) -> String>,
}

/// What is done, and what is worked on.
#[derive(Debug, Default)]
struct Counts {
    verdicts: [usize; Verdict::ALL.len()],
    working: BTreeMap<Key, WorkState>,
}

fn locked(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    /// Begins to show progress over so many records.
    pub fn new(records: usize, style: ProgressMode) -> Self {
        let hidden = || Self::on(ProgressDrawTarget::hidden(), records);
        match style {
            ProgressMode::Hidden => hidden(),
            ProgressMode::Json => hidden().with_lines(JSON_EVERY, json_line),
            ProgressMode::Auto if !io::stderr().is_terminal() => {
                let mut progress = hidden().with_lines(LINE_EVERY, line);
                progress.last = None;
                progress
            }
            ProgressMode::Auto => Self::on(ProgressDrawTarget::stderr(), records).shown(),
        }
    }

    fn on(target: ProgressDrawTarget, records: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(records as u64), target);
        let style = ProgressStyle::with_template(TEMPLATE).expect("the template is valid");
        let text = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let left = left(state.elapsed(), state.pos(), state.len().unwrap_or_default());
            // A bar that cannot be drawn is no reason to stop.
            let _ = match left {
                Some(left) => write!(out, "{}", HumanDuration(left)),
                None => out.write_str("-"),
            };
        };
        bar.set_style(style.with_key("left", text));
        Self { bar, counts: Arc::default(), ticker: None, last: None }
    }

    /// Draws the bar now and then, also when nothing is told.
    fn shown(mut self) -> Self {
        self.bar.tick();
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.bar.downgrade());
        let draw = |bar: &ProgressBar, counts: &Counts| {
            bar.set_message(message(counts, bar.elapsed()));
            bar.tick();
        };
        self.ticker = Some(Ticker::start(&self, BAR_EVERY, draw));
        self
    }

    /// Writes lines to stderr.
    fn with_lines(mut self, every: Duration, line: fn(&ProgressBar, &Counts) -> String) -> Self {
        let write = move |bar: &ProgressBar, counts: &Counts| to_stderr(&line(bar, counts));
        self.ticker = Some(Ticker::start(&self, every, write));
        self.last = Some(line);
        self
    }

    /// Work on a record has begun, or is further than it was.
    pub fn working(&self, state: &WorkState) {
        locked(&self.counts).working.insert(state.key, *state);
    }

    /// One more record is done; some have a verdict.
    pub fn done(&self, key: Key, verdict: Option<Verdict>) {
        let mut counts = locked(&self.counts);
        counts.working.remove(&key);
        if let Some(verdict) = verdict {
            counts.verdicts[verdict as usize] += 1;
        }
        self.bar.set_message(message(&counts, self.bar.elapsed()));
        drop(counts);
        self.bar.inc(1);
    }

    /// Hides the bar while `write` writes to the terminal.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Removes the bar, or ends the lines.
    pub fn finish(&mut self) {
        self.ticker = None;
        if let Some(line) = self.last.take() {
            to_stderr(&line(&self.bar, &locked(&self.counts)));
        }
        self.bar.finish_and_clear();
    }
}

fn to_stderr(line: &str) {
    // Nothing is left to do when stderr is gone.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// A thread that shows progress every now and then.
#[derive(Debug)]
struct Ticker {
    /// Dropped to end the thread.
    going_on: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn start(
        progress: &Progress,
        every: Duration,
        show: impl Fn(&ProgressBar, &Counts) + Send + 'static,
    ) -> Self {
        let (going_on, ended) = mpsc::channel();
        let (bar, counts) = (progress.bar.clone(), Arc::clone(&progress.counts));
        let thread = thread::spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                show(&bar, &locked(&counts));
            }
        });
        Self { going_on: Some(going_on), thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.going_on = None;
        if let Some(thread) = self.thread.take() {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// `3 adversarial, 1 unknown`.
fn verdicts(counts: &Counts) -> String {
    let some = Verdict::ALL.into_iter().zip(counts.verdicts).filter(|&(_, count)| count > 0);
    let verdicts: Vec<String> = some.map(|(verdict, count)| format!("{count} {verdict}")).collect();
    verdicts.join(", ")
}

/// What threads are at, one text each: `image 4, target 9: search, 52 starts, margin -0.3121 (12 s)`.
fn work(counts: &Counts, now: Duration) -> Vec<String> {
    let shown =
        counts.working.values().take(SHOWN_WORK).map(|state| {
            format!("{state} ({:.0} s)", now.saturating_sub(state.begun).as_secs_f64())
        });
    let mut texts: Vec<String> = shown.collect();
    if counts.working.len() > SHOWN_WORK {
        texts.push(format!("{} more", counts.working.len() - SHOWN_WORK));
    }
    texts
}

/// What stands beside and below the bar.
fn message(counts: &Counts, now: Duration) -> String {
    let verdicts = verdicts(counts);
    let mut text = if verdicts.is_empty() { verdicts } else { format!("; {verdicts}") };
    for state in work(counts, now) {
        write!(text, "\n  {state}").expect("a string takes all text");
    }
    text
}

/// `rw-adv: progress: 3 of 90, 1 adversarial, 2 unknown; 10 seconds elapsed, 5 minutes left; image 4, target 9: search, 52 starts (3 s)`.
fn line(bar: &ProgressBar, counts: &Counts) -> String {
    let (done, asked) = (bar.position(), bar.length().unwrap_or_default());
    let mut text = format!("rw-adv: progress: {done} of {asked}");
    let verdicts = verdicts(counts);
    if !verdicts.is_empty() {
        write!(text, ", {verdicts}").expect("a string takes all text");
    }
    write!(text, "; {} elapsed", HumanDuration(bar.elapsed())).expect("a string takes all text");
    if let Some(left) = left(bar.elapsed(), done, asked) {
        write!(text, ", {} left", HumanDuration(left)).expect("a string takes all text");
    }
    for state in work(counts, bar.elapsed()) {
        write!(text, "; {state}").expect("a string takes all text");
    }
    text.push('\n');
    text
}

/// The time that is left if the rest goes on as what is done did. An estimate that follows the last steps grows to centuries while
/// one hard image is worked on.
fn left(elapsed: Duration, done: u64, asked: u64) -> Option<Duration> {
    let rest = asked.saturating_sub(done) as f64;
    (done > 0).then(|| elapsed.mul_f64(rest / done as f64))
}

/// What `--progress json` writes, every second and at the end.
#[derive(Serialize)]
struct ProgressEvent<'c> {
    event: &'static str,
    elapsed: f64,
    done: u64,
    asked: u64,
    verdicts: BTreeMap<&'static str, usize>,
    working: Vec<&'c WorkState>,
}

fn json_line(bar: &ProgressBar, counts: &Counts) -> String {
    let (done, asked) = (bar.position(), bar.length().unwrap_or_default());
    let event = ProgressEvent {
        event: "progress",
        elapsed: bar.elapsed().as_secs_f64(),
        done,
        asked,
        verdicts: Verdict::ALL.into_iter().map(Verdict::name).zip(counts.verdicts).collect(),
        working: counts.working.values().collect(),
    };
    let mut text = Vec::new();
    // Memory takes everything, and states have nothing that JSON does not know.
    let _ = json::line(&mut text, &event);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Contents;
    use crate::record::json::Fields;

    fn state(image: usize) -> WorkState {
        let key = Key { image, target: Some(9) };
        WorkState::new(Contents::Attacks, key, Duration::ZERO)
    }

    fn hidden(records: usize) -> Progress {
        Progress::on(ProgressDrawTarget::hidden(), records)
    }

    #[test]
    fn verdicts_are_counted_in_their_order_and_work_is_shown_until_it_is_done() {
        let mut progress = hidden(9);
        (0..4).for_each(|image| progress.working(&state(image)));
        for (image, verdict) in
            [Verdict::Unknown, Verdict::Adversarial, Verdict::Unknown].into_iter().enumerate()
        {
            progress.done(state(image).key, Some(verdict));
        }
        let text = "; 1 adversarial, 2 unknown\n  image 3, target 9: begin (0 s)";
        assert_eq!(progress.bar.message(), text);
        assert_eq!(progress.bar.position(), 3);
        assert_eq!(progress.aside(|| 7), 7);
        progress.finish();
    }

    #[test]
    fn of_many_threads_some_are_shown() {
        let progress = hidden(99);
        (0..20).for_each(|image| progress.working(&state(image)));
        let texts = work(&locked(&progress.counts), Duration::from_secs(3));
        assert_eq!(texts.len(), SHOWN_WORK + 1);
        assert_eq!(texts[0], "image 0, target 9: begin (3 s)");
        assert_eq!(texts[SHOWN_WORK], "12 more");
    }

    #[test]
    fn the_template_is_valid() {
        let progress = Progress::new(3, ProgressMode::Hidden);
        assert!(progress.bar.length() == Some(3));
    }

    #[test]
    fn a_bar_that_is_gone_is_in_nobodys_way() {
        let mut progress = Progress::new(3, ProgressMode::Auto);
        assert_eq!(with_bar_aside(|| 7), 7);
        progress.finish();
        drop(progress);
        assert_eq!(with_bar_aside(|| 8), 8);
    }

    #[test]
    fn where_there_is_no_bar_lines_tell_how_far_it_is() {
        let progress = hidden(90);
        progress.done(state(0).key, Some(Verdict::Robust));
        progress.working(&state(4));
        let (sender, lines) = mpsc::channel();
        let send = move |bar: &ProgressBar, counts: &Counts| drop(sender.send(line(bar, counts)));
        let running = Ticker::start(&progress, Duration::from_millis(1), send);
        let line = lines.recv().expect("a line comes");
        assert!(line.starts_with("rw-adv: progress: 1 of 90, 1 robust; "), "{line}");
        assert!(line.ends_with(" left; image 4, target 9: begin (0 s)\n"), "{line}");
        drop(running);
        // The thread is gone, and with it the other end.
        assert!(lines.iter().all(|line| line.contains("1 of 90")));
    }

    #[test]
    fn json_lines_tell_the_same() {
        let progress = hidden(90);
        progress.done(state(0).key, None);
        progress.working(&state(4));
        let line = json_line(&progress.bar, &locked(&progress.counts));
        let event: Fields = json::parse(line.as_bytes()).expect("JSON");
        assert_eq!((&event["event"], &event["done"]), (&"progress".into(), &1.into()));
        assert_eq!(event["working"][0]["image"], 4);
        assert_eq!(event["verdicts"]["robust"], 0);
    }
}
