//! Tables for people.

use std::io::{self, Write};

use super::histogram::histogram;
use super::paint::Paint;
use crate::record::json::{self, Value};
use crate::record::{AttackRecord, AttackSummary, MaximizeRecord, Plan, Verdict};
use crate::record::{Averages, RadiusRecord, RadiusSummary};
use crate::record::{InspectedNode, Inspection, LayerSize, NodeRole};

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
    let wrong = record.label.is_some_and(|l| l != record.predicted);
    writeln!(
        out,
        "{:>6} {:>5} {:>9} {:>6} {} {:>9.4} {:>9} {:>9.4} {:>6} {:>6} {:>7.2}{}",
        record.image,
        label,
        record.predicted,
        record.target,
        paint.verdict(record.verdict, 11),
        record.margin,
        record.upper_bound.map_or("-".into(), |bound| format!("{bound:.4}")),
        record.distance,
        record.changed_pixels,
        record.starts,
        record.seconds,
        if wrong { "  misclassified" } else { "" }
    )
}

/// How many records a run that was continued has not made itself.
pub fn continued(out: &mut impl Write, finished: usize) -> io::Result<()> {
    match finished {
        0 => Ok(()),
        _ => writeln!(out, "continued: {finished} were finished before, and count below"),
    }
}

/// How much of a run is done.
pub fn status(out: &mut impl Write, records: usize, asked: usize) -> io::Result<()> {
    let verdict = if records < asked { "incomplete" } else { "complete" };
    writeln!(out, "{verdict}: {records} of {asked} records")
}

/// Shards as `sbatch --array=` takes them, or one a line.
pub fn shards(out: &mut impl Write, shards: &[usize], lines: bool) -> io::Result<()> {
    match shards {
        [] => Ok(()),
        _ if lines => shards.iter().try_for_each(|shard| writeln!(out, "{shard}")),
        _ => writeln!(out, "{}", ranges(shards)),
    }
}

/// Ascending numbers the way `sbatch --array=` takes them: `1-3,7`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let parts = runs.map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Settings with lines of their own in a plan.
const TOLD: [&str; 6] = ["model", "model_sha256", "widths", "data", "data_sha256", "images"];

/// What a run would do.
pub fn plan(out: &mut impl Write, plan: &Plan) -> io::Result<()> {
    let Plan { settings, items, asked, finished, .. } = plan;
    let told = |name: &str| json::text(settings.get(name));
    let widths = settings.get("widths").and_then(Value::as_array);
    let widths: Vec<String> = widths.into_iter().flatten().map(Value::to_string).collect();
    writeln!(out, "model     {} ({})", told("model"), widths.join(" -> "))?;
    writeln!(out, "          SHA-256 {}", told("model_sha256"))?;
    if settings.contains_key("images") {
        writeln!(out, "data      {}", told("data"))?;
        writeln!(out, "          SHA-256 of the images asked for {}", told("data_sha256"))?;
        let images = json::length(settings, "images");
        writeln!(out, "images    {items} of {images} asked for")?;
    }
    let others = settings.iter().filter(|(name, _)| !TOLD.contains(&name.as_str()));
    for (place, (name, value)) in others.enumerate() {
        let title = if place == 0 { "settings" } else { "" };
        writeln!(out, "{title:<9} {name} {}", json::brief(Some(value)))?;
    }
    writeln!(out, "threads   {}", plan.threads)?;
    if let Some(shard) = &plan.shard {
        writeln!(out, "shard     {shard}")?;
    }
    match &plan.out {
        Some(path) => writeln!(out, "out       {}", path.display())?,
        None => writeln!(out, "out       nothing is kept without --out")?,
    }
    writeln!(out, "records   {} to make, {finished} of {asked} are finished", asked - finished)
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
            "robust accuracy against these targets: {:.1} % certified, {:.1} % at most ({} certified, {} undecided, {} attacked, {} misclassified)",
            share(images.certified),
            share(most),
            images.certified,
            images.undecided,
            images.attacked,
            images.misclassified
        )?;
    }
    Ok(())
}

/// The head of the table of radii.
pub fn radius_header(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>6} {:>5} {:>9} {:>10} {:>10} {:>6} {:>7} {:>7}",
        "image", "label", "predicted", "certified", "attacked", "target", "ratio", "seconds"
    )
}

/// One line per image.
pub fn radius_row(out: &mut impl Write, record: &RadiusRecord) -> io::Result<()> {
    let or_dash = |text: Option<String>| text.unwrap_or("-".into());
    writeln!(
        out,
        "{:>6} {:>5} {:>9} {:>10.5} {:>10} {:>6} {:>7} {:>7.2}{}",
        record.image,
        record.label.map_or("?".into(), |label| label.to_string()),
        record.predicted,
        record.certified_radius,
        or_dash(record.attack_radius.map(|radius| format!("{radius:.5}"))),
        or_dash(record.target.map(|target| target.to_string())),
        or_dash(record.ratio().map(|ratio| format!("{ratio:.2}"))),
        record.seconds,
        if record.misclassified { "  misclassified" } else { "" }
    )
}

/// The lines below the table of radii, with a histogram.
pub fn radius_summary(
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

/// A point of at most so many inputs is printed whole.
const FEW_INPUTS: usize = 16;

/// What `maximize` prints.
pub fn maximum(out: &mut impl Write, record: &MaximizeRecord) -> io::Result<()> {
    let MaximizeRecord { settings, point, .. } = record;
    writeln!(out, "objective  {}", settings.objective)?;
    if let (Some(verdict), Some(threshold)) = (record.verdict, settings.threshold) {
        let meaning = match verdict {
            Verdict::Adversarial => "an input exceeds",
            Verdict::Robust => "no input exceeds",
            Verdict::Unknown => "it is open whether an input exceeds",
        };
        writeln!(out, "verdict    {verdict}: {meaning} {threshold}")?;
    }
    writeln!(
        out,
        "value      {:.6} ({:.6} when the file is run in f32)",
        record.value, record.value_f32
    )?;
    match (record.upper_bound, record.gap) {
        (Some(bound), Some(gap)) => {
            let optimal = if record.optimal { ": optimal" } else { "" };
            writeln!(out, "bound      {bound:.6} certified, gap {gap:.6}{optimal}")?;
        }
        _ if record.verdict == Some(Verdict::Adversarial) => {
            writeln!(out, "bound      none: an input above the threshold is enough")?;
        }
        _ => writeln!(out, "bound      none: numbers overflow")?,
    }
    if let Some(claimed) = record.claimed_bound {
        writeln!(out, "claimed    {claimed:.6} by branch and bound, not certified")?;
    }
    let between = point.len() - record.at_lower - record.at_upper;
    writeln!(
        out,
        "point      {} inputs: {} at the lower bound, {} at the upper, {between} between",
        point.len(),
        record.at_lower,
        record.at_upper
    )?;
    if point.len() <= FEW_INPUTS {
        for (input, x) in point.iter().enumerate() {
            writeln!(out, "           x{input} = {x}")?;
        }
    }
    if record.constraint_count > 0 {
        writeln!(
            out,
            "           {} constraints, broken by at most {:.1e}",
            record.constraint_count, record.violation
        )?;
    }
    if record.nodes > 0 {
        writeln!(
            out,
            "branching  {} parts bounded, {} left open, {} divisions deep",
            record.nodes, record.open_nodes, record.depth
        )?;
    }
    writeln!(
        out,
        "search     {}: {} starts, {} regions, {} LPs in {:.2} s, best after {:.2} s; ended by {}",
        settings.method.name(),
        record.starts,
        record.regions,
        record.lps,
        record.seconds,
        record.seconds_to_best,
        record.stop.name()
    )
}

/// What `inspect` prints.
pub fn inspection(out: &mut impl Write, inspection: &Inspection) -> io::Result<()> {
    let Inspection { layers, nodes, check, .. } = inspection;
    writeln!(out, "{}", inspection.model)?;
    writeln!(out, "  sha-256     {}", inspection.sha256)?;
    writeln!(out, "  opset       {}", inspection.opset)?;
    writeln!(out, "  input       {}", joined(&inspection.input_dims, " x "))?;
    writeln!(out, "  network     {}", joined(&inspection.widths, " -> "))?;
    writeln!(out, "  parameters  {}, {} ReLUs", inspection.parameters, inspection.relus)?;
    for (layer, LayerSize { inputs, outputs }) in layers.iter().enumerate() {
        let relu = if layer + 1 < layers.len() { " + ReLU" } else { "" };
        let folded = names(nodes, NodeRole::Affine(layer));
        let folded = if folded.is_empty() { "identity".into() } else { folded };
        writeln!(out, "  layer {layer}     {inputs} -> {outputs}{relu}, from {folded}")?;
    }
    for (title, role) in [("layout     ", NodeRole::Layout), ("dropped    ", NodeRole::Dropped)] {
        let found = names(nodes, role);
        if !found.is_empty() {
            writeln!(out, "  {title} {found}")?;
        }
    }
    writeln!(
        out,
        "  check       largest difference to tract {:.1e} on {} inputs ({:.0} % of what f32 rounding explains)",
        check.largest_difference,
        check.inputs,
        100.0 * check.largest_fraction
    )
}

fn joined(numbers: &[usize], between: &str) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(between)
}

/// The nodes of a role, as `fc1 (Gemm), bn (BatchNormalization)`.
fn names(nodes: &[InspectedNode], role: NodeRole) -> String {
    let nodes = nodes.iter().filter(|node| node.role == role);
    nodes.map(|node| format!("{} ({})", node.node, node.op)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_what_slurm_takes() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
    }
}
