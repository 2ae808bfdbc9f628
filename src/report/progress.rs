//! The progress bar: how many are done, what came out so far, how long it will take. The only file that says
//! `indicatif`.
//!
//! It lives on stderr and only when that is a terminal; otherwise nothing is written at all.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, WeakProgressBar};

use crate::verdict::Verdict;

const TEMPLATE: &str = "{bar:24} {pos}/{len}  {msg}  {elapsed} elapsed, {eta} left";

/// The bar on the terminal, for whoever writes there without knowing of it: a logger.
static SHOWN: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// Takes the bar away, if there is one, while something else is written to the terminal. Within itself, or within
/// [`Progress::aside`], it would wait for ever.
pub fn with_bar_aside<T>(write: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown.and_then(|bar| bar.upgrade()) {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// A bar over all (image, target) pairs, or over all images. Shared between threads.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    counts: Mutex<[usize; Verdict::ALL.len()]>,
}

impl Progress {
    /// A bar that is drawn if stderr is a terminal.
    pub fn new(pairs: usize) -> Self {
        // indicatif draws nothing when stderr is no terminal.
        let progress = Self::on(ProgressDrawTarget::stderr(), pairs);
        progress.bar.tick();
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress.bar.downgrade());
        progress
    }

    /// A bar that is never drawn.
    pub fn hidden() -> Self {
        Self::on(ProgressDrawTarget::hidden(), 0)
    }

    fn on(target: ProgressDrawTarget, pairs: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(pairs as u64), target);
        bar.set_style(ProgressStyle::with_template(TEMPLATE).expect("the template is valid"));
        Self { bar, counts: Mutex::default() }
    }

    /// One more pair is done.
    pub fn done(&self, verdict: Verdict) {
        let mut counts = self.counts.lock().expect("nobody panics while counting");
        counts[verdict as usize] += 1;
        self.bar.inc(1);
        self.bar.set_message(message(*counts));
    }

    /// One more image is done, about which there is no verdict.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// Takes the bar away while something else is written to the terminal.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Takes the bar away for good.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// `3 adversarial, 1 unknown`.
fn message(counts: [usize; Verdict::ALL.len()]) -> String {
    let mut text = String::new();
    for (verdict, count) in Verdict::ALL.into_iter().zip(counts).filter(|&(_, count)| count > 0) {
        let comma = if text.is_empty() { "" } else { ", " };
        write!(text, "{comma}{count} {verdict}").expect("a string takes all text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted_in_their_order() {
        let progress = Progress::hidden();
        for verdict in [Verdict::Unknown, Verdict::Adversarial, Verdict::Unknown] {
            progress.done(verdict);
        }
        assert_eq!(progress.bar.message(), "1 adversarial, 2 unknown");
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
        let progress = Progress::new(3);
        assert_eq!(with_bar_aside(|| 7), 7);
        progress.finish();
        drop(progress);
        assert_eq!(with_bar_aside(|| 8), 8);
    }
}
