//! Sets of all kinds: their maxima, projections and parts.

use super::*;
use crate::tolerance;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn sets() -> impl Strategy<Value = (InputSet, Vec<f64>, u64)> {
    (1usize..40, 0u8..3, 0.01f64..6.0, any::<u64>()).prop_map(|(n, kind, delta, seed)| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Many pixels of an image are exactly black or white.
        let centre: Vec<f64> = (0..n)
            .map(|_| match rng.random_range(0..3) {
                0 => 0.0,
                1 => 1.0,
                _ => rng.random_range(0.0..1.0),
            })
            .collect();
        let set = match kind {
            0 => InputSet::ball(Norm::L1, &centre, delta, PixelRange::UNIT),
            1 => InputSet::ball(Norm::Linf, &centre, delta / 6.0, PixelRange::UNIT),
            _ => InputSet::new_box(&vec![-1.0; n], &centre),
        };
        let w = (0..n).map(|_| rng.random_range(-2.0..2.0)).collect();
        (set, w, seed)
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn some_point(set: &InputSet, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let anywhere: Vec<f64> = set.centre().iter().map(|c| c + rng.random_range(-2.0..2.0)).collect();
    set.project(&anywhere)
}

#[test]
fn a_knapsack_by_hand() {
    // Budget 1.5: the steepest pixel goes up by its whole 0.75, the next down by the 0.75 that is left.
    let set = InputSet::ball(Norm::L1, &[0.25, 1.0, 0.5], 1.5, PixelRange::UNIT);
    let vertex = set.maximise(&[2.0, -1.5, 1.0]);
    assert_eq!(vertex.point, [1.0, 0.25, 0.5]);
    assert_eq!(vertex.value, 2.0 - 0.375 + 0.5);
    assert_eq!(set.support(&[2.0, -1.5, 1.0]), vertex.value);
}

#[test]
fn a_projection_by_hand() {
    // (1, 1) from 0 with budget 1: each gives up the same.
    let set = InputSet::ball(Norm::L1, &[0.0, 0.0], 1.0, PixelRange::UNIT);
    assert_eq!(set.project(&[1.0, 1.0]), [0.5, 0.5]);
    assert_eq!(set.project(&[2.0, -3.0]), [1.0, 0.0]);
    assert_eq!(set.project(&[0.25, 0.25]), [0.25, 0.25]);
}

fn constrained(constraints: Vec<Constraint>, centre: &[f64]) -> InputSet {
    let domain = Domain { constraints, ..Domain::new_box(centre.len(), 0.0, 1.0) };
    InputSet::of_domain(&domain, centre.to_vec())
}

#[test]
fn what_breaks_a_constraint_is_moved_onto_it() {
    let sum = Constraint::new(&[(0, 1.0), (1, 1.0)], f64::NEG_INFINITY, 1.0);
    let set = constrained(vec![sum], &[0.25, 0.25]);
    assert_eq!(set.project(&[0.5, 0.25]), [0.5, 0.25]);
    assert_eq!(set.project(&[0.5, -2.0]), [0.5, 0.0]);
    assert_eq!(set.project(&[3.0, 3.0]), [0.5, 0.5]);
    // Not towards the centre: straight.
    assert_eq!(set.project(&[1.0, 0.25]), [0.875, 0.125]);
    assert!(!set.contains(&[0.6, 0.5], 1e-9));
}

#[test]
fn a_point_just_off_an_equation_stays_near() {
    let equal = Constraint::new(&[(0, 1.0), (1, -1.0)], 0.0, 0.0);
    let set = constrained(vec![equal], &[0.5, 0.5]);
    // What the set contains is left alone.
    for off in [1.5e-7, 1.9e-7] {
        assert_eq!(set.project(&[0.75 + off, 0.75]), [0.75 + off, 0.75]);
    }
    for off in [3e-7, 1e-3, 0.1] {
        let near = set.project(&[0.75 + off, 0.75]);
        assert!(near.iter().all(|x| (x - 0.75).abs() <= off), "{off}: {near:?}");
        assert!(set.contains(&near, 0.0), "{off}: {near:?}");
    }
}

#[test]
fn a_centre_that_uses_the_tolerance_does_not_use_it_up() {
    // An equation and a half-space at a sharp angle to it: corrections alone take too long.
    let equal = Constraint::new(&[(0, 1.0), (1, -1.0)], 0.0, 0.0);
    let sharp = Constraint::new(&[(0, 1.0), (1, -0.999)], f64::NEG_INFINITY, 0.0005);
    for off in [0.0, 0.9e-7, 1.5e-7] {
        let alone = constrained(vec![equal.clone()], &[0.25, 0.25 + off]);
        let both = constrained(vec![equal.clone(), sharp.clone()], &[0.25, 0.25 + off]);
        for y in [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.3, 0.7], [1.0, 0.99]] {
            for set in [&alone, &both] {
                let point = set.project(&y);
                assert!(set.contains(&point, 0.0), "{off} {y:?}: {point:?}");
            }
        }
    }
}

#[test]
fn a_set_remembers_its_ball_and_its_bounds() {
    let range = PixelRange { lower: -1.0, upper: 3.0 };
    let set = InputSet::ball(Norm::Linf, &[2.5, 0.0], 1.0, range);
    assert_eq!((set.range(0), set.range(1)), ((1.5, 3.0), (-1.0, 1.0)));
    assert_eq!(set.as_ball(), Some(Ball { norm: Norm::Linf, radius: 1.0 }));
    let split = PixelSplit { pixel: 0, up: true, amount: 0.25 };
    let [_, part] = set.split(split).expect("the sum is exact");
    assert_eq!(part.as_ball(), None);
    assert_eq!(part.domain(), &Domain::new_box(2, -1.0, 3.0));
    let set = InputSet::ball(Norm::L1, &[0.5; 3], 1.0, PixelRange::UNIT);
    let wider = Ball { norm: Norm::L1, radius: 2.0 };
    assert_eq!(set.with_budget(2.0).as_ball(), Some(wider));
    assert_eq!(InputSet::new_box(&[0.0], &[1.0]).as_ball(), None);
}

proptest! {
    #[test]
    fn the_maximiser_is_in_the_set_and_no_other_point_is_better((set, w, seed) in sets()) {
        let vertex = set.maximise(&w);
        prop_assert!(set.contains(&vertex.point, 1e-12));
        prop_assert!((dot(&w, &vertex.point) - vertex.value).abs() < 1e-9);
        prop_assert!((set.support(&w) - vertex.value).abs() < 1e-12);
        for k in 0..20 {
            let other = some_point(&set, seed.wrapping_add(k));
            prop_assert!(dot(&w, &other) <= vertex.value + 1e-9);
        }
    }

    #[test]
    fn the_dual_bound_meets_the_knapsack((set, w, _) in sets()) {
        // min over λ of λΔ + Σ cap max(|w| − λ, 0); the best λ is one of the |w_i| or 0.
        let base = dot(&w, set.centre());
        let value = |lambda: f64| {
            let over: f64 = (0..w.len()).map(|i| set.cap(i, w[i]) * (w[i].abs() - lambda).max(0.0)).sum();
            base + over + lambda * set.budget().unwrap_or(0.0)
        };
        let lambdas = std::iter::once(0.0).chain(w.iter().map(|w| w.abs()).filter(|_| set.budget().is_some()));
        let best = lambdas.map(value).fold(f64::INFINITY, f64::min);
        prop_assert!((best - set.support(&w)).abs() < 1e-9);
    }

    #[test]
    fn a_projection_keeps_the_constraints_that_the_centre_keeps(
        n in 1usize..8,
        rows in 1usize..6,
        far in -8i32..2,
        seed in any::<u64>(),
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut numbers = |n: usize| (0..n).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
        let centre: Vec<f64> = numbers(n).iter().map(|x| x.abs()).collect();
        let constraint = |k: usize| {
            let terms: Vec<(usize, f64)> = numbers(n).into_iter().enumerate().collect();
            let largest = terms.iter().fold(0.0_f64, |most, (_, w)| most.max(w.abs()));
            let at: f64 = terms.iter().map(|&(i, w)| w * centre[i]).sum();
            // Some are broken at the centre, by up to half of the tolerance.
            let off = 0.5 * tolerance::CONSTRAINT * largest * numbers(1)[0];
            let (lower, upper) = [(f64::NEG_INFINITY, 0.0), (-0.1, 0.0), (0.0, 0.0)][k % 3];
            Constraint::new(&terms, at + lower + off, at + upper + off)
        };
        let set = constrained((0..rows).map(constraint).collect(), &centre);
        for _ in 0..10 {
            let y: Vec<f64> =
                numbers(n).iter().zip(&centre).map(|(d, c)| c + 10f64.powi(far) * d).collect();
            prop_assert!(set.contains(&set.project(&y), 1e-12));
        }
    }

    #[test]
    fn the_projection_is_in_the_set_and_nearest((set, _, seed) in sets()) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 1);
        let y: Vec<f64> = set.centre().iter().map(|c| c + rng.random_range(-2.0..2.0)).collect();
        let nearest = set.project(&y);
        prop_assert!(set.contains(&nearest, 1e-9));
        // Optimality: no point of the set lies further in the direction y − nearest.
        let direction: Vec<f64> = y.iter().zip(&nearest).map(|(y, p)| y - p).collect();
        prop_assert!(set.support(&direction) <= dot(&direction, &nearest) + 1e-7);
    }
}
