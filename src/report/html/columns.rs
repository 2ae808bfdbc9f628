//! Records column by column: shorter than one object each.

use serde::Serialize;

use crate::record::json::{self, Fields, Value};

/// Digits of a number in a column: more than the page shows.
const DIGITS: usize = 7;

/// The fields of all records, field by field: a list, or the value that all share. Lists in records are left out, and these fields.
pub fn columns(records: &[impl Serialize], left_out: &[&str]) -> Fields {
    let rows: Vec<Fields> = records.iter().map(json::fields).collect();
    let mut names: Vec<&String> = Vec::new();
    for row in &rows {
        for (name, value) in row {
            if !value.is_array() && !left_out.contains(&name.as_str()) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let column = |name: &str| {
        let values: Vec<Value> = rows.iter().map(|row| shown(row.get(name))).collect();
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => first.clone(),
            _ => Value::Array(values),
        }
    };
    names.into_iter().map(|name| (name.clone(), column(name))).collect()
}

fn shown(value: Option<&Value>) -> Value {
    match value {
        None => Value::Null,
        Some(value) if value.is_f64() => value.as_f64().map(rounded).into(),
        Some(value) => value.clone(),
    }
}

/// A number with as many digits as are looked at.
pub fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS - 1);
    text.parse().unwrap_or(value)
}
