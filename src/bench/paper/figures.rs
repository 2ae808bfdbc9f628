//! The figures of a comparison: method against method, and what is reached over time.

use rw_adv::report::figure::{Curves, Drawing, Scatter, Series};

use super::compare::{InstanceRow, MethodComparison, TIE, gain};
use super::instances::NetworkSize;
use super::store::PaperManifest;
use super::verdict::{OURS, others};

/// Points of a curve over time.
const CURVE_POINTS: usize = 200;

/// A figure under the name of its files, and what it shows.
pub struct NamedFigure {
    pub name: String,
    pub caption: String,
    pub drawing: Drawing,
}

/// Draws everything.
pub fn draw(manifest: &PaperManifest, results: &MethodComparison) -> Vec<NamedFigure> {
    let others = others(results);
    let against = others.iter().map(|other| against(manifest, results, other));
    against.chain([cactus(manifest, results), anytime(manifest, results)]).collect()
}

fn is_random(manifest: &PaperManifest) -> bool {
    manifest.experiment == "random"
}

/// Our method against another one, a point for each instance.
fn against(manifest: &PaperManifest, results: &MethodComparison, other: &str) -> NamedFigure {
    let random = is_random(manifest);
    let mut families: Vec<String> = results.instances.iter().map(family_of).collect();
    families.sort();
    families.dedup();
    // The paper's own comparisons carry the paper's numbers.
    let name = match (random, other) {
        (true, "milp") => "figure2_rw_milp".to_owned(),
        (true, "sample-mip") => "figure3_rw_sample-mip".to_owned(),
        (false, "milp") => "figure4_rw_milp".to_owned(),
        _ => format!("{OURS}_{other}"),
    };
    let wins = results.win_counts(OURS, other);
    let of_family = |family: &String| {
        let pairs = results.pairs(other, OURS).filter(|(row, ..)| family_of(row) == *family);
        Series { name: family.clone(), points: pairs.map(|(_, x, y)| (x, y)).collect() }
    };
    let positive = results.pairs(other, OURS).all(|(_, x, y)| x > 0.0 && y > 0.0);
    let figure = Scatter {
        title: format!("Best value of {OURS} against {other}, {} s each", manifest.seconds),
        subtitle: format!(
            "{OURS} ≥ 1 % better: {}, {other} ≥ 1 % better: {}, of {}",
            wins.clear_wins, wins.clear_losses, wins.instances
        ),
        x_label: other.to_owned(),
        y_label: OURS.to_owned(),
        log: random && positive,
        groups: families.iter().map(of_family).collect(),
    };
    let caption = format!("best value of {OURS} (up) against {other} (right)");
    NamedFigure { name, caption, drawing: figure.drawing() }
}

/// How many instances are nearly solved, over time.
fn cactus(manifest: &PaperManifest, results: &MethodComparison) -> NamedFigure {
    let near = |row: &InstanceRow, value: f64| f64::from(u8::from(gain(value, row.best()) >= -TIE));
    let figure = Curves {
        title: "Instances within 0.1 % of the best value known".to_owned(),
        subtitle: format!("{} instances, one core each", results.instances.len()),
        x_label: "seconds".to_owned(),
        y_label: "instances".to_owned(),
        log_x: true,
        curves: curves(manifest, results, &near, 1.0),
    };
    let caption = "how many instances are within 0.1 % of the best value known, over time".into();
    NamedFigure { name: "cactus".into(), caption, drawing: figure.drawing() }
}

/// The mean of what is reached, over time.
fn anytime(manifest: &PaperManifest, results: &MethodComparison) -> NamedFigure {
    let many = results.instances.len().max(1) as f64;
    let (height, label): (Height, &str) = if is_random(manifest) {
        // Values of networks of all sizes are comparable only relative to the best.
        (
            &|row, value| (1.0 + gain(value, row.best())).max(0.0),
            "mean share of the best value known",
        )
    } else {
        (&|_, value| value, "mean margin")
    };
    let figure = Curves {
        title: format!("{}{} over time", label[..1].to_uppercase(), &label[1..]),
        subtitle: format!("{} instances, one core each", results.instances.len()),
        x_label: "seconds".to_owned(),
        y_label: label.to_owned(),
        log_x: true,
        curves: curves(manifest, results, height, many),
    };
    let caption = format!("{label}, over time");
    NamedFigure { name: "anytime".into(), caption, drawing: figure.drawing() }
}

/// What a value counts in a curve.
type Height<'h> = &'h dyn Fn(&InstanceRow, f64) -> f64;

/// A curve per method: at each time the sum over the instances, divided by `scale`.
fn curves(
    manifest: &PaperManifest,
    results: &MethodComparison,
    height: Height,
    scale: f64,
) -> Vec<Series> {
    let times = times(manifest.seconds);
    let curve = |method: &String| {
        let at = |&time: &f64| {
            // Methods may look at the clock a little late: at the end counts what they have.
            let then = if time >= manifest.seconds { f64::INFINITY } else { time };
            let sum: f64 =
                results.instances.iter().map(|row| height(row, value_at(row, method, then))).sum();
            (time, sum / scale)
        };
        Series { name: method.clone(), points: times.iter().map(at).collect() }
    };
    results.methods.iter().map(curve).collect()
}

/// What an instance is drawn as: random networks by depth and width, whatever their inputs.
fn family_of(row: &InstanceRow) -> String {
    match row.group.parse::<NetworkSize>() {
        Ok(NetworkSize { layers, width, .. }) => format!("{layers} x {width} neurons"),
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
fn value_at(row: &InstanceRow, method: &str, time: f64) -> f64 {
    let Some(run) = row.run(method) else { return f64::NAN };
    let reached = run.trace.iter().rev().find(|(at, _)| *at <= time).or(run.trace.first());
    reached.map_or(run.value, |(_, value)| *value)
}
