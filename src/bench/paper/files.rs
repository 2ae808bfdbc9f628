//! What a comparison leaves behind: `instances.csv`, figures, and `REPORT.md` that states wins, ties and losses.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use rw_adv::report::figure::{Curves, Drawing, Scatter, Series};

use super::compare::{CLEAR, Results, TIE, TableRow, gain};
use super::instances::Size;
use super::runs::{Manifest, Run};

/// The method that is compared with all others.
const OURS: &str = "rw";

/// What branch and bound claims is optimal is reached when no more than this is missing.
const OPTIMUM: f64 = 1e-6;

/// Local searches per hour in Table 1 of the paper, by size. Only this one is known to us: about 600 s a start.
const PAPER_PER_HOUR: [(&str, f64); 1] = [("1000x2x500", 6.0)];

/// Points of a curve over time.
const CURVE_POINTS: usize = 200;

/// Writes all files.
pub fn write(directory: &Path, manifest: &Manifest, results: &Results) -> Result<()> {
    let store = |name: &str, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| format!("{}", path.display()))
    };
    store("instances.csv", csv(results))?;
    let figures = figures(directory, manifest, results)?;
    store("REPORT.md", report(manifest, results, &figures))
}

/// Writes `name.svg` and `name.png`.
fn write_figure(figure: &Drawing, directory: &Path, name: &str) -> Result<()> {
    let store = |end: &str, bytes: io::Result<Vec<u8>>| {
        // A name may have dots of its own, as in `delta-0.5`.
        let path = directory.join(format!("{name}.{end}"));
        let written = bytes.and_then(|bytes| fs::write(&path, bytes));
        written.with_context(|| format!("{}: cannot write", path.display()))
    };
    store("svg", figure.svg().map(String::into_bytes))?;
    store("png", figure.png())
}

/// The counts that matter, for the terminal.
pub fn summary(out: &mut impl io::Write, results: &Results) -> io::Result<()> {
    for line in verdict(results) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn csv(results: &Results) -> String {
    let mut text = String::from(
        "instance,group,method,value,seconds,seconds_to_best,starts,finished,regions,lps,iterations,claimed_bound,claimed_optimal\n",
    );
    for (row, method) in all(results) {
        let Some(run) = row.run(method) else { continue };
        let bound = run.claimed_bound.map(|bound| bound.to_string()).unwrap_or_default();
        let Run { value, seconds, seconds_to_best, starts, finished, .. } = run;
        let Run { regions, lps, iterations, claimed_optimal, .. } = run;
        writeln!(
            text,
            "{},{},{method},{value},{seconds:.3},{seconds_to_best:.3},{starts},{finished},{regions},{lps},{iterations},{bound},{claimed_optimal}",
            row.name, row.group
        )
        .expect("a string takes all text");
    }
    text
}

fn all<'a, 'r>(results: &'a Results<'r>) -> impl Iterator<Item = (&'a TableRow<'r>, &'a String)> {
    let methods = &results.methods;
    results.instances.iter().flat_map(move |row| methods.iter().map(move |method| (row, method)))
}

/// The other methods, if ours was run at all.
fn others(results: &Results) -> Vec<String> {
    if !results.methods.iter().any(|method| method == OURS) {
        return Vec::new();
    }
    results.methods.iter().filter(|method| *method != OURS).cloned().collect()
}

/// What a value counts in a curve.
type Height<'h> = &'h dyn Fn(&TableRow, f64) -> f64;

/// Draws everything; gives the names of the figures and what they show.
fn figures(
    directory: &Path,
    manifest: &Manifest,
    results: &Results,
) -> Result<Vec<(String, String)>> {
    let random = manifest.experiment == "random";
    let mut drawn = Vec::new();
    let mut families: Vec<String> = results.instances.iter().map(family_of).collect();
    families.sort();
    families.dedup();
    for other in others(results) {
        // The paper's own comparisons carry the paper's numbers.
        let name = match (random, other.as_str()) {
            (true, "milp") => "figure2_rw_milp".to_owned(),
            (true, "sample-mip") => "figure3_rw_sample-mip".to_owned(),
            (false, "milp") => "figure4_rw_milp".to_owned(),
            _ => format!("{OURS}_{other}"),
        };
        let duel = results.duel(OURS, &other);
        let of_family = |family: &String| {
            let pairs = results.pairs(&other, OURS).filter(|(row, ..)| family_of(row) == *family);
            Series { name: family.clone(), points: pairs.map(|(_, x, y)| (x, y)).collect() }
        };
        let positive = results.pairs(&other, OURS).all(|(_, x, y)| x > 0.0 && y > 0.0);
        let figure = Scatter {
            title: format!("Best value of {OURS} against {other}, {} s each", manifest.seconds),
            subtitle: format!(
                "{OURS} ≥ 1 % better: {}, {other} ≥ 1 % better: {}, of {}",
                duel.clear_wins, duel.clear_losses, duel.instances
            ),
            x_label: other.clone(),
            y_label: OURS.to_owned(),
            log: random && positive,
            groups: families.iter().map(of_family).collect(),
        };
        write_figure(&figure.drawing(), directory, &name)?;
        drawn.push((name, format!("best value of {OURS} (up) against {other} (right)")));
    }
    let times = times(manifest.seconds);
    let curve = |method: &String, height: Height, scale: f64| {
        let at = |&time: &f64| {
            // Methods may look at the clock a little late: at the end counts what they have.
            let then = if time >= manifest.seconds { f64::INFINITY } else { time };
            let sum: f64 =
                results.instances.iter().map(|row| height(row, value_at(row, method, then))).sum();
            (time, sum / scale)
        };
        Series { name: method.clone(), points: times.iter().map(at).collect() }
    };
    let near = |row: &TableRow, value: f64| f64::from(u8::from(gain(value, row.best()) >= -TIE));
    let cactus = Curves {
        title: "Instances within 0.1 % of the best value known".to_owned(),
        subtitle: format!("{} instances, one core each", results.instances.len()),
        x_label: "seconds".to_owned(),
        y_label: "instances".to_owned(),
        log_x: true,
        curves: results.methods.iter().map(|m| curve(m, &near, 1.0)).collect(),
    };
    write_figure(&cactus.drawing(), directory, "cactus")?;
    drawn.push((
        "cactus".into(),
        "how many instances are within 0.1 % of the best value known, over time".into(),
    ));
    let many = results.instances.len().max(1) as f64;
    let (height, label): (Height, &str) = if random {
        // Values of networks of all sizes are comparable only relative to the best.
        (
            &|row, value| (1.0 + gain(value, row.best())).max(0.0),
            "mean share of the best value known",
        )
    } else {
        (&|_, value| value, "mean margin")
    };
    let anytime = Curves {
        title: format!("{}{} over time", label[..1].to_uppercase(), &label[1..]),
        subtitle: format!("{} instances, one core each", results.instances.len()),
        x_label: "seconds".to_owned(),
        y_label: label.to_owned(),
        log_x: true,
        curves: results.methods.iter().map(|m| curve(m, height, many)).collect(),
    };
    write_figure(&anytime.drawing(), directory, "anytime")?;
    drawn.push(("anytime".into(), format!("{label}, over time")));
    Ok(drawn)
}

/// What an instance is drawn as: random networks by depth and width, whatever their inputs.
fn family_of(row: &TableRow) -> String {
    match row.group.parse::<Size>() {
        Ok(Size { layers, width, .. }) => format!("{layers} x {width} neurons"),
        Err(_) => row.group.to_owned(),
    }
}

/// Times from a millisecond to the limit, equally far apart on a logarithmic axis.
fn times(seconds: f64) -> Vec<f64> {
    let first = (seconds / 1000.0).min(1e-3);
    let step = |k: usize| (seconds / first).powf(k as f64 / (CURVE_POINTS - 1) as f64);
    let before = (0..CURVE_POINTS - 1).map(|k| first * step(k));
    before.chain([seconds]).collect()
}

/// What a method had reached by then; before its first point, what it first had: the set's centre.
fn value_at(row: &TableRow, method: &str, time: f64) -> f64 {
    let Some(run) = row.run(method) else { return f64::NAN };
    let reached = run.trace.iter().rev().find(|(at, _)| *at <= time).or(run.trace.first());
    reached.map_or(run.value, |(_, value)| *value)
}

/// The sentences that the comparison comes down to.
fn verdict(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for other in others(results) {
        let duel = results.duel(OURS, &other);
        lines.push(format!(
            "{OURS} against {other}: better on {}, equal on {}, worse on {} of {} (by 1 % or more: better on {}, worse on {})",
            duel.wins, duel.ties, duel.losses, duel.instances, duel.clear_wins, duel.clear_losses
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
fn optima(results: &Results) -> (usize, usize) {
    let claimed = results.instances.iter().filter_map(|row| {
        let optimum = row.run("milp").filter(|run| run.claimed_optimal)?.value;
        Some(row.value(OURS)? >= optimum - OPTIMUM * optimum.abs().max(1.0))
    });
    let claimed: Vec<bool> = claimed.collect();
    (claimed.iter().filter(|reached| **reached).count(), claimed.len())
}

fn report(manifest: &Manifest, results: &Results, figures: &[(String, String)]) -> String {
    let mut text = String::new();
    let seconds = manifest.seconds;
    let mut say = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    say(&format!(
        "# Experiment `{}`, {seconds} s for each method and instance\n",
        manifest.experiment
    ));
    say(&format!(
        "rw-adv {}; {} instances; one core for each run, neuron bounds included in its time. Values are those of the network's own forward pass (f64), whatever a solver claims.\n",
        manifest.version,
        results.instances.len()
    ));
    for (key, value) in &manifest.settings {
        say(&format!("- `{key}` {value}"));
    }
    say("\n## Wins, ties, losses\n");
    say(&format!(
        "A tie is a difference of at most {} %, a clear win one of at least {} %, relative to the other's value.\n",
        100.0 * TIE,
        100.0 * CLEAR
    ));
    say("| against | better by 1 % | better | equal | worse | worse by 1 % |");
    say("|---|---|---|---|---|---|");
    for other in others(results) {
        let duel = results.duel(OURS, &other);
        say(&format!(
            "| {other} | {} | {} | {} | {} | {} |",
            duel.clear_wins, duel.wins, duel.ties, duel.losses, duel.clear_losses
        ));
    }
    say("");
    for line in verdict(results) {
        say(&format!("- {line}"));
    }
    let losses = results.losses(OURS);
    if !losses.is_empty() {
        say("\n## Where rw is not the best\n");
        say("| instance | rw | best | of | below by |");
        say("|---|---|---|---|---|");
        for (row, gain) in losses {
            let best = row.best();
            let whose = results.methods.iter().find(|m| row.value(m) == Some(best));
            say(&format!(
                "| {} | {:.6} | {best:.6} | {} | {:.2} % |",
                row.name,
                row.value(OURS).unwrap_or(f64::NAN),
                whose.map_or("", String::as_str),
                -100.0 * gain
            ));
        }
    }
    say("\n## Table 1: finished local searches per hour\n");
    say(&format!(
        "Mean over the instances of a size, as finished in {seconds} s on one core and scaled to an hour. What counts as one: a walk that ends where no neighbour is better (rw, paper), a sampled region and all MILPs that follow (sample-mip), a proof (milp), a run of 100 iterations (apgd; for a box, an ascent with its perturbations), an ascent (frank-wolfe).\n"
    ));
    let with_paper = results.groups().iter().any(|group| paper_per_hour(group).is_some());
    say(&format!(
        "| size | {} |{}",
        results.methods.join(" | "),
        if with_paper { " the paper's RW | rw / paper's |" } else { "" }
    ));
    say(&format!(
        "|---|{}{}",
        "---|".repeat(results.methods.len()),
        if with_paper { "---|---|" } else { "" }
    ));
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
        say(&format!("| {group} | {} |{paper}", cells.join(" | ")));
    }
    if with_paper {
        say(
            "\nThe paper (Tong, Cai, Serra 2024) gave every method an hour, with Gurobi as the solver; of its counts only the one shown was at hand when this was written.",
        );
    }
    say("\n## Figures\n");
    for (name, what) in figures {
        say(&format!("![{what}]({name}.png)\n\n`{name}.svg`, `{name}.png`: {what}.\n"));
    }
    say("`instances.csv` holds every value; `runs.jsonl` also when each was reached.");
    text
}

fn paper_per_hour(group: &str) -> Option<f64> {
    PAPER_PER_HOUR.iter().find(|(size, _)| *size == group).map(|(_, rate)| *rate)
}

fn per_hour(results: &Results, group: &str, method: &str, seconds: f64) -> f64 {
    let of_group = results.instances.iter().filter(|row| row.group == group);
    let runs: Vec<&Run> = of_group.filter_map(|row| row.run(method)).collect();
    let finished: usize = runs.iter().map(|run| run.finished).sum();
    finished as f64 / runs.len().max(1) as f64 * 3600.0 / seconds
}
