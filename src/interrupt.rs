//! Ctrl-C ends the work in hand, and what is known is written.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// Set by Ctrl-C: searches end with what they have, no new ones begin.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C sets [`STOP`].
pub fn catch_interrupts() -> Result<()> {
    let interrupted = || {
        // The second time, the user means it.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(interrupted).context("cannot catch Ctrl-C")
}

/// Whether the user wants an end.
pub fn is_interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}
