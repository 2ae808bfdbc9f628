//! A guide made at a point, layer after layer.

use super::guide::{Guide, GuideLine, GuideSource};
use super::interval::Stability;
use super::linear::LinearBounds;
use crate::network::{NeuronId, Trace};
use crate::sets::Move;

/// A guide while layers are bounded, one after the other.
pub(super) enum GuideMaker<'g> {
    None,
    /// A point, and a forward pass there.
    AtPoint {
        vertex: Vec<(usize, f64)>,
        trace: Box<Trace>,
    },
    Given(&'g Guide),
}

impl<'g> GuideMaker<'g> {
    pub fn new(bounds: &LinearBounds, source: GuideSource<'g>) -> Self {
        match source {
            GuideSource::None => Self::None,
            _ if !bounds.uses_theta() => Self::None,
            GuideSource::Given(guide) => Self::Given(guide),
            GuideSource::Point(point) => {
                let mut trace = Box::new(Trace::new(&bounds.network));
                bounds.network.forward(point, &mut trace);
                Self::AtPoint { vertex: bounds.moves_to(point), trace }
            }
        }
    }

    /// Whether there is a guide.
    pub fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// The lines of a layer that was bounded.
    pub fn layer(&self, bounds: &LinearBounds, layer: usize) -> Vec<GuideLine> {
        let width = bounds.neurons.layer(layer).len();
        match self {
            Self::None => Vec::new(),
            Self::Given(guide) => {
                let mut lines = guide.layers.get(layer).cloned().unwrap_or_default();
                lines.resize(width, GuideLine::default());
                lines
            }
            Self::AtPoint { vertex, trace } => {
                let line = |j| bounds.line_at(layer, j, vertex, trace.pre_activations(layer)[j]);
                (0..width).map(line).collect()
            }
        }
    }
}

impl LinearBounds {
    /// The moves that lead from the centre to a point, as far as there are such moves.
    pub(super) fn moves_to(&self, point: &[f64]) -> Vec<(usize, f64)> {
        let centre = self.set().centre();
        let moves = self.moves.moves().iter().enumerate();
        let amount = |m: &Move| m.sign * (point[m.pixel] - centre[m.pixel]);
        moves.map(|(k, m)| (k, amount(m))).filter(|&(_, amount)| amount > 0.0).collect()
    }

    /// What is tight for a neuron after some moves, where its pre-activation is `g`.
    fn line_at(&self, layer: usize, j: usize, vertex: &[(usize, f64)], g: f64) -> GuideLine {
        let interval = self.neurons.layer(layer)[j];
        if self.neurons.stability(NeuronId { layer, index: j }) != Stability::Unstable {
            return GuideLine::default();
        }
        let chord = interval.upper / (interval.upper - interval.lower) * (g - interval.lower);
        let envelopes = &self.envelopes[layer];
        let value = |column| envelopes.value_at(column, 0.0, vertex).0;
        let envelope = envelopes.column(j).is_some_and(|column| value(column) <= chord);
        GuideLine { on: g > 0.0, envelope }
    }
}
