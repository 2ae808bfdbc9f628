//! A panic inside tract becomes an error.
//!
//! tract is written for well-formed models; on a damaged one it may panic. The user is owed one
//! clear line either way, so the panic is caught at this border and its message kept off stderr.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; a panic in it comes back as the first line of its message. Other threads' panics print as ever.
pub(super) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                usual(info);
            }
        }));
    });
    GUARDED.set(true);
    // Nothing of a failed load is used afterwards, so no broken state can be seen.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        text.and_then(|text| text.lines().next().map(str::to_owned))
            .unwrap_or_else(|| "no message".into())
    })
}

#[cfg(test)]
mod tests {
    use super::catch;

    #[test]
    fn a_panic_is_an_error_and_a_value_a_value() {
        assert_eq!(catch(|| 3), Ok(3));
        assert_eq!(catch(|| -> u8 { panic!("broken\nmodel") }), Err("broken".into()));
    }
}
