//! Verdicts for CI systems: a JUnit file with a test case per image. The only file that says `quick_xml`.
//!
//! A case fails when some target has an adversary, or when the image is misclassified. It passes when every target is proved
//! impossible. Otherwise it is skipped. An image without all its records, or with logits that are not finite, is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::record::Verdict;
use crate::record::json::{self, Fields};
use crate::record::{AttackRecord, ImageOutcome, Key, by_image};

/// Writes one test suite. `settings` name the model and the budget, if they are known; `missing` is the work that has no finished record,
/// if that is known.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    out: impl Write,
    records: &[AttackRecord],
    settings: &Fields,
    missing: Option<&[Key]>,
) -> io::Result<()> {
    let cases = cases(records, missing);
    let suite = suite_name(settings);
    let count = |outcome: TestOutcome| cases.iter().filter(|case| case.outcome == outcome).count();
    let seconds = cases.iter().fold(0.0, |sum, case| sum + case.seconds);
    let totals = [
        ("name", suite.clone()),
        ("tests", cases.len().to_string()),
        ("failures", count(TestOutcome::Fails).to_string()),
        ("errors", count(TestOutcome::Error).to_string()),
        ("skipped", count(TestOutcome::Skipped).to_string()),
        ("time", format!("{seconds:.3}")),
    ];
    let totals = || totals.iter().map(|(name, value)| (*name, value.as_str()));
    let mut xml = Writer::new_with_indent(out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuites").with_attributes(totals()).write_inner_content(|xml| {
        xml.create_element("testsuite")
            .with_attributes(totals())
            .write_inner_content(|xml| cases.iter().try_for_each(|case| case.write(xml, &suite)))?;
        Ok(())
    })?;
    writeln!(xml.into_inner())
}

#[derive(Clone, Copy, PartialEq)]
enum TestOutcome {
    Passes,
    Fails,
    Skipped,
    Error,
}

/// A case for each image that was asked for. One says that it is not known what was asked for.
fn cases(records: &[AttackRecord], missing: Option<&[Key]>) -> Vec<TestCase> {
    let images = by_image(records);
    let mut absent: BTreeMap<usize, Vec<Key>> = BTreeMap::new();
    for &key in missing.unwrap_or_default() {
        absent.entry(key.image).or_default().push(key);
    }
    let numbers: BTreeSet<usize> = images.keys().chain(absent.keys()).copied().collect();
    let case = |image: &usize| {
        let (records, absent) = (images.get(image), absent.get(image));
        let case = records.map(|records| TestCase::new(records));
        match absent {
            Some(absent) => TestCase::incomplete(*image, case, absent),
            None => case.expect("an image is there for its records, or for those that are missing"),
        }
    };
    let unknown = missing.is_none().then(|| TestCase {
        name: "manifest.json".into(),
        message: "it is not known which images were asked for".into(),
        ..TestCase::error()
    });
    numbers.iter().map(case).chain(unknown).collect()
}

/// What is said about one image.
struct TestCase {
    name: String,
    seconds: f64,
    outcome: TestOutcome,
    kind: &'static str,
    message: String,
    /// A line per target.
    details: String,
}

impl TestCase {
    fn error() -> Self {
        Self {
            name: String::new(),
            seconds: 0.0,
            outcome: TestOutcome::Error,
            kind: "incomplete",
            message: String::new(),
            details: String::new(),
        }
    }

    /// Of an image some of whose records are missing, with what is said about the others.
    fn incomplete(image: usize, case: Option<Self>, absent: &[Key]) -> Self {
        let targets = absent.iter().filter_map(|key| key.target);
        let targets: Vec<String> = targets.map(|target| target.to_string()).collect();
        let name = format!("image {image}");
        let case = case.unwrap_or_else(|| Self { name, ..Self::error() });
        let message = format!("no finished record of: {}", targets.join(", "));
        Self { outcome: TestOutcome::Error, kind: "incomplete", message, ..case }
    }

    fn new(records: &[&AttackRecord]) -> Self {
        let first = records[0];
        let standing = ImageOutcome::of_image(records);
        let (outcome, kind) = match standing {
            ImageOutcome::Certified => (TestOutcome::Passes, "certified"),
            ImageOutcome::Undecided => (TestOutcome::Skipped, "unknown"),
            ImageOutcome::Attacked => (TestOutcome::Fails, "adversarial"),
            ImageOutcome::Misclassified => (TestOutcome::Fails, "misclassified"),
            ImageOutcome::Error => (TestOutcome::Error, "error"),
        };
        let targets = |verdict: Verdict| -> String {
            let of_verdict = records.iter().filter(|record| record.verdict == verdict);
            of_verdict.map(|record| record.target.to_string()).collect::<Vec<_>>().join(", ")
        };
        let message = match standing {
            ImageOutcome::Certified => String::new(),
            ImageOutcome::Undecided => format!("not excluded: {}", targets(Verdict::Unknown)),
            ImageOutcome::Attacked => {
                format!("{} can be made {}", first.predicted, targets(Verdict::Adversarial))
            }
            ImageOutcome::Misclassified => {
                let label = first.label.unwrap_or(first.predicted);
                format!("predicted as {}, labelled {label}", first.predicted)
            }
            ImageOutcome::Error => first.error.clone().unwrap_or_default(),
        };
        let mut name = format!("image {}", first.image);
        if let Some(file) = &first.name {
            name += &format!(" {file}");
        }
        // `sum()` of an empty list would be −0.
        let seconds = records.iter().fold(0.0, |sum, record| sum + record.stats.seconds);
        let details = records.iter().map(|record| detail(record)).collect();
        Self { name, seconds, outcome, kind, message, details }
    }

    fn write<W: Write>(&self, xml: &mut Writer<W>, suite: &str) -> io::Result<()> {
        let (name, class) = (fit(&self.name), fit(suite));
        let seconds = format!("{:.3}", self.seconds);
        let case = xml.create_element("testcase").with_attributes([
            ("classname", class.as_str()),
            ("name", name.as_str()),
            ("time", seconds.as_str()),
        ]);
        let element = match self.outcome {
            TestOutcome::Passes => return case.write_empty().map(|_| ()),
            TestOutcome::Fails => "failure",
            TestOutcome::Skipped => "skipped",
            TestOutcome::Error => "error",
        };
        let message = fit(&self.message);
        case.write_inner_content(|xml| {
            let said = [("type", self.kind), ("message", message.as_str())];
            let result = xml.create_element(element).with_attributes(said);
            result.write_text_content(BytesText::new(&fit(&self.details)))?;
            Ok(())
        })?;
        Ok(())
    }
}

/// `target 9: adversarial, margin 1.8032, bound 4.1681, distance 5.0000`
fn detail(record: &AttackRecord) -> String {
    let mut line = format!("target {}: {}", record.target, record.verdict);
    if record.error.is_some() {
        return line + "\n";
    }
    line += &format!(", margin {:.4}", record.margin);
    if let Some(bound) = record.upper_bound {
        line += &format!(", bound {bound:.4}");
    }
    line += &format!(", distance {:.4}", record.distance);
    if let Some(file) = &record.npy {
        line += &format!(", {file}");
    }
    line + "\n"
}

/// `rw-adv models/mnist_2x500.onnx l1 5`
fn suite_name(settings: &Fields) -> String {
    let known = ["model", "norm", "delta"].iter().filter_map(|field| settings.get(*field));
    // 5 rather than 5.0.
    let texts = known.map(|value| match value.as_f64() {
        Some(number) => number.to_string(),
        None => json::text(Some(value)),
    });
    fit(&["rw-adv".to_owned()].into_iter().chain(texts).collect::<Vec<_>>().join(" "))
}

/// The text without the characters that XML cannot hold.
fn fit(text: &str) -> String {
    let unfit = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    text.replace(unfit, "\u{FFFD}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::record;

    fn written(records: &[AttackRecord], settings: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, records, &serde_json::from_str(settings).unwrap(), Some(&[])).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_suite_by_hand() {
        let records = [
            record(0, 2, "robust", r#","seconds":0.5"#),
            record(3, 2, "unknown", r#","seconds":0.25,"upper_bound":2.0"#),
            record(3, 0, "robust", r#","seconds":0.25"#),
            record(4, 7, "adversarial", r#","margin":1.5,"npy":"adversarial/4_c1_w7.npy""#),
            record(5, 2, "robust", r#","label":8"#),
            record(6, 2, "unknown", r#","margin":null,"error":"gives inf for label 0""#),
        ];
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="rw-adv m.onnx l1 5" tests="5" failures="2" errors="1" skipped="1" time="1.000">
  <testsuite name="rw-adv m.onnx l1 5" tests="5" failures="2" errors="1" skipped="1" time="1.000">
    <testcase classname="rw-adv m.onnx l1 5" name="image 0" time="0.500"/>
    <testcase classname="rw-adv m.onnx l1 5" name="image 3" time="0.500">
      <skipped type="unknown" message="not excluded: 2">target 0: robust, margin -1.0000, distance 1.5000
target 2: unknown, margin -1.0000, bound 2.0000, distance 1.5000
</skipped>
    </testcase>
    <testcase classname="rw-adv m.onnx l1 5" name="image 4" time="0.000">
      <failure type="adversarial" message="1 can be made 7">target 7: adversarial, margin 1.5000, distance 1.5000, adversarial/4_c1_w7.npy
</failure>
    </testcase>
    <testcase classname="rw-adv m.onnx l1 5" name="image 5" time="0.000">
      <failure type="misclassified" message="predicted as 1, labelled 8">target 2: robust, margin -1.0000, distance 1.5000
</failure>
    </testcase>
    <testcase classname="rw-adv m.onnx l1 5" name="image 6" time="0.000">
      <error type="error" message="gives inf for label 0">target 2: unknown
</error>
    </testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(written(&records, r#"{"model":"m.onnx","norm":"l1","delta":5.0}"#), expected);
    }

    #[test]
    fn images_without_all_their_records_are_errors() {
        let records = [record(0, 2, "robust", ""), record(3, 2, "robust", "")];
        let missing = [(3, 5), (3, 6), (8, 1)];
        let missing = missing.map(|(image, target)| Key { image, target: Some(target) });
        let suite = |missing: Option<&[Key]>| {
            let mut out = Vec::new();
            write(&mut out, &records, &Fields::new(), missing).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = suite(Some(&missing));
        assert!(text.contains(r#"tests="3" failures="0" errors="2""#), "{text}");
        let error = r#"<error type="incomplete" message="no finished record of: 5, 6">"#;
        assert!(text.contains(error), "{text}");
        assert!(text.contains(r#"name="image 8""#), "{text}");
        let unknown = suite(None);
        assert!(
            unknown.contains(r#"errors="1""#) && unknown.contains("manifest.json"),
            "{unknown}"
        );
    }

    #[test]
    fn names_cannot_break_out() {
        let records = [record(0, 2, "robust", r#","name":"\"><x>&\u0007.png""#)];
        let text = written(&records, r#"{"model":"a<b"}"#);
        assert!(text.contains("name=\"image 0 &quot;&gt;&lt;x&gt;&amp;\u{FFFD}.png\""), "{text}");
        assert!(text.contains("rw-adv a&lt;b"), "{text}");
        assert!(written(&[], "{}").contains("tests=\"0\""));
    }
}
