//! The parts that cover a set, and the bound that follows from theirs.
//!
//! A cover begins with the whole set, and a leaf of it is only ever replaced by parts that it was split into. Whoever grows a tree of
//! splits proposes bounds of parts; the cover checks that they fit: both sides of every split are there, once each, and they are sides of
//! the same split. So the bound of the root holds for the whole set, at every moment, whatever a search does. A [`CertifiedBound`] comes out
//! when every leaf is closed, so that a tree that loses a part gets none.
//!
//! Where both halves of a split are closed they are folded into one leaf, so that memory is for what is still open. With the evidence of its
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
    /// The cover has leaves that are not closed.
    #[error("{0} parts are not closed")]
    Open(usize),
}

/// A cover that grows. `E` is what proves the bound of a leaf, where that is kept.
#[derive(Debug)]
pub struct Cover<E> {
    objective: Arc<[f64]>,
    nodes: Vec<CoverNode>,
    /// Places of nodes that are no longer in use.
    free: Vec<usize>,
    /// Leaves that are not closed.
    open: usize,
    leaves: Vec<ClosedLeaf<E>>,
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
    Closed,
    Split([usize; 2]),
}

/// The right to split or close one leaf of a cover.
#[derive(Debug)]
pub struct OpenLeaf(usize);

/// A leaf that is not split further, and what proves its bound.
#[derive(Clone, Debug)]
pub struct ClosedLeaf<E> {
    /// The part.
    pub part: Part,
    /// No point of the part has a larger value.
    pub bound: f64,
    /// What proves that.
    pub evidence: E,
}

/// A cover of which every leaf is closed.
#[derive(Clone, Debug)]
pub struct CompleteCover<E> {
    /// The bound of the whole set.
    pub bound: CertifiedBound,
    /// The leaves with evidence, in the order in which they were closed.
    pub leaves: Vec<ClosedLeaf<E>>,
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
        let node = CoverNode { parent: Some(parent), state: NodeState::Closed, bound };
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
    pub fn close(&mut self, OpenLeaf(leaf): OpenLeaf, evidence: Option<E>) {
        let Some(node) = self.nodes.get_mut(leaf) else { return };
        let NodeState::Open(part) = &node.state else { return };
        if let Some(evidence) = evidence {
            let bound = node.bound.value();
            self.leaves.push(ClosedLeaf { part: part.clone(), bound, evidence });
        }
        node.state = NodeState::Closed;
        self.open -= 1;
        let mut at = node.parent;
        while let Some(parent) = at {
            let NodeState::Split(children) = self.nodes[parent].state else { break };
            let closed = |&child: &usize| matches!(self.nodes[child].state, NodeState::Closed);
            if !children.iter().all(closed) {
                break;
            }
            self.nodes[parent].state = NodeState::Closed;
            self.free.extend(children);
            at = self.nodes[parent].parent;
        }
    }

    /// Whether its bounds are about the function with these numbers: those very numbers, not equal ones.
    pub(super) fn is_about(&self, objective: &Arc<[f64]>) -> bool {
        Arc::ptr_eq(&self.objective, objective)
    }

    /// Whether the bound of the whole set, at this moment, is below the cutoff, also for what is computed in f32.
    pub(super) fn excludes(&self, cutoff: f64) -> bool {
        let CoverNode { bound, .. } = &self.nodes[ROOT];
        bound.value() < cutoff && bound.holds_in_f32()
    }

    /// The parts whose bounds are not below the cutoff, or do not hold in f32. Everywhere else the function is below the cutoff. `None` if such a
    /// part is closed: it is not known any more which one it is.
    pub(super) fn undecided(&self, cutoff: f64) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let mut rest = vec![ROOT];
        while let Some(at) = rest.pop() {
            let CoverNode { state, bound, .. } = &self.nodes[at];
            let is_decided = bound.value() < cutoff && bound.holds_in_f32();
            match state {
                NodeState::Split(children) => rest.extend(children),
                _ if is_decided => (),
                NodeState::Open(part) => parts.push(part.clone()),
                NodeState::Closed => return None,
            }
        }
        Some(parts)
    }

    /// Nodes that are in use.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// The bound of the whole set.
    ///
    /// # Errors
    /// [`CoverError::Open`] when a leaf is not closed.
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
