//! The table of radii.

use std::io::{self, Write};

use crate::record::{Averages, RadiusRecord, RadiusSummary};
use crate::report::histogram::histogram;

/// The head of the table of radii.
pub fn header(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>6} {:>5} {:>9} {:>10} {:>10} {:>6} {:>7} {:>7}",
        "image", "label", "predicted", "certified", "attacked", "target", "ratio", "seconds"
    )
}

/// One line per image.
pub fn row(out: &mut impl Write, record: &RadiusRecord) -> io::Result<()> {
    let note = match &record.error {
        Some(error) => format!("  error: {error}"),
        None if record.misclassified => "  misclassified".into(),
        None => String::new(),
    };
    let or_dash = |text: Option<String>| text.unwrap_or("-".into());
    writeln!(
        out,
        "{:>6} {:>5} {:>9} {:>10.5} {:>10} {:>6} {:>7} {:>7.2}{note}",
        record.image,
        record.label.map_or("?".into(), |label| label.to_string()),
        record.predicted,
        record.certified_radius,
        or_dash(record.attack_radius.map(|radius| format!("{radius:.5}"))),
        or_dash(record.target.map(|target| target.to_string())),
        or_dash(record.ratio().map(|ratio| format!("{ratio:.2}"))),
        record.seconds,
    )
}

/// The lines below the table of radii, with a histogram.
pub fn summary(
    out: &mut impl Write,
    summary: &RadiusSummary,
    seconds: f64,
    skipped: usize,
) -> io::Result<()> {
    let RadiusSummary { asked, records, without_adversary, misclassified, .. } = summary;
    if summary.interrupted {
        writeln!(out, "interrupted: {records} of {asked} images were looked at")?;
    }
    write!(out, "{records} images in {seconds:.1} s")?;
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
