//! Sample-and-MIP (Perakis and Tsiourvas 2022), as Tong, Cai and Serra compare with it: sample a point, solve the LP of its region, and from a
//! vertex that is good enough let branch and bound decide the neurons that are zero there; again from where that leads.
//!
//! What is ours: the forward pass, the region LP with rows on demand, big-M from our bounds.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;

use crate::bounds::NeuronBounds;
use crate::encode::{EncodeError, Milp, RegionLp, Vertices, Work};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::Problem;
use crate::search::MethodResult;
use crate::search::incumbent::Incumbent;
use crate::search::starts::sample;
use crate::tolerance;

/// A vertex is followed if it loses at most this share of the best value; for positive values that is two thirds of
/// the best.
const WITHIN: f64 = 1.0 / 3.0;

pub(crate) fn sample_and_mip<'q>(
    problem: &'q Problem,
    bounds: &dyn Fn() -> &'q NeuronBounds,
    mut rng: ChaCha8Rng,
    incumbent: &mut Incumbent,
) -> MethodResult {
    let mut region = RegionLp::new(problem);
    let mut vertices = Vertices::new(&problem.set, *incumbent.budget);
    let mut trace = Trace::new(&problem.network);
    let mut milps = Work::default();
    let (mut starts, mut finished) = (0, 0);
    let stop = loop {
        if let Some(stop) = incumbent.stop() {
            break stop;
        }
        starts += 1;
        let best = incumbent.best.margin;
        let followed = sample(&mut vertices, &mut rng).and_then(|point| {
            follow(problem, bounds, point, &mut region, &mut milps, &mut trace, incumbent)
        });
        match followed {
            Ok(()) => finished += 1,
            Err(EncodeError::Budget) => {}
            Err(error) => log::debug!("sample-mip: {error}"),
        }
        incumbent.finished_start(incumbent.best.margin > best + tolerance::GAIN);
    };
    let work = region.work() + vertices.work() + milps;
    MethodResult { stop, starts, finished, work, claimed_bound: None }
}

/// From one sampled point to where nothing strictly better is found.
fn follow<'q>(
    problem: &'q Problem,
    bounds: &dyn Fn() -> &'q NeuronBounds,
    point: Vec<f64>,
    region: &mut RegionLp<'q>,
    milps: &mut Work,
    trace: &mut Trace,
    incumbent: &mut Incumbent,
) -> Result<(), EncodeError> {
    problem.network.forward(&point, trace);
    let mut pattern = ActivationPattern::at(trace);
    let optimum = region.solve(&pattern, &point, &[], incumbent.budget)?;
    let mut here = problem.evaluate(optimum.point, trace);
    let (best, budget) = (incumbent.best.margin, incumbent.budget);
    incumbent.offer(here.clone());
    if here.margin < best - WITHIN * best.abs() {
        return Ok(());
    }
    // The solver keeps the rows that hold a vertex to its tolerance only: its duals know them too.
    let mut held: Vec<NeuronId> = optimum.tight.iter().map(|(neuron, _)| *neuron).collect();
    loop {
        let zero = (0..trace.hidden()).flat_map(|layer| {
            let g = trace.pre_activations(layer).iter().enumerate();
            g.filter(|(_, g)| g.abs() <= tolerance::VIOLATION)
                .map(move |(index, _)| NeuronId { layer, index })
        });
        let free: HashSet<NeuronId> = zero.chain(held.drain(..)).collect();
        let around = Milp::around(problem, bounds(), &pattern, &free);
        let answer = around.solve(Some(&here.point), budget, |point| {
            let mut trace = Trace::new(&problem.network);
            incumbent.offer(problem.evaluate(point.to_vec(), &mut trace));
            if incumbent.stop().is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        *milps = *milps + answer.work;
        let Some(point) = answer.point else { return Err(EncodeError::Budget) };
        let next = problem.evaluate(point, trace);
        incumbent.offer(next.clone());
        if !answer.finished {
            return Err(EncodeError::Budget);
        }
        if next.margin <= here.margin + tolerance::GAIN {
            return Ok(());
        }
        // A neuron at exactly 0 keeps the state it had.
        pattern.update(trace);
        here = next;
    }
}
