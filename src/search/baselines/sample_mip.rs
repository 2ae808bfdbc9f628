//! Sample-and-MIP (Perakis and Tsiourvas 2022), as Tong, Cai and Serra compare with it: sample a point, solve the LP of its region, and from a
//! vertex that is good enough let branch and bound decide the neurons that are zero there; again from where that leads.
//!
//! What is ours: the forward pass, the region LP with rows on demand, big-M from our bounds.

use std::collections::HashSet;

use crate::encode::{EncodeError, LpWork, Milp, RegionLp, Vertices};
use crate::network::{ActivationPattern, NeuronId, Trace};
use crate::problem::Problem;
use crate::search::incumbent::Incumbent;
use crate::search::sampling::sample;
use crate::search::task::{MethodResult, SearchTask};
use crate::tolerance;

/// A vertex is followed if it loses at most this share of the best value; for positive values that is two thirds of
/// the best.
const WITHIN: f64 = 1.0 / 3.0;

/// Follows one sampled point after the other until the incumbent says stop.
pub(in crate::search) fn sample_mip(task: &SearchTask, incumbent: &mut Incumbent) -> MethodResult {
    let (problem, mut rng) = (task.problem, task.rng());
    let mut vertices = Vertices::new(&problem.set, *incumbent.budget);
    let mut follower = Follower {
        task,
        problem,
        region: RegionLp::new(problem),
        trace: problem.trace(),
        milps: LpWork::default(),
    };
    let (mut starts, mut finished) = (0, 0);
    let stop = loop {
        if let Some(stop) = incumbent.stop() {
            break stop;
        }
        starts += 1;
        let best = incumbent.best.margin;
        let followed =
            sample(&mut vertices, &mut rng).and_then(|point| follower.follow(&point, incumbent));
        match followed {
            Ok(()) => finished += 1,
            Err(EncodeError::Budget) => {}
            Err(error) => log::debug!("sample-mip: {error}"),
        }
        incumbent.finish_start(incumbent.best.margin > best + tolerance::GAIN);
    };
    let work = follower.region.work() + vertices.work() + follower.milps;
    MethodResult { stop, starts, finished, work, claimed_bound: None }
}

/// What the sampled points share.
struct Follower<'s, 'p> {
    task: &'s SearchTask<'s, 'p>,
    problem: &'p Problem,
    region: RegionLp<'p>,
    trace: Trace,
    /// What the MILPs have cost.
    milps: LpWork,
}

impl Follower<'_, '_> {
    /// From one sampled point to where nothing strictly better is found.
    fn follow(&mut self, point: &[f64], incumbent: &mut Incumbent) -> Result<(), EncodeError> {
        let (problem, budget) = (self.problem, incumbent.budget);
        problem.network.forward(point, &mut self.trace);
        let mut pattern = ActivationPattern::at(&self.trace);
        let optimum = self.region.solve(&pattern, point, &[], budget)?;
        let mut here = problem.evaluate(optimum.point, &mut self.trace);
        let best = incumbent.best.margin;
        incumbent.offer(here.clone());
        if here.margin < best - WITHIN * best.abs() {
            return Ok(());
        }
        // The solver keeps the tight rows of a vertex to its tolerance only: its duals know them too.
        let mut tight: Vec<NeuronId> = optimum.tight.iter().map(|(neuron, _)| *neuron).collect();
        loop {
            let free: HashSet<NeuronId> = self.zero_neurons().chain(tight.drain(..)).collect();
            let milp = Milp::around(problem, self.task.bounds(), &pattern, &free);
            let solution = milp.solve(Some(&here.point), budget, |point| {
                let mut trace = problem.trace();
                incumbent.offer_in_callback(problem.evaluate(point.to_vec(), &mut trace));
                incumbent.control_flow()
            })?;
            self.milps = self.milps + solution.work;
            let Some(point) = solution.point else { return Err(EncodeError::Budget) };
            let next = problem.evaluate(point, &mut self.trace);
            incumbent.offer(next.clone());
            if !solution.finished {
                return Err(EncodeError::Budget);
            }
            if next.margin <= here.margin + tolerance::GAIN {
                return Ok(());
            }
            // A neuron at exactly 0 keeps the state it had.
            pattern.update(&self.trace);
            here = next;
        }
    }

    /// The neurons that are zero at the point of the last forward pass.
    fn zero_neurons(&self) -> impl Iterator<Item = NeuronId> + '_ {
        self.problem.network.relus().filter(|&NeuronId { layer, index }| {
            self.trace.pre_activations(layer)[index].abs() <= tolerance::VIOLATION
        })
    }
}
