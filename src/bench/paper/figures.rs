//! The figures of a comparison: method against method, and what is reached over time.

use rw_adv::report::figure::{Curves, Drawing, Scatter, ScatterPanel, ScatterPanels, Series};
use rw_adv::search::Method;

use super::compare::{InstanceRow, MethodComparison, TIE, gain};
use super::instances::NetworkSize;
use super::store::PaperManifest;
use super::verdict::{MILP_SOLVERS, OURS, PRINTED};

/// Points of a curve over time.
const CURVE_POINTS: usize = 200;

/// What the figure `cactus` shows.
pub const CACTUS: &str = "how many instances are within 0.1 % of the best value known, over time";

/// What the figure `anytime` shows.
pub const ANYTIME: &str = "the mean of what is reached, over time";

/// A figure under the name of its files, and what it shows.
pub struct NamedFigure {
    pub name: String,
    pub caption: String,
    pub drawing: Drawing,
}

/// Draws everything.
pub fn draw(manifest: &PaperManifest, results: &MethodComparison) -> Vec<NamedFigure> {
    let mut figures = comparisons(manifest, results);
    figures.extend([cactus(manifest, results), anytime(manifest, results)]);
    figures
}

/// Draws method against method.
pub fn comparisons(manifest: &PaperManifest, results: &MethodComparison) -> Vec<NamedFigure> {
    let mut figures = Vec::new();
    // Each of the paper's comparisons twice: its algorithm as printed, and ours.
    for first in [PRINTED, OURS].into_iter().filter(|first| results.has(first)) {
        for other in results.methods.iter().filter(|other| *other != first) {
            figures.extend(against(manifest, results, first, other));
        }
    }
    figures
}

fn is_random(manifest: &PaperManifest) -> bool {
    manifest.experiment == "random"
}

/// One method against another one, a point for each instance. The paper's own comparisons carry the paper's numbers and arrangement; of the others
/// only those of our method are drawn.
fn against(
    manifest: &PaperManifest,
    results: &MethodComparison,
    first: &str,
    other: &str,
) -> Option<NamedFigure> {
    let is_solver = MILP_SOLVERS.contains(&other);
    let title = format!("Best value of {first} against {other}, {} s each", manifest.seconds);
    let (number, drawing) = match (is_random(manifest), other) {
        (true, "sample-mip") => {
            (Some(2), panels(results, first, other, title, &by_depth_and_width).drawing())
        }
        (true, _) if is_solver => {
            (Some(3), panels(results, first, other, title, &by_width).drawing())
        }
        (false, _) if is_solver => {
            (Some(4), scatter(manifest, results, first, other, title).drawing())
        }
        _ if first == OURS => (None, scatter(manifest, results, first, other, title).drawing()),
        _ => return None,
    };
    let name = match number {
        Some(number) => format!("figure{number}_{first}_{other}"),
        None => format!("{first}_{other}"),
    };
    let caption = format!("best value of {first} (up) against {other} (right)");
    Some(NamedFigure { name, caption, drawing })
}

/// Who is better by 1 %, in words.
fn clear_wins(results: &MethodComparison, first: &str, other: &str) -> String {
    let wins = results.win_counts(first, other);
    format!(
        "{first} ≥ 1 % better: {}, {other} ≥ 1 % better: {}, of {}",
        wins.clear_wins, wins.clear_losses, wins.instances
    )
}

/// All instances in one plot.
fn scatter(
    manifest: &PaperManifest,
    results: &MethodComparison,
    first: &str,
    other: &str,
    title: String,
) -> Scatter {
    let mut families: Vec<String> = results.instances.iter().map(family_of).collect();
    families.sort();
    families.dedup();
    let of_family = |family: &String| {
        let pairs = results.pairs(other, first).filter(|(row, ..)| family_of(row) == *family);
        Series { name: family.clone(), points: pairs.map(|(_, x, y)| (x, y)).collect() }
    };
    let positive = results.pairs(other, first).all(|(_, x, y)| x > 0.0 && y > 0.0);
    Scatter {
        title,
        subtitle: clear_wins(results, first, other),
        x_label: other.to_owned(),
        y_label: first.to_owned(),
        log: is_random(manifest) && positive,
        groups: families.iter().map(of_family).collect(),
    }
}

/// The column and the group of a size.
type Arrangement<'a> = &'a dyn Fn(NetworkSize) -> (String, String);

/// A column for each configuration, as in the paper's Figure 2.
fn by_depth_and_width(NetworkSize { layers, width, .. }: NetworkSize) -> (String, String) {
    (format!("{layers} x {width}"), String::new())
}

/// A column for each width, depths together, as in the paper's Figure 3.
fn by_width(NetworkSize { layers, width, .. }: NetworkSize) -> (String, String) {
    let layers = if layers == 1 { "1 layer".to_owned() } else { format!("{layers} layers") };
    (format!("width {width}"), layers)
}

/// Row, column, group, and the values of both methods.
type PanelPoint = (String, String, String, (f64, f64));

/// Random networks in a row for each number of inputs.
fn panels(
    results: &MethodComparison,
    first: &str,
    other: &str,
    title: String,
    arrangement: Arrangement,
) -> ScatterPanels {
    let points: Vec<PanelPoint> = results
        .pairs(other, first)
        .filter_map(|(row, x, y)| {
            let size: NetworkSize = row.group.parse().ok()?;
            let (column, group) = arrangement(size);
            Some((format!("{} inputs", size.inputs), column, group, (x, y)))
        })
        .collect();
    let distinct = |part: &dyn Fn(&PanelPoint) -> String| {
        let mut parts: Vec<String> = Vec::new();
        for point in &points {
            let part = part(point);
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    };
    let (rows, mut columns) = (distinct(&|p| p.0.clone()), distinct(&|p| p.1.clone()));
    let groups = distinct(&|p| p.2.clone());
    columns.sort_by_key(|column| {
        column.split(' ').map(|word| word.parse::<usize>().ok()).collect::<Vec<_>>()
    });
    let mut all = Vec::new();
    for row in &rows {
        for column in &columns {
            let of_group = |group: &String| {
                let here = points.iter().filter(|p| (&p.0, &p.1, &p.2) == (row, column, group));
                Series { name: group.clone(), points: here.map(|p| p.3).collect() }
            };
            all.push(ScatterPanel { groups: groups.iter().map(of_group).collect() });
        }
    }
    let subtitle = clear_wins(results, first, other);
    let (x_label, y_label) = (other.to_owned(), first.to_owned());
    ScatterPanels { title, subtitle, x_label, y_label, columns, rows, panels: all }
}

/// How many instances are nearly solved, over time.
fn cactus(manifest: &PaperManifest, results: &MethodComparison) -> NamedFigure {
    let near = |row: &InstanceRow, value: f64| f64::from(u8::from(gain(value, row.best()) >= -TIE));
    let figure = Curves {
        title: "Instances within 0.1 % of the best value known".to_owned(),
        subtitle: format!("{} instances, one thread each", results.instances.len()),
        x_label: "CPU seconds".to_owned(),
        y_label: "instances".to_owned(),
        log_x: true,
        curves: curves(manifest, results, &near, 1.0),
    };
    NamedFigure { name: "cactus".into(), caption: CACTUS.into(), drawing: figure.drawing() }
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
        subtitle: format!("{} instances, one thread each", results.instances.len()),
        x_label: "CPU seconds".to_owned(),
        y_label: label.to_owned(),
        log_x: true,
        curves: curves(manifest, results, height, many),
    };
    NamedFigure { name: "anytime".into(), caption: ANYTIME.into(), drawing: figure.drawing() }
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
    // What solvers outside this program had reached before their end is not known.
    let traced = results.methods.iter().filter(|method| Method::NAMES.contains(&method.as_str()));
    traced.map(curve).collect()
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
