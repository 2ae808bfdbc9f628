//! How many threads work is done on.

use std::env;

/// Where Slurm says how many cores a task may use.
const GRANTED_CPUS: &str = "SLURM_CPUS_PER_TASK";

/// Most threads that may be asked for.
pub const MOST_THREADS: usize = 1024;

/// The cores that Slurm gives a task, where it says so: what the machine has may be more.
pub fn granted_cpus() -> Option<usize> {
    let value = env::var(GRANTED_CPUS).ok()?;
    let cpus = value.parse().ok().filter(|cpus| (1..=MOST_THREADS).contains(cpus));
    if cpus.is_none() {
        log::warn!("{GRANTED_CPUS} is '{value}': must be a number from 1 to {MOST_THREADS}");
    }
    cpus
}

/// Does work on threads of its own, which end with it: as many as are asked for, or [granted](granted_cpus), or one per core. A process that
/// hosts us may have threads of its own, and may fork.
///
/// # Errors
/// When the system gives no threads.
pub fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, rayon::ThreadPoolBuildError> {
    let threads = threads.or_else(granted_cpus).unwrap_or(0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    Ok(pool.install(work))
}

/// Whether there are threads left when each of so many problems has one.
pub fn has_spare_threads(problems: usize) -> bool {
    problems < rayon::current_num_threads()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_has_the_threads_that_were_asked_for() {
        let counted = on_threads(Some(3), || (rayon::current_num_threads(), has_spare_threads(3)));
        assert_eq!(counted.ok(), Some((3, false)));
    }
}
