//! Constants of a file.

use std::path::{Component, Path};

use super::proto::TensorProto;

/// Numbers in row-major order.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub shape: Vec<usize>,
    pub values: Values,
}

#[derive(Clone, Debug)]
pub enum Values {
    F32(Vec<f32>),
    I64(Vec<i64>),
}

/// Codes of data types.
const FLOAT: i32 = 1;
const INT64: i32 = 7;
const BOOL: i32 = 9;
const FLOAT16: i32 = 10;

impl Tensor {
    /// Reads a tensor; `directory` is where files of weights lie.
    pub fn read(proto: &TensorProto, directory: &Path) -> Result<Self, String> {
        let named = |what: &str| format!("tensor '{}': {what}", proto.name);
        let size = |&dim: &i64| usize::try_from(dim).map_err(|_| named("a size is negative"));
        let shape = proto.dims.iter().map(size).collect::<Result<Vec<_>, _>>()?;
        let count = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        let count = count.ok_or_else(|| named("is too large"))?;
        let external = external_bytes(proto, directory).map_err(|what| named(&what))?;
        let raw = external.as_deref().unwrap_or(&proto.raw_data);
        let values = match proto.data_type {
            FLOAT if raw.is_empty() => Values::F32(proto.float_data.clone()),
            FLOAT => Values::F32(chunks(raw).map(f32::from_le_bytes).collect()),
            INT64 if raw.is_empty() => Values::I64(proto.int64_data.clone()),
            INT64 => Values::I64(chunks(raw).map(i64::from_le_bytes).collect()),
            BOOL if raw.is_empty() => {
                Values::I64(proto.int32_data.iter().map(|&x| i64::from(x)).collect())
            }
            BOOL => Values::I64(raw.iter().map(|&x| i64::from(x)).collect()),
            FLOAT16 if raw.is_empty() => {
                Values::F32(proto.int32_data.iter().map(|&bits| half(bits as u16)).collect())
            }
            FLOAT16 => Values::F32(chunks(raw).map(|b| half(u16::from_le_bytes(b))).collect()),
            other => return Err(named(&format!("data type {other} is not supported, float32 is"))),
        };
        let width = match proto.data_type {
            BOOL => 1,
            FLOAT16 => 2,
            FLOAT => 4,
            _ => 8,
        };
        let many = match &values {
            Values::F32(values) => values.len(),
            Values::I64(values) => values.len(),
        };
        if many != count || !raw.len().is_multiple_of(width) {
            return Err(named("its shape does not fit its data"));
        }
        Ok(Self { shape, values })
    }

    /// Integers in a row.
    pub fn list(values: Vec<i64>) -> Self {
        Self { shape: vec![values.len()], values: Values::I64(values) }
    }

    /// The same as numbers of another type: 1 is f32, 7 is i64.
    pub fn cast(&self, to: i64) -> Result<Self, String> {
        let values = match (&self.values, to) {
            (Values::F32(_), 1) | (Values::I64(_), 7) => self.values.clone(),
            (Values::I64(values), 1) => Values::F32(values.iter().map(|&x| x as f32).collect()),
            _ => return Err("casts to a type that is not supported".into()),
        };
        Ok(Self { shape: self.shape.clone(), values })
    }

    /// Its numbers, finite or not.
    pub fn numbers(&self) -> Result<Vec<f64>, String> {
        match &self.values {
            Values::F32(values) => Ok(values.iter().map(|&x| x.into()).collect()),
            Values::I64(_) => Err("a constant is not of float32".into()),
        }
    }

    /// Its numbers, if they are finite f32.
    pub fn floats(&self) -> Result<&[f32], String> {
        match &self.values {
            Values::F32(values) if values.iter().all(|x| x.is_finite()) => Ok(values),
            Values::F32(_) => Err("a constant is not finite".into()),
            Values::I64(_) => Err("a constant is not of float32".into()),
        }
    }

    /// Its numbers, if they are i64.
    pub fn integers(&self) -> Result<&[i64], String> {
        match &self.values {
            Values::I64(values) => Ok(values),
            Values::F32(_) => Err("a constant is not of int64".into()),
        }
    }

    /// Its numbers for each value of a tensor of this shape, which broadcasting does not make larger.
    pub fn broadcast(&self, shape: &[usize]) -> Result<Vec<f64>, String> {
        let values = self.floats()?;
        let rank = shape.len().max(self.shape.len());
        let padded = |shape: &[usize]| [vec![1; rank - shape.len()], shape.to_vec()].concat();
        let (own, all) = (padded(&self.shape), padded(shape));
        if own.iter().zip(&all).any(|(own, all)| own != all && *own != 1) {
            return Err(format!("shape {:?} does not broadcast to {shape:?}", self.shape));
        }
        let place = |mut index: usize| {
            let (mut place, mut stride) = (0, 1);
            for (own, all) in own.iter().zip(&all).rev() {
                place += if *own == 1 { 0 } else { index % all * stride };
                (index, stride) = (index / all, stride * own);
            }
            place
        };
        Ok((0..all.iter().product()).map(|index| f64::from(values[place(index)])).collect())
    }

    /// The same with its axes in another order.
    pub fn transposed(&self, order: &[usize]) -> Result<Self, String> {
        let values = self.floats()?;
        let shape: Vec<usize> = order.iter().map(|&axis| self.shape[axis]).collect();
        let stride = |axis: usize| self.shape[axis + 1..].iter().product::<usize>();
        let place = |mut index: usize| {
            let mut place = 0;
            for (&axis, &dim) in order.iter().zip(&shape).rev() {
                place += index % dim * stride(axis);
                index /= dim;
            }
            place
        };
        let values = (0..values.len()).map(|index| values[place(index)]).collect();
        Ok(Self { shape, values: Values::F32(values) })
    }
}

/// A number of 16 bits.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

/// The bytes in pieces of a number's size.
fn chunks<const SIZE: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; SIZE]> {
    bytes.chunks_exact(SIZE).filter_map(|chunk| chunk.try_into().ok())
}

/// The bytes of a tensor that is kept in a file beside the model's.
fn external_bytes(proto: &TensorProto, directory: &Path) -> Result<Option<Vec<u8>>, String> {
    let entry = |key: &str| proto.external_data.iter().find(|e| e.key == key).map(|e| &e.value);
    let Some(location) = entry("location") else { return Ok(None) };
    let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(location).components().all(inside) {
        return Err(format!("{location} is outside the model's directory"));
    }
    let number = |key: &str| entry(key).map(|text| text.parse::<usize>()).transpose();
    let (Ok(offset), Ok(length)) = (number("offset"), number("length")) else {
        return Err("its offset or length is not a number".into());
    };
    let file = std::fs::read(directory.join(location)).map_err(|e| format!("{location}: {e}"))?;
    let start = offset.unwrap_or(0);
    let end = length.map_or(Some(file.len()), |length| start.checked_add(length));
    let bytes = end.and_then(|end| file.get(start..end));
    bytes.map(|bytes| Some(bytes.to_vec())).ok_or_else(|| format!("{location} is too short"))
}
