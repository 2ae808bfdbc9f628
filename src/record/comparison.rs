//! Two result directories side by side: two models, two budgets, two methods.

use std::collections::BTreeMap;

use serde::Serialize;

use super::attack::AttackRecord;
use super::json::{self, Fields};
use super::key::Resumable;
use super::outcome::{ImageOutcome, ImageOutcomes, by_image};
use super::radius::RadiusRecord;
use super::settings::setting_text;
use super::stored::StoredRun;
use super::verify::{RecordedResult, VerifyRecord};
use crate::judge::Verdict;

/// A number of each directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedNumber {
    /// What is counted or averaged.
    pub title: &'static str,
    /// In the first directory; `None` where there is nothing to average.
    pub a: Option<f64>,
    /// In the second.
    pub b: Option<f64>,
    /// Decimals that are worth showing.
    #[serde(skip)]
    pub digits: usize,
}

/// A record that both directories have and that says another thing in each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedChange {
    /// Whose record it is.
    pub subject: String,
    /// What the first directory says.
    pub a: String,
    /// What the second says.
    pub b: String,
    /// Whether less is proven in the second, or more is attacked.
    pub worse: bool,
}

/// A value of both directories, for the plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedPoint {
    /// In the first directory.
    pub a: f64,
    /// In the second.
    pub b: f64,
    /// How the verdict changed: -1 worse, 0 same, 1 better.
    pub change: i8,
}

/// What two directories say about the same work.
#[derive(Clone, Debug, Serialize)]
pub struct RunComparison {
    /// Settings that differ: what they are called, in the first directory, in the second.
    pub settings: Vec<(String, String, String)>,
    /// Records that both have.
    pub both: usize,
    /// Records that only one of them has.
    pub only: [usize; 2],
    /// Over the records that both have.
    pub numbers: Vec<ComparedNumber>,
    /// Records that say another thing.
    pub changes: Vec<ComparedChange>,
    /// Records that cannot both be true, though the same was asked.
    pub contradictions: Vec<String>,
    /// What is certified or decided in the first and in the second: fewer is worse.
    pub certified: [f64; 2],
    /// What a plot shows: the title of its axes, and the points.
    #[serde(skip)]
    pub plots: Vec<(&'static str, Vec<ComparedPoint>)>,
}

impl RunComparison {
    /// Whether less is certified (or decided) in the second directory.
    pub fn is_worse(&self) -> bool {
        self.certified[1] < self.certified[0]
    }
}

/// Names of things, and what follows from other settings.
const NOT_COMPARED: [&str; 2] = ["images", "widths"];

fn differing_settings(a: &Fields, b: &Fields) -> Vec<(String, String, String)> {
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    let mut told = Vec::new();
    for name in names.into_iter().filter(|name| !NOT_COMPARED.contains(&name.as_str())) {
        if a.get(name) == b.get(name) {
            continue;
        }
        let texts = [a, b].map(|settings| settings.get(name).and_then(|v| setting_text(name, v)));
        let found = texts.iter().flatten().next();
        let Some((place, title)) = found.map(|(place, title, _)| (*place, title.clone())) else {
            continue;
        };
        let [a, b] = texts.map(|text| text.map_or_else(|| "none".into(), |(.., text)| text));
        told.push((place, title, a, b));
    }
    told.sort();
    told.into_iter().map(|(_, title, a, b)| (title, a, b)).collect()
}

/// Records of the same work, and how many have no other.
struct Pairs<'r, R> {
    pairs: Vec<(&'r R, &'r R)>,
    only: [usize; 2],
}

fn paired<'r, R, K: Ord>(a: &'r [R], b: &'r [R], key: impl Fn(&R) -> K) -> Pairs<'r, R> {
    let from_key: BTreeMap<K, &R> = b.iter().map(|record| (key(record), record)).collect();
    let other = |record: &'r R| from_key.get(&key(record)).map(|other| (record, *other));
    let pairs: Vec<_> = a.iter().filter_map(other).collect();
    let only = [a.len() - pairs.len(), b.len() - pairs.len()];
    Pairs { pairs, only }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn points<R>(
    pairs: &[(&R, &R)],
    value: impl Fn(&R) -> Option<f64>,
    change: impl Fn(&R, &R) -> i8,
) -> Vec<ComparedPoint> {
    let point = |&(a, b): &(&R, &R)| {
        Some(ComparedPoint { a: value(a)?, b: value(b)?, change: change(a, b) })
    };
    pairs.iter().filter_map(point).collect()
}

/// Compares attacks. Where every image has one record, images are paired whatever their targets: the runner-up of another model may be another.
pub fn compare_attacks(a: &StoredRun, b: &StoredRun) -> RunComparison {
    let is_single = |run: &StoredRun| by_image(&run.records).len() == run.records.len();
    let by_image_alone = is_single(a) && is_single(b);
    let key = |r: &AttackRecord| (r.image, if by_image_alone { 0 } else { r.target });
    let Pairs { pairs, only } = paired(&a.records, &b.records, key);
    let outcomes = |side: usize| {
        let records: Vec<AttackRecord> =
            pairs.iter().map(|pair| [pair.0, pair.1][side].clone()).collect();
        let mut outcomes = ImageOutcomes::default();
        for records in by_image(&records).values() {
            outcomes.add(ImageOutcome::of_image(records));
        }
        outcomes
    };
    let [first, second] = [outcomes(0), outcomes(1)];
    let count = |title, of: fn(&ImageOutcomes) -> usize| ComparedNumber {
        title,
        a: Some(of(&first) as f64),
        b: Some(of(&second) as f64),
        digits: 0,
    };
    let average = |title, digits, of: fn(&AttackRecord) -> Option<f64>| ComparedNumber {
        title,
        a: mean(pairs.iter().filter_map(|(a, _)| of(a))),
        b: mean(pairs.iter().filter_map(|(_, b)| of(b))),
        digits,
    };
    let numbers = vec![
        count("images certified", |o| o.certified),
        count("images undecided", |o| o.undecided),
        count("images attacked", |o| o.attacked),
        count("images misclassified", |o| o.misclassified),
        average("mean margin", 4, |r| Some(r.margin)),
        average("mean bound", 4, |r| r.upper_bound),
        average("mean seconds", 3, |r| Some(r.stats.seconds)),
    ];
    let names = [a, b].map(|run| json::texts(&run.settings, "class_names"));
    let told = |r: &AttackRecord, class_names: &[String]| {
        let bound = r.upper_bound.map_or(String::new(), |bound| format!(", bound {bound:.4}"));
        format!("{} {} (margin {:.4}{bound})", r.change_text(class_names), r.verdict, r.margin)
    };
    let changes = pairs.iter().filter(|(a, b)| a.verdict != b.verdict).map(|(a, b)| {
        let subject = format!("image {}", a.image);
        let [a_told, b_told] = [told(a, &names[0]), told(b, &names[1])];
        ComparedChange { subject, a: a_told, b: b_told, worse: verdict_change(a, b) < 0 }
    });
    let same = ["model_sha256", "data_sha256", "delta", "norm"]
        .iter()
        .all(|&name| a.settings.contains_key(name) && a.settings.get(name) == b.settings.get(name));
    let contradictions = pairs.iter().filter(|(a, b)| same && a.target == b.target);
    let contradictions = contradictions
        .filter_map(|(a, b)| a.contradiction(b).map(|both| format!("{} is {both}", a.key())));
    let drawn = |value: fn(&AttackRecord) -> Option<f64>| points(&pairs, value, verdict_change);
    RunComparison {
        settings: differing_settings(&a.settings, &b.settings),
        both: pairs.len(),
        only,
        numbers,
        changes: changes.collect(),
        contradictions: contradictions.collect(),
        certified: [first.certified as f64, second.certified as f64],
        plots: vec![
            ("margin", drawn(|r| Some(r.margin))),
            ("bound", drawn(|r| r.upper_bound)),
            ("seconds", drawn(|r| Some(r.stats.seconds))),
        ],
    }
}

/// Robust is better than unknown, and that than adversarial.
fn verdict_change(a: &AttackRecord, b: &AttackRecord) -> i8 {
    let rank = |verdict| match verdict {
        Verdict::Adversarial => 0,
        Verdict::Unknown => 1,
        Verdict::Robust => 2,
    };
    i8::signum(rank(b.verdict) - rank(a.verdict))
}

/// Compares radii; a mean certified radius that is smaller is worse.
pub fn compare_radii(a: &StoredRun<RadiusRecord>, b: &StoredRun<RadiusRecord>) -> RunComparison {
    let Pairs { pairs, only } = paired(&a.records, &b.records, |r| r.image);
    let average = |title, digits, of: fn(&RadiusRecord) -> Option<f64>| ComparedNumber {
        title,
        a: mean(pairs.iter().filter_map(|(a, _)| of(a))),
        b: mean(pairs.iter().filter_map(|(_, b)| of(b))),
        digits,
    };
    let numbers = vec![
        average("mean certified radius", 5, |r| Some(r.certified_radius)),
        average("mean nearest adversary", 5, |r| r.attack_radius),
        average("mean seconds", 3, |r| Some(r.seconds)),
    ];
    let change = |a: &RadiusRecord, b: &RadiusRecord| {
        let difference = b.certified_radius - a.certified_radius;
        if difference == 0.0 { 0 } else { difference.signum() as i8 }
    };
    let told = |r: &RadiusRecord| {
        let attacked = r.attack_radius.map_or("none found".into(), |radius| format!("{radius:.5}"));
        format!("certified {:.5}, attacked {attacked}", r.certified_radius)
    };
    let changed = pairs.iter().filter(|(a, b)| change(a, b) != 0);
    let changes = changed.map(|(a, b)| {
        let subject = format!("image {}", a.image);
        ComparedChange { subject, a: told(a), b: told(b), worse: change(a, b) < 0 }
    });
    let certified = [numbers[0].a, numbers[0].b].map(Option::unwrap_or_default);
    let drawn = |value: fn(&RadiusRecord) -> Option<f64>| points(&pairs, value, change);
    RunComparison {
        settings: differing_settings(&a.settings, &b.settings),
        both: pairs.len(),
        only,
        changes: changes.collect(),
        contradictions: Vec::new(),
        certified,
        plots: vec![
            ("certified radius", drawn(|r| Some(r.certified_radius))),
            ("distance of the nearest adversary", drawn(|r| r.attack_radius)),
            ("seconds", drawn(|r| Some(r.seconds))),
        ],
        numbers,
    }
}

/// Compares property files; fewer that are decided is worse. Instances are paired by the names of their files.
pub fn compare_instances(
    a: &StoredRun<VerifyRecord>,
    b: &StoredRun<VerifyRecord>,
) -> RunComparison {
    let key = |r: &VerifyRecord| (r.instance.model.clone(), r.instance.property.clone());
    let Pairs { pairs, only } = paired(&a.records, &b.records, key);
    let is_decided =
        |r: &VerifyRecord| matches!(r.result, RecordedResult::Sat | RecordedResult::Unsat);
    let counted = |which: fn(&VerifyRecord) -> bool| {
        let first = pairs.iter().filter(|(a, _)| which(a)).count() as f64;
        (first, pairs.iter().filter(|(_, b)| which(b)).count() as f64)
    };
    let count = |title, which: fn(&VerifyRecord) -> bool| {
        let (a, b) = counted(which);
        ComparedNumber { title, a: Some(a), b: Some(b), digits: 0 }
    };
    let total = |side: usize| pairs.iter().map(|pair| [pair.0, pair.1][side].seconds).sum::<f64>();
    let numbers = vec![
        count("sat", |r| r.result == RecordedResult::Sat),
        count("unsat", |r| r.result == RecordedResult::Unsat),
        count("not decided", |r| !matches!(r.result, RecordedResult::Sat | RecordedResult::Unsat)),
        ComparedNumber { title: "seconds in all", a: Some(total(0)), b: Some(total(1)), digits: 1 },
    ];
    let change =
        |a: &VerifyRecord, b: &VerifyRecord| i8::from(is_decided(b)) - i8::from(is_decided(a));
    let told = |r: &VerifyRecord| format!("{} ({:.2} s)", r.result.name(), r.seconds);
    let changes = pairs.iter().filter(|(a, b)| a.result != b.result).map(|(a, b)| {
        let subject = format!("{}, {}", a.instance.model, a.instance.property);
        ComparedChange { subject, a: told(a), b: told(b), worse: change(a, b) < 0 }
    });
    let contradictions = pairs.iter().filter_map(|(a, b)| {
        a.contradiction(b)
            .map(|both| format!("{}, {}: {both}", a.instance.model, a.instance.property))
    });
    let drawn = points(&pairs, |r| Some(r.seconds), change);
    let (first, second) =
        counted(|r| matches!(r.result, RecordedResult::Sat | RecordedResult::Unsat));
    RunComparison {
        settings: differing_settings(&a.settings, &b.settings),
        both: pairs.len(),
        only,
        numbers,
        changes: changes.collect(),
        contradictions: contradictions.collect(),
        certified: [first, second],
        plots: vec![("seconds", drawn)],
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::Sketches;
    use super::*;
    use crate::record::{json, record};

    fn run(records: Vec<AttackRecord>, settings: &str) -> StoredRun {
        StoredRun {
            records,
            origin: None,
            settings: json::parse(settings.as_bytes()).expect("an object"),
            asked: None,
            missing: None,
            summary: Fields::new(),
            sketches: Sketches::default(),
        }
    }

    #[test]
    fn verdicts_that_change_are_told_and_fewer_certified_images_are_worse() {
        let a = run(
            vec![
                record(0, 2, "robust", ""),
                record(1, 2, "unknown", ""),
                record(7, 2, "robust", ""),
            ],
            r#"{"delta":1.0}"#,
        );
        // Another runner-up: images are paired nevertheless.
        let b = run(
            vec![
                record(0, 3, "adversarial", r#","margin":0.5"#),
                record(1, 2, "robust", ""),
                record(9, 2, "robust", ""),
            ],
            r#"{"delta":2.0}"#,
        );
        let compared = compare_attacks(&a, &b);
        assert_eq!((compared.both, compared.only), (2, [1, 1]));
        assert_eq!(compared.settings, [("budget".into(), "1.0".into(), "2.0".into())]);
        let changes: Vec<(&str, bool)> =
            compared.changes.iter().map(|change| (change.subject.as_str(), change.worse)).collect();
        assert_eq!(changes, [("image 0", true), ("image 1", false)]);
        assert_eq!(compared.certified, [1.0, 1.0]);
        assert!(!compared.is_worse() && compared.contradictions.is_empty());
        assert_eq!(compared.numbers[4].b, Some(-0.25));
        assert_eq!(compared.plots[0].1[0], ComparedPoint { a: -1.0, b: 0.5, change: -1 });
        let fewer = compare_attacks(&b, &run(vec![record(1, 2, "unknown", "")], "{}"));
        assert!(fewer.is_worse());
    }

    #[test]
    fn the_same_question_has_one_answer() {
        let settings = r#"{"model_sha256":"a","data_sha256":"b","delta":1.0,"norm":"l1"}"#;
        let a = run(vec![record(0, 2, "robust", "")], settings);
        let b = run(vec![record(0, 2, "adversarial", "")], settings);
        let contradictions = compare_attacks(&a, &b).contradictions;
        assert_eq!(contradictions, ["image 0, target 2 is robust and adversarial"]);
    }
}
