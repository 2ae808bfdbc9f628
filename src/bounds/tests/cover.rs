//! A tree that drops, doubles or shifts a part gets no bound.

use std::sync::Arc;

use proptest::prelude::*;

use crate::bounds::{
    Arithmetic, BoundMethod, BoundOptions, CertifiedBound, Cover, CoverError, GuideSource,
    LinearBounds, OpenLeaf, PartBound, PartStart, PixelPart, Sign, SplitSide, UpperRelaxation,
};
use crate::budget::Budget;
use crate::network::random::{self, point};
use crate::sets::{InputSet, Norm, PixelRange, PixelSplit};

const PIXELS: usize = 4;

fn bounds() -> LinearBounds {
    let network = Arc::new(random::network(&[PIXELS, 5, 5, 2], 7));
    let centre: Vec<f64> =
        point(PIXELS, 1).iter().map(|v| (v.abs() * 256.0).round() / 256.0).collect();
    let set = InputSet::ball(Norm::L1, &centre, 1.0, PixelRange::UNIT);
    let (above, unlimited) = (UpperRelaxation::Envelopes, Budget::unlimited());
    LinearBounds::splittable(&network, &set, above, Arithmetic::Exact, &unlimited)
}

fn objective_bound(linear: &LinearBounds, objective: &[f64]) -> PartBound {
    let effort = BoundOptions { steps: 2, ..BoundOptions::default() };
    linear.prove(objective, &effort, &Budget::unlimited()).bound
}

fn bound(linear: &LinearBounds) -> PartBound {
    objective_bound(linear, &[1.0, -1.0])
}

fn bound_within(linear: &LinearBounds, part: &PixelPart) -> PartBound {
    bound(&linear.within(part))
}

fn split(linear: &LinearBounds, part: &PixelPart, pixel: usize, amount: f64) -> [PixelPart; 2] {
    let up = linear.set().range(pixel).1 > linear.set().centre()[pixel];
    part.split(PixelSplit { pixel, up, amount }).expect("the pixel moves")
}

fn cover(linear: &LinearBounds) -> (Cover<()>, OpenLeaf) {
    Cover::new(&bound(linear)).expect("the whole set")
}

/// What comes of a cover in which these parts replace the whole set.
fn of_parts(linear: &LinearBounds, parts: &[PartBound]) -> Result<CertifiedBound, CoverError> {
    let (mut cover, root) = cover(linear);
    let leaves = cover.replace(root, &parts.iter().collect::<Vec<_>>());
    for leaf in leaves.into_iter().flatten() {
        cover.close(leaf, None);
    }
    cover.complete().map(|complete| complete.bound)
}

fn refused(linear: &LinearBounds, parts: &[PartBound]) -> CoverError {
    // No bound comes out,
    assert_eq!(of_parts(linear, parts).map(|bound| bound.value()), Err(CoverError::Open(1)));
    // and that is why.
    let (mut cover, root) = cover(linear);
    let before = cover.value();
    let error = cover.replace(root, &parts.iter().collect::<Vec<_>>()).expect_err("refused");
    assert_eq!(cover.value(), before);
    error
}

#[test]
fn the_bound_of_a_cover_is_the_largest() {
    let linear = bounds();
    let halves = split(&linear, &linear.whole(), 0, 0.25).map(|half| bound_within(&linear, &half));
    let whole = of_parts(&linear, &halves).expect("both halves");
    assert_eq!(whole.value(), halves[0].value().max(halves[1].value()));
    assert_eq!(whole.method(), BoundMethod::Branch);
}

#[test]
fn a_whole_that_is_not_split_keeps_its_bound() {
    let linear = bounds();
    let whole = of_parts(&linear, &[bound(&linear)]).expect("the whole set");
    let method = bound(&linear).certified().expect("the whole set").method();
    assert_eq!((whole.value(), whole.method()), (bound(&linear).value(), method));
}

#[test]
fn a_part_that_is_dropped_leaves_no_bound() {
    let linear = bounds();
    for half in split(&linear, &linear.whole(), 0, 0.25) {
        let alone = [bound_within(&linear, &half)];
        assert_eq!(refused(&linear, &alone), CoverError::Missing);
    }
    assert_eq!(refused(&linear, &[]), CoverError::Missing);
}

#[test]
fn a_part_that_is_there_twice_leaves_no_bound() {
    let linear = bounds();
    let [a, b] = split(&linear, &linear.whole(), 0, 0.25).map(|half| bound_within(&linear, &half));
    // In the place of its other half.
    assert_eq!(refused(&linear, &[a.clone(), a.clone()]), CoverError::Missing);
    assert_eq!(refused(&linear, &[a.clone(), b.clone(), b.clone()]), CoverError::Overlap);
    // The whole itself beside its halves.
    assert_eq!(refused(&linear, &[bound(&linear), a, b]), CoverError::Overlap);
}

#[test]
fn a_part_that_is_shifted_leaves_no_bound() {
    let linear = bounds();
    let [a, _] = split(&linear, &linear.whole(), 0, 0.25);
    for (pixel, amount) in [(0, 0.5), (0, 0.25 + 1e-9), (1, 0.25)] {
        let [_, other] = split(&linear, &linear.whole(), pixel, amount);
        let parts = [bound_within(&linear, &a), bound_within(&linear, &other)];
        assert_eq!(refused(&linear, &parts), CoverError::Mismatch);
    }
}

#[test]
fn bounds_about_something_else_leave_no_bound() {
    let linear = bounds();
    let [a, b] = split(&linear, &linear.whole(), 0, 0.25);
    let right = bound_within(&linear, &a);
    let other_objective = objective_bound(&linear.within(&b), &[0.0, 1.0]);
    assert_eq!(refused(&linear, &[right.clone(), other_objective]), CoverError::Foreign);
    let others = bounds();
    let [_, other] = split(&others, &others.whole(), 0, 0.25);
    assert_eq!(
        refused(&linear, &[right.clone(), bound_within(&others, &other)]),
        CoverError::Foreign
    );
    // Parts of another leaf.
    let (mut cover, root) = cover(&linear);
    let halves = [&right, &bound_within(&linear, &b)];
    let [first, _]: [OpenLeaf; 2] =
        cover.replace(root, &halves).expect("both halves").try_into().expect("two");
    let quarters = split(&linear, &b, 1, 0.125).map(|part| bound_within(&linear, &part));
    assert_eq!(
        cover.replace(first, &[&quarters[0], &quarters[1]]).expect_err("of b"),
        CoverError::Foreign
    );
    assert_eq!(Cover::<()>::new(&right).expect_err("a part"), CoverError::NotWhole);
}

#[test]
fn a_leaf_that_is_lost_leaves_no_bound() {
    let linear = bounds();
    let halves = split(&linear, &linear.whole(), 0, 0.25).map(|half| bound_within(&linear, &half));
    let (mut cover, root) = cover(&linear);
    let mut leaves = cover.replace(root, &[&halves[0], &halves[1]]).expect("both halves");
    cover.close(leaves.pop().expect("a leaf"), None);
    assert_eq!(cover.complete().expect_err("one is lost"), CoverError::Open(1));
}

#[test]
fn both_signs_of_a_neuron_cover_a_part() {
    let linear = bounds();
    let neuron = linear.neurons().unstable().next().expect("an unstable neuron");
    let side = |on| {
        let side = linear.signed(&linear.signed_part(), Sign { neuron, on });
        side.map_or_else(|empty| empty.bound(&[1.0, -1.0]), |linear| bound(&linear))
    };
    let (on, off) = (side(true), side(false));
    let whole = of_parts(&linear, &[on.clone(), off.clone()]).expect("both signs");
    assert_eq!(whole.value(), on.value().max(off.value()));
    assert_eq!(refused(&linear, &[on.clone(), on.clone(), off.clone()]), CoverError::Overlap);
    assert_eq!(refused(&linear, &[off]), CoverError::Missing);
}

#[test]
fn settled_leaves_take_no_room() {
    let linear = bounds();
    let (mut cover, mut open) = cover(&linear);
    let mut part = linear.whole();
    for k in 0..200 {
        let [a, b] = split(&linear, &part, k % PIXELS, 0.5_f64.powi(20));
        let bounds = [&a, &b].map(|half| bound_within(&linear, half));
        let leaves = cover.replace(open, &[&bounds[0], &bounds[1]]).expect("both halves");
        let [first, second]: [OpenLeaf; 2] = leaves.try_into().expect("two");
        cover.close(first, None);
        (part, open) = (b, second);
    }
    cover.close(open, None);
    assert_eq!(cover.len(), 1);
    assert_eq!(cover.value(), cover.complete().expect("all closed").bound.value());
}

/// The leaves of a random tree.
fn random_leaves(
    linear: &LinearBounds,
    splits: &[(prop::sample::Index, usize, u32)],
) -> Vec<PixelPart> {
    let mut leaves = vec![linear.whole()];
    for &(leaf, pixel, grains) in splits {
        let part = leaves.swap_remove(leaf.index(leaves.len()));
        leaves.extend(split(linear, &part, pixel, f64::from(grains) / 1024.0));
    }
    leaves
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn only_all_leaves_of_a_tree_cover_the_set(
        splits in prop::collection::vec((any::<prop::sample::Index>(), 0..PIXELS, 1u32..64), 1..10),
        victim in any::<prop::sample::Index>(),
        order in any::<u64>(),
    ) {
        let linear = bounds();
        let mut leaves = random_leaves(&linear, &splits);
        leaves.rotate_left(order as usize % splits.len());
        let all: Vec<PartBound> = leaves.iter().map(|leaf| bound_within(&linear, leaf)).collect();
        let largest = all.iter().map(PartBound::value).fold(f64::NEG_INFINITY, f64::max);
        prop_assert_eq!(of_parts(&linear, &all).map(|bound| bound.value()), Ok(largest));
        let victim = victim.index(all.len());
        let mut dropped = all.clone();
        dropped.remove(victim);
        refused(&linear, &dropped);
        let mut doubled = all.clone();
        doubled.push(all[victim].clone());
        refused(&linear, &doubled);
        // The victim's own split at another amount.
        let sides = leaves[victim].part().sides();
        let mut shifted = linear.part().clone();
        for (depth, &side) in sides.iter().enumerate() {
            let SplitSide::Pixel(split, half) = side else { unreachable!("pixels only") };
            let amount = if depth + 1 == sides.len() { split.amount * 1.5 } else { split.amount };
            shifted = shifted.side(SplitSide::Pixel(PixelSplit { amount, ..split }, half));
        }
        let start = PartStart { known: linear.bounded_part(), guide: GuideSource::None, only_for: None };
        let shifted = linear.of_part(&shifted, &start, &Budget::unlimited()).map(|linear| bound(&linear));
        if let Some(shifted) = shifted {
            let mut parts = all.clone();
            parts[victim] = shifted;
            refused(&linear, &parts);
        }
    }
}
