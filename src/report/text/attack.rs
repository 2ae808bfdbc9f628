//! The table of an attack.

use std::io::{self, Write};

use crate::record::{AttackRecord, AttackSummary};
use crate::report::paint::Paint;

/// The table's head.
pub fn header(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>6} {:>5} {:>9} {:>6} {:>11} {:>9} {:>9} {:>9} {:>6} {:>6} {:>7}",
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
pub fn row(out: &mut impl Write, record: &AttackRecord, paint: Paint) -> io::Result<()> {
    let label = record.label.map_or("?".into(), |l| l.to_string());
    let note = match &record.error {
        Some(error) => format!("  error: {error}"),
        None if record.label.is_some_and(|l| l != record.predicted) => "  misclassified".into(),
        None => String::new(),
    };
    let or_dash =
        |number: f64| if number.is_finite() { format!("{number:.4}") } else { "-".into() };
    writeln!(
        out,
        "{:>6} {:>5} {:>9} {:>6} {} {:>9} {:>9} {:>9.4} {:>6} {:>6} {:>7.2}{note}",
        record.image,
        label,
        record.predicted,
        record.target,
        paint.verdict(record.verdict, 11),
        or_dash(record.margin),
        record.upper_bound.map_or("-".into(), or_dash),
        record.distance,
        record.changed_pixels,
        record.stats.starts,
        record.stats.seconds,
    )
}

/// The lines below the table.
pub fn summary(
    out: &mut impl Write,
    summary: &AttackSummary,
    seconds: f64,
    skipped: usize,
) -> io::Result<()> {
    if summary.interrupted {
        writeln!(out, "interrupted: {} of {} were searched", summary.records, summary.asked)?;
    }
    let verdicts = summary.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}"));
    writeln!(
        out,
        "{} searched in {seconds:.1} s: {}; {} starts, {} regions, {} LPs",
        summary.records,
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
            if errors > 0 { format!(", {errors} errors") } else { String::new() }
        )?;
    }
    Ok(())
}
