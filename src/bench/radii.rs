//! `rw-adv bench radii`: radii with branching in so much CPU time for each image, one image after the other on one core. Other work on the machine
//! does not shorten them.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use rw_adv::attack;
use rw_adv::budget::Budget;
use rw_adv::data::{DataSource, Dataset, Selection};
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::radius::{RadiusOptions, radii};
use rw_adv::search::SearchOptions;
use rw_adv::sets::Norm;

use super::measure::yes_or_no;
use crate::values::positive;

/// How far the certified radii of the first ten images are to reach on average.
const GOAL: f64 = 5.0;

#[derive(Args)]
pub struct RadiiArgs {
    /// The classifier
    #[arg(long, value_name = "FILE", default_value = "models/mnist_2x500.onnx")]
    model: PathBuf,
    /// The images
    #[arg(long, value_name = "PATH", default_value = "data")]
    data: PathBuf,
    /// Which images
    #[arg(long, value_name = "WHICH", default_value = "10")]
    images: Selection,
    /// CPU seconds for each image
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = positive)]
    seconds: f64,
    /// Nodes for each budget tried; 0: no branching
    #[arg(long, value_name = "NODES", default_value_t = usize::MAX)]
    nodes: usize,
}

/// The radii of all images against every target.
pub fn run(out: &mut impl Write, args: &RadiiArgs) -> Result<()> {
    let model = OnnxModel::load(&args.model)?;
    let source = DataSource { path: args.data.clone(), ..DataSource::default() };
    let data = Dataset::open(&source, &model.input_dims)?;
    let norm = Norm::L1;
    let search = SearchOptions { patience: RadiusOptions::PATIENCE, ..SearchOptions::default() };
    let max_delta = RadiusOptions::covering(norm, model.network.inputs());
    let precision = RadiusOptions::PRECISION;
    let options = RadiusOptions { norm, max_delta, precision, search, nodes: args.nodes };
    let (mut all_certified, mut all_attacked, mut all_seconds) = (0.0, 0.0, 0.0);
    let indices = args.images.indices(data.len())?;
    writeln!(
        out,
        "{:>6} {:>10} {:>10} {:>10} {:>8}",
        "image", "certified", "attacked", "stop", "CPU s"
    )?;
    for &image in &indices {
        let sample = data.sample(image)?;
        let predicted = attack::classify(&model, &sample)?.predicted;
        let targets = (0..model.network.outputs()).map(Label).filter(|label| *label != predicted);
        let targets: Vec<Label> = targets.collect();
        let budget = Budget::start_cpu(Some(Duration::from_secs_f64(args.seconds)), None);
        let found = radii(&model, &sample, (predicted, &targets), &options, &budget, &())?;
        let (certified, seconds) = (found.certified, budget.elapsed().as_secs_f64());
        let attacked = found.attacked().unwrap_or(f64::NAN);
        writeln!(
            out,
            "{image:>6} {certified:>10.5} {attacked:>10.5} {:>10} {seconds:>8.1}",
            found.stop.name()
        )?;
        all_certified += certified;
        all_attacked += attacked;
        all_seconds += seconds;
    }
    let images = indices.len() as f64;
    let certified = all_certified / images;
    writeln!(
        out,
        "mean of {images}: certified {certified:.3}, attacked {:.3}, {:.1} CPU s; certified at least {GOAL}: {}",
        all_attacked / images,
        all_seconds / images,
        yes_or_no(certified >= GOAL)
    )?;
    Ok(())
}
