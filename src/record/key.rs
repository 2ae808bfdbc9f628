//! What all records have in common: which work they are the result of, whether that was finished, and which of two records of the
//! same work to believe.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::attack::AttackRecord;
use super::radius::RadiusRecord;
use crate::judge::Verdict;
use crate::network::Label;

/// The work that a record is the result of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the image in the data, base 0.
    pub image: usize,
    /// The target, where each has a record of its own.
    pub target: Option<usize>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image {}", self.image)?;
        self.target.map_or(Ok(()), |target| write!(f, ", target {target}"))
    }
}

/// A witness whose files are stored: image, predicted label, target.
pub type StoredWitness = (usize, (Label, Label));

/// A record that can be read again.
pub trait Resumable: Serialize + DeserializeOwned {
    /// Which work this is the result of.
    fn key(&self) -> Key;

    /// Whether work came to its own end, or to that of its time limit. What somebody called off is done again.
    fn is_finished(&self) -> bool;

    /// How this and another record of the same work cannot both be true. Two that merely came to different ends, after
    /// a time limit or on another kind of processor, can.
    fn contradiction(&self, other: &Self) -> Option<String>;

    /// Whether this tells more than another record of the same work.
    fn is_better_than(&self, other: &Self) -> bool;

    /// The witness whose files belong to this record.
    fn stored_witness(&self) -> Option<StoredWitness>;

    /// Time spent.
    fn seconds(&self) -> f64;
}

/// The name that records give to work which was called off.
const INTERRUPTED: &str = "interrupted";

impl Resumable for AttackRecord {
    fn key(&self) -> Key {
        Key { image: self.image, target: Some(self.target) }
    }

    fn is_finished(&self) -> bool {
        self.stop != INTERRUPTED
    }

    fn contradiction(&self, other: &Self) -> Option<String> {
        if self.predicted != other.predicted {
            return Some(format!("predicted as {} and as {}", self.predicted, other.predicted));
        }
        let verdicts = [self.verdict, other.verdict];
        if verdicts.contains(&Verdict::Adversarial) && verdicts.contains(&Verdict::Robust) {
            return Some(format!("{} and {}", self.verdict, other.verdict));
        }
        let above = |margin: f64, bound: Option<f64>| {
            let bound = bound.filter(|&bound| margin > bound)?;
            Some(format!("a margin of {margin} and a bound of {bound}"))
        };
        above(self.margin, other.upper_bound).or_else(|| above(other.margin, self.upper_bound))
    }

    fn is_better_than(&self, other: &Self) -> bool {
        let is_decided = |record: &Self| record.verdict != Verdict::Unknown;
        match (is_decided(self), is_decided(other)) {
            (true, false) => true,
            (false, true) => false,
            _ => self.margin > other.margin,
        }
    }

    fn stored_witness(&self) -> Option<StoredWitness> {
        let pair = (Label(self.predicted), Label(self.target));
        self.npy.as_ref().map(|_| (self.image, pair))
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl Resumable for RadiusRecord {
    fn key(&self) -> Key {
        Key { image: self.image, target: None }
    }

    fn is_finished(&self) -> bool {
        self.stop != INTERRUPTED
    }

    fn contradiction(&self, other: &Self) -> Option<String> {
        if self.predicted != other.predicted {
            return Some(format!("predicted as {} and as {}", self.predicted, other.predicted));
        }
        let within = |attacked: Option<f64>, certified: f64| {
            let attacked = attacked.filter(|&attacked| attacked < certified)?;
            Some(format!("an adversary at {attacked} and none within {certified}"))
        };
        within(self.attack_radius, other.certified_radius)
            .or_else(|| within(other.attack_radius, self.certified_radius))
    }

    fn is_better_than(&self, other: &Self) -> bool {
        self.certified_radius > other.certified_radius
    }

    fn stored_witness(&self) -> Option<StoredWitness> {
        let target = self.target.filter(|_| self.npy.is_some())?;
        Some((self.image, (Label(self.predicted), Label(target))))
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}
