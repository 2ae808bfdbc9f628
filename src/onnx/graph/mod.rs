//! The file's own nodes, before tract rewrites them.
//!
//! The graph is checked, its one input and its logits are found, and all that the logits do not need is dropped. Nodes that
//! depend on no data are left to tract.

mod checks;
mod class_names;
mod double_gemm;
mod input;
mod logits;
mod proto;
mod roles;
mod scaler;
mod sizes;

use std::collections::{HashMap, HashSet};

use tract_onnx::pb::{GraphProto, ModelProto, ValueInfoProto};

pub(super) use checks::OLDEST_OPSET;
pub(super) use input::{Dim, GraphInput, InputShape};
pub(super) use logits::FinalOp;
pub use roles::{NodeNote, Role, operators};

use self::logits::Logits;
use self::proto::{inputs_of, name_of};
use super::error::OnnxProblem;

/// The file's graph, cut to what computes the logits.
pub(super) struct LogitGraph {
    /// One input, one output (the logits), only the nodes and initializers between them.
    pub proto: ModelProto,
    pub input: GraphInput,
    /// Name of the logits.
    pub logits: String,
    pub notes: Vec<NodeNote>,
    /// What was cut off behind the logits.
    pub final_ops: Vec<FinalOp>,
    pub opset: i64,
    /// What the file calls the classes; none, if it has no names for them.
    pub class_names: Vec<String>,
}

impl LogitGraph {
    /// `output` is the output to look at, if the file has several.
    pub fn new(mut proto: ModelProto, output: Option<&str>) -> Result<Self, OnnxProblem> {
        let mut graph =
            proto.graph.take().ok_or_else(|| OnnxProblem::NotOnnx("it holds no graph".into()))?;
        let opset = checks::opset(&proto)?;
        checks::check_kinds(&graph)?;
        scaler::expand_scalers(&mut graph);
        double_gemm::expand_double_gemms(&mut graph);
        let input = GraphInput::of(&graph)?;
        checks::check_definitions(&graph)?;
        let Logits { name: logits, final_ops } = Logits::find(&graph, output)?;
        let class_names = class_names::of(&graph);
        let dropped = prune(&mut graph, &input.name, &logits);
        sizes::check_sizes(&graph, &input.name)?;
        let mut notes = roles::classify(&graph, &input.name)?;
        notes.extend(dropped);
        proto.graph = Some(graph);
        Ok(Self { proto, input, logits, notes, final_ops, opset, class_names })
    }

    /// Tells the nodes in which layers they ended. `depths` is by tract's names of nodes.
    pub fn place(&mut self, depths: &HashMap<String, usize>) {
        let mut of_note: HashMap<String, usize> = HashMap::new();
        for (tract_name, &depth) in depths {
            let deepest = of_note.entry(self.origin(tract_name).0).or_default();
            *deepest = depth.max(*deepest);
        }
        for note in &mut self.notes {
            note.role = note.role.at(of_note.get(&note.node).copied().unwrap_or(0));
        }
    }

    /// The name and operator of the ONNX node behind one of tract's, whose names start with the ONNX node's.
    pub fn origin(&self, tract_name: &str) -> (String, String) {
        let ours = self.notes.iter().filter(|n| tract_name.starts_with(&n.node));
        let longest = ours.max_by_key(|n| n.node.len());
        longest.map_or((tract_name.to_owned(), "?".into()), |n| (n.node.clone(), n.op.clone()))
    }
}

/// Keeps what `logits` needs and makes it the only output. Returns the nodes cut away.
fn prune(graph: &mut GraphProto, input: &str, logits: &str) -> Vec<NodeNote> {
    let mut needed = HashSet::from([input.to_owned(), logits.to_owned()]);
    let mut keep = vec![false; graph.node.len()];
    for (i, node) in graph.node.iter().enumerate().rev() {
        if node.output.iter().any(|o| needed.contains(o)) {
            keep[i] = true;
            needed.extend(inputs_of(node).cloned());
        }
    }
    let nodes = std::mem::take(&mut graph.node).into_iter().zip(keep);
    let (kept, cut): (Vec<_>, Vec<_>) = nodes.partition(|(_, keep)| *keep);
    graph.node = kept.into_iter().map(|(node, _)| node).collect();
    graph.initializer.retain(|t| needed.contains(&t.name));
    graph.input.retain(|i| needed.contains(&i.name));
    graph.value_info.clear();
    graph.output = vec![ValueInfoProto { name: logits.to_owned(), ..Default::default() }];
    let note =
        |node| NodeNote { node: name_of(node), op: node.op_type.clone(), role: Role::Dropped };
    cut.iter().map(|(node, _)| note(node)).collect()
}
