//! `rw-adv radius`: how far each image may be changed, proven and found.

use std::process::ExitCode;

use anyhow::Result;
use rw_adv::budget::Budget;
use rw_adv::data::TargetChoice;
use rw_adv::radius::RadiusOptions;
use rw_adv::record::{RadiusRecord, RadiusSettings, json};
use rw_adv::report::text;
use rw_adv::run::{Batch, RadiusJob};
use rw_adv::search::SearchOptions;

use super::images::{ImageInputArgs, ImageInputs};
use super::run_args::{RunArgs, show_plan};
use super::screen::Screen;
use super::terminal::Terminal;
use crate::interrupt::catch_interrupts;
use crate::values::{at_least_one, positive};

/// Nodes for each budget where nothing else ends the work.
const NODES: usize = 2000;

#[derive(clap::Args)]
pub struct RadiusArgs {
    #[command(flatten)]
    images: ImageInputArgs,
    /// The label that should win: all (the smallest radius over all labels), runner-up, a label or class name, or a CSV file with the columns
    /// image,target
    #[arg(long, value_name = "TARGET", default_value_t = TargetChoice::All)]
    target: TargetChoice,
    /// The largest budget tried [default: one that covers all inputs: 1 for linf, the number of inputs for l1]
    #[arg(long, value_name = "DELTA", value_parser = positive)]
    max_delta: Option<f64>,
    /// Precision of the radii, relative to each radius, or to one grey level (1/255) if that is larger
    #[arg(long, value_name = "P", default_value_t = RadiusOptions::PRECISION, value_parser = precision)]
    precision: f64,
    /// End each of an image's searches after this many starts in a row without gain
    #[arg(long, value_name = "N", default_value_t = RadiusOptions::PATIENCE, value_parser = at_least_one)]
    patience: usize,
    /// Branch and bound between the two radii: at most NODES nodes for each budget tried; without a number as many as --time-limit allows, or 2000
    /// if there is none
    #[arg(long, value_name = "NODES", num_args = 0..=1, value_parser = at_least_one)]
    branch: Option<Option<usize>>,
    #[command(flatten)]
    run: RunArgs,
}

/// Finer than the smallest, f32 does not tell distances apart; the largest is no precision at all.
fn precision(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (1e-6..=0.5).contains(&number) => Ok(number),
        Ok(_) => Err("must be a number from 0.000001 to 0.5".into()),
        Err(_) => Err("not a number".into()),
    }
}

/// Prints the radii of the images that were asked for.
pub fn run(args: RadiusArgs, screen: Screen) -> Result<ExitCode> {
    let clock = Budget::unlimited();
    let RadiusArgs { images, target, max_delta, precision, patience, branch, run } = args;
    run.start_threads()?;
    let norm = images.norm;
    let inputs = ImageInputs::open(images, target)?;
    let covering = RadiusOptions::covering(norm, inputs.model.network.inputs());
    let max_delta = max_delta.unwrap_or(covering);
    let search = SearchOptions { seed: run.seed, patience, ..SearchOptions::default() };
    let enough = if run.time_limit.is_some() { usize::MAX } else { NODES };
    let branch = branch.map(|nodes| nodes.unwrap_or(enough));
    let options = RadiusOptions { norm, max_delta, precision, search, nodes: branch.unwrap_or(0) };
    let job = RadiusJob { model: inputs.model.clone(), options };
    let items = inputs.items()?;
    let skipped = inputs.skipped(&items);
    let common = inputs.settings(&run, patience, &items);
    let settings = json::fields(&RadiusSettings { common, max_delta, precision, branch });
    let destination = run.out.destination()?;
    if run.dry_run {
        return show_plan(&job, &items, &settings, &destination, run.json);
    }
    // Everything that is written to is opened before anything is computed.
    let batch = Batch::open(&job, items, settings, &destination)?;
    inputs.write_model(&destination)?;
    catch_interrupts()?;
    let mut terminal =
        Terminal::new(screen, run.json, destination.directory.is_some(), batch.left())
            .with_classes(inputs.classes.clone());
    terminal.begin::<RadiusRecord>()?;
    let result = batch.run(&run.limits(), &clock, &mut terminal);
    let seconds = result.new_seconds();
    let told = result.stored.map_err(Into::into).and_then(|()| {
        terminal.print_text(|out| {
            text::continued(out, result.finished_before, result.records.len())?;
            text::radius::summary(out, &result.summary, seconds, skipped)
        })
    });
    result.solved?;
    told?;
    Ok(if result.interrupted { ExitCode::from(130) } else { ExitCode::SUCCESS })
}
