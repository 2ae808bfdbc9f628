//! Records column by column: shorter than one object each.

use serde::Serialize;

use crate::record::json::{self, Fields, Value};

/// Digits of a number in a column: more than the page shows.
const DIGITS: i32 = 7;
/// Powers of ten up to this one are exact in f64, so dividing or multiplying a whole number by one rounds once.
const EXACT_POWERS: i32 = 22;

/// The fields of all records, field by field: a list, or the value that all share. Lists in records are left out, and these fields.
pub fn columns(records: &[impl Serialize], left_out: &[&str]) -> Fields {
    let mut columns: Vec<(String, Vec<Value>)> = Vec::new();
    for (row, record) in records.iter().enumerate() {
        // Records list their fields in the same order: most often the next column is the one.
        let mut next = 0;
        for (name, value) in json::fields(record) {
            let known = |(column, _): &(String, Vec<Value>)| *column == name;
            let place = match columns.get(next).is_some_and(known) {
                true => Some(next),
                false => columns.iter().position(known),
            };
            next = place.map_or(next, |place| place + 1);
            let column = match place {
                Some(place) => &mut columns[place].1,
                None if value.is_array() || left_out.contains(&name.as_str()) => continue,
                None => {
                    columns.push((name, Vec::with_capacity(records.len())));
                    &mut columns.last_mut().expect("just added").1
                }
            };
            // Earlier records may not have the field.
            column.resize(row, Value::Null);
            column.push(shown(value));
        }
    }
    let shared = |mut values: Vec<Value>| {
        values.resize(records.len(), Value::Null);
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => first.clone(),
            _ => Value::Array(values),
        }
    };
    columns.into_iter().map(|(name, values)| (name, shared(values))).collect()
}

fn shown(value: Value) -> Value {
    match value.as_f64().filter(|_| value.is_f64()) {
        Some(number) => rounded(number).into(),
        None => value,
    }
}

/// A number with as many digits as are looked at.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let shift = DIGITS - 1 - value.abs().log10().floor() as i32;
    if shift.abs() > EXACT_POWERS {
        return rounded_as_text(value);
    }
    let power = 10f64.powi(shift.abs());
    match shift > 0 {
        true => (value * power).round() / power,
        false => (value / power).round() * power,
    }
}

fn rounded_as_text(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS as usize - 1);
    text.parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_of_the_range_and_no_numbers_are_rounded_too() {
        let cases = [
            (0.0, 0.0),
            (-0.0, 0.0),
            (f64::INFINITY, f64::INFINITY),
            (f64::MAX, 1.797693e308),
            (-f64::MIN_POSITIVE, -2.225074e-308),
            (999.999_999_9, 1000.0),
            (1e22, 1e22),
            (-1e-9, -1e-9),
            (0.1 + 0.2, 0.3),
        ];
        for (value, expected) in cases {
            assert_eq!(rounded(value), expected, "{value}");
        }
        assert!(rounded(f64::NAN).is_nan());
    }

    proptest! {
        /// Numbers that lie between two of seven digits may go either way.
        #[test]
        fn a_rounded_number_is_one_that_was_printed(
            digits in 10_000_000_000u64..99_999_999_999,
            power in -40i32..20,
            sign in prop::sample::select(vec![-1.0, 1.0]),
        ) {
            prop_assume!(digits % 10_000 != 5_000);
            let value = sign * digits as f64 * 10f64.powi(power);
            prop_assert_eq!(rounded(value), rounded_as_text(value));
        }
    }
}
