//! Which lines of lower neurons the lines of deeper ones are made of.
//!
//! Any slope below and any share of the envelope above is valid. A bound needs lines that are tight where it is attained, so these are chosen at
//! one point, the *guide point*: the slope below that the ReLU has there, and whichever of chord and envelope is lower there.

use super::relaxation::ReluRelaxation;

/// How one neuron is relaxed in the lines of deeper ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuideLine {
    /// Whether the slope below is 1, or 0.
    pub on: bool,
    /// Whether the envelope is above, or the chord.
    pub envelope: bool,
}

impl From<GuideLine> for ReluRelaxation {
    fn from(GuideLine { on, envelope }: GuideLine) -> Self {
        let number = |yes: bool| if yes { 1.0 } else { 0.0 };
        Self::Lines { below: number(on), envelope: number(envelope), theta: 0.0 }
    }
}

/// The lines of all neurons of some layers, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guide {
    /// One list per hidden layer, but for the last.
    pub layers: Vec<Vec<GuideLine>>,
}

/// Where a guide comes from.
#[derive(Clone, Copy, Debug)]
pub enum GuideSource<'g> {
    /// There is none: default slopes, and the best of several ways to choose between chords and envelopes.
    None,
    /// What is tight at a point.
    Point(&'g [f64]),
    /// It is given. Neurons that are not in it have 0 below and the chord above.
    Given(&'g Guide),
}
