//! What a comparison leaves behind: `instances.csv`, figures, and `REPORT.md` that states wins, ties and losses.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use rw_adv::report::figure::Drawing;

use super::compare::{InstanceRow, MethodComparison};
use super::figures::{self, NamedFigure};
use super::markdown::{self, FigureEntry};
use super::method_run::MethodRun;
use super::store::{INSTANCES, PaperManifest};

/// Writes all files.
pub fn write(directory: &Path, manifest: &PaperManifest, results: &MethodComparison) -> Result<()> {
    let store = |name: &str, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| format!("{}", path.display()))
    };
    store(INSTANCES, csv(results))?;
    let figures = figures::draw(manifest, results);
    let entries = write_figures(directory, figures)?;
    store("REPORT.md", markdown::report(manifest, results, &entries))
}

/// Writes again what can be drawn without knowing when values were reached; the curves over time stay as they are.
pub fn rewrite(
    directory: &Path,
    manifest: &PaperManifest,
    results: &MethodComparison,
) -> Result<()> {
    let mut entries = write_figures(directory, figures::comparisons(manifest, results))?;
    for (name, caption) in [("cactus", figures::CACTUS), ("anytime", figures::ANYTIME)] {
        if directory.join(format!("{name}.png")).exists() {
            entries.push(FigureEntry { name: name.to_owned(), caption: caption.to_owned() });
        }
    }
    let path = directory.join("REPORT.md");
    let text = markdown::report(manifest, results, &entries);
    fs::write(&path, text).with_context(|| format!("{}", path.display()))
}

fn write_figures(directory: &Path, figures: Vec<NamedFigure>) -> Result<Vec<FigureEntry>> {
    let write = |figure: NamedFigure| -> Result<FigureEntry> {
        write_figure(&figure.drawing, directory, &figure.name)?;
        Ok(FigureEntry { name: figure.name, caption: figure.caption })
    };
    figures.into_iter().map(write).collect()
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

fn csv(results: &MethodComparison) -> String {
    let mut text = String::from(
        "instance,group,method,value,seconds,wall_seconds,seconds_to_best,starts,finished,points,regions,lps,iterations,claimed_bound,claimed_optimal\n",
    );
    for (row, method) in all(results) {
        let Some(run) = row.run(method) else { continue };
        let bound = run.claimed_bound.map(|bound| bound.to_string()).unwrap_or_default();
        let points = run.points.map(|points| points.to_string()).unwrap_or_default();
        let wall = run.wall_seconds.map(|wall| format!("{wall:.3}")).unwrap_or_default();
        let MethodRun { value, seconds, seconds_to_best, starts, finished, .. } = run;
        let MethodRun { regions, lps, iterations, claimed_optimal, .. } = run;
        writeln!(
            text,
            "{},{},{method},{value},{seconds:.3},{wall},{seconds_to_best:.3},{starts},{finished},{points},{regions},{lps},{iterations},{bound},{claimed_optimal}",
            row.name, row.group
        )
        .expect("a string takes all text");
    }
    text
}

fn all<'a, 'r>(
    results: &'a MethodComparison<'r>,
) -> impl Iterator<Item = (&'a InstanceRow<'r>, &'a String)> {
    let methods = &results.methods;
    results.instances.iter().flat_map(move |row| methods.iter().map(move |method| (row, method)))
}
