//! What a comparison comes down to: wins, ties and losses of our method.

use super::compare::MethodComparison;

/// The method that is compared with all others.
pub const OURS: &str = "rw";

/// The paper's algorithm as printed.
pub const PRINTED: &str = "paper";

/// The methods that stand where the paper has Gurobi.
pub const MILP_SOLVERS: [&str; 3] = ["milp", "gurobi", "scip"];

/// What branch and bound claims is optimal is reached when no more than this is missing.
const OPTIMUM: f64 = 1e-6;

/// The other methods, if ours was run at all.
pub fn others(results: &MethodComparison) -> Vec<String> {
    if !results.methods.iter().any(|method| method == OURS) {
        return Vec::new();
    }
    results.methods.iter().filter(|method| *method != OURS).cloned().collect()
}

/// The sentences that the comparison comes down to.
pub fn sentences(results: &MethodComparison) -> Vec<String> {
    let mut lines = Vec::new();
    for other in others(results) {
        let wins = results.win_counts(OURS, &other);
        lines.push(format!(
            "{OURS} against {other}: better on {}, equal on {}, worse on {} of {} (by 1 % or more: better on {}, worse on {})",
            wins.wins, wins.ties, wins.losses, wins.instances, wins.clear_wins, wins.clear_losses
        ));
    }
    if !lines.is_empty() {
        let ours = results.instances.iter().filter(|row| row.run(OURS).is_some()).count();
        let losses = results.losses(OURS);
        let good = ours - losses.len();
        lines.push(format!(
            "{OURS} is within 0.1 % of the best of all, or the best, on {good} of {ours} instances ({:.1} %){}",
            100.0 * good as f64 / ours.max(1) as f64,
            match losses.first() {
                Some((row, gain)) => format!("; at worst {:.2} % below ({})", -100.0 * gain, row.name),
                None => String::new(),
            }
        ));
    }
    let (reached, claimed) = optima(results);
    if claimed > 0 {
        lines.push(format!(
            "{OURS} reaches {reached} of the {claimed} optima that branch and bound claims to have found"
        ));
    }
    lines
}

/// How many optima that branch and bound claims our method reaches, and how many there are.
fn optima(results: &MethodComparison) -> (usize, usize) {
    let claimed = results.instances.iter().filter_map(|row| {
        let optimum = row.run("milp").filter(|run| run.claimed_optimal)?.value;
        Some(row.value(OURS)? >= optimum - OPTIMUM * optimum.abs().max(1.0))
    });
    let claimed: Vec<bool> = claimed.collect();
    (claimed.iter().filter(|reached| **reached).count(), claimed.len())
}
