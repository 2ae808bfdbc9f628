//! Two result directories side by side.

use std::io::{self, Write};

use crate::record::{ComparedNumber, RunComparison};

/// Settings that differ, numbers side by side, and what changed.
pub fn comparison(
    out: &mut impl Write,
    compared: &RunComparison,
    names: [&str; 2],
) -> io::Result<()> {
    let [a, b] = names;
    writeln!(out, "A  {a}\nB  {b}")?;
    for (title, a, b) in &compared.settings {
        writeln!(out, "{title}: {} in A, {} in B", brief(a), brief(b))?;
    }
    let [only_a, only_b] = compared.only;
    writeln!(out, "{} records in both, {only_a} only in A, {only_b} only in B", compared.both)?;
    writeln!(out, "\n{:<24} {:>11} {:>11} {:>11}", "", "A", "B", "B - A")?;
    for ComparedNumber { title, a, b, digits } in &compared.numbers {
        let told =
            |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.digits$}"));
        let change = a.zip(*b).map_or("-".into(), |(a, b)| format!("{:+.digits$}", b - a));
        writeln!(out, "{title:<24} {:>11} {:>11} {change:>11}", told(*a), told(*b))?;
    }
    if !compared.changes.is_empty() {
        let worse = compared.changes.iter().filter(|change| change.worse).count();
        let better = compared.changes.len() - worse;
        writeln!(out, "\n{} changed: {worse} worse, {better} better", compared.changes.len())?;
    }
    for change in &compared.changes {
        let mark = if change.worse { "worse " } else { "better" };
        writeln!(out, "{mark}  {}: A {}; B {}", change.subject, change.a, change.b)?;
    }
    compared.contradictions.iter().try_for_each(|both| writeln!(out, "contradiction: {both}"))
}

/// A text that fits beside another: checksums are cut.
fn brief(text: &str) -> String {
    const LONGEST: usize = 32;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
