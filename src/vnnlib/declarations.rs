//! The names that a file declares, and what they stand for.
//!
//! In VNN-LIB 1.0 every input `X_i` and output `Y_i` is declared by itself; in 2.0 a network has one input and one output tensor, whose
//! elements are counted in row-major order.

use serde::{Deserialize, Serialize};

use super::error::{Complaint, Position};
use super::linear_form::Variable;

/// More inputs or outputs are refused: their numbers alone would fill the memory.
const MOST_VARIABLES: usize = 1 << 24;

/// The version of the language that a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VnnlibVersion {
    /// `declare-const X_0 Real`.
    One,
    /// `declare-network`.
    Two,
}

/// A tensor of VNN-LIB 2.0: name, type and shape, for assignments that are printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorDeclaration {
    /// The name.
    pub name: String,
    /// The element type as it was written.
    pub element_type: String,
    /// The shape; empty for a scalar.
    pub shape: Vec<usize>,
}

impl TensorDeclaration {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The one network of a file in VNN-LIB 2.0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkDeclaration {
    /// The name.
    pub name: String,
    /// The input.
    pub input: TensorDeclaration,
    /// The output.
    pub output: TensorDeclaration,
}

/// Everything that is declared so far.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    /// 1.0: which of `X_0`, `X_1`, … were declared.
    inputs: Vec<bool>,
    /// 1.0: which of `Y_0`, `Y_1`, … were declared.
    outputs: Vec<bool>,
    /// 2.0.
    network: Option<NetworkDeclaration>,
    version_line: bool,
}

impl Declarations {
    /// The version, as far as the declarations tell.
    pub fn version(&self) -> VnnlibVersion {
        if self.version_line || self.network.is_some() {
            VnnlibVersion::Two
        } else {
            VnnlibVersion::One
        }
    }

    fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.outputs.is_empty() && self.network.is_none()
    }

    /// `(vnnlib-version <2.0>)`.
    pub fn declare_version(&mut self, at: Position, text: &str) -> Result<(), Complaint> {
        let number = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
        let Some(number) = number else {
            let text = format!("expected a version such as <2.0>, found '{text}'");
            return Err(Complaint::syntax(at, text));
        };
        if self.version_line || !self.is_empty() {
            return Err(Complaint::syntax(at, "the version comes first, and once"));
        }
        if number.split('.').next() != Some("2") {
            let text = format!("VNN-LIB {number}: 1.0, which has no version line, and 2.0 are");
            return Err(Complaint::unsupported(at, text));
        }
        self.version_line = true;
        Ok(())
    }

    /// `(declare-const X_0 Real)`.
    pub fn declare_const(&mut self, at: Position, name: &str) -> Result<(), Complaint> {
        if self.version() == VnnlibVersion::Two {
            return Err(Complaint::syntax(at, "declare-const is not VNN-LIB 2.0"));
        }
        let Some(variable) = element(name) else {
            let text = format!("expected a name such as X_0 or Y_0, found '{name}'");
            return Err(Complaint::syntax(at, text));
        };
        let (index, declared) = match variable {
            Variable::Input(index) => (index as usize, &mut self.inputs),
            Variable::Output(index) => (index as usize, &mut self.outputs),
        };
        if index >= declared.len() {
            declared.resize(index + 1, false);
        }
        if std::mem::replace(&mut declared[index], true) {
            return Err(Complaint::syntax(at, format!("{name} is declared twice")));
        }
        Ok(())
    }

    /// `(declare-network …)`.
    pub fn declare_network(
        &mut self,
        at: Position,
        network: NetworkDeclaration,
    ) -> Result<(), Complaint> {
        if let Some(first) = &self.network {
            let text = format!("several networks ({} and {})", first.name, network.name);
            return Err(Complaint::unsupported(at, text));
        }
        if !self.is_empty() {
            return Err(Complaint::syntax(at, "declare-network among VNN-LIB 1.0's declarations"));
        }
        if network.input.name == network.output.name {
            let text = format!("{} is declared twice", network.input.name);
            return Err(Complaint::syntax(at, text));
        }
        for tensor in [&network.input, &network.output] {
            let elements = tensor.shape.iter().try_fold(1, |n: usize, &d| n.checked_mul(d));
            if elements.is_none_or(|elements| elements > MOST_VARIABLES) {
                let text = format!("{} has more than {MOST_VARIABLES} elements", tensor.name);
                return Err(Complaint::too_large(at, text));
            }
            if tensor.is_empty() {
                return Err(Complaint::syntax(at, format!("{} has no elements", tensor.name)));
            }
        }
        self.network = Some(network);
        Ok(())
    }

    /// What a name without an index stands for.
    pub fn scalar(&self, at: Position, name: &str) -> Result<Variable, Complaint> {
        if self.network.is_some() {
            return self.element(at, name, &[]);
        }
        let declared = match element(name) {
            Some(Variable::Input(index)) => self.inputs.get(index as usize),
            Some(Variable::Output(index)) => self.outputs.get(index as usize),
            None => None,
        };
        match (element(name), declared) {
            (Some(variable), Some(true)) => Ok(variable),
            _ => Err(Complaint::syntax(at, format!("'{name}' is not declared"))),
        }
    }

    /// Whether a name is that of a tensor, which needs an index.
    pub fn has_tensors(&self) -> bool {
        self.network.is_some()
    }

    /// What an element of a tensor stands for.
    pub fn element(
        &self,
        at: Position,
        name: &str,
        indices: &[usize],
    ) -> Result<Variable, Complaint> {
        let (tensor, is_input) = match &self.network {
            Some(network) if network.input.name == name => (&network.input, true),
            Some(network) if network.output.name == name => (&network.output, false),
            _ => return Err(Complaint::syntax(at, format!("'{name}' is not declared"))),
        };
        let shape = &tensor.shape;
        if indices.len() != shape.len() || indices.iter().zip(shape).any(|(i, d)| i >= d) {
            let text = format!("{name}{indices:?}: {name} has the shape {shape:?}");
            return Err(Complaint::syntax(at, text));
        }
        let place = indices.iter().zip(shape).fold(0, |place, (i, d)| place * d + i) as u32;
        Ok(if is_input { Variable::Input(place) } else { Variable::Output(place) })
    }

    /// The numbers of inputs and outputs, and the network, if there is one.
    pub fn finish(self) -> Result<(usize, usize, Option<NetworkDeclaration>), Complaint> {
        if let Some(network) = self.network {
            return Ok((network.input.len(), network.output.len(), Some(network)));
        }
        for (letter, declared) in [('X', &self.inputs), ('Y', &self.outputs)] {
            if declared.is_empty() {
                let text = format!("declares no {letter}_0: this is not a property of a network");
                return Err(Complaint::of_file(text));
            }
            if let Some(missing) = declared.iter().position(|is_declared| !is_declared) {
                let last = declared.len() - 1;
                let text = format!("declares {letter}_{last}, but not {letter}_{missing}");
                return Err(Complaint::of_file(text));
            }
        }
        Ok((self.inputs.len(), self.outputs.len(), None))
    }
}

/// What a name of VNN-LIB 1.0 stands for: `X_7` or `Y_7`.
fn element(name: &str) -> Option<Variable> {
    let (letter, index) = name.split_at_checked(2)?;
    let canonical = index == "0" || !index.starts_with('0');
    let digits = canonical && index.bytes().all(|byte| byte.is_ascii_digit());
    let index: u32 = Some(index).filter(|_| digits)?.parse().ok()?;
    let index = Some(index).filter(|&index| (index as usize) < MOST_VARIABLES)?;
    match letter {
        "X_" => Some(Variable::Input(index)),
        "Y_" => Some(Variable::Output(index)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_first_version() {
        assert_eq!(element("X_0"), Some(Variable::Input(0)));
        assert_eq!(element("Y_120"), Some(Variable::Output(120)));
        for name in ["X_", "X", "Z_1", "X_-1", "X_+1", "X_01", "x_1", "X_1_2", "é_1", "X_99999999"]
        {
            assert_eq!(element(name), None, "{name}");
        }
    }
}
