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
use rw_adv::maximize::Maximization;
use rw_adv::onnx::OnnxModel;
use rw_adv::sets::Domain;
use rw_adv::solve::{BranchLimits, SolveOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let model = OnnxModel::load("tests/zoo/accepted/acasxu_style.onnx".as_ref())?;
    let objective = Linear::of_outputs("y0 - 0.5*y3", model.network.outputs())?;
    let domain =
        Domain::new_box(model.network.inputs(), 0.0, 1.0).with_text("x0 + x1 + x2 <= 1.5")?;

    let budget = Budget::unlimited();
    // Where one bound leaves a gap, branch until the maximum is proven.
    let branch = Some(BranchLimits { nodes: 10_000, gap: 1e-4, parallel: true });
    let options = SolveOptions { branch, ..SolveOptions::default() };
    let problem = Maximization::new(&model, &domain, &objective, &options, &budget)?;
    let maximum = problem.solve(&budget, &())?;

    println!("best value found  {:.6}", maximum.measurement.value);
    if let Some(bound) = maximum.bound {
        println!("proven bound      {:.6}", bound.value());
    }
    println!("at                {:.3?}", maximum.point);
    Ok(())
}
