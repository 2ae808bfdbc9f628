//! Bounds of neurons, made when they are first asked for, and shared by all questions about a network and a set.

use std::sync::{Arc, OnceLock};

use crate::bounds::{Arithmetic, LinearBounds, UpperRelaxation};
use crate::budget::Budget;
use crate::network::Network;
use crate::sets::InputSet;

/// Bounds of the neurons of a network over a set.
pub(super) struct SharedBounds {
    network: Arc<Network>,
    set: InputSet,
    /// Whether parts of the set will be bounded, too.
    divisible: bool,
    /// Those of the network that this one begins with, if it was made from one.
    shorter: Option<Arc<Self>>,
    exact: OnceLock<Arc<LinearBounds>>,
    in_f32: OnceLock<Arc<LinearBounds>>,
}

impl SharedBounds {
    pub fn new(network: &Arc<Network>, set: &InputSet, divisible: bool) -> Self {
        let (exact, in_f32) = (OnceLock::new(), OnceLock::new());
        let (network, set) = (Arc::clone(network), set.clone());
        Self { network, set, divisible, shorter: None, exact, in_f32 }
    }

    /// Those of a network that begins with this one's layers.
    pub fn of_longer(self: &Arc<Self>, network: &Arc<Network>) -> Self {
        let shorter = Some(Arc::clone(self));
        Self { shorter, ..Self::new(network, &self.set, self.divisible) }
    }

    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Made when they are first asked for.
    pub fn get(&self, arithmetic: Arithmetic, budget: &Budget) -> &Arc<LinearBounds> {
        let cell = match arithmetic {
            Arithmetic::Exact => &self.exact,
            Arithmetic::F32 => &self.in_f32,
        };
        cell.get_or_init(|| Arc::new(self.make(arithmetic, budget)))
    }

    fn make(&self, arithmetic: Arithmetic, budget: &Budget) -> LinearBounds {
        if let Some(shorter) = &self.shorter {
            return shorter.get(arithmetic, budget).extended(&self.network, budget);
        }
        let new = if self.divisible { LinearBounds::splittable } else { LinearBounds::new };
        new(&self.network, &self.set, UpperRelaxation::Envelopes, arithmetic, budget)
    }
}
