//! Which neurons are columns: the unstable ReLUs. All others are held in one state, those without a ReLU on.

use crate::bounds::{Interval, NeuronBounds, Stability};
use crate::lp::Col;
use crate::network::{ActivationPattern, Network, NeuronId, Trace};

/// A neuron that can be on or off: its output `h` is a column.
#[derive(Clone, Copy, Debug)]
pub(in crate::encode) struct UnstableNeuron {
    pub id: NeuronId,
    /// Contains its pre-activation `g`.
    pub interval: Interval,
    /// Set if the output is not a variable but this function of `g`. Then the column stays at 0, and the objective pays for what `g` is
    /// made of.
    pub substitute: Option<AffineOutput>,
}

/// An output `slope · g + intercept`.
#[derive(Clone, Copy, Debug)]
pub(in crate::encode) struct AffineOutput {
    pub slope: f64,
    pub intercept: f64,
}

impl AffineOutput {
    /// The chord of a ReLU over an interval with 0 inside.
    pub fn chord(Interval { lower, upper }: Interval) -> Self {
        Self { slope: upper / (upper - lower), intercept: -upper * lower / (upper - lower) }
    }

    /// The output of a neuron that is fixed on or off.
    pub fn fixed(on: bool) -> Self {
        Self { slope: if on { 1.0 } else { 0.0 }, intercept: 0.0 }
    }
}

/// The unstable neurons, layer by layer. They are the first columns of the LP, in this order.
#[derive(Clone, Debug, Default)]
pub(in crate::encode) struct NeuronColumns {
    neurons: Vec<UnstableNeuron>,
    /// By layer and index.
    col_from_neuron: Vec<Vec<Option<Col>>>,
}

impl NeuronColumns {
    /// The neurons and their columns.
    pub fn iter(&self) -> impl Iterator<Item = (Col, &UnstableNeuron)> {
        self.neurons.iter().enumerate().map(|(col, neuron)| (Col(col), neuron))
    }

    /// The column of a neuron, if it is unstable.
    pub fn col_from_neuron(&self, id: NeuronId) -> Option<Col> {
        self.col_from_neuron[id.layer][id.index]
    }

    /// The neuron of a column.
    pub fn get(&self, col: Col) -> &UnstableNeuron {
        &self.neurons[col.0]
    }

    /// A neuron, if it is unstable.
    pub fn find(&self, id: NeuronId) -> Option<&UnstableNeuron> {
        self.col_from_neuron(id).map(|col| self.get(col))
    }

    /// The columns of a layer's neurons, by index.
    pub fn cols_of_layer(&self, layer: usize) -> &[Option<Col>] {
        &self.col_from_neuron[layer]
    }

    /// Replaces the output of a neuron by a function of its pre-activation.
    pub fn set_substitute(&mut self, col: Col, output: AffineOutput) {
        self.neurons[col.0].substitute = Some(output);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.neurons.len()
    }
}

/// What each neuron is to the LP: a column, or held in one state.
pub(in crate::encode) struct NeuronSplit {
    pub columns: NeuronColumns,
    /// On where a neuron is held on, off where it is held off or unstable.
    pub held: ActivationPattern,
    /// Neurons that are held although their interval allows both states, layer by layer.
    pub pinned: Vec<NeuronId>,
}

impl NeuronSplit {
    /// Only stable neurons and those without a ReLU are held.
    pub fn by_stability(network: &Network, bounds: &NeuronBounds) -> Self {
        Self::pinning(network, bounds, |_| None)
    }

    /// The same, and those that `pin` gives a state.
    pub fn pinning(
        network: &Network,
        bounds: &NeuronBounds,
        pin: impl Fn(NeuronId) -> Option<bool>,
    ) -> Self {
        let all_off = ActivationPattern::at(&Trace::new(network));
        let (columns, pinned) = (NeuronColumns::default(), Vec::new());
        let mut split = Self { columns, held: all_off, pinned };
        for layer in 0..bounds.hidden() {
            let intervals = bounds.layer(layer).iter().enumerate();
            let cols = intervals.map(|(index, interval)| {
                let id = NeuronId { layer, index };
                split.add(id, bounds.stability(id), *interval, &pin)
            });
            let cols: Vec<Option<Col>> = cols.collect();
            split.columns.col_from_neuron.push(cols);
        }
        split
    }

    /// Adds a neuron; its column, if it gets one.
    fn add(
        &mut self,
        id: NeuronId,
        stability: Stability,
        interval: Interval,
        pin: impl Fn(NeuronId) -> Option<bool>,
    ) -> Option<Col> {
        let held_on = match stability {
            Stability::On => Some(true),
            Stability::Off => Some(false),
            Stability::Unstable => pin(id).inspect(|_| self.pinned.push(id)),
        };
        if let Some(on) = held_on {
            self.held.set(id, on);
            return None;
        }
        let col = Col(self.columns.len());
        self.columns.neurons.push(UnstableNeuron { id, interval, substitute: None });
        Some(col)
    }
}
