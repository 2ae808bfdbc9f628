//! Constants of a file.

use std::path::{Component, Path};

use super::proto::TensorProto;

/// Numbers in row-major order.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub shape: Vec<usize>,
    pub values: Values,
}

/// Numbers of one type: f32, f64, or whole ones.
#[derive(Clone, Debug)]
pub enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
}

/// Codes of data types.
pub const FLOAT: i32 = 1;
const INT32: i32 = 6;
const INT64: i32 = 7;
const BOOL: i32 = 9;
const FLOAT16: i32 = 10;
pub const DOUBLE: i32 = 11;

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
        let listed = raw.is_empty();
        let small = || proto.int32_data.iter();
        let (values, width) = match proto.data_type {
            FLOAT if listed => (Values::F32(proto.float_data.clone()), 4),
            FLOAT => (Values::F32(chunks(raw).map(f32::from_le_bytes).collect()), 4),
            DOUBLE if listed => (Values::F64(proto.double_data.clone()), 8),
            DOUBLE => (Values::F64(chunks(raw).map(f64::from_le_bytes).collect()), 8),
            INT64 if listed => (Values::I64(proto.int64_data.clone()), 8),
            INT64 => (Values::I64(chunks(raw).map(i64::from_le_bytes).collect()), 8),
            INT32 | BOOL if listed => (Values::I64(small().map(|&x| x.into()).collect()), 1),
            INT32 => (Values::I64(chunks(raw).map(|b| i32::from_le_bytes(b).into()).collect()), 4),
            BOOL => (Values::I64(raw.iter().map(|&x| x.into()).collect()), 1),
            FLOAT16 if listed => (Values::F32(small().map(|&bits| half(bits as u16)).collect()), 2),
            FLOAT16 => (Values::F32(chunks(raw).map(|b| half(u16::from_le_bytes(b))).collect()), 2),
            other => return Err(named(&format!("data type {other} is not supported, float32 is"))),
        };
        if values.many() != count || !raw.len().is_multiple_of(width) {
            return Err(named("its shape does not fit its data"));
        }
        Ok(Self { shape, values })
    }

    /// Integers in a row.
    pub fn list(values: Vec<i64>) -> Self {
        Self { shape: vec![values.len()], values: Values::I64(values) }
    }

    /// The same as numbers of another type.
    pub fn cast(&self, to: i64) -> Result<Self, String> {
        let values = match (&self.values, i32::try_from(to)) {
            (Values::F32(_), Ok(FLOAT)) | (Values::F64(_), Ok(DOUBLE)) => self.values.clone(),
            (Values::I64(_), Ok(INT64)) => self.values.clone(),
            (Values::F64(list), Ok(FLOAT)) => Values::F32(list.iter().map(|&x| x as f32).collect()),
            (Values::F32(list), Ok(DOUBLE)) => {
                Values::F64(list.iter().map(|&x| x.into()).collect())
            }
            (Values::I64(list), Ok(FLOAT)) => Values::F32(list.iter().map(|&x| x as f32).collect()),
            (Values::I64(list), Ok(DOUBLE)) => {
                Values::F64(list.iter().map(|&x| x as f64).collect())
            }
            _ => return Err("casts to a type that is not supported".into()),
        };
        Ok(Self { shape: self.shape.clone(), values })
    }

    /// Its numbers, infinite or not.
    pub fn numbers(&self) -> Result<Vec<f64>, String> {
        match &self.values {
            Values::F32(list) => Ok(list.iter().map(|&x| x.into()).collect()),
            Values::F64(list) => Ok(list.clone()),
            Values::I64(_) => Err("a constant is not of float32 or float64".into()),
        }
    }

    /// Its numbers, if they are finite.
    pub fn floats(&self) -> Result<Vec<f64>, String> {
        let numbers = self.numbers()?;
        let finite = numbers.iter().all(|x| x.is_finite());
        if finite { Ok(numbers) } else { Err("a constant is not finite".into()) }
    }

    /// Its numbers, if they are whole ones.
    pub fn integers(&self) -> Result<&[i64], String> {
        match &self.values {
            Values::I64(list) => Ok(list),
            _ => Err("a constant is not of int64".into()),
        }
    }

    /// Its numbers for each value of a tensor of this shape, which broadcasting does not make larger.
    pub fn broadcast(&self, shape: &[usize]) -> Result<Vec<f64>, String> {
        let values = self.floats()?;
        Ok(spread(&self.shape, shape)?.into_iter().map(|at| values[at]).collect())
    }
}

impl Values {
    pub fn many(&self) -> usize {
        match self {
            Self::F32(list) => list.len(),
            Self::F64(list) => list.len(),
            Self::I64(list) => list.len(),
        }
    }

    /// Those in these places.
    pub fn pick(&self, places: &[usize]) -> Self {
        match self {
            Self::F32(list) => Self::F32(places.iter().map(|&at| list[at]).collect()),
            Self::F64(list) => Self::F64(places.iter().map(|&at| list[at]).collect()),
            Self::I64(list) => Self::I64(places.iter().map(|&at| list[at]).collect()),
        }
    }

    /// These, and then others of the same type.
    pub fn and(self, other: Self) -> Result<Self, String> {
        Ok(match (self, other) {
            (Self::F32(a), Self::F32(b)) => Self::F32([a, b].concat()),
            (Self::F64(a), Self::F64(b)) => Self::F64([a, b].concat()),
            (Self::I64(a), Self::I64(b)) => Self::I64([a, b].concat()),
            _ => return Err("its constants are of several types".into()),
        })
    }
}

/// For each value of a tensor of this shape the place of the one in a smaller tensor that broadcasting puts there.
pub fn spread(own: &[usize], shape: &[usize]) -> Result<Vec<usize>, String> {
    let fail = || format!("shape {own:?} does not broadcast to {shape:?}");
    let missing = shape.len().checked_sub(own.len()).ok_or_else(fail)?;
    let fits = own.iter().zip(&shape[missing..]).all(|(own, all)| own == all || *own == 1);
    if !fits {
        return Err(fail());
    }
    let strides = strides(own);
    Ok(places(shape, |at| {
        let axes = at[missing..].iter().zip(own).zip(&strides);
        axes.map(|((&at, &size), stride)| if size == 1 { 0 } else { at * stride }).sum()
    }))
}

/// How far values lie apart that are neighbours along each axis.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect()
}

/// A number for each position in a tensor, in row-major order.
pub fn places(shape: &[usize], of: impl Fn(&[usize]) -> usize) -> Vec<usize> {
    let all: usize = shape.iter().product();
    let mut at = vec![0; shape.len()];
    let mut list = Vec::with_capacity(all);
    for _ in 0..all {
        list.push(of(&at));
        for axis in (0..shape.len()).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
    list
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
