//! How long a search may go on: the only reader of the clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A time limit, and a flag that cancels the work (Ctrl-C sets it).
#[derive(Clone, Copy, Debug)]
pub struct Budget<'f> {
    started: Instant,
    limit: Option<Duration>,
    cancelled: Option<&'f AtomicBool>,
}

impl<'f> Budget<'f> {
    /// Starts now.
    pub fn start(limit: Option<Duration>, cancelled: Option<&'f AtomicBool>) -> Self {
        Self { started: Instant::now(), limit, cancelled }
    }

    /// No limit.
    pub fn unlimited() -> Self {
        Self::start(None, None)
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time left, if it is limited; zero when cancelled.
    pub fn left(&self) -> Option<Duration> {
        if self.is_cancelled() {
            return Some(Duration::ZERO);
        }
        self.limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// Half of the time that is left.
    pub fn half(&self) -> Self {
        let limit = self.limit.map(|limit| (limit + self.elapsed().min(limit)) / 2);
        Self { limit, ..*self }
    }

    /// The same, with no more than this time in all, if that is limited.
    pub fn capped(&self, most: Option<Duration>) -> Self {
        let limit = [self.limit, most].into_iter().flatten().min();
        Self { limit, ..*self }
    }

    /// One of so many equal shares of the time that is left.
    pub fn share(&self, shares: usize) -> Self {
        let elapsed = self.elapsed();
        let share = |limit: Duration| {
            elapsed
                + limit.saturating_sub(elapsed) / u32::try_from(shares.max(1)).unwrap_or(u32::MAX)
        };
        Self { limit: self.limit.map(share), ..*self }
    }

    /// A tenth of the time that is left; with no limit, ten seconds.
    pub fn tenth(&self) -> Self {
        let elapsed = self.elapsed();
        let left = self.limit.map_or(Duration::from_secs(100), |l| l.saturating_sub(elapsed));
        Self { limit: Some(elapsed + left / 10), ..*self }
    }

    /// Whether the work was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Whether the time is up or the work was cancelled.
    pub fn is_spent(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
}
