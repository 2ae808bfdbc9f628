//! What slopes and multipliers of parts begin with: those that were improved before.

use std::sync::Arc;

use super::descent::FirstSlopes;
use super::slope_digits::rounded;
use super::stored_slopes::{NeuronSlopes, RowSlopes};

/// What the functions of some neurons begin with: two for each.
pub(super) struct FirstOfNeurons<'f> {
    pub slopes: Option<&'f NeuronSlopes>,
    /// Boxes and neurons.
    pub neurons: &'f [(usize, usize)],
    /// Whether slopes are digits of a proof.
    pub is_rounded: bool,
}

impl FirstSlopes for FirstOfNeurons<'_> {
    fn slopes(&self, function: usize, layer: usize, default: &[f64], out: &mut [f64]) {
        let (_, neuron) = self.neurons[function / 2];
        let is_lower = function % 2 == 1;
        let stored = self.slopes.and_then(|slopes| slopes.get(neuron, is_lower, layer));
        match stored {
            Some(stored) if self.is_rounded => {
                out.iter_mut().zip(stored).for_each(|(out, slope)| *out = rounded((*slope).into()));
            }
            Some(stored) => {
                out.iter_mut().zip(stored).for_each(|(out, slope)| *out = f64::from(*slope));
            }
            None => out.copy_from_slice(default),
        }
    }

    fn multiplier(&self, _: usize, _: usize) -> Option<f64> {
        None
    }
}

/// What rows of parts begin with.
pub(super) struct FirstOfRows<'f> {
    /// For each function the slopes of its part, and its row.
    pub rows: &'f [(Option<Arc<RowSlopes>>, usize)],
}

impl FirstSlopes for FirstOfRows<'_> {
    fn slopes(&self, function: usize, layer: usize, default: &[f64], out: &mut [f64]) {
        let (slopes, row) = &self.rows[function];
        match slopes.as_ref().and_then(|slopes| slopes.get(*row)) {
            Some(stored) => {
                let stored = stored.slopes[layer].iter();
                out.iter_mut().zip(stored).for_each(|(out, slope)| *out = f64::from(*slope));
            }
            None => out.copy_from_slice(default),
        }
    }

    fn multiplier(&self, function: usize, sign: usize) -> Option<f64> {
        let (slopes, row) = &self.rows[function];
        slopes.as_ref()?.get(*row)?.multipliers.get(sign).copied()
    }
}
