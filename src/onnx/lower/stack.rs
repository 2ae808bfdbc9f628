//! The layers that a graph was lowered to.

use std::collections::HashMap;

use crate::network::{Activation, AffineMap, Layer, LayerRounding};

/// Layers, first to last.
pub(in crate::onnx) struct LayerStack {
    pub layers: Vec<Layer>,
    /// Shape of the logits in the file, batch included.
    pub output_shape: Vec<usize>,
    /// By tract's name of a node, the number of layers before its values are known.
    pub depths: HashMap<String, usize>,
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
            let mut is_used = vec![false; inputs];
            for (j, weight) in wanted.iter().flat_map(|&i| map.row(i)) {
                is_used[j] |= weight != 0.0;
            }
            let used = || (0..inputs).filter(|&j| is_used[j]);
            let columns: Vec<usize> =
                if depth > 0 { used().collect() } else { (0..inputs / batch).collect() };
            if depth == 0 && used().any(|j| j >= columns.len()) {
                return None;
            }
            layers.push(part_of(layer, &wanted, &columns));
            wanted = columns;
        }
        layers.reverse();
        let output_shape = [vec![1], self.output_shape[1..].to_vec()].concat();
        Some(Self { layers, output_shape, depths: self.depths })
    }
}

impl LayerStack {
    /// The same with a class before the only logit, whose logit is 0: the other one wins where the file's is positive.
    pub fn with_zero_class(mut self) -> Self {
        let last = self.layers.pop().expect("there is a last layer");
        let (map, rounding) = (last.affine(), last.rounding());
        let weight = |i: usize, j: usize| if i == 0 { 0.0 } else { map.weight(i - 1, j) };
        let bias = [&[0.0], map.bias()].concat();
        let two = AffineMap::from_fn(1 + map.outputs(), map.inputs(), weight, bias);
        let after = |first: f64, values: &[f64]| [&[first], values].concat();
        self.layers.push(Layer::linear(two).with_rounding(LayerRounding {
            amplification: after(1.0, &rounding.amplification),
            gain: after(0.0, &rounding.gain),
            offset: after(0.0, &rounding.offset),
            reach_gain: after(0.0, &rounding.reach_gain),
            reach_offset: after(0.0, &rounding.reach_offset),
            operations: [&[0], &rounding.operations[..]].concat(),
        }));
        self
    }
}

/// Some outputs of a layer as functions of some inputs.
fn part_of(layer: &Layer, outputs: &[usize], inputs: &[usize]) -> Layer {
    let (map, rounding) = (layer.affine(), layer.rounding());
    let pick = |values: &[f64]| outputs.iter().map(|&i| values[i]).collect();
    let mut new_place = vec![None; map.inputs()];
    inputs.iter().enumerate().for_each(|(new, &j)| new_place[j] = Some(new as u32));
    let row = |&i: &usize| map.row(i).filter_map(|(j, weight)| Some((new_place[j]?, weight)));
    let rows = outputs.iter().map(row);
    let part = AffineMap::from_sparse_rows(inputs.len(), rows, pick(map.bias()));
    let activations: Vec<Activation> = outputs.iter().map(|&i| layer.activation(i)).collect();
    Layer::mixed(part, &activations).with_rounding(LayerRounding {
        amplification: pick(&rounding.amplification),
        gain: pick(&rounding.gain),
        offset: pick(&rounding.offset),
        reach_gain: pick(&rounding.reach_gain),
        reach_offset: pick(&rounding.reach_offset),
        operations: outputs.iter().map(|&i| rounding.operations[i]).collect(),
    })
}
