//! Table 1 of the paper, finished local searches per hour, with our counts beside the paper's.

use super::compare::MethodComparison;
use super::instances::NetworkSize;
use super::method_run::MethodRun;
use super::verdict::{OURS, PRINTED};

/// The sampling method, the paper's SM.
const SAMPLING: &str = "sample-mip";

/// What the paper counted in an hour, mean over the networks of a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperCounts {
    pub rw: f64,
    pub sm: f64,
}

/// Depth, width, then RW and SM for 10, 100 and 1000 inputs.
type CountsOfSize = (usize, usize, [(f64, f64); 3]);

/// Table 1 of Tong, Cai and Serra 2024.
const COUNTS: [CountsOfSize; 6] = [
    (1, 100, [(2882.0, 2562.2), (1038.4, 548.0), (134.6, 100.2)]),
    (1, 500, [(174.8, 165.4), (80.0, 4.4), (16.2, 1.0)]),
    (2, 100, [(429.2, 230.4), (331.0, 39.8), (55.8, 11.8)]),
    (2, 500, [(10.0, 2.8), (25.4, 1.0), (6.0, 1.0)]),
    (3, 100, [(421.8, 197.0), (204.0, 18.2), (33.8, 4.2)]),
    (3, 500, [(11.5, 2.0), (15.0, 1.0), (3.0, 1.0)]),
];

/// The paper's counts for a size, if it has them.
pub fn paper_counts(size: NetworkSize) -> Option<PaperCounts> {
    let column = [10, 100, 1000].iter().position(|&inputs| inputs == size.inputs)?;
    let of_size = |row: &&CountsOfSize| (row.0, row.1) == (size.layers, size.width);
    let (rw, sm) = COUNTS.iter().find(of_size)?.2[column];
    Some(PaperCounts { rw, sm })
}

/// Local searches of a method that were finished, per hour, mean over the instances of a group; `None` if it was not run.
pub fn per_hour(
    results: &MethodComparison,
    group: &str,
    method: &str,
    seconds: f64,
) -> Option<f64> {
    let of_group = results.instances.iter().filter(|row| row.group == group);
    let runs: Vec<&MethodRun> = of_group.filter_map(|row| row.run(method)).collect();
    let finished: usize = runs.iter().map(|run| run.finished).sum();
    (!runs.is_empty()).then(|| finished as f64 / runs.len() as f64 * 3600.0 / seconds)
}

/// The table: the paper's counts, ours, and ratios.
pub fn table(results: &MethodComparison, seconds: f64) -> String {
    let mut text = "| size | paper: RW | `paper` here | × | `rw` here | × | paper: SM | `sample-mip` here | × | RW : SM, paper | `paper` : `sample-mip` | `rw` : `sample-mip` |\n"
        .to_owned();
    text += &format!("|{}\n", "---|".repeat(12));
    for group in results.groups() {
        let counts = group.parse().ok().and_then(paper_counts);
        let of = |method| per_hour(results, group, method, seconds);
        let (printed, ours, sampling) = (of(PRINTED), of(OURS), of(SAMPLING));
        let (rw, sm) = (counts.map(|counts| counts.rw), counts.map(|counts| counts.sm));
        let cells = [
            number(rw, 1),
            number(printed, 0),
            ratio(printed, rw),
            number(ours, 0),
            ratio(ours, rw),
            number(sm, 1),
            number(sampling, 0),
            ratio(sampling, sm),
            ratio(rw, sm),
            ratio(printed, sampling),
            ratio(ours, sampling),
        ];
        text += &format!("| {group} | {} |\n", cells.join(" | "));
    }
    text
}

/// The smallest ratio of ours to the paper's RW among sizes of this width or more, and the size.
pub fn smallest_ratio(
    results: &MethodComparison,
    width: usize,
    seconds: f64,
) -> Option<(f64, String)> {
    let wide = results.groups().into_iter().filter_map(|group| {
        let size: NetworkSize = group.parse().ok()?;
        let theirs = paper_counts(size).filter(|_| size.width >= width)?.rw;
        Some((per_hour(results, group, OURS, seconds)? / theirs, group.to_owned()))
    });
    wide.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
}

/// A ratio with two digits or more; ∞ where nothing was finished.
fn ratio(a: Option<f64>, b: Option<f64>) -> String {
    match (a, b) {
        (Some(a), Some(b)) if b > 0.0 => {
            let ratio = a / b;
            if ratio >= 10.0 { format!("{ratio:.0}") } else { format!("{ratio:.2}") }
        }
        (Some(a), Some(_)) if a > 0.0 => "∞".to_owned(),
        _ => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_has_counts_for_all_its_sizes() {
        for size in NetworkSize::of_the_paper() {
            let PaperCounts { rw, sm } = paper_counts(size).expect("in Table 1");
            assert!(rw >= sm && sm >= 1.0, "{size}");
        }
        let size = "1000x2x500".parse().expect("a size");
        assert_eq!(paper_counts(size), Some(PaperCounts { rw: 6.0, sm: 1.0 }));
        assert_eq!(paper_counts("5x1x20".parse().expect("a size")), None);
    }

    #[test]
    fn ratios_are_short() {
        assert_eq!(ratio(Some(480.0), Some(6.0)), "80");
        assert_eq!(ratio(Some(1.0), Some(3.0)), "0.33");
        assert_eq!(ratio(Some(1.0), Some(0.0)), "∞");
        assert_eq!(ratio(Some(0.0), Some(0.0)), "–");
        assert_eq!(ratio(None, Some(1.0)), "–");
    }
}
