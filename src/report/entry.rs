//! Records as they are read back, by exports and the report: whatever fields they have, but never without those that say
//! what they are about.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::json::{self, Map, Value};
use super::record::{Record, Standing, Standings};
use crate::verdict::Verdict;

/// The fields of a record in the order of the contract; others follow by name.
const ORDER: [&str; 32] = [
    "image",
    "name",
    "label",
    "predicted",
    "target",
    "verdict",
    "margin",
    "upper_bound",
    "gap",
    "optimal",
    "distance",
    "changed_pixels",
    "delta",
    "norm",
    "margin_f32",
    "margin_png",
    "bound_method",
    "claimed_bound",
    "starts",
    "regions",
    "lps",
    "iterations",
    "nodes",
    "depth",
    "open_nodes",
    "seconds",
    "seconds_to_best",
    "stop",
    "seed",
    "png",
    "npy",
    "schema",
];

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Index of the image in the data.
    pub image: usize,
    /// True label, if known.
    pub label: Option<usize>,
    /// The label the model gives.
    pub predicted: usize,
    /// The label an adversary should get.
    pub target: usize,
    /// What came out.
    pub verdict: Verdict,
    fields: Map<String, Value>,
}

impl Entry {
    /// A record that was just made.
    pub fn of(record: &Record) -> Self {
        Self::new(json::object(record)).expect("a record has the fields of one")
    }

    /// A line of `results.jsonl`.
    ///
    /// # Errors
    /// When it is no record.
    pub fn parse(line: &[u8]) -> io::Result<Self> {
        Self::new(json::parse(line)?).map_err(io::Error::other)
    }

    fn new(fields: Map<String, Value>) -> Result<Self, String> {
        let whole = |field: &str| fields.get(field).and_then(Value::as_u64).map(|n| n as usize);
        let needed = |field: &str| whole(field).ok_or(format!("has no {field}"));
        let named = fields.get("verdict").and_then(Value::as_str);
        let verdict = Verdict::ALL.into_iter().find(|verdict| Some(verdict.name()) == named);
        Ok(Self {
            image: needed("image")?,
            label: whole("label"),
            predicted: needed("predicted")?,
            target: needed("target")?,
            verdict: verdict.ok_or("has no verdict")?,
            fields,
        })
    }

    /// What a field holds; `None` when it is missing or `null`.
    pub fn get(&self, field: &str) -> Option<&Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// A field that is a number.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.get(field).and_then(Value::as_f64)
    }

    /// A field as people write it: texts without quotes, nothing for nothing.
    pub fn text(&self, field: &str) -> String {
        match self.get(field) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        }
    }
}

/// All fields that some row has.
pub fn fields(rows: &[Entry]) -> Vec<&str> {
    let mut found: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.fields.keys().map(String::as_str)).collect();
    let known = ORDER.into_iter().filter(|&field| found.remove(field)).collect::<Vec<_>>();
    known.into_iter().chain(found).collect()
}

/// The rows of each image, by image; within one, by target.
pub fn by_image(rows: &[Entry]) -> BTreeMap<usize, Vec<&Entry>> {
    let mut images: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for row in rows {
        images.entry(row.image).or_default().push(row);
    }
    images.values_mut().for_each(|rows| rows.sort_by_key(|row| row.target));
    images
}

/// What is known about an image: its worst target counts.
pub(super) fn standing(of_image: &[&Entry]) -> Standing {
    let each = of_image.iter().map(|row| Standing::of(row.label, row.predicted, row.verdict));
    each.max().unwrap_or(Standing::Certified)
}

/// What became of the images.
pub fn standings(rows: &[Entry]) -> Standings {
    let all: Vec<Standing> = by_image(rows).values().map(|rows| standing(rows)).collect();
    Standings::count(all.iter())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// A record with these fields.
    pub fn row(image: usize, target: usize, verdict: &str, more: &str) -> Entry {
        let text = format!(
            r#"{{"image":{image},"label":1,"predicted":1,"target":{target},"verdict":"{verdict}"{more}}}"#
        );
        Entry::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_record_may_have_more_fields_but_not_fewer() {
        let row = row(3, 2, "robust", r#","margin":-1.5,"flavour":"sour","gap":null"#);
        assert_eq!((row.image, row.target, row.verdict), (3, 2, Verdict::Robust));
        assert_eq!((row.number("margin"), row.number("gap")), (Some(-1.5), None));
        assert_eq!(row.text("flavour") + &row.text("gap") + &row.text("none"), "sour");
        for text in [
            "{}",
            "[]",
            "",
            r#"{"image":-1,"predicted":1,"target":2,"verdict":"robust"}"#,
            r#"{"image":1,"predicted":1,"target":2,"verdict":"perhaps"}"#,
            r#"{"image":1,"predicted":1,"verdict":"robust"}"#,
        ] {
            assert!(Entry::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn fields_come_in_the_order_of_the_contract_then_by_name() {
        let rows = [row(0, 2, "robust", r#","zeal":1,"gap":2"#), row(1, 2, "robust", r#","a":1"#)];
        let expected = ["image", "label", "predicted", "target", "verdict", "gap", "a", "zeal"];
        assert_eq!(fields(&rows), expected);
    }

    #[test]
    fn the_worst_target_decides_about_an_image() {
        let rows = [
            row(0, 2, "robust", ""),
            row(1, 3, "unknown", ""),
            row(1, 2, "robust", ""),
            row(2, 2, "adversarial", ""),
            row(2, 3, "unknown", ""),
            row(3, 2, "robust", r#","label":7"#),
        ];
        let standings = standings(&rows);
        assert_eq!((standings.certified, standings.undecided), (1, 1));
        assert_eq!((standings.attacked, standings.misclassified), (1, 1));
        assert_eq!(standings.certified_accuracy(), 0.25);
        assert_eq!(Standings::default().certified_accuracy(), 1.0);
        let targets: Vec<usize> = by_image(&rows)[&1].iter().map(|row| row.target).collect();
        assert_eq!(targets, [2, 3]);
    }
}
