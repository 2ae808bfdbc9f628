//! The parts that cover a set, and the bound that follows from theirs.
//!
//! A cover begins with the whole set, and a leaf of it is only ever replaced by parts that it was split into. Whoever grows a tree of
//! splits proposes bounds of parts; the cover checks that they fit: both sides of every split are there, once each, and they are sides of
//! the same split. So the bound of the root holds for the whole set, at every moment, whatever a search does. A [`CertifiedBound`] comes out
//! when every leaf is settled, so that a tree that loses a part gets none.
//!
//! Where both halves of a split are settled they are folded into one leaf, so that memory is for what is still open. With the evidence of its
//! leaves the cover is a proof.

use std::sync::Arc;

use super::certified::{CertifiedBound, PartBound};
use super::part::{Part, SplitSide};

/// Why parts do not fit a cover.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoverError {
    /// The first bound of a cover is that of the whole set.
    #[error("the bound is about a part, not about the whole set")]
    NotWhole,
    /// A bound is about another set, another objective, or a part of another leaf.
    #[error("a bound is about something else")]
    Foreign,
    /// One side of a split is not there.
    #[error("one side of a split is missing")]
    Missing,
    /// Two bounds are about the same part, or one is about a part of the other.
    #[error("two parts overlap")]
    Overlap,
    /// Two parts are not sides of the same split.
    #[error("two parts are sides of different splits")]
    Mismatch,
    /// The cover has leaves that are not settled.
    #[error("{0} parts are not settled")]
    Open(usize),
}

/// A cover that grows. `E` is what proves the bound of a leaf, where that is kept.
#[derive(Debug)]
pub struct Cover<E> {
    objective: Arc<[f64]>,
    nodes: Vec<CoverNode>,
    /// Places of nodes that are no longer in use.
    free: Vec<usize>,
    /// Leaves that are not settled.
    open: usize,
    leaves: Vec<SettledLeaf<E>>,
}

#[derive(Debug)]
struct CoverNode {
    parent: Option<usize>,
    state: NodeState,
    /// The bound of all that it covers.
    bound: CertifiedBound,
}

#[derive(Debug)]
enum NodeState {
    Open(Part),
    Settled,
    Split([usize; 2]),
}

/// The right to split or settle one leaf of a cover.
#[derive(Debug)]
pub struct OpenLeaf(usize);

/// A leaf that is not split further, and what proves its bound.
#[derive(Clone, Debug)]
pub struct SettledLeaf<E> {
    /// The part.
    pub part: Part,
    /// No point of the part has a larger value.
    pub bound: f64,
    /// What proves that.
    pub evidence: E,
}

/// A cover of which every leaf is settled.
#[derive(Clone, Debug)]
pub struct CompleteCover<E> {
    /// The bound of the whole set.
    pub bound: CertifiedBound,
    /// The leaves with evidence, in the order in which they were settled.
    pub leaves: Vec<SettledLeaf<E>>,
}

/// Where the root is.
const ROOT: usize = 0;

impl<E> Cover<E> {
    /// The whole set, not split yet.
    ///
    /// # Errors
    /// [`CoverError::NotWhole`] when the bound is that of a part.
    pub fn new(whole: &PartBound) -> Result<(Self, OpenLeaf), CoverError> {
        let bound = whole.certified().ok_or(CoverError::NotWhole)?;
        let root = CoverNode { parent: None, state: NodeState::Open(whole.part().clone()), bound };
        let objective = Arc::clone(whole.objective());
        let (free, leaves) = (Vec::new(), Vec::new());
        Ok((Self { objective, nodes: vec![root], free, open: 1, leaves }, OpenLeaf(ROOT)))
    }

    /// No point of the whole set has a larger value.
    pub fn value(&self) -> f64 {
        self.nodes[ROOT].bound.value()
    }

    /// Replaces a leaf by parts of it, or its bound by another one. The new leaves come in the order of the bounds.
    ///
    /// # Errors
    /// When the parts do not cover the leaf, or a bound is about something else. The leaf's bound then stays, and the cover cannot be completed.
    pub fn replace(
        &mut self,
        OpenLeaf(leaf): OpenLeaf,
        parts: &[&PartBound],
    ) -> Result<Vec<OpenLeaf>, CoverError> {
        let Some(NodeState::Open(part)) = self.nodes.get(leaf).map(|node| &node.state) else {
            return Err(CoverError::Foreign);
        };
        let below = |bound: &&PartBound| {
            let fits = bound.objective() == &self.objective;
            bound.part().sides_from(part).filter(|_| fits).ok_or(CoverError::Foreign)
        };
        let below = parts.iter().map(below).collect::<Result<Vec<_>, _>>()?;
        let splits = fitting_splits(&below)?;
        let mut places = vec![leaf; parts.len()];
        for split in splits {
            // All of them are in the leaf that is split here, before they go to its sides.
            let at = places[split.sides[0][0]];
            let children = [self.add_child(at), self.add_child(at)];
            self.nodes[at].state = NodeState::Split(children);
            for (child, of_side) in children.into_iter().zip(split.sides) {
                of_side.into_iter().for_each(|k| places[k] = child);
            }
        }
        self.open += parts.len() - 1;
        for (&place, bound) in places.iter().zip(parts) {
            let node = &mut self.nodes[place];
            node.state = NodeState::Open(bound.part().clone());
            node.bound = bound.in_cover();
            self.update_above(place);
        }
        Ok(places.into_iter().map(OpenLeaf).collect())
    }

    /// A new leaf below a node, with its bound: what holds for a part holds for its parts.
    fn add_child(&mut self, parent: usize) -> usize {
        let bound = self.nodes[parent].bound;
        let node = CoverNode { parent: Some(parent), state: NodeState::Settled, bound };
        match self.free.pop() {
            Some(place) => {
                self.nodes[place] = node;
                place
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        }
    }

    /// Makes the bounds of the nodes above follow.
    fn update_above(&mut self, place: usize) {
        let mut at = self.nodes[place].parent;
        while let Some(parent) = at {
            let NodeState::Split([a, b]) = self.nodes[parent].state else { break };
            self.nodes[parent].bound = self.nodes[a].bound.of_both(self.nodes[b].bound);
            at = self.nodes[parent].parent;
        }
    }

    /// Leaves a leaf as it is. Evidence is kept for [`CompleteCover::leaves`].
    pub fn settle(&mut self, OpenLeaf(leaf): OpenLeaf, evidence: Option<E>) {
        let Some(node) = self.nodes.get_mut(leaf) else { return };
        let NodeState::Open(part) = &node.state else { return };
        if let Some(evidence) = evidence {
            let bound = node.bound.value();
            self.leaves.push(SettledLeaf { part: part.clone(), bound, evidence });
        }
        node.state = NodeState::Settled;
        self.open -= 1;
        let mut at = node.parent;
        while let Some(parent) = at {
            let NodeState::Split(children) = self.nodes[parent].state else { break };
            let settled = |&child: &usize| matches!(self.nodes[child].state, NodeState::Settled);
            if !children.iter().all(settled) {
                break;
            }
            self.nodes[parent].state = NodeState::Settled;
            self.free.extend(children);
            at = self.nodes[parent].parent;
        }
    }

    /// The bound of the whole set.
    ///
    /// # Errors
    /// [`CoverError::Open`] when a leaf is not settled.
    pub fn complete(self) -> Result<CompleteCover<E>, CoverError> {
        match self.open {
            0 => Ok(CompleteCover { bound: self.nodes[ROOT].bound, leaves: self.leaves }),
            open => Err(CoverError::Open(open)),
        }
    }
}

/// A split that some parts have in common: those on one side, and those on the other.
struct FittingSplit {
    sides: [Vec<usize>; 2],
}

/// The splits that make these parts of one, each before those of its sides. The parts are told by the sides that lead to them.
///
/// # Errors
/// When they are not just the leaves of a tree of splits.
fn fitting_splits(parts: &[Vec<SplitSide>]) -> Result<Vec<FittingSplit>, CoverError> {
    let mut splits = Vec::new();
    let mut rest: Vec<(Vec<usize>, usize)> = vec![((0..parts.len()).collect(), 0)];
    while let Some((group, depth)) = rest.pop() {
        let Some(&first) = group.first() else { return Err(CoverError::Missing) };
        let Some(&side) = parts[first].get(depth) else {
            match group.len() {
                1 => continue,
                _ => return Err(CoverError::Overlap),
            }
        };
        let mut sides = [Vec::new(), Vec::new()];
        for k in group {
            match parts[k].get(depth) {
                Some(&of_part) if of_part == side => sides[0].push(k),
                Some(&of_part) if of_part == side.opposite() => sides[1].push(k),
                Some(_) => return Err(CoverError::Mismatch),
                None => return Err(CoverError::Overlap),
            }
        }
        rest.extend(sides.iter().map(|side| (side.clone(), depth + 1)));
        splits.push(FittingSplit { sides });
    }
    Ok(splits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bounds::{Arithmetic, BoundOptions, LinearBounds, PixelPart, Sign, UpperRelaxation};
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
        LinearBounds::divisible(&network, &set, above, Arithmetic::Exact, &unlimited)
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
            cover.settle(leaf, None);
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
        let halves =
            split(&linear, &linear.whole(), 0, 0.25).map(|half| bound_within(&linear, &half));
        let whole = of_parts(&linear, &halves).expect("both halves");
        assert_eq!(whole.value(), halves[0].value().max(halves[1].value()));
        assert_eq!(whole.method(), crate::bounds::BoundMethod::Branch);
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
        let [a, b] =
            split(&linear, &linear.whole(), 0, 0.25).map(|half| bound_within(&linear, &half));
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
        let halves =
            split(&linear, &linear.whole(), 0, 0.25).map(|half| bound_within(&linear, &half));
        let (mut cover, root) = cover(&linear);
        let mut leaves = cover.replace(root, &[&halves[0], &halves[1]]).expect("both halves");
        cover.settle(leaves.pop().expect("a leaf"), None);
        assert_eq!(cover.complete().expect_err("one is lost"), CoverError::Open(1));
    }

    #[test]
    fn both_signs_of_a_neuron_cover_a_part() {
        let linear = bounds();
        let neuron = linear.neurons().unstable().next().expect("an unstable neuron");
        let side = |on| {
            let side = linear.signed(linear.neurons(), Sign { neuron, on });
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
            cover.settle(first, None);
            (part, open) = (b, second);
        }
        cover.settle(open, None);
        assert_eq!(cover.nodes.len() - cover.free.len(), 1);
        assert_eq!(cover.value(), cover.complete().expect("all settled").bound.value());
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
            let shifted = linear.of_part(&shifted, &Budget::unlimited()).map(|linear| bound(&linear));
            if let Some(shifted) = shifted {
                let mut parts = all.clone();
                parts[victim] = shifted;
                refused(&linear, &parts);
            }
        }
    }
}
