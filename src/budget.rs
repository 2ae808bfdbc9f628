//! How long a search may go on: the only reader of the clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A time limit, and a flag that cancels the work (Ctrl-C sets it).
#[derive(Clone, Copy, Debug)]
pub struct Budget<'f> {
    started: Instant,
    /// What the thread's CPU clock showed at the start, if that is the clock that counts.
    cpu_started: Option<Duration>,
    limit: Option<Duration>,
    cancelled: Option<&'f AtomicBool>,
}

/// Below this time nothing can be said about a thread's share of a core.
const SHORTEST_SAMPLE: Duration = Duration::from_millis(50);
/// A thread that seems to get less of a core is assumed to get this much.
const SMALLEST_SHARE: f64 = 0.1;

impl<'f> Budget<'f> {
    /// Starts now.
    pub fn start(limit: Option<Duration>, cancelled: Option<&'f AtomicBool>) -> Self {
        Self { started: Instant::now(), cpu_started: None, limit, cancelled }
    }

    /// Starts now and counts the CPU time of the calling thread, so that other programs on the machine do not shorten the work. It must stay on
    /// that thread. Where the system has no such clock, it counts as [`Budget::start`].
    pub fn start_cpu(limit: Option<Duration>, cancelled: Option<&'f AtomicBool>) -> Self {
        Self { cpu_started: thread_cpu_time(), ..Self::start(limit, cancelled) }
    }

    /// No limit.
    pub fn unlimited() -> Self {
        Self::start(None, None)
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        match self.cpu_started {
            Some(started) => thread_cpu_time().unwrap_or(started).saturating_sub(started),
            None => self.wall_elapsed(),
        }
    }

    /// Time since the start on the wall clock, whichever clock counts.
    pub fn wall_elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Time left, if it is limited; zero when cancelled.
    pub fn left(&self) -> Option<Duration> {
        if self.is_cancelled() {
            return Some(Duration::ZERO);
        }
        self.limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// How long the time that is left will take on the wall clock, for solvers that look at nothing else: the thread is assumed to go on with
    /// the share of a core that it had so far.
    pub fn wall_left(&self) -> Option<Duration> {
        let left = self.left()?;
        if self.cpu_started.is_none() {
            return Some(left);
        }
        let wall = self.wall_elapsed();
        let share = if wall < SHORTEST_SAMPLE {
            1.0
        } else {
            (self.elapsed().as_secs_f64() / wall.as_secs_f64()).clamp(SMALLEST_SHARE, 1.0)
        };
        Some(left.div_f64(share))
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

    /// Whether it counts the CPU time of its thread.
    pub fn counts_cpu(&self) -> bool {
        self.cpu_started.is_some()
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

/// The CPU time of the calling thread since it began.
#[cfg(unix)]
fn thread_cpu_time() -> Option<Duration> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(now).ok()
}

/// The CPU time of the calling thread is not known here.
#[cfg(not(unix))]
fn thread_cpu_time() -> Option<Duration> {
    None
}

/// Now, as `2026-11-18 04:40:06 UTC`.
pub fn utc_now() -> String {
    // A clock before 1970 is not set.
    utc(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

/// Seconds since 1970 in the Gregorian calendar. Years begin in March here, so that the day of a leap year is their last.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0, and the 400 years that they are in.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year + next;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_by_hand() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(951_868_800), "2000-03-01 00:00:00 UTC");
        assert_eq!(utc(4_107_542_399), "2100-02-28 23:59:59 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00:00 UTC");
        assert_eq!(utc(1_795_048_806), "2026-11-19 00:40:06 UTC");
    }

    #[test]
    #[cfg(unix)]
    fn a_thread_that_sleeps_spends_no_cpu_time() {
        let limit = Duration::from_secs(5);
        let cpu = Budget::start_cpu(Some(limit), None);
        let wall = Budget::start(Some(limit), None);
        std::thread::sleep(Duration::from_millis(80));
        assert!(wall.elapsed() >= Duration::from_millis(80));
        assert!(cpu.elapsed() < Duration::from_millis(60), "{:?}", cpu.elapsed());
        assert!(cpu.wall_elapsed() >= Duration::from_millis(80));
        // With a small share of a core what is left takes longer, but not for ever.
        let left = cpu.wall_left().expect("limited");
        assert!(left > limit && left <= limit.mul_f64(1.01 / SMALLEST_SHARE), "{left:?}");
        assert!(wall.wall_left().expect("limited") < limit);
    }
}
