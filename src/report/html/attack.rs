//! The data of an attack's page.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::columns::{columns, rounded};
use super::pack::{PicturePack, pack};
use super::quantiles::quantiles;
use super::{PageFrame, filled};
use crate::record::json;
use crate::record::{
    AttackRecord, ImageOutcome, ImageOutcomes, StoredRun, Verdict, by_image, image_outcomes,
    thinned,
};

/// Points of all curves together, about.
const CURVE_POINTS: usize = 30_000;
/// Fields that the page does not show, or tells from others.
const LEFT_OUT: [&str; 4] = ["schema", "seed", "npy", "png"];

/// What the script is given.
#[derive(Serialize)]
struct AttackData<'a> {
    #[serde(flatten)]
    frame: PageFrame<'a>,
    standings: ImageOutcomes,
    /// The same by label.
    classes: Vec<(usize, ImageOutcomes)>,
    labelled: bool,
    /// A list per field, or the value that all records share.
    columns: json::Fields,
    /// Seconds and margins of each record, in turn.
    curves: Vec<Vec<f64>>,
    /// Times, and quantiles of the margins then.
    quantiles: Vec<Vec<f64>>,
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
pub fn attack_page(stored: &StoredRun) -> io::Result<String> {
    let StoredRun { records, sketches, .. } = stored;
    let sketch = |record: &AttackRecord| sketches.sketches.get(&(record.image, record.target));
    let curve = |record: &AttackRecord| sketch(record).map_or(&[][..], |sketch| &sketch.curve);
    let all: Vec<&[(f64, f64)]> = records.iter().map(curve).collect();
    let longest = records.iter().map(|record| record.stats.seconds).fold(0.0, f64::max);
    let most = (CURVE_POINTS / records.len().max(1)).max(2);
    let largest = |record: &AttackRecord| {
        sketch(record).map(|sketch| sketch.largest.clone()).unwrap_or_default()
    };
    let keys: Vec<(usize, usize)> = records.iter().map(|r| (r.image, r.target)).collect();
    let in_short = |row: [f64; 6]| row.into_iter().map(rounded).collect();
    let data = AttackData {
        frame: PageFrame::of("attacks", stored),
        standings: image_outcomes(records),
        classes: classes(records),
        labelled: records.iter().all(|record| record.label.is_some()),
        columns: columns(records, &LEFT_OUT),
        curves: all.iter().map(|curve| flat(curve, most)).collect(),
        quantiles: quantiles(&all, longest).into_iter().map(in_short).collect(),
        bounds: records.iter().map(|record| flat(&record.stats.bound_trace, most)).collect(),
        largest: records.iter().map(largest).collect(),
        pictures: pack(&keys, sketches)?,
    };
    Ok(filled(&json::for_script(&data)?, &counts(records)))
}

/// Images per outcome, by true label, or by predicted label where that is not known.
fn classes(records: &[AttackRecord]) -> Vec<(usize, ImageOutcomes)> {
    let mut from_label: BTreeMap<usize, ImageOutcomes> = BTreeMap::new();
    for records in by_image(records).values() {
        let first = records[0];
        let label = first.label.unwrap_or(first.predicted);
        from_label.entry(label).or_default().add(ImageOutcome::of_image(records));
    }
    from_label.into_iter().collect()
}

/// At most `most` points of a curve, as times and values in turn.
fn flat(curve: &[(f64, f64)], most: usize) -> Vec<f64> {
    let points = thinned(curve, most).into_iter();
    points.flat_map(|&(time, value)| [rounded(time), rounded(value)]).collect()
}

/// What the page shows without scripts.
fn counts(records: &[AttackRecord]) -> String {
    let count = |verdict| records.iter().filter(|record| record.verdict == verdict).count();
    let counts = Verdict::ALL.map(|verdict| format!("{} {verdict}", count(verdict)));
    format!("{} searched: {}", records.len(), counts.join(", "))
}
