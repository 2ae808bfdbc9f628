//! A network that also gives some of its inputs.

use super::affine::AffineMap;
use super::chain::Network;
use super::layer::{Layer, LayerRounding};
use super::neuron::Activation;

impl Network {
    /// The same network with these inputs as further outputs, behind its own: neurons without a ReLU carry them through all layers.
    ///
    /// ```
    /// use rw_adv::network::{AffineMap, Network};
    ///
    /// let hidden = AffineMap::from_rows(&[[1.0, -1.0]], vec![0.0]);
    /// let output = AffineMap::from_rows(&[[2.0]], vec![1.0]);
    /// let network = Network::new(vec![hidden, output])?.with_inputs(&[1]);
    /// assert_eq!(network.logits(&[0.75, 0.25]), [2.0, 0.25]);
    /// # Ok::<(), rw_adv::network::NetworkError>(())
    /// ```
    ///
    /// # Panics
    /// When there is no such input.
    pub fn with_inputs(&self, inputs: &[usize]) -> Self {
        assert!(inputs.iter().all(|&input| input < self.inputs()), "an input of the network");
        let mut carried = inputs.to_vec();
        let mut layers = Vec::new();
        for (depth, layer) in self.layers().iter().enumerate() {
            let more = if depth == 0 { 0 } else { inputs.len() };
            layers.push(carrying(layer, layer.inputs() + more, &carried));
            carried = (layer.outputs()..layer.outputs() + inputs.len()).collect();
        }
        Self::from_layers(layers).expect("as wide as before, and finite")
    }
}

/// A layer that takes so many values and hands on those in these places.
fn carrying(layer: &Layer, inputs: usize, carried: &[usize]) -> Layer {
    let (map, rounding) = (layer.affine(), layer.rounding());
    let own = (0..map.outputs()).map(|i| map.row(i).map(|(j, w)| (j as u32, w)).collect());
    let rows: Vec<Vec<(u32, f64)>> =
        own.chain(carried.iter().map(|&place| vec![(place as u32, 1.0)])).collect();
    let more = |values: &[f64], value: f64| [values, &vec![value; carried.len()]].concat();
    let bias = more(map.bias(), 0.0);
    let map = AffineMap::from_sparse_rows(inputs, rows.iter().map(|row| row.iter().copied()), bias);
    let mut activations: Vec<Activation> =
        (0..layer.outputs()).map(|i| layer.activation(i)).collect();
    activations.resize(map.outputs(), Activation::Identity);
    Layer::mixed(map, &activations).with_rounding(LayerRounding {
        amplification: more(&rounding.amplification, 1.0),
        gain: more(&rounding.gain, 1.0),
        offset: more(&rounding.offset, 0.0),
        reach_gain: more(&rounding.reach_gain, 1.0),
        reach_offset: more(&rounding.reach_offset, 0.0),
        operations: [&rounding.operations[..], &vec![0; carried.len()]].concat(),
    })
}
