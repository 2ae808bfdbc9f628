//! The pages of radii, of a maximum and of property files.

use std::io;

use serde::Serialize;

use super::columns::columns;
use super::pack::{PicturePack, pack};
use super::{PageFrame, filled};
use crate::record::json::{self, Fields};
use crate::record::{MaximizeRecord, RadiusRecord, StoredRun, VerifyRecord};

/// Fields that these pages do not show, or tell from others.
const LEFT_OUT: [&str; 4] = ["schema", "seed", "npy", "png"];

/// What the script is given.
#[derive(Serialize)]
struct RecordData<'a> {
    #[serde(flatten)]
    frame: PageFrame<'a>,
    /// A list per field, or the value that all records share.
    columns: Fields,
    pictures: Option<PicturePack>,
}

/// The page of radii.
///
/// # Errors
/// When it cannot be serialised.
pub fn radius_page(stored: &StoredRun<RadiusRecord>) -> io::Result<String> {
    // An image without adversary has no target, and nothing is drawn of it.
    let key = |record: &RadiusRecord| (record.image, record.target.unwrap_or(usize::MAX));
    let keys: Vec<(usize, usize)> = stored.records.iter().map(key).collect();
    let data = RecordData {
        frame: PageFrame::of("radii", stored),
        columns: columns(&stored.records, &LEFT_OUT),
        pictures: pack(&keys, &stored.sketches)?,
    };
    let counts = format!("Radii of {} images", stored.records.len());
    Ok(filled(&json::for_script(&data)?, &counts))
}

/// The page of property files.
///
/// # Errors
/// When it cannot be serialised.
pub fn verify_page(stored: &StoredRun<VerifyRecord>) -> io::Result<String> {
    let data = RecordData {
        frame: PageFrame::of("instances", stored),
        columns: columns(&stored.records, &[&LEFT_OUT[..], &["network"]].concat()),
        pictures: None,
    };
    let counts = format!("{} instances", stored.records.len());
    Ok(filled(&json::for_script(&data)?, &counts))
}

/// What the script is given of a maximum.
#[derive(Serialize)]
struct MaximumData<'a> {
    #[serde(flatten)]
    frame: PageFrame<'a>,
    columns: Fields,
    point: &'a [f64],
    outputs: &'a [f64],
}

/// The page of a maximum.
///
/// # Errors
/// When it cannot be serialised.
pub fn maximum_page(stored: &StoredRun<MaximizeRecord>) -> io::Result<String> {
    let record = stored.records.first();
    // Settings have a place of their own.
    let settings: Vec<&str> = stored.settings.keys().map(String::as_str).collect();
    let left_out = [&LEFT_OUT[..], &["version"], &settings[..]].concat();
    let data = MaximumData {
        frame: PageFrame::of("maximum", stored),
        columns: columns(&stored.records, &left_out),
        point: record.map_or(&[], |record| &record.point),
        outputs: record.map_or(&[], |record| &record.outputs),
    };
    let counts = record.map_or("No result".into(), |record| format!("Value {}", record.value));
    Ok(filled(&json::for_script(&data)?, &counts))
}
