//! `REPORT.md`: a comparison in words and tables.

use super::compare::{CLEAR, MethodComparison, TIE};
use super::store::PaperManifest;
use super::table1;
use super::verdict::{OURS, others, sentences};

/// A figure under the name of its files, and what it shows.
pub struct FigureEntry {
    pub name: String,
    pub caption: String,
}

/// The whole report.
pub fn report(
    manifest: &PaperManifest,
    results: &MethodComparison,
    figures: &[FigureEntry],
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
    let clock = match results.core_share() {
        Some(share) => format!(
            "CPU seconds of one thread, neuron bounds included; the threads got {:.0} % of a core while they worked",
            100.0 * share
        ),
        None => "seconds on one core of an idle machine, neuron bounds included".to_owned(),
    };
    let mut text = format!(
        "# Experiment `{experiment}`, {seconds} s for each method and instance\n\n\
        rw-adv {version}; {} instances; each method has {seconds} {clock}. \
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
        "\n## Finished local searches per hour\n\n\
        Mean over the instances of a size, as finished in {seconds} s and scaled to an hour. What counts as one: \
        a walk that ends where no neighbour is better, or a climb that leads into an earlier one (rw), a walk (paper), a sampled region and all MILPs \
        that follow (sample-mip), a proof (milp and other MILP solvers), a run of 100 iterations (apgd; for a box, an ascent with its \
        perturbations), an ascent (frank-wolfe).\n\n"
    );
    text += &format!("| size | {} |\n", results.methods.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(results.methods.len()));
    for group in results.groups() {
        let rate = |method: &String| table1::per_hour(results, group, method, seconds);
        let cells = results.methods.iter().map(rate);
        let cells: Vec<String> =
            cells.map(|rate| rate.map_or("–".to_owned(), |rate| format!("{rate:.0}"))).collect();
        text += &format!("| {group} | {} |\n", cells.join(" | "));
    }
    let of_the_paper = |group: &&str| group.parse().ok().and_then(table1::paper_counts).is_some();
    if results.groups().iter().any(of_the_paper) {
        text += "\n### Beside Table 1 of the paper\n\n\
            The paper had 10 cores, Gurobi and an hour for each network; here it is one thread and HiGHS, scaled to an hour.\n\n";
        text += &table1::table(results, seconds);
    }
    text
}

fn list_figures(figures: &[FigureEntry]) -> String {
    let mut text = "\n## Figures\n\n".to_owned();
    for FigureEntry { name, caption } in figures {
        text += &format!("![{caption}]({name}.png)\n\n`{name}.svg`, `{name}.png`: {caption}.\n\n");
    }
    text + "`instances.csv` holds every value; `runs.jsonl` also when each was reached.\n"
}
