//! The neurons that a graph needs, in the order in which they were met: blocks of ReLUs, and of values that are kept as they are.

use super::affine::AffineRow;
use crate::network::Activation;

/// The network's inputs and the neurons so far. Together they are the variables, inputs first.
pub(super) struct Neurons {
    inputs: usize,
    blocks: Vec<Block>,
    /// By variable: 0 for inputs, else the number of layers before its value is known.
    depths: Vec<u32>,
}

/// Neurons that one operator asks for.
pub(super) struct Block {
    /// Variable of its first neuron.
    pub first: usize,
    /// Number of layers before its values are known, at least 1.
    pub depth: usize,
    pub activation: Activation,
    /// Pre-activations.
    pub rows: Vec<AffineRow>,
}

impl Neurons {
    pub fn new(inputs: usize) -> Self {
        Self { inputs, blocks: Vec::new(), depths: vec![0; inputs] }
    }

    /// Number of the network's inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.depths.len()
    }

    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The number of layers before a variable's value is known.
    pub fn depth(&self, variable: usize) -> usize {
        self.depths[variable] as usize
    }

    /// The number of layers before all variables of a row are known.
    pub fn depth_of(&self, row: &AffineRow) -> usize {
        let depths = row.terms.iter().map(|&(variable, _)| self.depth(variable as usize));
        depths.max().unwrap_or(0)
    }

    /// The block of a variable; `None` for an input.
    pub fn block_of(&self, variable: usize) -> Option<usize> {
        (variable >= self.inputs)
            .then(|| self.blocks.partition_point(|block| block.first <= variable) - 1)
    }

    /// The pre-activation of a ReLU; `None` for another variable.
    pub fn relu_row(&self, variable: usize) -> Option<&AffineRow> {
        let block = &self.blocks[self.block_of(variable)?];
        (block.activation == Activation::Relu).then(|| &block.rows[variable - block.first])
    }

    /// New neurons with these pre-activations. They become known in one layer, the first that can know all of them.
    pub fn push(&mut self, activation: Activation, rows: Vec<AffineRow>) -> Vec<AffineRow> {
        let first = self.variables();
        let depth = 1 + rows.iter().map(|row| self.depth_of(row)).max().unwrap_or(0);
        self.depths.resize(first + rows.len(), depth as u32);
        let variables = (first..first + rows.len()).map(AffineRow::variable).collect();
        if !rows.is_empty() {
            self.blocks.push(Block { first, depth, activation, rows });
        }
        variables
    }

    /// The same values, each as a variable or a constant: what a nonlinear operator of the file takes is a number that the
    /// file's run works out, whatever it does afterwards.
    pub fn kept(&mut self, rows: Vec<AffineRow>) -> Vec<AffineRow> {
        let moved: Vec<AffineRow> = rows.iter().filter(|row| !row.is_free()).cloned().collect();
        let mut kept = self.push(Activation::Identity, moved).into_iter();
        let mut keep = |row: AffineRow| match row.is_free() {
            true => row,
            false => kept.next().expect("one for each row that is not free"),
        };
        rows.into_iter().map(&mut keep).collect()
    }
}
