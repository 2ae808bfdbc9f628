//! The layers that a graph was lowered to.

use crate::network::{Activation, AffineMap, Layer, LayerRounding};

/// Layers, first to last.
pub(in crate::onnx) struct LayerStack {
    pub layers: Vec<Layer>,
    /// Shape of the logits in the file, batch included.
    pub output_shape: Vec<usize>,
}

impl LayerStack {
    /// The layers of the first image, when the file fixes a batch of `batch` images; `None` when
    /// the first row of logits depends on other images too.
    pub fn first_of_batch(self, batch: usize) -> Option<Self> {
        let logits = self.layers.last()?.outputs() / batch;
        let mut wanted: Vec<usize> = (0..logits).collect();
        let mut layers = Vec::new();
        for (depth, layer) in self.layers.iter().enumerate().rev() {
            let (map, inputs) = (layer.affine(), layer.inputs());
            let uses = |&j: &usize| wanted.iter().any(|&i| map.weight(i, j) != 0.0);
            let used: Vec<usize> = (0..inputs).filter(uses).collect();
            let columns = if depth > 0 { used } else { (0..inputs / batch).collect() };
            if depth == 0 && (columns.len()..inputs).any(|j| uses(&j)) {
                return None;
            }
            layers.push(part_of(layer, &wanted, &columns));
            wanted = columns;
        }
        layers.reverse();
        let output_shape = [vec![1], self.output_shape[1..].to_vec()].concat();
        Some(Self { layers, output_shape })
    }
}

/// Some outputs of a layer as functions of some inputs.
fn part_of(layer: &Layer, outputs: &[usize], inputs: &[usize]) -> Layer {
    let (map, rounding) = (layer.affine(), layer.rounding());
    let pick = |values: &[f64]| outputs.iter().map(|&i| values[i]).collect();
    let weight = |i: usize, j: usize| map.weight(outputs[i], inputs[j]);
    let part = AffineMap::from_fn(outputs.len(), inputs.len(), weight, pick(map.bias()));
    let activations: Vec<Activation> = outputs.iter().map(|&i| layer.activation(i)).collect();
    Layer::mixed(part, &activations).with_rounding(LayerRounding {
        amplification: pick(&rounding.amplification),
        gain: pick(&rounding.gain),
        offset: pick(&rounding.offset),
        reach_gain: pick(&rounding.reach_gain),
        reach_offset: pick(&rounding.reach_offset),
        operations: rounding.operations,
    })
}
