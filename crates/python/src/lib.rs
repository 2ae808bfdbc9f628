//! The native half of the Python package `rw_adv`: arguments are converted, the library does the work, results are converted back.
//!
//! What users see, with its documentation, is Python in `../python/rw_adv`; what this module offers it is in `_native.pyi` there. Arrays come
//! checked, contiguous and in `f32`. No panic crosses the border: work is done on a thread of its own (`background`) or behind
//! `errors::guarded`, and a panic there becomes an `rw_adv.InternalError`.

mod arrays;
mod attack;
mod background;
mod errors;
mod images;
mod maximize;
mod model;
mod neuron_bounds;
mod radius;
mod saved;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

/// Native half of the package `rw_adv`.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::attack::{AttackRun, attack};
    #[pymodule_export]
    use super::images::read_images;
    #[pymodule_export]
    use super::maximize::{MaximizeRun, maximize};
    #[pymodule_export]
    use super::model::{Model, fits, load, normalised, strip};
    #[pymodule_export]
    use super::neuron_bounds::neuron_bounds;
    #[pymodule_export]
    use super::radius::{RadiusRun, radius};
    #[pymodule_export]
    use super::verify::verify;
    #[pymodule_export]
    use super::{command_line, panic_for_tests, version};

    #[pymodule_init]
    fn init() {
        rw_adv::onnx::silence_caught_panics();
    }
}

/// The package's version.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The command `rw-adv`, with what was typed, the program's name first. Gives the exit code.
#[pyfunction]
fn command_line(py: Python<'_>, typed: Vec<OsString>) -> PyResult<u8> {
    let code = errors::guarded(|| py.detach(|| rw_adv::cli::main(typed)))?;
    Ok((0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(u8::MAX))
}

/// Panics where work is done, or on the calling thread: for the test that neither ends the interpreter.
#[pyfunction]
fn panic_for_tests(py: Python<'_>, in_background: bool) -> PyResult<()> {
    if in_background {
        let work = |_: &background::Outside| -> Result<(), errors::Failure> { panic!("a test") };
        return background::run(py, Some(1), None, work).map(|_| ());
    }
    errors::guarded(|| panic!("a test"))
}
