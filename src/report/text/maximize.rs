//! What `maximize` prints.

use std::io::{self, Write};

use crate::record::{MaximizeRecord, Verdict};

/// A point with at most this many inputs is printed in full.
const FEW_INPUTS: usize = 16;

/// Writes the answer, how it was found, and what is proven.
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
    conditions(out, record)?;
    if record.stats.nodes > 0 {
        writeln!(
            out,
            "branching  {} nodes bounded, {} left open, {} splits deep",
            record.stats.nodes, record.stats.open_nodes, record.stats.depth
        )?;
    }
    writeln!(
        out,
        "search     {}: {} starts, {} regions, {} LPs in {:.2} s, best after {:.2} s; ended by {}",
        settings.method.name(),
        record.stats.starts,
        record.stats.regions,
        record.stats.lps,
        record.stats.seconds,
        record.stats.seconds_to_best,
        record.stats.stop.name()
    )
}

/// What the point has to keep besides its bounds.
fn conditions(out: &mut impl Write, record: &MaximizeRecord) -> io::Result<()> {
    if !record.integers.is_empty() {
        writeln!(out, "           whole numbers only: {}", input_ranges(&record.integers))?;
    }
    if record.constraint_count > 0 {
        writeln!(
            out,
            "           {} constraints, broken by at most {:.1e}",
            record.constraint_count, record.violation
        )?;
    }
    Ok(())
}

/// 2, 5, 6, 7 as `x2, x5..x7`, as files of constraints write it.
fn input_ranges(inputs: &[usize]) -> String {
    let runs = inputs.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, _, .., last] => format!("x{first}..x{last}"),
        _ => run.iter().map(|input| format!("x{input}")).collect::<Vec<_>>().join(", "),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_in_a_row_are_a_range() {
        assert_eq!(input_ranges(&[2, 5, 6, 7]), "x2, x5..x7");
        assert_eq!(input_ranges(&[0, 1, 3]), "x0, x1, x3");
    }
}
