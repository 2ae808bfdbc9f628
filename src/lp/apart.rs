//! Branch and bound on a thread of its own, for callers that may not want to wait for its end.
//!
//! HiGHS asks callbacks between the nodes of its tree, but not inside the relaxations that it solves there: the one of the root may take
//! minutes. A caller who gives up gets an answer nevertheless. The thread then goes on alone, with a model that nobody else sees, until the
//! process ends.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::highs::{Highs, RunStatus};
use super::request::Callbacks;

/// How often the caller is asked.
const PAUSE: Duration = Duration::from_millis(20);

/// The solver has so many pauses to end by itself, once the caller has given up.
const PATIENCE: usize = 30;

/// What the thread says.
enum SolverMessage {
    Better(Vec<f64>),
    Ended(Highs, RunStatus),
}

/// Solves a model with integer columns. `None` if the caller gave up: then the model is lost.
pub(super) fn run_apart(highs: &mut Highs, callbacks: &mut Callbacks<'_>) -> Option<RunStatus> {
    let mut own = mem::replace(highs, Highs::new());
    let should_stop = Arc::new(AtomicBool::new(false));
    let (sender, messages) = mpsc::channel();
    let flag = Arc::clone(&should_stop);
    let work = move || {
        let mut on_improvement = |cols: &[f64]| {
            // Nobody listens any more: then nobody wants it.
            let _ = sender.send(SolverMessage::Better(cols.to_vec()));
        };
        let should_stop = || flag.load(Ordering::Relaxed);
        let mut callbacks = Callbacks {
            on_improvement: &mut on_improvement,
            should_stop: &should_stop,
            gives_up: None,
        };
        let status = own.run(Some(&mut callbacks));
        let _ = sender.send(SolverMessage::Ended(own, status));
    };
    thread::spawn(work);
    let mut waited = 0;
    loop {
        match messages.recv_timeout(PAUSE) {
            Ok(SolverMessage::Better(cols)) => (callbacks.on_improvement)(&cols),
            Ok(SolverMessage::Ended(own, status)) => {
                *highs = own;
                return Some(status);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        should_stop.store((callbacks.should_stop)(), Ordering::Relaxed);
        if callbacks.gives_up.is_some_and(|gives_up| gives_up()) {
            waited += 1;
        }
        if waited > PATIENCE {
            return None;
        }
    }
}
