//! Projected gradient with perturbations, for sets without a budget.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::iterate::{GradientAscent, Iterate};
use crate::encode::Vertices;
use crate::search::incumbent::Incumbent;
use crate::search::sampling::sample;

/// Projected gradient is stuck when its steps are below this share of the box.
const STUCK: f64 = 1e-5;

/// How far a perturbation moves a coordinate at most, as a share of the box.
const PERTURBATION: f64 = 0.2;

/// Perturbations in a row without gain before projected gradient begins anew.
const PERTURBATIONS: usize = 5;

impl GradientAscent<'_> {
    /// Uphill from a random point; where that gets stuck, again from a point nearby, as long as that helps. Whether the incumbent gained.
    pub fn projected_gradient(&mut self, rng: &mut ChaCha8Rng, incumbent: &mut Incumbent) -> bool {
        let set = &self.problem.set;
        let mut gained = false;
        let Ok(start) = sample(&mut Vertices::new(set, *incumbent.budget), rng) else {
            return false;
        };
        let start = self.at(start);
        let mut best = self.uphill(start, incumbent);
        gained |= incumbent.offer(best.candidate.clone());
        let mut idle = 0;
        while idle < PERTURBATIONS && incumbent.stop().is_none() {
            let point = (0..set.dimension()).map(|i| {
                let (lower, upper) = set.range(i);
                let noise = PERTURBATION * (upper - lower) * rng.random_range(-1.0..1.0);
                (best.candidate.point[i] + noise).clamp(lower, upper)
            });
            let near = self.at(point.collect());
            let end = self.uphill(near, incumbent);
            idle += 1;
            if end.candidate.margin > best.candidate.margin {
                best = end;
                idle = 0;
                gained |= incumbent.offer(best.candidate.clone());
            }
        }
        gained
    }

    /// Projected gradient steps, longer after each that helps and shorter after each that does not.
    fn uphill(&mut self, mut here: Iterate, incumbent: &Incumbent) -> Iterate {
        let set = &self.problem.set;
        let widths: Vec<f64> = (0..set.dimension())
            .map(|i| {
                let (lower, upper) = set.range(i);
                upper - lower
            })
            .collect();
        let mut step = 1.0;
        while step > STUCK && incumbent.stop().is_none() {
            let slope = |(g, width): (&f64, &f64)| (g * width).abs();
            let steepest = here.gradient.iter().zip(&widths).map(slope).fold(0.0, f64::max);
            if steepest == 0.0 {
                break;
            }
            let point = here.candidate.point.iter().enumerate().map(|(i, x)| {
                let (lower, upper) = set.range(i);
                let width = upper - lower;
                (x + step * width * (here.gradient[i] * width / steepest)).clamp(lower, upper)
            });
            let next = self.at(point.collect());
            if next.candidate.margin > here.candidate.margin {
                here = next;
                step = (step * 2.0).min(64.0);
            } else {
                step /= 2.0;
            }
        }
        here
    }
}
