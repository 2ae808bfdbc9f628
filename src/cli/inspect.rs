//! `rw-adv inspect`: what a model is.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use rw_adv::onnx::{NodeNote, OnnxModel, Role};
use rw_adv::record::{
    ATTACK_SCHEMA, InspectedNode, Inspection, LayerSize, NodeRole, TractComparison,
};
use rw_adv::report::text;

/// Loads a model and prints what it is.
pub fn run(path: &Path, output: Option<&str>, json: bool) -> Result<()> {
    let inspection = inspect(path, &OnnxModel::load_output(path, output)?);
    let mut stdout = BufWriter::new(io::stdout().lock());
    if json {
        inspection.write_json(&mut stdout)?;
    } else {
        text::inspection(&mut stdout, &inspection)?;
    }
    stdout.flush().context("stdout")
}

fn inspect(path: &Path, model: &OnnxModel) -> Inspection {
    let network = &model.network;
    let layers = network.layers().iter();
    let check = &model.agreement;
    Inspection {
        schema: ATTACK_SCHEMA,
        model: path.display().to_string(),
        sha256: model.sha256.clone(),
        opset: model.opset,
        input_dims: model.input_dims.clone(),
        widths: network.widths(),
        layers: layers
            .map(|layer| LayerSize {
                inputs: layer.inputs(),
                outputs: layer.outputs(),
                relus: layer.outputs() - layer.identities().len(),
            })
            .collect(),
        parameters: network.parameters(),
        relus: network.relu_count(),
        nodes: model.nodes.iter().map(inspect_node).collect(),
        check: TractComparison {
            inputs: check.inputs,
            largest_difference: check.largest_difference,
            largest_fraction: check.largest_fraction,
        },
    }
}

fn inspect_node(note: &NodeNote) -> InspectedNode {
    let role = match note.role {
        Role::Affine(layer) => NodeRole::Affine(layer),
        Role::Relu(layer) => NodeRole::Relu(layer),
        Role::Piecewise(layer) => NodeRole::Piecewise(layer),
        Role::Layout => NodeRole::Layout,
        Role::Constant => NodeRole::Constant,
        Role::Dropped => NodeRole::Dropped,
    };
    InspectedNode { node: note.node.clone(), op: note.op.clone(), role }
}
