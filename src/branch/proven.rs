//! A bound of a part, and what proves it.

use std::sync::Arc;

use crate::bounds::{CertifiedBound, LineBound, PartBound};
use crate::proof::{Certificate, Claim, Evidence, Leaf};

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
    pub fn of_whole(proof: &LineBound, keep: bool) -> Self {
        Self::by_lines(proof, 0, keep)
    }

    /// What bounds prove of the part that they are of, if neurons were bounded anew after `fresh` of the splits that lead to it.
    pub(super) fn by_lines(proof: &LineBound, fresh: usize, keep: bool) -> Self {
        let needs = proof.bound.part().depth();
        let evidence = || Evidence::lines(&proof.lines);
        let certificate =
            keep.then(|| Arc::new(Certificate { needs, fresh, evidence: evidence() }));
        Self { bound: proof.bound.clone(), certificate }
    }

    /// The bound of the whole set, if it is one.
    pub fn certified(&self) -> Option<CertifiedBound> {
        self.bound.certified()
    }

    /// A proof without splits, if proofs are kept.
    pub fn claim(&self) -> Option<Claim> {
        let certificate = self.certificate.as_deref()?.clone();
        let leaf = Leaf::new(self.bound.part(), self.bound.value(), certificate);
        Some(Claim { f32: self.bound.holds_in_f32(), bound: leaf.bound, leaves: vec![leaf] })
    }

    /// The lower one of this bound and another of the same part, or of what it is a part of.
    pub(super) fn or_lower(self, other: &Self) -> Self {
        match self.bound.lowered_by(&other.bound) {
            Some(bound) => Self { bound, certificate: other.certificate.clone() },
            None => self,
        }
    }
}
