//! A run as a whole: what it would do, how far it is.

use std::io::{self, Write};

use crate::record::json::{self, Value};
use crate::record::{Plan, setting_text};

/// How many records of a continued run were finished before, of so many that it has now.
pub fn continued(out: &mut impl Write, finished: usize, records: usize) -> io::Result<()> {
    match finished {
        0 => Ok(()),
        _ if finished == records => {
            writeln!(out, "nothing to do: all {finished} were finished before")
        }
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
    if settings.contains_key("model") {
        let widths = settings.get("widths").and_then(Value::as_array);
        let widths: Vec<String> = widths.into_iter().flatten().map(Value::to_string).collect();
        writeln!(out, "model     {} ({})", told("model"), widths.join(" -> "))?;
        writeln!(out, "          SHA-256 {}", told("model_sha256"))?;
    }
    if settings.contains_key("images") {
        writeln!(out, "data      {}", told("data"))?;
        writeln!(out, "          SHA-256 of the images asked for {}", told("data_sha256"))?;
        let images = json::length(settings, "images");
        writeln!(out, "images    {items} of {images} asked for")?;
    }
    let others = settings.iter().filter(|(name, _)| !TOLD.contains(&name.as_str()));
    let mut others: Vec<_> = others.filter_map(|(name, value)| setting_text(name, value)).collect();
    others.sort();
    for (place, (_, name, text)) in others.iter().enumerate() {
        let title = if place == 0 { "settings" } else { "" };
        writeln!(out, "{title:<9} {name}: {text}")?;
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
