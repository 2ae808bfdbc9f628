//! Errors, told in one line.

use std::io::{self, Write};

/// Did stdout's reader go away?
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// The whole chain of causes, on one line of stderr.
pub fn complain(error: &anyhow::Error) {
    let line = format!("rw-adv: {error:#}").lines().collect::<Vec<_>>().join(" ");
    // Nothing is left to do when stderr is gone too.
    let _ = writeln!(io::stderr(), "{line}");
}
