//! What is known of the neurons in a part, and how it came to be known: enough to work it out once more.

use std::sync::Arc;

use super::guide::Guide;
use super::neurons::NeuronBounds;
use super::part::Part;
use super::relaxation::ReluLine;

/// The intervals of all neurons in a part of a set. With a [goal](BoundedPart::goal) they hold for those of its points only whose value is
/// at least the goal.
#[derive(Debug)]
pub struct BoundedPart {
    parent: Option<Arc<BoundedPart>>,
    neurons: NeuronBounds,
    guide: Option<Guide>,
    cut: Option<Cut>,
    goal: Option<f64>,
}

/// A cut toward a goal: the lines give a linear function above the objective, and where that is below the goal nothing has to be known.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The value that points of interest have at least.
    pub goal: f64,
    /// The lines of the objective, one list per hidden layer.
    pub lines: Vec<Vec<ReluLine>>,
}

impl BoundedPart {
    pub(super) fn new(
        parent: Option<Arc<Self>>,
        neurons: NeuronBounds,
        guide: Option<Guide>,
        cut: Option<Cut>,
    ) -> Self {
        let inherited = parent.as_ref().and_then(|parent| parent.goal);
        let own = cut.as_ref().map(|cut| cut.goal);
        // Where both hold, so does what was found out with either.
        let goal = inherited.into_iter().chain(own).reduce(f64::max);
        Self { parent, neurons, guide, cut, goal }
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
        self.goal
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
