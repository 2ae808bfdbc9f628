//! How many are done, the verdicts so far, the time left: a bar on stderr if that is a terminal, otherwise a line every ten
//! seconds. The only file that says `indicatif`.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle, WeakProgressBar};

use crate::record::Verdict;

const TEMPLATE: &str = "{bar:24} {pos}/{len}  {msg}  {elapsed} elapsed, {eta} left";

/// How often a line is written where there is no bar.
const EVERY: Duration = Duration::from_secs(10);

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

/// Progress over all (image, target) pairs, or over all images. Shared between threads.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    counts: Mutex<Counts>,
    lines: Option<ProgressLines>,
}

/// The verdicts so far.
#[derive(Debug, Default)]
struct Counts {
    verdicts: [usize; Verdict::ALL.len()],
    trees: Option<BranchProgress>,
}

/// How far branch and bound is.
#[derive(Debug)]
struct BranchProgress {
    /// When it began.
    begun: Duration,
    /// Parts bounded, in all trees.
    nodes: usize,
    /// The gap of the tree that reported last.
    gap: f64,
}

impl Progress {
    /// A bar if stderr is a terminal, lines otherwise.
    pub fn new(pairs: usize) -> Self {
        if !io::stderr().is_terminal() {
            let mut progress = Self::on(ProgressDrawTarget::hidden(), pairs);
            let to_stderr = |line: &str| {
                // Nothing is left to do when stderr is gone.
                let _ = io::stderr().write_all(line.as_bytes());
            };
            progress.lines = Some(ProgressLines::start(progress.bar.clone(), EVERY, to_stderr));
            return progress;
        }
        let progress = Self::on(ProgressDrawTarget::stderr(), pairs);
        progress.bar.tick();
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress.bar.downgrade());
        progress
    }

    /// Shows nothing.
    pub fn hidden() -> Self {
        Self::on(ProgressDrawTarget::hidden(), 0)
    }

    fn on(target: ProgressDrawTarget, pairs: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(pairs as u64), target);
        bar.set_style(ProgressStyle::with_template(TEMPLATE).expect("the template is valid"));
        Self { bar, counts: Mutex::default(), lines: None }
    }

    /// One more pair is done.
    pub fn done(&self, verdict: Verdict) {
        let mut counts = self.counts.lock().expect("nobody panics while counting");
        counts.verdicts[verdict as usize] += 1;
        self.bar.inc(1);
        self.bar.set_message(message(&counts, self.bar.elapsed()));
    }

    /// Branch and bound has bounded so many more nodes; its gap is now this.
    pub fn divided(&self, more_nodes: usize, gap: f64) {
        let mut counts = self.counts.lock().expect("nobody panics while counting");
        let elapsed = self.bar.elapsed();
        let begin = || BranchProgress { begun: elapsed, nodes: 0, gap: f64::NAN };
        let trees = counts.trees.get_or_insert_with(begin);
        trees.nodes += more_nodes;
        trees.gap = gap;
        self.bar.set_message(message(&counts, elapsed));
    }

    /// One more image is done; it has no verdict.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// Hides the bar while `write` writes to the terminal.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Removes the bar, or ends the lines.
    pub fn finish(&mut self) {
        self.lines = None;
        self.bar.finish_and_clear();
    }
}

/// A thread that writes a line every now and then.
#[derive(Debug)]
struct ProgressLines {
    /// Dropped to end the thread.
    going_on: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLines {
    fn start(bar: ProgressBar, every: Duration, write: impl Fn(&str) + Send + 'static) -> Self {
        let (going_on, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                write(&line(&bar));
            }
        });
        Self { going_on: Some(going_on), thread: Some(thread) }
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        self.going_on = None;
        if let Some(thread) = self.thread.take() {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// `rw-adv: progress: 3 of 90, 1 adversarial, 2 unknown; 10 seconds elapsed, 5 minutes left`.
fn line(bar: &ProgressBar) -> String {
    let (done, asked) = (bar.position(), bar.length().unwrap_or_default());
    let mut text = format!("rw-adv: progress: {done} of {asked}");
    let message = bar.message();
    if !message.is_empty() {
        write!(text, ", {message}").expect("a string takes all text");
    }
    write!(text, "; {} elapsed", HumanDuration(bar.elapsed())).expect("a string takes all text");
    if done > 0 {
        write!(text, ", {} left", HumanDuration(bar.eta())).expect("a string takes all text");
    }
    text.push('\n');
    text
}

/// `3 adversarial, 1 unknown; 640 parts, 52 per second, gap 0.0312`.
fn message(counts: &Counts, elapsed: Duration) -> String {
    let some = Verdict::ALL.into_iter().zip(counts.verdicts).filter(|&(_, count)| count > 0);
    let verdicts: Vec<String> = some.map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let mut text = verdicts.join(", ");
    if let Some(BranchProgress { begun, nodes, gap }) = &counts.trees {
        let rate = *nodes as f64 / (elapsed - *begun).as_secs_f64().max(1.0);
        let apart = if text.is_empty() { "" } else { "; " };
        write!(text, "{apart}{nodes} nodes, {rate:.0} per second, gap {gap:.4}")
            .expect("a string takes all text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted_in_their_order() {
        let mut progress = Progress::hidden();
        for verdict in [Verdict::Unknown, Verdict::Adversarial, Verdict::Unknown] {
            progress.done(verdict);
        }
        assert_eq!(progress.bar.message(), "1 adversarial, 2 unknown");
        for more in [40, 2] {
            progress.divided(more, 0.25);
        }
        let message = progress.bar.message();
        assert_eq!(message, "1 adversarial, 2 unknown; 42 nodes, 42 per second, gap 0.2500");
        assert_eq!(progress.bar.position(), 3);
        assert_eq!(progress.aside(|| 7), 7);
        progress.finish();
    }

    #[test]
    fn the_template_is_valid() {
        assert!(Progress::new(3).bar.length() == Some(3));
    }

    #[test]
    fn a_bar_that_is_gone_is_in_nobodys_way() {
        let mut progress = Progress::new(3);
        assert_eq!(with_bar_aside(|| 7), 7);
        progress.finish();
        drop(progress);
        assert_eq!(with_bar_aside(|| 8), 8);
    }

    #[test]
    fn where_there_is_no_bar_lines_tell_how_far_it_is() {
        let progress = Progress::on(ProgressDrawTarget::hidden(), 90);
        progress.done(Verdict::Robust);
        let (sender, lines) = mpsc::channel();
        let send = move |line: &str| drop(sender.send(line.to_owned()));
        let running = ProgressLines::start(progress.bar.clone(), Duration::from_millis(1), send);
        let line = lines.recv().expect("a line comes");
        assert!(line.starts_with("rw-adv: progress: 1 of 90, 1 robust; "), "{line}");
        assert!(line.ends_with(" left\n"), "{line}");
        drop(running);
        // The thread is gone, and with it the other end.
        assert!(lines.iter().all(|line| line.contains("1 of 90")));
    }
}
