//! `report.html`: one file that needs nothing else, neither a network nor the files beside it.
//!
//! Everything that comes from a user, file names above all, is in the embedded JSON only, and the script shows it as text; the
//! page's own policy forbids it to load anything.

mod pack;

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::entry::{self, Entry};
use super::json::{self, Map, Value};
use super::record::Standings;
use super::results::ReportError;
use super::sketch::thinned;
use super::stored::Stored;
use crate::verdict::Verdict;
use pack::{Packed, pack};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// In this order; they share one scope.
const SCRIPTS: [&str; 6] = [
    include_str!("data.js"),
    include_str!("pictures.js"),
    include_str!("plots.js"),
    include_str!("detail.js"),
    include_str!("results.js"),
    include_str!("main.js"),
];

/// The file in the result directory.
const FILE: &str = "report.html";

/// Columns are for looking: this many digits are more than any of them shows.
const DIGITS: usize = 9;
/// Points of all curves together, about.
const CURVE_POINTS: usize = 30_000;

/// Writes `report.html` into the directory that was read.
///
/// # Errors
/// When it cannot be written.
pub fn write(directory: &Path, stored: &Stored) -> Result<(), ReportError> {
    let path = directory.join(FILE);
    let written = page(stored).and_then(|page| fs::write(&path, page));
    written.map_err(|source| ReportError::Unwritable { path, source })
}

/// What the script is given.
#[derive(Serialize)]
struct Data<'a> {
    version: &'a str,
    settings: Map<String, Value>,
    /// Of the whole run.
    seconds: Option<&'a Value>,
    /// Searches that were asked for, if it is known.
    asked: Option<&'a Value>,
    /// `None` when the run did not come to its end.
    interrupted: Option<bool>,
    standings: Standings,
    labelled: bool,
    count: usize,
    /// A list per field, or the value that all records share.
    columns: Map<String, Value>,
    /// Seconds and margins of each record, in turn.
    curves: Vec<Vec<f64>>,
    /// Of each record the largest changes, where inputs are no pictures.
    largest: Vec<Vec<(usize, f32, f32)>>,
    pictures: Option<Packed>,
}

/// The whole page.
fn page(stored: &Stored) -> io::Result<String> {
    let Stored { rows, summary, sketches } = stored;
    let of_summary = |field: &str| summary.get("summary").and_then(|counts| counts.get(field));
    let sketch = |row: &Entry| sketches.sketches.get(&(row.image, row.target));
    let most = (CURVE_POINTS / rows.len().max(1)).max(2);
    let curve = |row: &Entry| -> Vec<f64> {
        let points = sketch(row).map_or(&[][..], |sketch| &sketch.curve);
        thinned(points, most).into_iter().flat_map(|&(time, margin)| [time, margin]).collect()
    };
    let largest =
        |row: &Entry| sketch(row).map(|sketch| sketch.largest.clone()).unwrap_or_default();
    let data = Data {
        version: summary.get("version").and_then(Value::as_str).unwrap_or(""),
        settings: stored.settings(),
        seconds: summary.get("seconds"),
        asked: of_summary("asked"),
        interrupted: of_summary("interrupted").and_then(Value::as_bool),
        standings: entry::standings(rows),
        labelled: rows.iter().all(|row| row.label.is_some()),
        count: rows.len(),
        columns: columns(rows),
        curves: rows.iter().map(curve).collect(),
        largest: rows.iter().map(largest).collect(),
        pictures: pack(rows, sketches)?,
    };
    Ok(filled(&json::for_script(&data)?, &counts(rows)))
}

/// The page with its parts in their places.
fn filled(data: &str, counts: &str) -> String {
    let mut page = String::new();
    let mut rest = PAGE;
    let script = SCRIPTS.concat();
    for (place, part) in
        [("{{style}}", STYLE), ("{{counts}}", counts), ("{{data}}", data), ("{{script}}", &script)]
    {
        let (before, after) =
            rest.split_once(place).expect("page.html has each place once, in this order");
        page.extend([before, part]);
        rest = after;
    }
    page + rest
}

/// What the page says where scripts are switched off.
fn counts(rows: &[Entry]) -> String {
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let counts = Verdict::ALL.map(|verdict| format!("{} {verdict}", count(verdict)));
    format!("{} searched: {}", rows.len(), counts.join(", "))
}

/// What nobody looks at here, and what would take a tenth of the page.
const LEFT_OUT: [&str; 2] = ["schema", "seed"];

/// The fields of all rows, field by field.
fn columns(rows: &[Entry]) -> Map<String, Value> {
    let column = |field: &str| {
        let values: Vec<Value> = rows.iter().map(|row| shown(row.get(field))).collect();
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => first.clone(),
            _ => Value::Array(values),
        }
    };
    let fields = entry::fields(rows).into_iter().filter(|field| !LEFT_OUT.contains(field));
    fields.map(|field| (field.to_owned(), column(field))).collect()
}

/// A field as a browser can hold it.
fn shown(value: Option<&Value>) -> Value {
    match value {
        None => Value::Null,
        // A list would be taken for a column.
        Some(value @ (Value::Array(_) | Value::Object(_))) => value.to_string().into(),
        // Larger than what a browser counts exactly.
        Some(value) if value.as_u64().is_some_and(|n| n > 1 << 53) => value.to_string().into(),
        Some(value) if value.is_f64() => value.as_f64().map(rounded).into(),
        Some(value) => value.clone(),
    }
}

fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS - 1);
    text.parse().unwrap_or(value)
}

#[cfg(test)]
mod tests;
