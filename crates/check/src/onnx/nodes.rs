//! What each node does: to constants, or to values that depend on the input.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::moves::{common, fits_memory};
use super::proto::{AttributeProto, NodeProto};
use super::tensor::{DOUBLE, FLOAT, Tensor, Values, spread};
use crate::affine::{Step, Uncertain};
use crate::cells::{Cell, Cells};

/// A value of the graph.
#[derive(Clone)]
pub enum Value {
    Constant(Result<Tensor, String>),
    Data(Data),
}

/// Numbers that may depend on the input, in row-major order.
#[derive(Clone)]
pub struct Data {
    pub shape: Vec<usize>,
    pub cells: Vec<Cell>,
    /// Whether they are of float64.
    pub double: bool,
}

/// Reads nodes one after the other.
pub struct Reader {
    /// Constants that cannot be read are refused when they are used.
    values: HashMap<String, Value>,
    directory: PathBuf,
    pub cells: Cells,
}

impl Reader {
    pub fn new(values: HashMap<String, Value>, directory: &Path, cells: Cells) -> Self {
        Self { values, directory: directory.to_owned(), cells }
    }

    /// A value, if it depends on the input.
    pub fn data_of(&self, name: &str) -> Option<&Data> {
        match self.values.get(name) {
            Some(Value::Data(data)) => Some(data),
            _ => None,
        }
    }

    pub fn node(&mut self, node: &NodeProto) -> Result<(), String> {
        let domain = if node.op_type == "Scaler" { "ai.onnx.ml" } else { "ai.onnx" };
        if !node.domain.is_empty() && node.domain != domain {
            return Err(format!("domain '{}' is not supported", node.domain));
        }
        let results = self.results(node)?;
        if results.len() > node.output.len() {
            return Err("has no output".into());
        }
        // What it gives beside that is refused where it is used.
        let named = node.output.iter().cloned().zip(results);
        self.values.extend(named.filter(|(name, _)| !name.is_empty()));
        Ok(())
    }

    fn results(&mut self, node: &NodeProto) -> Result<Vec<Value>, String> {
        let op = node.op_type.as_str();
        if op == "Constant" {
            return Ok(vec![Value::Constant(Ok(self.value(node)?))]);
        }
        let Some(first) = node.input.first() else { return Err("has no input".into()) };
        let first = self.values.get(first).cloned();
        let first = first.ok_or_else(|| format!("input '{}' is not known", node.input[0]))?;
        let is_constant = |name: &String| !matches!(self.values.get(name), Some(Value::Data(_)));
        let all_constant = node.input.iter().all(is_constant);
        let shape = match &first {
            Value::Data(data) => data.shape.clone(),
            Value::Constant(tensor) => tensor.clone()?.shape,
        };
        let moved = match op {
            "Shape" => {
                return Ok(vec![Value::Constant(Ok(Tensor::list(shape_part(&shape, node))))]);
            }
            "Concat" => return Ok(vec![self.concat(node, all_constant)?]),
            "Where" => return Ok(vec![Value::Data(self.choice(node)?)]),
            "Split" => self.split(node, &shape)?,
            _ => self.moved(node, &shape)?.into_iter().collect(),
        };
        if !moved.is_empty() {
            let others = node.input.iter().skip(1).any(|name| self.data_of(name).is_some());
            if others {
                return Err("how it moves values depends on the input".into());
            }
            return Ok(moved.into_iter().map(|moved| pick(&first, moved)).collect());
        }
        match first {
            Value::Constant(tensor) if all_constant => match op {
                "Cast" => Ok(vec![Value::Constant(Ok(
                    tensor?.cast(attribute(node, "to").map_or(0, |a| a.i))?
                ))]),
                _ => Err("is not supported for constants".into()),
            },
            _ => Ok(vec![Value::Data(self.data_node(node)?)]),
        }
    }

    fn data_node(&mut self, node: &NodeProto) -> Result<Data, String> {
        match node.op_type.as_str() {
            "Relu" => {
                let data = self.data(node, 0)?;
                let limits = vec![0.0; data.cells.len()];
                Ok(Data { cells: self.cells.clip(1.0, &data.cells, &limits), ..data })
            }
            "LeakyRelu" => {
                let data = self.data(node, 0)?;
                let alpha = attribute(node, "alpha").map_or(0.01, |a| a.f);
                let slopes = vec![f64::from(alpha); data.cells.len()];
                self.leaky(data, slopes)
            }
            "PRelu" => {
                let data = self.data(node, 0)?;
                let slopes = self.constant(node, 1)?.broadcast(&data.shape)?;
                self.leaky(data, slopes)
            }
            "Abs" => {
                let data = self.data(node, 0)?;
                Ok(Data { cells: self.cells.leaky(&data.cells, &[], true), ..data })
            }
            "Clip" => self.clip(node),
            "HardSigmoid" => self.hard_sigmoid(node),
            "Max" => self.extreme(node, 1.0),
            "Min" => self.extreme(node, -1.0),
            "MaxPool" | "GlobalMaxPool" => self.max_pool(node),
            "ReduceMax" => self.reduced_extreme(node, 1.0),
            "ReduceMin" => self.reduced_extreme(node, -1.0),
            "Cast" => self.cast(node),
            "Pad" => self.pad(node),
            "Add" | "Sub" | "Mul" | "Div" => self.elementwise(node),
            "Neg" => {
                let data = self.data(node, 0)?;
                self.scaled(data, |_| Uncertain::exact(-1.0))
            }
            "Sum" => self.sum(node),
            "Mean" => {
                let data = self.sum(node)?;
                let share = Uncertain::inverse(node.input.len() as f64);
                self.scaled(data, |_| share)
            }
            "MatMul" => self.matmul(node),
            "Gemm" => self.gemm(node),
            "BatchNormalization" => self.batch_normalization(node),
            "Conv" => self.conv(node),
            "ConvTranspose" => self.conv_transpose(node),
            "ReduceMean" | "ReduceSum" => self.reduced_sum(node),
            "Scaler" => self.scaler(node),
            "AveragePool" | "GlobalAveragePool" => self.average_pool(node),
            _ => Err("is not supported".into()),
        }
    }

    pub fn constant(&self, node: &NodeProto, input: usize) -> Result<&Tensor, String> {
        let name = node.input.get(input).ok_or("an input is missing")?;
        match self.values.get(name) {
            Some(Value::Constant(tensor)) => tensor.as_ref().map_err(Clone::clone),
            _ => Err(format!("input '{name}' is not a constant")),
        }
    }

    pub fn is_constant(&self, node: &NodeProto, input: usize) -> bool {
        self.constant(node, input).is_ok()
    }

    /// An input's numbers; constants are numbers, too.
    pub fn data(&mut self, node: &NodeProto, input: usize) -> Result<Data, String> {
        let name = node.input.get(input).ok_or("an input is missing")?;
        match self.values.get(name) {
            Some(Value::Data(data)) => Ok(data.clone()),
            None => Err(format!("input '{name}' is not known")),
            Some(Value::Constant(tensor)) => {
                let tensor = tensor.clone()?;
                let double = matches!(tensor.values, Values::F64(_));
                let cells = tensor.floats()?.into_iter().map(|x| self.cells.constant(x)).collect();
                Ok(Data { shape: tensor.shape, cells, double })
            }
        }
    }

    fn value(&self, node: &NodeProto) -> Result<Tensor, String> {
        let [attribute] = &node.attribute[..] else { return Err("has no single value".into()) };
        let list = |values: Values| Tensor { shape: vec![values.many()], values };
        let number = |values: Values| Tensor { shape: vec![], values };
        Ok(match attribute.name.as_str() {
            "value" => {
                let tensor = attribute.t.as_ref().ok_or("its value is not a tensor")?;
                Tensor::read(tensor, &self.directory)?
            }
            "value_float" => number(Values::F32(vec![attribute.f])),
            "value_int" => number(Values::I64(vec![attribute.i])),
            "value_floats" => list(Values::F32(attribute.floats.clone())),
            "value_ints" => list(Values::I64(attribute.ints.clone())),
            other => return Err(format!("a {other} is not supported")),
        })
    }

    fn concat(&mut self, node: &NodeProto, all_constant: bool) -> Result<Value, String> {
        let axis = attribute(node, "axis").ok_or("has no axis")?.i;
        let mut shapes = Vec::new();
        for k in 0..node.input.len() {
            shapes.push(match self.data_of(&node.input[k]) {
                Some(data) => data.shape.clone(),
                None => self.constant(node, k)?.shape.clone(),
            });
        }
        let axis = super::moves::axis(axis, shapes[0].len())?;
        let mut shape = shapes[0].clone();
        let fits = |other: &Vec<usize>| {
            other.len() == shape.len()
                && (0..shape.len()).all(|a| a == axis || other[a] == shape[a])
        };
        if !shapes.iter().all(fits) {
            return Err(format!("shapes {shapes:?} do not fit"));
        }
        shape[axis] = shapes.iter().map(|shape| shape[axis]).sum();
        let all = fits_memory(&shape)?;
        // Blocks of each operand in turn.
        let inner: usize = shape[axis + 1..].iter().product();
        let mut from = Vec::with_capacity(all);
        for outer in 0..shape[..axis].iter().product() {
            let mut first = 0;
            for own in &shapes {
                let block = own[axis] * inner;
                from.extend((0..block).map(|k| first + outer * block + k));
                first += own.iter().product::<usize>();
            }
        }
        if all_constant {
            let mut parts =
                (0..node.input.len()).map(|k| Ok(self.constant(node, k)?.values.clone()));
            let first = parts.next().ok_or("has no input")??;
            let values =
                parts.try_fold(first, |all, part: Result<Values, String>| all.and(part?))?;
            return Ok(Value::Constant(Ok(Tensor { shape, values: values.pick(&from) })));
        }
        let (mut cells, mut double) = (Vec::new(), false);
        for k in 0..node.input.len() {
            let part = self.data(node, k)?;
            double |= part.double;
            cells.extend(part.cells);
        }
        Ok(Value::Data(Data {
            shape,
            cells: from.into_iter().map(|at| cells[at]).collect(),
            double,
        }))
    }

    /// A Where whose condition is known.
    fn choice(&mut self, node: &NodeProto) -> Result<Data, String> {
        let condition = self.constant(node, 0)?.clone();
        let (a, b) = (self.data(node, 1)?, self.data(node, 2)?);
        let shape = common(&common(&a.shape, &b.shape)?, &condition.shape)?;
        fits_memory(&shape)?;
        let [which, of_a, of_b] =
            [&condition.shape, &a.shape, &b.shape].map(|own| spread(own, &shape));
        let (which, of_a, of_b) = (which?, of_a?, of_b?);
        let is_true = condition.integers()?;
        let cell =
            |k: usize| if is_true[which[k]] != 0 { a.cells[of_a[k]] } else { b.cells[of_b[k]] };
        Ok(Data { cells: (0..which.len()).map(cell).collect(), shape, double: a.double })
    }

    fn cast(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let to = attribute(node, "to").and_then(|a| i32::try_from(a.i).ok());
        match (to, data.double) {
            (Some(FLOAT), true) => {
                // Each number is rounded, as by a factor of 1.
                let data = self.scaled(data, |_| Uncertain::exact(1.0))?;
                Ok(Data { double: false, ..data })
            }
            (Some(FLOAT), false) => Ok(data),
            (Some(DOUBLE), _) => Ok(Data { double: true, ..data }),
            _ => Err("casts to a type that is not supported".into()),
        }
    }

    fn pad(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let ((shape, from), value) = self.padded(node, &data.shape)?;
        let cells = from.into_iter().map(|at| match data.cells.get(at) {
            Some(&cell) => cell,
            None => self.cells.constant(value),
        });
        Ok(Data { cells: cells.collect(), shape, ..data })
    }

    fn leaky(&mut self, data: Data, slopes: Vec<f64>) -> Result<Data, String> {
        if !slopes.iter().all(|slope| slope.is_finite()) {
            return Err("a slope is not finite".into());
        }
        Ok(Data { cells: self.cells.leaky(&data.cells, &slopes, false), ..data })
    }

    /// The larger or smaller one of each number and a limit, unless that is infinite.
    fn clipped(&mut self, data: Data, sign: f64, limit: f64) -> Result<Data, String> {
        if limit * sign == f64::NEG_INFINITY {
            return Ok(data);
        }
        if !limit.is_finite() {
            return Err("a limit is not a finite number".into());
        }
        let limits = vec![limit; data.cells.len()];
        Ok(Data { cells: self.cells.clip(sign, &data.cells, &limits), ..data })
    }

    fn clip(&mut self, node: &NodeProto) -> Result<Data, String> {
        let limit = |name: &str, input: usize| match (attribute(node, name), node.input.get(input))
        {
            (Some(limit), _) => Ok(Some(f64::from(limit.f))),
            (None, Some(given)) if !given.is_empty() => {
                match self.constant(node, input)?.numbers()?[..] {
                    [limit] => Ok(Some(limit)),
                    _ => Err("a limit is not a number".to_owned()),
                }
            }
            _ => Ok(None),
        };
        let (least, most) = (limit("min", 1)?, limit("max", 2)?);
        let mut data = self.data(node, 0)?;
        for (sign, limit) in [(1.0, least), (-1.0, most)] {
            if let Some(limit) = limit {
                data = self.clipped(data, sign, limit)?;
            }
        }
        Ok(data)
    }

    fn hard_sigmoid(&mut self, node: &NodeProto) -> Result<Data, String> {
        let number =
            |name: &str, default: f32| f64::from(attribute(node, name).map_or(default, |a| a.f));
        let (alpha, beta) = (number("alpha", 0.2), number("beta", 0.5));
        if !alpha.is_finite() || !beta.is_finite() {
            return Err("its numbers are not finite".into());
        }
        let data = self.data(node, 0)?;
        let data = self.scaled(data, |_| Uncertain::exact(alpha))?;
        let data = self.shifted(data, |_| Uncertain::exact(beta))?;
        let data = self.clipped(data, -1.0, 1.0)?;
        self.clipped(data, 1.0, 0.0)
    }

    /// Max or Min of several operands, from the first to the last.
    fn extreme(&mut self, node: &NodeProto, sign: f64) -> Result<Data, String> {
        if self.is_constant(node, 0) && node.input.len() > 2 && self.is_constant(node, 1) {
            return Err("begins with two constants".into());
        }
        let mut data = self.data(node, 0)?;
        let mut limits = self.is_constant(node, 0);
        for k in 1..node.input.len() {
            let other = self.data(node, k)?;
            let shape = common(&data.shape, &other.shape)?;
            fits_memory(&shape)?;
            let (a, b) = (spread(&data.shape, &shape)?, spread(&other.shape, &shape)?);
            let pick = |of: &Data, from: Vec<usize>| {
                from.iter().map(|&at| of.cells[at]).collect::<Vec<_>>()
            };
            let (a, b) = (pick(&data, a), pick(&other, b));
            let cells = match (limits, self.is_constant(node, k)) {
                (true, false) => {
                    let limits = self.constant(node, 0)?.broadcast(&shape)?;
                    self.cells.clip(sign, &b, &limits)
                }
                (false, true) => {
                    let limits = self.constant(node, k)?.broadcast(&shape)?;
                    self.cells.clip(sign, &a, &limits)
                }
                _ => self
                    .cells
                    .tournament(sign, a.into_iter().zip(b).map(|(a, b)| vec![a, b]).collect()),
            };
            limits = false;
            data = Data { shape, cells, double: data.double || other.double };
        }
        Ok(data)
    }

    /// Each number times a factor.
    pub fn scaled(&mut self, data: Data, by: impl Fn(usize) -> Uncertain) -> Result<Data, String> {
        let step = Step::Scale((0..data.cells.len()).map(by).collect());
        Ok(Data { cells: self.cells.apply(step, data.cells, false), ..data })
    }

    /// Each number plus a number.
    pub fn shifted(&mut self, data: Data, by: impl Fn(usize) -> Uncertain) -> Result<Data, String> {
        let step = Step::Shift((0..data.cells.len()).map(by).collect());
        Ok(Data { cells: self.cells.apply(step, data.cells, false), ..data })
    }
}

/// Some of a value's numbers.
fn pick(value: &Value, (shape, from): (Vec<usize>, Vec<usize>)) -> Value {
    match value {
        Value::Data(data) => {
            let cells = from.iter().map(|&at| data.cells[at]).collect();
            Value::Data(Data { shape, cells, double: data.double })
        }
        Value::Constant(tensor) => Value::Constant(
            tensor
                .as_ref()
                .map_err(Clone::clone)
                .map(|tensor| Tensor { shape, values: tensor.values.pick(&from) }),
        ),
    }
}

pub fn attribute<'n>(node: &'n NodeProto, name: &str) -> Option<&'n AttributeProto> {
    node.attribute.iter().find(|attribute| attribute.name == name)
}

/// The list in an attribute.
pub fn integers<'n>(node: &'n NodeProto, name: &str) -> Option<&'n [i64]> {
    attribute(node, name).map(|attribute| &attribute.ints[..])
}

/// The sizes that a Shape gives: all, or those from `start` to `end`.
fn shape_part(shape: &[usize], node: &NodeProto) -> Vec<i64> {
    let count = shape.len() as i64;
    let place = |name: &str, default: i64| {
        let at = attribute(node, name).map_or(default, |a| a.i);
        if at < 0 { at.saturating_add(count) } else { at }.clamp(0, count) as usize
    };
    let part = shape.get(place("start", 0)..place("end", count));
    part.unwrap_or_default().iter().map(|&size| size as i64).collect()
}
