//! Maximises what a small network predicts, over a box with a linear constraint: the network as a surrogate of something
//! expensive.
//!
//! ```text
//! cargo run --release --example maximize_surrogate
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;

use rw_adv::budget::Budget;
use rw_adv::formula::Linear;
use rw_adv::maximize::MaximizeProblem;
use rw_adv::onnx::OnnxModel;
use rw_adv::search::SearchOptions;
use rw_adv::sets::Domain;
use rw_adv::verify::Branch;

fn main() -> Result<(), Box<dyn Error>> {
    let model = OnnxModel::load("tests/zoo/accepted/acasxu_style.onnx".as_ref())?;
    let objective = Linear::of_outputs("y0 - 0.5*y3", model.network.outputs())?;
    let domain =
        Domain::new_box(model.network.inputs(), 0.0, 1.0).with_text("x0 + x1 + x2 <= 1.5")?;

    let budget = Budget::unlimited();
    let problem = MaximizeProblem::new(&model, &domain, &objective, &budget)?;
    // Where one bound leaves a gap, divide the domain until the maximum is proven.
    let branch = Branch { nodes: 10_000, gap: 1e-4, parallel: true };
    let maximum = problem.solve(&SearchOptions::default(), Some(branch), &budget)?;

    println!("best value found  {:.6}", maximum.value);
    println!("proven bound      {:.6}", maximum.upper_bound);
    println!("at                {:.3?}", maximum.point);
    Ok(())
}
