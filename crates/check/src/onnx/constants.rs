//! Nodes that make constants: of other constants, or of the value's shape.

use super::nodes::{Reader, attribute, integers, permutation, reshaped, squeezed, unsqueezed};
use super::proto::NodeProto;
use super::tensor::{Tensor, Values};

impl Reader {
    pub fn constant_node(&self, node: &NodeProto) -> Result<Tensor, String> {
        let first = || self.constant(node, 0);
        let shaped = |shape: Vec<usize>| Ok(Tensor { shape, values: first()?.values.clone() });
        match node.op_type.as_str() {
            "Constant" => self.value(node),
            "Identity" => first().cloned(),
            "Transpose" => first()?.transposed(&permutation(node, first()?.shape.len())?),
            "Reshape" => shaped(reshaped(&first()?.shape, self.constant(node, 1)?.integers()?)?),
            "Unsqueeze" => {
                shaped(unsqueezed(&first()?.shape, &self.axes(node)?.unwrap_or_default())?)
            }
            "Squeeze" => shaped(squeezed(&first()?.shape, self.axes(node)?.as_deref())?),
            "Cast" => first()?.cast(attribute(node, "to").map_or(0, |a| a.i)),
            "Gather" if attribute(node, "axis").is_none_or(|a| a.i == 0) => self.gather(node),
            "Slice" => self.slice(node),
            "Concat" => {
                let parts = (0..node.input.len()).map(|k| self.constant(node, k)?.integers());
                let parts: Vec<&[i64]> = parts.collect::<Result<_, String>>()?;
                Ok(Tensor::list(parts.concat()))
            }
            _ => Err("is not supported for constants, or uses an earlier value".into()),
        }
    }

    fn value(&self, node: &NodeProto) -> Result<Tensor, String> {
        let [attribute] = &node.attribute[..] else { return Err("has no single value".into()) };
        let list = |values: Values, count: usize| Tensor { shape: vec![count], values };
        Ok(match attribute.name.as_str() {
            "value" => {
                let tensor = attribute.t.as_ref().ok_or("its value is not a tensor")?;
                Tensor::read(tensor, &self.directory)?
            }
            "value_float" => Tensor { shape: vec![], values: Values::F32(vec![attribute.f]) },
            "value_int" => Tensor { shape: vec![], values: Values::I64(vec![attribute.i]) },
            "value_floats" => list(Values::F32(attribute.floats.clone()), attribute.floats.len()),
            "value_ints" => list(Values::I64(attribute.ints.clone()), attribute.ints.len()),
            other => return Err(format!("a {other} is not supported")),
        })
    }

    /// The axes of a node: an attribute, or its second input.
    pub fn axes(&self, node: &NodeProto) -> Result<Option<Vec<i64>>, String> {
        match integers(node, "axes") {
            Some(axes) => Ok(Some(axes.to_vec())),
            None if node.input.len() > 1 => Ok(Some(self.constant(node, 1)?.integers()?.to_vec())),
            None => Ok(None),
        }
    }

    /// Some numbers of a list.
    fn gather(&self, node: &NodeProto) -> Result<Tensor, String> {
        let (list, places) = (self.constant(node, 0)?, self.constant(node, 1)?);
        if list.shape.len() != 1 {
            return Err("its constant is not a list".into());
        }
        let numbers = list.integers()?;
        let number = |&place: &i64| {
            let place = if place < 0 { place + numbers.len() as i64 } else { place };
            usize::try_from(place).ok().and_then(|place| numbers.get(place)).copied()
        };
        let picked: Option<Vec<i64>> = places.integers()?.iter().map(number).collect();
        let values = Values::I64(picked.ok_or("has no such place")?);
        Ok(Tensor { shape: places.shape.clone(), values })
    }

    /// Neighbours of a list.
    fn slice(&self, node: &NodeProto) -> Result<Tensor, String> {
        let numbers = self.constant(node, 0)?.integers()?;
        let listed = |name: &str, input: usize| -> Result<Option<Vec<i64>>, String> {
            match integers(node, name) {
                Some(list) => Ok(Some(list.to_vec())),
                None if node.input.len() > input => {
                    Ok(Some(self.constant(node, input)?.integers()?.to_vec()))
                }
                None => Ok(None),
            }
        };
        let (starts, ends) = (listed("starts", 1)?, listed("ends", 2)?);
        let is_plain = listed("axes", 3)?.is_none_or(|axes| axes == [0])
            && listed("steps", 4)?.is_none_or(|steps| steps == [1]);
        let (Some([start]), Some([end]), true) = (starts.as_deref(), ends.as_deref(), is_plain)
        else {
            return Err("is supported for neighbours in a list only".into());
        };
        let count = numbers.len() as i64;
        let place = |at: i64| if at < 0 { at.saturating_add(count) } else { at }.clamp(0, count);
        let (start, end) = (place(*start) as usize, place(*end) as usize);
        Ok(Tensor::list(numbers.get(start..end).unwrap_or_default().to_vec()))
    }
}

/// Axes as they are counted from the front, each once.
pub fn counted(axes: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    let axis = |&axis: &i64| {
        let axis = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(axis).ok().filter(|&axis| axis < rank)
    };
    let mut found: Vec<usize> =
        axes.iter().map(axis).collect::<Option<_>>().ok_or("has no such axis")?;
    found.sort_unstable();
    found.dedup();
    if found.len() == axes.len() { Ok(found) } else { Err("names an axis twice".into()) }
}
