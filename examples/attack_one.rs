//! Attacks one image and tells what was found while it is being searched.
//!
//! ```text
//! cargo run --release --example attack_one            # image 4 with a budget of 5
//! cargo run --release --example attack_one 7 2.5
//! ```
#![allow(clippy::print_stdout)]

use std::env;
use std::error::Error;
use std::time::Duration;

use rw_adv::attack::{Attack, ImageAttack, classify};
use rw_adv::budget::Budget;
use rw_adv::data::{DataSource, Dataset};
use rw_adv::observer::Observer;
use rw_adv::onnx::OnnxModel;
use rw_adv::problem::Candidate;

/// Prints every improvement.
struct Chatty;

impl Observer for Chatty {
    fn better(&self, candidate: &Candidate) {
        println!("  margin {:.4}", candidate.margin);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let image = arguments.next().map_or(Ok(4), |text| text.parse())?;
    let delta = arguments.next().map_or(Ok(5.0), |text| text.parse())?;

    let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref())?;
    let source = DataSource { path: "data".into(), ..DataSource::default() };
    let sample = Dataset::open(&source, &model.input_dims)?.sample(image)?;
    let standing = classify(&model, &sample)?;
    println!(
        "image {image} is taken for a {}; can it be a {}?",
        standing.predicted, standing.runner_up
    );

    let image = ImageAttack::new(&model, &sample, standing.predicted, &Attack::within(delta));
    let budget = Budget::start(Some(Duration::from_secs(10)), None);
    let answer = image.attack(standing.runner_up, &budget, &Chatty)?;

    let point = answer.solution.judgement.point();
    println!(
        "{}: margin {:.4} at a distance of {:.4}, {} pixels changed",
        answer.verdict,
        point.value(),
        point.distance(),
        point.changed()
    );
    if let Some(bound) = answer.solution.bound {
        println!("no input within the budget has a margin above {:.4}", bound.value());
    }
    Ok(())
}
