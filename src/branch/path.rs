//! The divisions that lead to a part of the set, and why its bound holds.

use std::sync::Arc;

use crate::bounds::{CertifiedBound, Proof, Sign};
use crate::proof::{Certificate, Claim, Evidence, Leaf, SplitSide};
use crate::sets::InputSet;

/// The sides that lead to a part, the last one first.
#[derive(Clone, Debug, Default)]
pub struct Path(Option<Arc<(SplitSide, Path)>>);

impl Path {
    pub fn then(&self, side: SplitSide) -> Self {
        Self(Some(Arc::new((side, self.clone()))))
    }

    /// The sides, the last one first.
    fn backwards(&self) -> impl Iterator<Item = SplitSide> + '_ {
        let mut at = self;
        std::iter::from_fn(move || {
            let (side, before) = at.0.as_deref()?;
            at = before;
            Some(*side)
        })
    }

    /// The sides in order.
    pub fn sides(&self) -> Vec<SplitSide> {
        let mut sides: Vec<SplitSide> = self.backwards().collect();
        sides.reverse();
        sides
    }

    /// The part itself, signs of neurons aside.
    pub fn set(&self, whole: &InputSet) -> InputSet {
        let splits = self.sides().into_iter().filter_map(SplitSide::pixel_split);
        splits.fold(whole.clone(), |set, (split, half)| {
            set.half(split, half).expect("only exact divisions are made")
        })
    }

    /// The neurons' signs in it.
    pub fn signs(&self) -> Vec<Sign> {
        self.sides().into_iter().filter_map(SplitSide::sign).collect()
    }

    pub fn depth(&self) -> usize {
        self.backwards().count()
    }
}

/// A bound and, if proofs are kept, why it holds.
#[derive(Clone, Debug)]
pub struct ProvenBound {
    /// The bound.
    pub bound: CertifiedBound,
    /// Why it holds.
    pub certificate: Option<Arc<Certificate>>,
}

impl ProvenBound {
    /// What bounds of the whole set prove; `keep` says whether proofs are kept.
    pub fn of_whole(proof: &Proof, keep: bool) -> Self {
        Self::by_lines(proof, 0, 0, keep)
    }

    /// What bounds made after `fresh` divisions prove of a part after `needs` divisions.
    pub(super) fn by_lines(proof: &Proof, fresh: usize, needs: usize, keep: bool) -> Self {
        let evidence = || Evidence::lines(&proof.lines);
        let certificate =
            keep.then(|| Arc::new(Certificate { needs, fresh, evidence: evidence() }));
        Self { bound: proof.bound, certificate }
    }

    /// A proof by the whole set alone, if proofs are kept.
    pub fn claim(&self) -> Option<Claim> {
        let leaf = self.leaf(&Path::default())?;
        Some(Claim { f32: self.bound.holds_in_f32(), bound: leaf.bound, leaves: vec![leaf] })
    }

    /// The lower one of two bounds of the same set.
    pub fn or_lower(self, other: &Self) -> Self {
        if other.bound.value() < self.bound.value() { other.clone() } else { self }
    }

    /// The leaf of a proof that it makes of a part. `None` if proofs are not kept.
    pub(super) fn leaf(&self, path: &Path) -> Option<Leaf> {
        let certificate = self.certificate.as_deref()?.clone();
        // An empty part has no bound, and files no infinities.
        let bound = self.bound.value().max(f64::MIN);
        Some(Leaf { sides: path.sides(), bound, certificate })
    }
}
