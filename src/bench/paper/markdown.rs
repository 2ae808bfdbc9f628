//! `REPORT.md`: a comparison in words and tables.

use super::compare::{CLEAR, MethodComparison, TIE};
use super::figures::NamedFigure;
use super::method_run::MethodRun;
use super::store::PaperManifest;
use super::verdict::{OURS, others, sentences};

/// Local searches per hour in Table 1 of the paper, by size. Only this one is known to us: about 600 s a start.
const PAPER_PER_HOUR: [(&str, f64); 1] = [("1000x2x500", 6.0)];

/// The whole report.
pub fn report(
    manifest: &PaperManifest,
    results: &MethodComparison,
    figures: &[NamedFigure],
) -> String {
    let parts = [
        introduction(manifest, results),
        wins(results),
        losses(results),
        rates(manifest, results),
        list_figures(figures),
    ];
    parts.concat()
}

fn introduction(manifest: &PaperManifest, results: &MethodComparison) -> String {
    let PaperManifest { experiment, seconds, version, settings, .. } = manifest;
    let mut text = format!(
        "# Experiment `{experiment}`, {seconds} s for each method and instance\n\n\
        rw-adv {version}; {} instances; one core for each run, neuron bounds included in its time. \
        Values are those of the network's own forward pass (f64), whatever a solver claims.\n\n",
        results.instances.len()
    );
    for (key, value) in settings {
        text += &format!("- `{key}` {value}\n");
    }
    text
}

fn wins(results: &MethodComparison) -> String {
    let mut text = format!(
        "\n## Wins, ties, losses\n\n\
        A tie is a difference of at most {} %, a clear win one of at least {} %, relative to the other's value.\n\n\
        | against | better by 1 % | better | equal | worse | worse by 1 % |\n\
        |---|---|---|---|---|---|\n",
        100.0 * TIE,
        100.0 * CLEAR
    );
    for other in others(results) {
        let wins = results.win_counts(OURS, &other);
        text += &format!(
            "| {other} | {} | {} | {} | {} | {} |\n",
            wins.clear_wins, wins.wins, wins.ties, wins.losses, wins.clear_losses
        );
    }
    text.push('\n');
    for line in sentences(results) {
        text += &format!("- {line}\n");
    }
    text
}

fn losses(results: &MethodComparison) -> String {
    let losses = results.losses(OURS);
    if losses.is_empty() {
        return String::new();
    }
    let mut text = "\n## Where rw is not the best\n\n\
        | instance | rw | best | of | below by |\n\
        |---|---|---|---|---|\n"
        .to_owned();
    for (row, gain) in losses {
        let best = row.best();
        let whose = results.methods.iter().find(|m| row.value(m) == Some(best));
        text += &format!(
            "| {} | {:.6} | {best:.6} | {} | {:.2} % |\n",
            row.name,
            row.value(OURS).unwrap_or(f64::NAN),
            whose.map_or("", String::as_str),
            -100.0 * gain
        );
    }
    text
}

fn rates(manifest: &PaperManifest, results: &MethodComparison) -> String {
    let seconds = manifest.seconds;
    let mut text = format!(
        "\n## Table 1: finished local searches per hour\n\n\
        Mean over the instances of a size, as finished in {seconds} s on one core and scaled to an hour. What counts as one: \
        a walk that ends where no neighbour is better (rw, paper), a sampled region and all MILPs that follow (sample-mip), \
        a proof (milp), a run of 100 iterations (apgd; for a box, an ascent with its perturbations), an ascent (frank-wolfe).\n\n"
    );
    let with_paper = results.groups().iter().any(|group| paper_per_hour(group).is_some());
    let (head, rule) =
        if with_paper { (" the paper's RW | rw / paper's |", "---|---|") } else { ("", "") };
    text += &format!("| size | {} |{head}\n", results.methods.join(" | "));
    text += &format!("|---|{}{rule}\n", "---|".repeat(results.methods.len()));
    for group in results.groups() {
        let rates: Vec<f64> = results
            .methods
            .iter()
            .map(|method| per_hour(results, group, method, seconds))
            .collect();
        let cells: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
        let ours = results.methods.iter().position(|m| m == OURS).map(|k| rates[k]);
        let paper = match (with_paper, paper_per_hour(group), ours) {
            (false, ..) => String::new(),
            (_, Some(theirs), Some(ours)) => format!(" about {theirs} | {:.0} |", ours / theirs),
            (_, Some(theirs), None) => format!(" about {theirs} | |"),
            (_, None, _) => " | |".to_owned(),
        };
        text += &format!("| {group} | {} |{paper}\n", cells.join(" | "));
    }
    if with_paper {
        text += "\nThe paper (Tong, Cai, Serra 2024) gave every method an hour, with Gurobi as the solver; \
            of its counts only the one shown was at hand when this was written.\n";
    }
    text
}

fn list_figures(figures: &[NamedFigure]) -> String {
    let mut text = "\n## Figures\n\n".to_owned();
    for NamedFigure { name, caption, .. } in figures {
        text += &format!("![{caption}]({name}.png)\n\n`{name}.svg`, `{name}.png`: {caption}.\n\n");
    }
    text + "`instances.csv` holds every value; `runs.jsonl` also when each was reached.\n"
}

fn paper_per_hour(group: &str) -> Option<f64> {
    PAPER_PER_HOUR.iter().find(|(size, _)| *size == group).map(|(_, rate)| *rate)
}

fn per_hour(results: &MethodComparison, group: &str, method: &str, seconds: f64) -> f64 {
    let of_group = results.instances.iter().filter(|row| row.group == group);
    let runs: Vec<&MethodRun> = of_group.filter_map(|row| row.run(method)).collect();
    let finished: usize = runs.iter().map(|run| run.finished).sum();
    finished as f64 / runs.len().max(1) as f64 * 3600.0 / seconds
}
