//! Random points of a set.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::encode::{EncodeError, Vertices};

/// A random point of the set: somewhere between the centre and the vertex that is furthest in a random direction.
///
/// # Errors
/// Only with constraints: when the time is up or the LP solver fails.
pub(super) fn random_point(
    vertices: &mut Vertices,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<f64>, EncodeError> {
    let set = vertices.set();
    let direction: Vec<f64> = (0..set.dimension()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut point = vertices.maximise(&direction)?.point;
    pull_back(&mut point, set.centre(), rng);
    Ok(point)
}

/// A point of the set as sampling methods draw it: uniformly from a box; from any other set, as [`random_point`].
///
/// # Errors
/// As [`random_point`].
pub(super) fn sample(
    vertices: &mut Vertices,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<f64>, EncodeError> {
    let set = vertices.set();
    if set.budget().is_some() || !set.constraints().is_empty() {
        return random_point(vertices, rng);
    }
    let between = |i| {
        let (lower, upper) = set.range(i);
        lower + (upper - lower) * rng.random_range(0.0..1.0)
    };
    Ok((0..set.dimension()).map(between).collect())
}

/// Moves a point back towards `from`, by a random share of the distance.
pub(super) fn pull_back(point: &mut [f64], from: &[f64], rng: &mut ChaCha8Rng) {
    let share = rng.random_range(0.0..1.0);
    for (x, from) in point.iter_mut().zip(from) {
        *x = from + share * (*x - from);
    }
}

/// An index drawn with probability proportional to its weight; `None` if no weight is positive.
pub(super) fn draw(weights: &[f64], rng: &mut ChaCha8Rng) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return None;
    }
    let mut left = rng.random_range(0.0..total);
    let drawn = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Rounding may leave something behind the last weight.
    drawn.or_else(|| weights.iter().rposition(|&weight| weight > 0.0))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn an_index_without_weight_is_never_drawn() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let drawn: Vec<_> =
            (0..100).filter_map(|_| draw(&[0.0, 1.0, 0.0, 2.0], &mut rng)).collect();
        assert_eq!(drawn.len(), 100);
        assert!(drawn.contains(&1) && drawn.contains(&3));
        assert!(!drawn.contains(&0) && !drawn.contains(&2));
        assert_eq!(draw(&[0.0, 0.0], &mut rng), None);
        assert_eq!(draw(&[], &mut rng), None);
    }
}
