//! For which images can no label but the predicted one win? Robust accuracy of the first images, on all cores.
//!
//! ```text
//! cargo run --release --example certify_batch         # 20 images with a budget of 1
//! cargo run --release --example certify_batch 50 0.5
//! ```
#![allow(clippy::print_stdout)]

use std::env;
use std::error::Error;

use rayon::prelude::*;
use rw_adv::attack::{Attack, ImageAttack, classify};
use rw_adv::budget::Budget;
use rw_adv::data::{DataSource, Dataset};
use rw_adv::judge::Verdict;
use rw_adv::network::Label;
use rw_adv::onnx::OnnxModel;
use rw_adv::solve::Goal;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let images: usize = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let delta = arguments.next().map_or(Ok(1.0), |text| text.parse())?;

    let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref())?;
    let source = DataSource { path: "data".into(), ..DataSource::default() };
    let data = Dataset::open(&source, &model.input_dims)?;
    // One adversary or a bound below zero is all we want to know.
    let attack = Attack { goal: Goal::Verdict, ..Attack::within(delta) };

    let certified = |image: usize| -> Result<bool, Failure> {
        let sample = data.sample(image)?;
        let predicted = classify(&model, &sample)?.predicted;
        let image = ImageAttack::new(&model, &sample, predicted, &attack);
        for target in (0..model.network.outputs()).map(Label).filter(|&label| label != predicted) {
            let answer = image.attack(target, &Budget::unlimited(), &())?;
            if answer.verdict != Verdict::Robust {
                return Ok(false);
            }
        }
        Ok(sample.label == Some(predicted))
    };
    let standings: Vec<bool> =
        (0..images).into_par_iter().map(certified).collect::<Result<_, _>>()?;
    let count = standings.iter().filter(|&&is_certified| is_certified).count();
    println!("{count} of {images} images are right, and stay so within an L1 distance of {delta}");
    Ok(())
}
