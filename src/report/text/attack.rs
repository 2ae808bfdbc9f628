//! The table of an attack.

use std::io::{self, Write};

use super::labels::label_widths;
use crate::data::Classes;
use crate::record::{AttackRecord, AttackSummary};
use crate::report::paint::Paint;
use crate::report::text::{duration, finite};

/// What stands for a bound that says nothing.
const LOOSE: &str = ">100x";

/// The table's head.
pub fn header(out: &mut impl Write, classes: &Classes) -> io::Result<()> {
    let [label, predicted, target] = label_widths(classes);
    writeln!(
        out,
        "{:>6} {:>label$} {:>predicted$} {:>target$} {:>11} {:>9} {:>9} {:>9} {:>6} {:>6} {:>7}",
        "image",
        "label",
        "predicted",
        "target",
        "verdict",
        "margin",
        "bound",
        "distance",
        "pixels",
        "starts",
        "seconds"
    )
}

/// One line per record; a prediction that is not the label is marked.
pub fn row(
    out: &mut impl Write,
    record: &AttackRecord,
    paint: Paint,
    classes: &Classes,
) -> io::Result<()> {
    let [label, predicted, target] = label_widths(classes);
    let true_label = record.label.map_or("?".into(), |l| classes.name(l));
    let note = match &record.error {
        Some(error) => format!("  error: {error}"),
        None if record.label.is_some_and(|l| l != record.predicted) => "  misclassified".into(),
        None => String::new(),
    };
    writeln!(
        out,
        "{:>6} {:>label$} {:>predicted$} {:>target$} {} {:>9} {:>9} {:>9.4} {:>6} {:>6} {:>7.2}{note}",
        record.image,
        true_label,
        classes.name(record.predicted),
        classes.name(record.target),
        paint.verdict(record.verdict, 11),
        finite(record.margin),
        bound(record),
        record.distance,
        record.changed_pixels,
        record.stats.starts,
        record.stats.seconds,
    )
}

/// The bound, where it says something.
fn bound(record: &AttackRecord) -> String {
    match record.upper_bound {
        Some(_) if record.has_loose_bound() => LOOSE.into(),
        Some(bound) => finite(bound),
        None => "-".into(),
    }
}

/// What the mark in the column of bounds means, if it is there.
fn loose_bounds(out: &mut impl Write, count: usize) -> io::Result<()> {
    if count == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "bounds of {count} are {LOOSE}: over 100 times as far above the margin as the margin (or 1) is large, which says nothing"
    )
}

/// The lines below the table.
pub fn summary(
    out: &mut impl Write,
    summary: &AttackSummary,
    seconds: Option<f64>,
    skipped: usize,
) -> io::Result<()> {
    if summary.interrupted {
        writeln!(out, "interrupted: {} of {} were searched", summary.records, summary.asked)?;
    }
    let verdicts = summary.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}"));
    writeln!(
        out,
        "{} searched{}: {}; {} starts, {} regions, {} LPs",
        summary.records,
        duration(seconds),
        verdicts.collect::<Vec<_>>().join(", "),
        summary.starts,
        summary.regions,
        summary.lps
    )?;
    if summary.nodes > 0 {
        writeln!(
            out,
            "{} decided by branching, {} optimal; {} nodes",
            summary.by_branching, summary.optimal, summary.nodes
        )?;
    }
    loose_bounds(out, summary.loose_bounds)?;
    if skipped > 0 {
        writeln!(
            out,
            "{skipped} images not searched: predicted as their target already, or no target named"
        )?;
    }
    let errors = summary.images.errors;
    if errors > 0 {
        writeln!(
            out,
            "{errors} images without an answer: a logit is not finite; they count as not certified"
        )?;
    }
    accuracy(out, summary)
}

/// How many images are predicted as labelled, and stay so.
fn accuracy(out: &mut impl Write, summary: &AttackSummary) -> io::Result<()> {
    if summary.labelled > 0 {
        let share = 100.0 * summary.correct as f64 / summary.labelled as f64;
        writeln!(
            out,
            "{} of {} predicted as labelled ({share:.1} %)",
            summary.correct, summary.labelled
        )?;
    }
    let images = &summary.images;
    if summary.labelled == images.all() && images.all() > 0 {
        let share = |count: usize| 100.0 * count as f64 / images.all() as f64;
        let most = images.certified + images.undecided;
        writeln!(
            out,
            "robust accuracy against these targets: {:.1} % certified, {:.1} % at most ({} certified, {} undecided, {} attacked, {} misclassified{})",
            share(images.certified),
            share(most),
            images.certified,
            images.undecided,
            images.attacked,
            images.misclassified,
            if images.errors > 0 { format!(", {} errors", images.errors) } else { String::new() }
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Summarize, record};

    #[test]
    fn a_bound_that_says_nothing_is_shown_as_such_and_explained() {
        let loose =
            record(0, 2, "unknown", r#","margin":0.76,"upper_bound":593661.0,"gap":593660.24"#);
        let wide = record(1, 2, "unknown", r#","margin":0.76,"upper_bound":60.0,"gap":59.24"#);
        assert!(loose.has_loose_bound() && !wide.has_loose_bound());
        assert_eq!([bound(&loose), bound(&wide)], [LOOSE, "60.0000"]);
        let mut out = Vec::new();
        summary(&mut out, &AttackSummary::of(&[loose, wide], 2, false), Some(1.0), 0)
            .expect("written");
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("bounds of 1 are >100x"), "{text}");
    }
}
