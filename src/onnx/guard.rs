//! A panic inside tract becomes an error.
//!
//! tract is written for well-formed models; on a damaged one it may panic. The user is owed one clear line either way, so
//! the panic is caught at this border. What Rust prints about it is for the program to decide, which owns the panic hook:
//! the library leaves the hook alone unless it is [asked](silence_caught_panics), and says which panics it [catches](catches_panics).

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught here and become an [`OnnxError`](super::OnnxError). A program's panic
/// hook may stay silent then.
pub fn catches_panics() -> bool {
    GUARDED.get()
}

/// From now on a panic that becomes an [`OnnxError`](super::OnnxError) is told once, by that error: changes the program's panic hook.
pub fn silence_caught_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !catches_panics() {
            usual(info);
        }
    }));
}

/// Runs `work`; a panic in it comes back as the first line of its message.
pub(super) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let outer = GUARDED.replace(true);
    // Nothing of a failed load is used afterwards, so no broken state can be seen.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.map_err(|payload| first_line(payload.as_ref()))
}

fn first_line(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.and_then(|text| text.lines().next()).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::{catch, catches_panics};

    #[test]
    fn a_panic_is_an_error_and_a_value_a_value() {
        assert_eq!(catch(|| 3), Ok(3));
        assert_eq!(catch(|| -> u8 { panic!("broken\nmodel") }), Err("broken".into()));
    }

    #[test]
    fn only_guarded_panics_are_claimed() {
        assert!(!catches_panics());
        assert_eq!(catch(catches_panics), Ok(true));
        assert_eq!(catch(|| catch(|| 1).is_ok() && catches_panics()), Ok(true));
        assert!(catch(|| -> u8 { panic!("broken") }).is_err());
        assert!(!catches_panics());
    }
}
