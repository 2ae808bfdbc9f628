//! Memory: a limit that was asked for, and exit code 2 when there is none left.
//!
//! Rust cannot give an allocation that fails back to the caller: it prints how many bytes were asked for and aborts. So does the LP solver,
//! in its own words. The signal of that abort is turned into exit code 2 here.

use anyhow::Result;

/// Exit code when there is no memory left: bad usage or input, or too much of it.
#[cfg(unix)]
const NO_MEMORY: i32 = 2;

/// Whether a panic is about memory: libraries that can tell a failed allocation panic in their own words.
pub fn says_that_it_ran_out(panic: &str) -> bool {
    [
        "AllocError",
        "failed to allocate",
        "memory allocation",
        "Cannot allocate memory",
        "WouldBlock",
    ]
    .iter()
    .any(|words| panic.contains(words))
}

/// From now on an abort ends the program with exit code 2.
///
/// # Errors
/// When the system does not allow it.
#[cfg(unix)]
pub fn exit_when_it_runs_out() -> Result<()> {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use anyhow::Context;
    use signal_hook::consts::SIGABRT;
    use signal_hook::flag::register_conditional_shutdown;

    let always = Arc::new(AtomicBool::new(true));
    register_conditional_shutdown(SIGABRT, NO_MEMORY, always).context("cannot catch an abort")?;
    Ok(())
}

/// Nothing to do elsewhere.
#[cfg(not(unix))]
pub fn exit_when_it_runs_out() -> Result<()> {
    Ok(())
}

/// Limits the address space of this process.
///
/// # Errors
/// When the system does not allow it.
#[cfg(unix)]
pub fn limit(bytes: u64) -> Result<()> {
    use anyhow::Context;
    use rlimit::Resource;

    let (_, most) = Resource::AS.get().context("--max-memory")?;
    Resource::AS.set(bytes.min(most), most).context("--max-memory")
}

/// Elsewhere there is no such limit.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn limit(_: u64) -> Result<()> {
    anyhow::bail!("--max-memory: this system has no such limit")
}
