//! The table of radii.

use std::io::{self, Write};

use super::labels::label_widths;
use crate::data::Classes;
use crate::record::{Averages, RadiusRecord, RadiusSummary};
use crate::report::histogram::histogram;
use crate::report::text::duration;

/// The head of the table of radii.
pub fn header(out: &mut impl Write, classes: &Classes) -> io::Result<()> {
    let [label, predicted, target] = label_widths(classes);
    writeln!(
        out,
        "{:>6} {:>label$} {:>predicted$} {:>10} {:>10} {:>target$} {:>7} {:>7}",
        "image", "label", "predicted", "certified", "attacked", "target", "ratio", "seconds"
    )
}

/// One line per image.
pub fn row(out: &mut impl Write, record: &RadiusRecord, classes: &Classes) -> io::Result<()> {
    let [label, predicted, target] = label_widths(classes);
    let note = match &record.error {
        Some(error) => format!("  error: {error}"),
        None if record.misclassified => "  misclassified".into(),
        None => String::new(),
    };
    let or_dash = |text: Option<String>| text.unwrap_or("-".into());
    writeln!(
        out,
        "{:>6} {:>label$} {:>predicted$} {:>10.5} {:>10} {:>target$} {:>7} {:>7.2}{note}",
        record.image,
        record.label.map_or("?".into(), |label| classes.name(label)),
        classes.name(record.predicted),
        record.certified_radius,
        or_dash(record.attack_radius.map(|radius| format!("{radius:.5}"))),
        or_dash(record.target.map(|target| classes.name(target).into_owned())),
        or_dash(record.ratio().map(|ratio| format!("{ratio:.2}"))),
        record.seconds,
    )
}

/// The lines below the table of radii, with a histogram.
pub fn summary(
    out: &mut impl Write,
    summary: &RadiusSummary,
    seconds: Option<f64>,
    skipped: usize,
) -> io::Result<()> {
    let RadiusSummary { asked, records, without_adversary, misclassified, .. } = summary;
    if summary.interrupted {
        writeln!(out, "interrupted: {records} of {asked} images were looked at")?;
    }
    write!(out, "{records} images{}", duration(seconds))?;
    if *without_adversary > 0 {
        write!(out, "; {without_adversary} without adversary")?;
    }
    if *misclassified > 0 {
        write!(out, "; {misclassified} misclassified")?;
    }
    if summary.errors > 0 {
        write!(out, "; {} without an answer, a logit is not finite", summary.errors)?;
    }
    writeln!(out)?;
    if skipped > 0 {
        writeln!(
            out,
            "{skipped} images left out: predicted as their target already, or no target named"
        )?;
    }
    for (name, averages) in [("certified", summary.certified), ("attacked", summary.attacked)] {
        if let Some(Averages { mean, median }) = averages {
            writeln!(out, "{name:<9} mean {mean:.5}, median {median:.5}")?;
        }
    }
    let (certified, attacked) = (&summary.certified_radii, &summary.attack_radii);
    histogram(out, &[("certified", certified), ("attacked", attacked)])
}
