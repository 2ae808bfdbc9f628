//! A claim is put together from the leaves of a tree.

use std::collections::HashMap;
use std::sync::Arc;

use super::evidence::Certificate;
use super::file::{Claim, Leaf};
use super::part::ProofPart;
use super::side::ProofSide;
use crate::bounds::{BoundedPart, Part, SplitSide};
use crate::sets::Half;

/// The parts of a claim, each once, those that others take intervals from before these.
#[derive(Default)]
struct PartList {
    parts: Vec<ProofPart>,
    places: HashMap<*const BoundedPart, usize>,
}

impl PartList {
    fn place(&mut self, part: &Arc<BoundedPart>) -> usize {
        // From the part upwards, until one that is in the list: a tree may be deep.
        let mut missing = Vec::new();
        let mut at = Some(part);
        while let Some(part) = at.filter(|part| !self.places.contains_key(&Arc::as_ptr(part))) {
            missing.push(part);
            at = part.parent();
        }
        for part in missing.into_iter().rev() {
            let parent = part.parent().map(|parent| self.places[&Arc::as_ptr(parent)]);
            self.places.insert(Arc::as_ptr(part), self.parts.len());
            self.parts.push(ProofPart::new(part, parent));
        }
        self.places[&Arc::as_ptr(part)]
    }
}

/// A leaf while a claim is put together.
#[derive(Clone, Debug)]
pub struct ProvenLeaf {
    /// The part.
    pub part: Part,
    /// No point of it has a larger value.
    pub bound: f64,
    /// Why.
    pub certificate: Arc<Certificate>,
}

/// Which way leads to a part at each split.
fn path(part: &Part) -> Vec<bool> {
    let is_first = |side: SplitSide| match side {
        SplitSide::Pixel(_, half) | SplitSide::Input(_, half) => half == Half::AtLeast,
        SplitSide::Neuron(sign) => sign.on,
    };
    part.sides().into_iter().map(is_first).collect()
}

impl Claim {
    /// The claim that leaves which cover a set prove together.
    pub fn new(f32: bool, bound: f64, leaves: &[ProvenLeaf]) -> Self {
        let mut list = PartList::default();
        let mut leaf = |ProvenLeaf { part, bound, certificate }: &ProvenLeaf| Leaf {
            sides: part.sides().into_iter().map(ProofSide::from).collect(),
            // An empty part has no bound, and files no infinities.
            bound: bound.max(f64::MIN),
            needs: certificate.needs,
            part: list.place(&certificate.bounded),
            evidence: certificate.evidence.clone(),
        };
        // In the order of the tree, in which a checker finds what parts take from others soon after it was made.
        let mut leaves: Vec<(Vec<bool>, &ProvenLeaf)> =
            leaves.iter().map(|leaf| (path(&leaf.part), leaf)).collect();
        leaves.sort_by(|a, b| a.0.cmp(&b.0));
        let leaves = leaves.into_iter().map(|(_, proven)| leaf(proven)).collect();
        Self { f32, bound, parts: list.parts, leaves }
    }
}
