//! `report.html`: one file that needs nothing else, neither a network nor the files beside it.
//!
//! Text from the user, such as file names, is in the embedded JSON only, and the script shows it as text. The page's own policy
//! forbids it to load anything.

mod pack;

use std::io;

use serde::Serialize;

use super::table::Table;
use crate::record::Verdict;
use crate::record::json::{self, Fields, Value};
use crate::record::{AttackRecord, ImageOutcomes, StoredRun, image_outcomes, thinned};
use pack::{PicturePack, pack};

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

/// Digits of a number in a column: more than the page shows.
const DIGITS: usize = 9;
/// Points of all curves together, about.
const CURVE_POINTS: usize = 30_000;

/// What the script is given.
#[derive(Serialize)]
struct PageData<'a> {
    version: &'a str,
    settings: &'a Fields,
    /// Of the whole run.
    seconds: Option<&'a Value>,
    /// Searches that were asked for, if it is known.
    asked: Option<usize>,
    /// `None` when the run did not end.
    interrupted: Option<bool>,
    standings: ImageOutcomes,
    labelled: bool,
    count: usize,
    /// A list per field, or the value that all records share.
    columns: Fields,
    /// Seconds and margins of each record, in turn.
    curves: Vec<Vec<f64>>,
    /// Seconds and bounds of each record, in turn, where its set was divided.
    bounds: Vec<Vec<f64>>,
    /// The largest changes of each record, where inputs are not pictures.
    largest: Vec<Vec<(usize, f32, f32)>>,
    pictures: Option<PicturePack>,
}

/// The whole page.
///
/// # Errors
/// When it cannot be serialised.
pub fn page(stored: &StoredRun) -> io::Result<String> {
    let StoredRun { records, settings, asked, summary, sketches, .. } = stored;
    let interrupted = summary.get("summary").and_then(|counts| counts.get("interrupted"));
    let sketch = |record: &AttackRecord| sketches.sketches.get(&(record.image, record.target));
    let most = (CURVE_POINTS / records.len().max(1)).max(2);
    let curve =
        |record: &AttackRecord| flat(sketch(record).map_or(&[], |sketch| &sketch.curve), most);
    let bounds = |record: &AttackRecord| flat(&record.stats.bound_trace, most);
    let largest = |record: &AttackRecord| {
        sketch(record).map(|sketch| sketch.largest.clone()).unwrap_or_default()
    };
    let version = summary.get("version").and_then(Value::as_str);
    let data = PageData {
        version: version.unwrap_or(env!("CARGO_PKG_VERSION")),
        settings,
        seconds: summary.get("seconds"),
        asked: *asked,
        interrupted: interrupted.and_then(Value::as_bool),
        standings: image_outcomes(records),
        labelled: records.iter().all(|record| record.label.is_some()),
        count: records.len(),
        columns: columns(records),
        curves: records.iter().map(curve).collect(),
        bounds: records.iter().map(bounds).collect(),
        largest: records.iter().map(largest).collect(),
        pictures: pack(records, sketches)?,
    };
    Ok(filled(&json::for_script(&data)?, &counts(records)))
}

/// At most `most` points of a curve, as times and values in turn.
fn flat(curve: &[(f64, f64)], most: usize) -> Vec<f64> {
    let points = thinned(curve, most).into_iter();
    points.flat_map(|&(time, value)| [rounded(time), rounded(value)]).collect()
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

/// What the page shows without scripts.
fn counts(records: &[AttackRecord]) -> String {
    let count = |verdict| records.iter().filter(|record| record.verdict == verdict).count();
    let counts = Verdict::ALL.map(|verdict| format!("{} {verdict}", count(verdict)));
    format!("{} searched: {}", records.len(), counts.join(", "))
}

/// Fields that the page does not show; they would take a tenth of it.
const LEFT_OUT: [&str; 2] = ["schema", "seed"];

/// The fields of all records, field by field.
fn columns(records: &[AttackRecord]) -> Fields {
    let table = Table::of(records);
    let column = |field: &str| {
        let values: Vec<Value> = table.column(field).map(shown).collect();
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => first.clone(),
            _ => Value::Array(values),
        }
    };
    let fields = table.columns().filter(|field| !LEFT_OUT.contains(field));
    fields.map(|field| (field.to_owned(), column(field))).collect()
}

fn shown(value: &Value) -> Value {
    if value.is_f64() { value.as_f64().map(rounded).into() } else { value.clone() }
}

fn rounded(value: f64) -> f64 {
    let text = format!("{value:.*e}", DIGITS - 1);
    text.parse().unwrap_or(value)
}

#[cfg(test)]
mod tests;
