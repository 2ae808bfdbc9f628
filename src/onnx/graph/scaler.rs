//! scikit-learn's Scaler, `(x − offset) · scale`, written as Sub and Mul: tract does not know it.

use tract_onnx::pb::{GraphProto, NodeProto, TensorProto};

use super::proto::{FLOAT, name_of};

/// Replaces every Scaler of the graph.
pub(super) fn expand_scalers(graph: &mut GraphProto) {
    for node in std::mem::take(&mut graph.node) {
        match Scaler::read(&node) {
            Some(scaler) => scaler.write(graph),
            None => graph.node.push(node),
        }
    }
}

/// What a Scaler says.
struct Scaler {
    name: String,
    input: String,
    output: String,
    offset: Vec<f32>,
    scale: Vec<f32>,
}

impl Scaler {
    /// `None` when the node is another one, or lacks a part: whoever meets it next refuses it by name.
    fn read(node: &NodeProto) -> Option<Self> {
        let floats = |name: &str| {
            let attribute = node.attribute.iter().find(|a| a.name == name)?;
            Some(attribute.floats.clone())
        };
        (node.op_type == "Scaler").then_some(())?;
        Some(Self {
            name: name_of(node),
            input: node.input.first()?.clone(),
            output: node.output.first()?.clone(),
            offset: floats("offset")?,
            scale: floats("scale")?,
        })
    }

    fn write(self, graph: &mut GraphProto) {
        let Self { name, input, output, offset, scale } = self;
        let (offset_name, shifted, scale_name) =
            (format!("{name}.offset"), format!("{name}.shifted"), format!("{name}.scale"));
        let node = |name: &str, op: &str, inputs: [&str; 2], output: &str| NodeProto {
            name: name.into(),
            op_type: op.into(),
            input: inputs.map(str::to_owned).to_vec(),
            output: vec![output.into()],
            ..Default::default()
        };
        graph.node.push(node(&name, "Sub", [&input, &offset_name], &shifted));
        graph.node.push(node(&scale_name, "Mul", [&shifted, &scale_name], &output));
        for (name, values) in [(offset_name, offset), (scale_name, scale)] {
            graph.initializer.push(TensorProto {
                name,
                data_type: FLOAT as i32,
                dims: vec![values.len() as i64],
                float_data: values,
                ..Default::default()
            });
        }
    }
}
