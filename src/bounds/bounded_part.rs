//! What is known of the neurons in a part, and how it came to be known: enough to work it out once more.

use std::sync::Arc;

use super::guide::Guide;
use super::neurons::NeuronBounds;
use super::part::Part;
use super::relaxation::{Multipliers, ReluLine};

/// The intervals of all neurons in a part of a set. With a [goal](BoundedPart::goal) they hold for those of its points only whose value is
/// at least the goal.
#[derive(Debug)]
pub struct BoundedPart {
    parent: Option<Arc<BoundedPart>>,
    neurons: NeuronBounds,
    guide: Option<Guide>,
    cut: Option<Cut>,
}

/// A cut toward a goal: where a linear function above the objective is below the goal, nothing has to be known.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The value that points of interest have at least.
    pub goal: f64,
    /// What the linear function is made of.
    pub by: CutBy,
}

/// What the linear function of a cut is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum CutBy {
    /// The lines of the objective, one list per hidden layer. Lines of neurons are made anew behind the cut.
    Lines(Vec<Vec<ReluLine>>),
    /// Multipliers, where neurons have signs. Lines of neurons stay as they are.
    Multipliers(Multipliers),
}

impl BoundedPart {
    pub(super) fn new(
        parent: Option<Arc<Self>>,
        neurons: NeuronBounds,
        guide: Option<Guide>,
        cut: Option<Cut>,
    ) -> Self {
        Self { parent, neurons, guide, cut }
    }

    /// The part.
    pub fn part(&self) -> &Part {
        self.neurons.part()
    }

    /// The intervals.
    pub fn neurons(&self) -> &NeuronBounds {
        &self.neurons
    }

    /// Points with a smaller value may be outside of the intervals. `None` if no point is.
    pub fn goal(&self) -> Option<f64> {
        self.neurons.goal().map(|goal| goal.value)
    }

    /// Where these intervals were narrowed from: what the part is a part of or, after a cut, the part before it.
    pub fn parent(&self) -> Option<&Arc<Self>> {
        self.parent.as_ref()
    }

    /// The lines of lower neurons that were used, if they were chosen.
    pub fn guide(&self) -> Option<&Guide> {
        self.guide.as_ref()
    }

    /// The cut, if it was one that narrowed the intervals.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }
}
