//! Ctrl-C and SIGTERM end the work in hand, and what is known is written.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// Set by Ctrl-C: searches end with what they have, no new ones begin.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C, SIGTERM and SIGHUP set [`STOP`].
pub fn catch_interrupts() -> Result<()> {
    let interrupted = || {
        // The second time, the user means it.
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        // Nothing is left to do when stderr is gone.
        let _ = writeln!(
            io::stderr(),
            "rw-adv: stopping, what was found is written; a second Ctrl-C stops at once"
        );
    };
    ctrlc::set_handler(interrupted).context("cannot catch Ctrl-C")
}

/// Whether the user wants an end.
pub fn is_interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}
