//! Work on a thread of its own, while the calling thread listens: to what is found, and to Ctrl-C.
//!
//! The interpreter's lock is released except while Python is called. The first Ctrl-C cancels the work, and what is known is returned;
//! a second one raises `KeyboardInterrupt` at once and leaves the thread to end by itself.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rw_adv::record::{Resumable, json};
use rw_adv::run::{BoxError, Sink, on_threads};

use crate::errors::Failure;

/// How often the calling thread looks for signals.
const PULSE: Duration = Duration::from_millis(50);

/// What the work tells while it goes on.
enum Event<T> {
    /// So many records will come.
    Total(usize),
    /// One of them, as JSON.
    Record(String),
    /// The end.
    Done(Result<T, Failure>),
}

/// What the work knows of the world outside.
pub struct Outside {
    cancelled: Arc<AtomicBool>,
    tell: Mutex<Box<dyn FnMut(Told) + Send>>,
}

/// What is told.
enum Told {
    Total(usize),
    Record(String),
}

impl Outside {
    /// Is set when the work is to end.
    pub fn cancelled(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// So many records will come.
    pub fn expect(&self, total: usize) {
        self.tell(Told::Total(total));
    }

    fn tell(&self, told: Told) {
        (self.tell.lock().unwrap_or_else(PoisonError::into_inner))(told);
    }
}

/// Passes records on.
pub struct RecordSink<'o>(pub &'o Outside);

impl<R: Resumable> Sink<R> for RecordSink<'_> {
    fn record(&mut self, record: &R) -> Result<(), BoxError> {
        self.0.tell(Told::Record(to_json(record)));
        Ok(())
    }
}

/// A record as it stands in a file.
pub fn to_json(record: &impl Resumable) -> String {
    let mut line = Vec::new();
    // Memory takes everything, and records have nothing that JSON does not know.
    let _ = json::line(&mut line, record);
    String::from_utf8_lossy(&line).trim_end().to_owned()
}

/// Does work in the background, on so many threads. `listener(total, None)` and `listener(total, record)` are called on this thread; what
/// they raise cancels the work, and is raised when it has ended.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Outside) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let cancelled = Arc::new(AtomicBool::new(false));
    start(threads, Arc::clone(&cancelled), sender, work)?;
    let listening = Listening { receiver: Mutex::new(receiver), cancelled, listener, total: 0 };
    listening.until_done(py)
}

fn start<T: Send + 'static>(
    threads: Option<usize>,
    cancelled: Arc<AtomicBool>,
    sender: Sender<Event<T>>,
    work: impl FnOnce(&Outside) -> Result<T, Failure> + Send + 'static,
) -> Result<(), Failure> {
    let told = sender.clone();
    let tell = move |event| {
        // Nobody listens any more after a second Ctrl-C.
        let _ = told.send(match event {
            Told::Total(total) => Event::Total(total),
            Told::Record(record) => Event::Record(record),
        });
    };
    let outside = Outside { cancelled, tell: Mutex::new(Box::new(tell)) };
    let no_threads = |error: &dyn std::error::Error| Failure::Input(format!("threads: {error}"));
    let body = move || {
        let work = AssertUnwindSafe(|| on_threads(threads, || work(&outside)));
        let done = match panic::catch_unwind(work) {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => Err(no_threads(&error)),
            Err(payload) => Err(Failure::of_panic(payload.as_ref())),
        };
        let _ = sender.send(Event::Done(done));
    };
    let started = thread::Builder::new().name("rw-adv".into()).spawn(body);
    started.map(|_| ()).map_err(|error| no_threads(&error))
}

/// The calling thread's side.
struct Listening<'l, 'py, T> {
    receiver: Mutex<Receiver<Event<T>>>,
    cancelled: Arc<AtomicBool>,
    listener: Option<&'l Bound<'py, PyAny>>,
    total: usize,
}

impl<T: Send> Listening<'_, '_, T> {
    fn until_done(mut self, py: Python<'_>) -> PyResult<T> {
        let mut raised = None;
        loop {
            let receiver = &self.receiver;
            let event = py.detach(|| {
                receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PULSE)
            });
            let told = match event {
                Ok(Event::Done(done)) => return self.conclude(py, done, raised),
                Ok(Event::Total(total)) => {
                    self.total = total;
                    self.call(None)
                }
                Ok(Event::Record(record)) => self.call(Some(record)),
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Internal("a thread is gone".into()).into());
                }
            };
            if let Err(error) = told {
                self.cancelled.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
            self.look_for_signals(py, &mut raised)?;
        }
    }

    fn call(&self, record: Option<String>) -> PyResult<()> {
        let Some(listener) = self.listener else { return Ok(()) };
        listener.call1((self.total, record)).map(|_| ())
    }

    /// The first Ctrl-C cancels; the second one, or what another handler raises, is raised.
    fn look_for_signals(&self, py: Python<'_>, raised: &mut Option<PyErr>) -> PyResult<()> {
        let Err(error) = py.check_signals() else { return Ok(()) };
        let again = self.cancelled.swap(true, Ordering::Relaxed);
        if again {
            return Err(error);
        }
        if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
            raised.get_or_insert(error);
        }
        Ok(())
    }

    fn conclude(
        &self,
        py: Python<'_>,
        done: Result<T, Failure>,
        raised: Option<PyErr>,
    ) -> PyResult<T> {
        match (raised, done) {
            // Ctrl-C in a listener is Ctrl-C.
            (Some(error), Ok(done)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(done),
            (Some(error), _) => Err(error),
            (None, Err(Failure::Interrupted)) => Err(PyKeyboardInterrupt::new_err(())),
            (None, done) => Ok(done?),
        }
    }
}
