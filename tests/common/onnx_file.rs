//! Small ONNX files, written by hand: just enough of protobuf.

/// A graph in the making: one float input `x`, one output `y`.
#[derive(Clone, Debug, Default)]
pub struct OnnxFile {
    nodes: Vec<u8>,
    initializers: Vec<u8>,
    count: usize,
}

/// An attribute of a node.
#[derive(Clone, Copy, Debug)]
pub enum Attribute<'a> {
    /// A number.
    Float(&'a str, f32),
    /// A whole number.
    Int(&'a str, i64),
}

impl OnnxFile {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A constant tensor of floats.
    pub fn floats(&mut self, name: &str, dims: &[i64], values: &[f32]) -> &mut Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, dims, 1, &bytes)
    }

    /// A constant tensor of whole numbers.
    pub fn ints(&mut self, name: &str, dims: &[i64], values: &[i64]) -> &mut Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, dims, 7, &bytes)
    }

    /// A constant tensor of floats that lies in a file of its own.
    pub fn external(&mut self, name: &str, dims: &[i64], location: &str) -> &mut Self {
        let mut tensor = tensor_head(name, dims, 1);
        let mut entry = text(1, "location");
        entry.extend(text(2, location));
        tensor.extend(message(13, &entry));
        tensor.extend(number(14, 1));
        self.initializers.extend(message(5, &tensor));
        self
    }

    fn tensor(&mut self, name: &str, dims: &[i64], kind: u64, bytes: &[u8]) -> &mut Self {
        let mut tensor = tensor_head(name, dims, kind);
        tensor.extend(message(9, bytes));
        self.initializers.extend(message(5, &tensor));
        self
    }

    /// A node with one output.
    pub fn node(&mut self, op: &str, inputs: &[&str], output: &str) -> &mut Self {
        self.node_with(op, inputs, output, &[])
    }

    /// The same with attributes.
    pub fn node_with(
        &mut self,
        op: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[Attribute],
    ) -> &mut Self {
        self.count += 1;
        let mut node: Vec<u8> = inputs.iter().flat_map(|input| text(1, input)).collect();
        node.extend(text(2, output));
        node.extend(text(3, &format!("node{}", self.count)));
        node.extend(text(4, op));
        for attribute in attributes {
            let (name, value) = match attribute {
                Attribute::Float(name, v) => {
                    let mut value = key(2, 5);
                    value.extend(v.to_le_bytes());
                    value.extend(number(20, 1));
                    (name, value)
                }
                Attribute::Int(name, v) => {
                    let mut value = number(3, *v as u64);
                    value.extend(number(20, 2));
                    (name, value)
                }
            };
            let mut attribute = text(1, name);
            attribute.extend(value);
            node.extend(message(5, &attribute));
        }
        self.nodes.extend(message(1, &node));
        self
    }

    /// The file, for an input of this shape.
    pub fn bytes(&self, input: &[i64]) -> Vec<u8> {
        let mut graph = self.nodes.clone();
        graph.extend(text(2, "graph"));
        graph.extend(&self.initializers);
        graph.extend(message(11, &value_info("x", input)));
        graph.extend(message(12, &text(1, "y")));
        let mut model = number(1, 8);
        model.extend(message(7, &graph));
        model.extend(message(8, &number(2, 13)));
        model
    }
}

fn tensor_head(name: &str, dims: &[i64], kind: u64) -> Vec<u8> {
    let mut tensor: Vec<u8> = dims.iter().flat_map(|&d| number(1, d as u64)).collect();
    tensor.extend(number(2, kind));
    tensor.extend(text(8, name));
    tensor
}

fn value_info(name: &str, dims: &[i64]) -> Vec<u8> {
    let shape: Vec<u8> = dims.iter().flat_map(|&d| message(1, &number(1, d as u64))).collect();
    let mut tensor = number(1, 1);
    tensor.extend(message(2, &shape));
    let mut info = text(1, name);
    info.extend(message(2, &message(1, &tensor)));
    info
}

fn key(field: u64, kind: u64) -> Vec<u8> {
    varint(field << 3 | kind)
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    let mut bytes = key(field, 0);
    bytes.extend(varint(value));
    bytes
}

fn message(field: u64, contents: &[u8]) -> Vec<u8> {
    let mut bytes = key(field, 2);
    bytes.extend(varint(contents.len() as u64));
    bytes.extend(contents);
    bytes
}

fn text(field: u64, value: &str) -> Vec<u8> {
    message(field, value.as_bytes())
}
