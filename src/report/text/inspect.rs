//! What `inspect` prints.

use std::io::{self, Write};

use crate::record::{InspectedNode, Inspection, LayerSize, NodeRole};

/// Writes the layers, what became of each node, and the comparison with tract.
pub fn inspection(out: &mut impl Write, inspection: &Inspection) -> io::Result<()> {
    let Inspection { layers, nodes, check, .. } = inspection;
    writeln!(out, "{}", inspection.model)?;
    writeln!(out, "  sha-256     {}", inspection.sha256)?;
    writeln!(out, "  opset       {}", inspection.opset)?;
    writeln!(out, "  input       {}", joined(&inspection.input_dims, " x "))?;
    writeln!(out, "  network     {}", joined(&inspection.widths, " -> "))?;
    writeln!(out, "  parameters  {}, {} ReLUs", inspection.parameters, inspection.relus)?;
    for (layer, LayerSize { inputs, outputs, relus }) in layers.iter().enumerate() {
        let relu = match *relus {
            0 => String::new(),
            all if all == *outputs => " + ReLU".into(),
            some => format!(" + {some} ReLUs"),
        };
        let roles = [NodeRole::Affine(layer), NodeRole::Piecewise(layer)];
        let folded: Vec<String> = roles.iter().map(|&role| names(nodes, role)).collect();
        let folded: Vec<String> = folded.into_iter().filter(|names| !names.is_empty()).collect();
        let folded = if folded.is_empty() { "identity".into() } else { folded.join(", ") };
        writeln!(out, "  layer {layer}     {inputs} -> {outputs}{relu}, from {folded}")?;
    }
    for (title, role) in [("layout     ", NodeRole::Layout), ("dropped    ", NodeRole::Dropped)] {
        let found = names(nodes, role);
        if !found.is_empty() {
            writeln!(out, "  {title} {found}")?;
        }
    }
    writeln!(
        out,
        "  check       largest difference to tract {:.1e} on {} inputs ({:.0} % of what f32 rounding explains)",
        check.largest_difference,
        check.inputs,
        100.0 * check.largest_fraction
    )
}

fn joined(numbers: &[usize], between: &str) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(between)
}

/// The nodes of a role, as `fc1 (Gemm), bn (BatchNormalization)`.
fn names(nodes: &[InspectedNode], role: NodeRole) -> String {
    let nodes = nodes.iter().filter(|node| node.role == role);
    nodes.map(|node| format!("{} ({})", node.node, node.op)).collect::<Vec<_>>().join(", ")
}
