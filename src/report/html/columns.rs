//! Records column by column: shorter than one object each.

use serde::Serialize;

use crate::record::json::{self, Fields, Value};

/// Digits of a number in a column: more than the page shows.
const DIGITS: usize = 7;

/// The fields of all records, field by field: a list, or the value that all share. Lists in records are left out, and these fields.
pub fn columns(records: &[impl Serialize], left_out: &[&str]) -> Fields {
    let mut columns: Vec<(String, Vec<Value>)> = Vec::new();
    for (row, record) in records.iter().enumerate() {
        for (name, value) in json::fields(record) {
            let column = match columns.iter().position(|(known, _)| *known == name) {
                Some(known) => &mut columns[known].1,
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
    let text = format!("{value:.*e}", DIGITS - 1);
    text.parse().unwrap_or(value)
}
