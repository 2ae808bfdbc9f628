//! `report.html`: one file that needs nothing else, neither a network nor the files beside it.
//!
//! Text from the user, such as file names, is in the embedded JSON only, and the script shows it as text. The page's own policy
//! forbids it to load anything.

mod attack;
mod columns;
mod others;
mod pack;
mod quantiles;

use serde::Serialize;

use crate::record::json::{Fields, Value};
use crate::record::{RunOrigin, StoredRun, setting_text};

pub use attack::attack_page;
pub use others::{maximum_page, radius_page, verify_page};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// In this order; they share one scope.
const SCRIPTS: [&str; 11] = [
    include_str!("data.js"),
    include_str!("kinds.js"),
    include_str!("pictures.js"),
    include_str!("plots.js"),
    include_str!("figures.js"),
    include_str!("classes.js"),
    include_str!("downloads.js"),
    include_str!("detail.js"),
    include_str!("results.js"),
    include_str!("print.js"),
    include_str!("main.js"),
];

/// What every page is given.
#[derive(Serialize)]
struct PageFrame<'a> {
    /// Whose records these are: `attacks`, `radii`, `maximum`, `instances`.
    kind: &'static str,
    version: &'a str,
    settings: &'a Fields,
    /// The settings as people read them.
    setting_texts: Vec<(String, String)>,
    origin: Option<&'a RunOrigin>,
    /// Of the whole run.
    seconds: Option<&'a Value>,
    /// Records that were asked for, if it is known.
    asked: Option<usize>,
    /// `None` when the run did not end.
    interrupted: Option<bool>,
    count: usize,
}

impl<'a> PageFrame<'a> {
    fn of<R>(kind: &'static str, stored: &'a StoredRun<R>) -> Self {
        let StoredRun { records, settings, asked, summary, origin, .. } = stored;
        let interrupted = summary.get("summary").and_then(|counts| counts.get("interrupted"));
        let version = summary.get("version").and_then(Value::as_str);
        let texts = settings.iter().filter_map(|(name, value)| setting_text(name, value));
        let mut texts: Vec<(usize, String, String)> = texts.collect();
        texts.sort();
        Self {
            kind,
            version: version.unwrap_or(env!("CARGO_PKG_VERSION")),
            settings,
            setting_texts: texts.into_iter().map(|(_, title, text)| (title, text)).collect(),
            origin: origin.as_ref(),
            seconds: summary.get("seconds"),
            asked: *asked,
            interrupted: interrupted.and_then(Value::as_bool),
            count: records.len(),
        }
    }
}

/// The page with its parts in their places.
fn filled(data: &str, counts: &str) -> String {
    let script = SCRIPTS.concat();
    let parts = STYLE.len() + counts.len() + data.len() + script.len();
    let mut page = String::with_capacity(PAGE.len() + parts);
    let mut rest = PAGE;
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

#[cfg(test)]
mod tests;
