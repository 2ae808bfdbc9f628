//! A bound of a part, and what proves it.

use std::sync::Arc;

use crate::bounds::{BoundedPart, CertifiedBound, EmptyPart, LineBound, LinearBounds, PartBound};
use crate::proof::{Certificate, Claim, Evidence, ProvenLeaf};

/// A bound and, if proofs are kept, why it holds.
#[derive(Clone, Debug)]
pub struct ProvenBound {
    /// The bound.
    pub bound: PartBound,
    /// Why it holds.
    pub certificate: Option<Arc<Certificate>>,
}

impl ProvenBound {
    /// What bounds of the whole set prove; `keep` says whether proofs are kept.
    pub fn of_whole(whole: &LinearBounds, proof: &LineBound, keep: bool) -> Self {
        Self::by_lines(whole, proof, keep)
    }

    /// What bounds prove of the part that they are of.
    pub(super) fn by_lines(linear: &LinearBounds, proof: &LineBound, keep: bool) -> Self {
        let evidence = || Evidence::lines(&proof.lines);
        Self::new(proof.bound.clone(), linear.bounded_part(), keep.then(evidence))
    }

    /// That a part is empty.
    pub(super) fn of_empty(empty: &EmptyPart, objective: &[f64], keep: bool) -> Self {
        let evidence = keep.then_some(Evidence::Empty {});
        Self::new(empty.bound(objective), empty.bounded_part(), evidence)
    }

    /// A bound of a part, by evidence and by what was known of the neurons in `bounded`.
    pub(super) fn new(
        bound: PartBound,
        bounded: &Arc<BoundedPart>,
        evidence: Option<Evidence>,
    ) -> Self {
        let (needs, bounded) = (bound.part().depth(), || Arc::clone(bounded));
        let certificate = |evidence| Arc::new(Certificate { needs, bounded: bounded(), evidence });
        Self { certificate: evidence.map(certificate), bound }
    }

    /// The bound of the whole set, if it is one.
    pub fn certified(&self) -> Option<CertifiedBound> {
        self.bound.certified()
    }

    /// A proof without splits, if proofs are kept.
    pub fn claim(&self) -> Option<Claim> {
        let (part, certificate) = (self.bound.part().clone(), self.certificate.clone()?);
        let leaf = ProvenLeaf { part, bound: self.bound.value(), certificate };
        Some(Claim::new(self.bound.holds_in_f32(), leaf.bound, &[leaf]))
    }

    /// The lower one of this bound and another of the same part, or of what it is a part of.
    pub fn or_lower(self, other: &Self) -> Self {
        match self.bound.lowered_by(&other.bound) {
            Some(bound) => Self { bound, certificate: other.certificate.clone() },
            None => self,
        }
    }
}
