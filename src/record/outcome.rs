//! What became of an image, over all its targets.

use std::collections::BTreeMap;

use serde::Serialize;

use super::attack::AttackRecord;
use crate::judge::Verdict;

/// What is known about an image once all its targets are done; the worst target counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ImageOutcome {
    Certified,
    Undecided,
    Attacked,
    Misclassified,
    Error,
}

impl ImageOutcome {
    /// What one target says about an image. Where the true label is not known, the predicted one counts as true.
    pub fn of(record: &AttackRecord) -> Self {
        match record.verdict {
            _ if record.error.is_some() => Self::Error,
            _ if record.label.is_some_and(|label| label != record.predicted) => Self::Misclassified,
            Verdict::Robust => Self::Certified,
            Verdict::Unknown => Self::Undecided,
            Verdict::Adversarial => Self::Attacked,
        }
    }

    /// What all of its records say about an image: the worst target counts.
    pub fn of_image(records: &[&AttackRecord]) -> Self {
        let each = records.iter().map(|record| Self::of(record));
        each.max().unwrap_or(Self::Certified)
    }
}

/// Images per outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImageOutcomes {
    /// No target can be reached.
    pub certified: usize,
    /// No target was reached, but not all are excluded.
    pub undecided: usize,
    /// Some target was reached.
    pub attacked: usize,
    /// Not predicted as labelled in the first place.
    pub misclassified: usize,
    /// Without an answer: a logit is not finite.
    pub errors: usize,
}

impl ImageOutcomes {
    /// Counts one more image.
    pub(crate) fn add(&mut self, outcome: ImageOutcome) {
        *match outcome {
            ImageOutcome::Certified => &mut self.certified,
            ImageOutcome::Undecided => &mut self.undecided,
            ImageOutcome::Attacked => &mut self.attacked,
            ImageOutcome::Misclassified => &mut self.misclassified,
            ImageOutcome::Error => &mut self.errors,
        } += 1;
    }

    /// Number of images.
    pub fn all(&self) -> usize {
        self.certified + self.undecided + self.attacked + self.misclassified + self.errors
    }

    /// The share of images that are predicted as labelled and for which every asked target is excluded; of no images, 1.
    pub fn certified_accuracy(&self) -> f64 {
        if self.all() == 0 { 1.0 } else { self.certified as f64 / self.all() as f64 }
    }
}

/// The records of each image, by image; within one, by target.
pub(crate) fn by_image(records: &[AttackRecord]) -> BTreeMap<usize, Vec<&AttackRecord>> {
    let mut images: BTreeMap<usize, Vec<&AttackRecord>> = BTreeMap::new();
    for record in records {
        images.entry(record.image).or_default().push(record);
    }
    images.values_mut().for_each(|records| records.sort_by_key(|record| record.target));
    images
}

/// What became of the images.
pub fn image_outcomes(records: &[AttackRecord]) -> ImageOutcomes {
    let mut outcomes = ImageOutcomes::default();
    by_image(records).values().for_each(|records| outcomes.add(ImageOutcome::of_image(records)));
    outcomes
}

#[cfg(test)]
mod tests {
    use super::super::attack::tests::record;
    use super::*;

    #[test]
    fn the_worst_target_decides_about_an_image() {
        let records = [
            record(0, 2, "robust", ""),
            record(1, 3, "unknown", ""),
            record(1, 2, "robust", ""),
            record(2, 2, "adversarial", ""),
            record(2, 3, "unknown", ""),
            record(3, 2, "robust", r#","label":7"#),
            record(4, 2, "unknown", r#","label":7,"margin":null,"error":"a logit is inf""#),
        ];
        let outcomes = image_outcomes(&records);
        assert_eq!((outcomes.certified, outcomes.undecided), (1, 1));
        assert_eq!((outcomes.attacked, outcomes.misclassified), (1, 1));
        assert_eq!((outcomes.errors, outcomes.certified_accuracy()), (1, 0.2));
        assert_eq!(ImageOutcomes::default().certified_accuracy(), 1.0);
        let targets: Vec<usize> =
            by_image(&records)[&1].iter().map(|record| record.target).collect();
        assert_eq!(targets, [2, 3]);
    }
}
