//! Tables and sentences for people.

pub mod attack;
mod compare;
mod inspect;
mod labels;
mod maximize;
pub mod radius;
mod run;
pub mod verify;

/// A number, or a dash for one that is infinite or NaN. The sign decides the verdict, so what rounds to 0 keeps it.
fn finite(number: f64) -> String {
    if !number.is_finite() {
        return "-".into();
    }
    let text = format!("{number:.4}");
    match text.as_str() {
        "-0.0000" if number < 0.0 => "<0".into(),
        "0.0000" if number > 0.0 => ">0".into(),
        _ => text,
    }
}

/// ` in 3.2 s`; nothing where nothing was done.
fn duration(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |seconds| format!(" in {seconds:.1} s"))
}

pub use compare::comparison;
pub use inspect::inspection;
pub use maximize::maximum;
pub use run::{continued, plan, shards, status};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_close_to_0_keeps_its_sign() {
        let texts = [-1e-9, 1e-9, 0.0, -0.00006, 1.5, f64::NAN].map(finite);
        assert_eq!(texts, ["<0", ">0", "0.0000", "-0.0001", "1.5000", "-"]);
    }
}
