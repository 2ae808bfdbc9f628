//! Why a call failed: what becomes an exception of the family `rw_adv.Error`.

use std::any::Any;
use std::error::Error;
use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};

use pyo3::prelude::*;
use pyo3::types::PyType;
use rw_adv::attack::ClassifyError;
use rw_adv::onnx::OnnxError;
use rw_adv::run::{RunError, StoreError};
use rw_adv::vnnlib::VnnlibError;

/// The module that defines the exceptions.
const MODULE: &str = "rw_adv._errors";

/// Why a call failed.
#[derive(Debug)]
pub enum Failure {
    /// The model cannot be used.
    Model(String),
    /// An argument makes no sense.
    Input(String),
    /// A property file cannot be used, or is not about the model.
    Property(String),
    /// Results cannot be stored.
    Save(String),
    /// There is no answer.
    Solve(String),
    /// A bug.
    Internal(String),
    /// Work was cancelled before anything was known.
    Interrupted,
}

impl Failure {
    /// A panic, by its message.
    pub fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        Self::Internal(format!("it panicked: {text}; please report this bug"))
    }

    fn class_and_message(self) -> (&'static str, String) {
        match self {
            Self::Model(text) => ("ModelError", text),
            Self::Input(text) => ("InputError", text),
            Self::Property(text) => ("PropertyError", text),
            Self::Save(text) => ("SaveError", text),
            Self::Solve(text) => ("SolveError", text),
            Self::Internal(text) => ("InternalError", text),
            Self::Interrupted => ("Error", "interrupted".into()),
        }
    }
}

/// An error with all its causes, on one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // A transparent error has the text of its cause.
        if !text.ends_with(&error.to_string()) {
            let _ = write!(text, ": {error}");
        }
        cause = error.source();
    }
    text
}

impl From<OnnxError> for Failure {
    fn from(error: OnnxError) -> Self {
        Self::Model(chain(&error))
    }
}

impl From<ClassifyError> for Failure {
    fn from(error: ClassifyError) -> Self {
        Self::Model(chain(&error))
    }
}

impl From<VnnlibError> for Failure {
    fn from(error: VnnlibError) -> Self {
        Self::Property(chain(&error))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if let StoreError::Unproven { .. } = error {
            return Self::Solve(chain(&error));
        }
        Self::Save(match error {
            // Its own words name an option of the command line.
            StoreError::Begun(path) => StoreError::Taken(path).to_string(),
            other => chain(&other),
        })
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Job(error) => Self::Solve(chain(&*error)),
            RunError::Store(error) => error.into(),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let (class, message) = failure.class_and_message();
        Python::attach(|py| {
            let class = py.import(MODULE).and_then(|module| module.getattr(class));
            match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
                Ok(class) => PyErr::from_type(class, message),
                Err(error) => error,
            }
        })
    }
}

/// Runs `work`; a panic in it becomes an exception.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    // Nothing that a panic has left half done is used afterwards.
    let caught = panic::catch_unwind(AssertUnwindSafe(work));
    caught.map_err(|payload| Failure::of_panic(payload.as_ref()).into())
}
