//! The paper's claims, one row each, with its figure and ours.

use super::compare::{InstanceRow, MethodComparison};
use super::instances::NetworkSize;
use super::verdict::{MILP_SOLVERS, OURS, PRINTED};

/// A claim: in the paper, of its algorithm as printed here, and of ours.
pub struct ClaimRow {
    pub claim: String,
    pub paper: String,
    pub printed: String,
    pub ours: String,
}

impl ClaimRow {
    /// The same measured for both of our methods.
    fn of_both(claim: String, paper: &str, measure: impl Fn(&str) -> String) -> Self {
        Self { claim, paper: paper.to_owned(), printed: measure(PRINTED), ours: measure(OURS) }
    }
}

/// Claims about random networks.
pub fn of_random(results: &MethodComparison) -> Vec<ClaimRow> {
    let mut rows = Vec::new();
    if results.has("sample-mip") {
        let claim = "RW at least 1 % better than SM; SM than RW".to_owned();
        rows.push(ClaimRow::of_both(claim, "64.4 %; 12.2 %", |ours| {
            clear_shares(results, ours, "sample-mip")
        }));
    }
    for solver in solvers(results) {
        let claim = format!(
            "RW at least 1 % better than Gurobi (here {}); the solver than RW",
            label(solver)
        );
        rows.push(ClaimRow::of_both(claim, "55.1 %; 12.4 %", |ours| {
            clear_shares(results, ours, solver)
        }));
        let without = results.instances.iter().filter_map(|row| {
            let run = row.run(solver).filter(|run| run.points == Some(0))?;
            Some(
                run.group.parse::<NetworkSize>().map_or(run.group.clone(), |size| size.to_string()),
            )
        });
        let without: Vec<String> = without.collect();
        let counted = |row: &&InstanceRow| row.run(solver).is_some_and(|run| run.points.is_some());
        let run = results.instances.iter().filter(counted).count();
        rows.push(ClaimRow {
            claim: format!(
                "Gurobi (here {}) finds no feasible solution on wide and deep networks",
                label(solver)
            ),
            paper: "several points on the axis".to_owned(),
            printed: match run {
                0 => "not counted".to_owned(),
                _ => format!("{} of {run}{}", without.len(), sizes(&without)),
            },
            ours: "the same run".to_owned(),
        });
    }
    rows
}

/// Claims about the optimal adversary.
pub fn of_images(results: &MethodComparison) -> Vec<ClaimRow> {
    let mut rows = Vec::new();
    for solver in solvers(results) {
        let claim = format!(
            "Optimal adversary: RW at least 1 % better than Gurobi (here {}); the solver than RW",
            label(solver)
        );
        rows.push(ClaimRow::of_both(claim, "68 %; 30 %", |ours| {
            clear_shares(results, ours, solver)
        }));
        let claim = format!("Adversary found by RW and not by Gurobi (here {})", label(solver));
        rows.push(ClaimRow::of_both(claim, "10 %", |ours| {
            let pairs: Vec<(f64, f64)> =
                results.pairs(ours, solver).map(|(_, ours, theirs)| (ours, theirs)).collect();
            let only = pairs.iter().filter(|(ours, theirs)| *ours > 0.0 && *theirs <= 0.0).count();
            share(only, pairs.len())
        }));
    }
    rows
}

/// The table of all claims.
pub fn table(rows: &[ClaimRow]) -> String {
    let mut text = "| claim | paper | `paper` here | `rw` here |\n|---|---|---|---|\n".to_owned();
    for ClaimRow { claim, paper, printed, ours } in rows {
        text += &format!("| {claim} | {paper} | {printed} | {ours} |\n");
    }
    text
}

fn solvers(results: &MethodComparison) -> impl Iterator<Item = &'static str> {
    MILP_SOLVERS.into_iter().filter(|solver| results.has(solver))
}

fn label(solver: &str) -> &str {
    match solver {
        "milp" => "HiGHS",
        "gurobi" => "Gurobi",
        "scip" => "SCIP",
        other => other,
    }
}

/// How often the one and how often the other is better by 1 %.
fn clear_shares(results: &MethodComparison, a: &str, b: &str) -> String {
    let wins = results.win_counts(a, b);
    if wins.instances == 0 {
        return "not run".to_owned();
    }
    let (better, worse) =
        (share(wins.clear_wins, wins.instances), share(wins.clear_losses, wins.instances));
    format!("{better}; {worse} of {}", wins.instances)
}

fn share(count: usize, of: usize) -> String {
    format!("{:.1} %", 100.0 * count as f64 / of.max(1) as f64)
}

/// Sizes, each with how often it occurs.
fn sizes(all: &[String]) -> String {
    let mut counted: Vec<(&String, usize)> = Vec::new();
    for size in all {
        match counted.iter_mut().find(|(known, _)| *known == size) {
            Some((_, count)) => *count += 1,
            None => counted.push((size, 1)),
        }
    }
    let words: Vec<String> =
        counted.iter().map(|(size, count)| format!("{count} of {size}")).collect();
    if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) }
}
