//! Work on a thread of its own, while the calling thread listens: to what is found, and to Ctrl-C.
//!
//! The interpreter's lock is released except while Python is called. The first Ctrl-C cancels the work, and what is known is returned;
//! a second one raises `KeyboardInterrupt` at once and leaves the thread to end by itself.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// What wakes the calling thread.
enum Event<T> {
    /// A record, as JSON.
    Record(String),
    /// The end.
    Done(Result<T, Failure>),
}

/// How far the work is.
#[derive(Default)]
struct Count {
    total: AtomicUsize,
    done: AtomicUsize,
}

/// Who is told while the work goes on: `call(total, done, record)` on the calling thread.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Listener<'py> {
    call: Bound<'py, PyAny>,
    /// Whether it wants every record. If not, nothing is made of them, and it is told now and then how many there are.
    each: bool,
}

/// Takes a record as JSON.
type TakeRecord = Box<dyn FnMut(String) + Send>;

/// What the work knows of the world outside.
pub struct Outside {
    cancelled: Arc<AtomicBool>,
    count: Arc<Count>,
    /// Takes records, where somebody wants them.
    tell: Option<Mutex<TakeRecord>>,
}

impl Outside {
    /// Is set when the work is to end.
    pub fn cancelled(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// So many records will come.
    pub fn expect(&self, total: usize) {
        self.count.total.store(total, Ordering::Relaxed);
    }
}

/// Passes records on.
pub struct RecordSink<'o>(pub &'o Outside);

impl<R: Resumable> Sink<R> for RecordSink<'_> {
    fn record(&mut self, record: &R) -> Result<(), BoxError> {
        self.0.count.done.fetch_add(1, Ordering::Relaxed);
        if let Some(tell) = &self.0.tell {
            (tell.lock().unwrap_or_else(PoisonError::into_inner))(to_json(record));
        }
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

/// Does work in the background, on so many threads. What the listener raises cancels the work, and is raised when it has ended.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    listener: Option<&Listener<'_>>,
    work: impl FnOnce(&Outside) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let (cancelled, count) = (Arc::new(AtomicBool::new(false)), Arc::new(Count::default()));
    let told = sender.clone();
    let tell: TakeRecord = Box::new(move |record| {
        // Nobody listens any more after a second Ctrl-C.
        let _ = told.send(Event::Record(record));
    });
    let each = listener.is_some_and(|listener| listener.each);
    let tell = each.then(|| Mutex::new(tell));
    let outside = Outside { cancelled: Arc::clone(&cancelled), count: Arc::clone(&count), tell };
    start(threads, outside, sender, work)?;
    let receiver = Mutex::new(receiver);
    Listening { receiver, cancelled, count, listener, told: (0, 0) }.until_done(py)
}

fn start<T: Send + 'static>(
    threads: Option<usize>,
    outside: Outside,
    sender: Sender<Event<T>>,
    work: impl FnOnce(&Outside) -> Result<T, Failure> + Send + 'static,
) -> Result<(), Failure> {
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
    count: Arc<Count>,
    listener: Option<&'l Listener<'py>>,
    /// The total and the number of records that the listener knows of.
    told: (usize, usize),
}

impl<T: Send> Listening<'_, '_, T> {
    fn until_done(mut self, py: Python<'_>) -> PyResult<T> {
        let mut raised = None;
        loop {
            let receiver = &self.receiver;
            let event = py.detach(|| {
                receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PULSE)
            });
            let (told, done) = match event {
                Ok(Event::Done(done)) => (self.tell_count(), Some(done)),
                Ok(Event::Record(record)) => (self.tell(self.told.1 + 1, Some(record)), None),
                Err(RecvTimeoutError::Timeout) => (self.tell_count(), None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Internal("a thread is gone".into()).into());
                }
            };
            if let Err(error) = told {
                self.cancelled.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
            if let Some(done) = done {
                return self.conclude(py, done, raised);
            }
            self.look_for_signals(py, &mut raised)?;
        }
    }

    /// Tells how far the work is to a listener that does not want every record.
    fn tell_count(&mut self) -> PyResult<()> {
        match self.listener {
            Some(listener) if !listener.each => {
                self.tell(self.count.done.load(Ordering::Relaxed), None)
            }
            _ => Ok(()),
        }
    }

    fn tell(&mut self, done: usize, record: Option<String>) -> PyResult<()> {
        let Some(listener) = self.listener else { return Ok(()) };
        let now = (self.count.total.load(Ordering::Relaxed), done);
        if now == self.told {
            return Ok(());
        }
        self.told = now;
        listener.call.call1((now.0, now.1, record)).map(|_| ())
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
