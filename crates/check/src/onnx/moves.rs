//! Operators that only move numbers: for each result, the place that it comes from. They are the same for data and constants.

use super::nodes::{Reader, attribute, integers};
use super::proto::NodeProto;
use super::tensor::{places, spread, strides};

/// A result's shape, and where each of its values comes from.
pub type Moved = (Vec<usize>, Vec<usize>);

/// No tensor has more values.
pub const MOST: usize = 1 << 24;

/// Whether a tensor of this shape is not too large.
pub fn fits_memory(shape: &[usize]) -> Result<usize, String> {
    let all = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    all.filter(|&all| all <= MOST).ok_or_else(|| "is too large".into())
}

impl Reader {
    /// What a node moves, if it does nothing else; its first input has this shape.
    pub fn moved(&self, node: &NodeProto, shape: &[usize]) -> Result<Option<Moved>, String> {
        let reshaped = |to: Vec<usize>| Ok(Some((to, (0..shape.iter().product()).collect())));
        match node.op_type.as_str() {
            "Identity" => reshaped(shape.to_vec()),
            "Dropout" if node.input.len() < 3 || self.is_false(node, 2) => reshaped(shape.to_vec()),
            "Flatten" => reshaped(flattened(node, shape)?),
            "Reshape" => {
                let to = match integers(node, "shape") {
                    Some(to) => to.to_vec(),
                    None => self.constant(node, 1)?.integers()?.to_vec(),
                };
                if to.contains(&0) && attribute(node, "allowzero").is_some_and(|a| a.i != 0) {
                    return Err("makes an empty tensor".into());
                }
                reshaped(reshape(shape, &to)?)
            }
            "Squeeze" => reshaped(squeezed(shape, self.axes(node)?.as_deref())?),
            "Unsqueeze" => reshaped(unsqueezed(shape, &self.axes(node)?.unwrap_or_default())?),
            "Transpose" => transposed(shape, &permutation(node, shape.len())?).map(Some),
            "Slice" => self.slice(node, shape).map(Some),
            "Gather" => self.gather(node, shape).map(Some),
            "Expand" => {
                let to = sizes(self.constant(node, 1)?.integers()?)?;
                let to = common(shape, &to)?;
                fits_memory(&to)?;
                Ok(Some((to.clone(), spread(shape, &to)?)))
            }
            "Resize" | "Upsample" => self.resized(node, shape).map(Some),
            _ => Ok(None),
        }
    }

    fn is_false(&self, node: &NodeProto, input: usize) -> bool {
        let values = self.constant(node, input).and_then(|values| values.integers());
        values.is_ok_and(|values| values.iter().all(|&value| value == 0))
    }

    /// A list: an attribute, or an input.
    fn listed(
        &self,
        node: &NodeProto,
        name: &str,
        input: usize,
    ) -> Result<Option<Vec<i64>>, String> {
        match (integers(node, name), node.input.get(input)) {
            (Some(list), _) => Ok(Some(list.to_vec())),
            (None, Some(given)) if !given.is_empty() => {
                Ok(Some(self.constant(node, input)?.integers()?.to_vec()))
            }
            _ => Ok(None),
        }
    }

    /// The axes of a node: an attribute, or its second input.
    pub fn axes(&self, node: &NodeProto) -> Result<Option<Vec<i64>>, String> {
        self.listed(node, "axes", 1)
    }

    fn slice(&self, node: &NodeProto, shape: &[usize]) -> Result<Moved, String> {
        let starts = self.listed(node, "starts", 1)?.ok_or("has no starts")?;
        let ends = self.listed(node, "ends", 2)?.ok_or("has no ends")?;
        let axes = match self.listed(node, "axes", 3)? {
            Some(axes) => {
                axes.iter().map(|&a| axis(a, shape.len())).collect::<Result<Vec<_>, _>>()?
            }
            None => (0..starts.len()).collect(),
        };
        let steps = self.listed(node, "steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
        let same = [ends.len(), axes.len(), steps.len()].iter().all(|&many| many == starts.len());
        counted(&axes.iter().map(|&a| a as i64).collect::<Vec<_>>(), shape.len())?;
        if !same || axes.iter().any(|&a| a >= shape.len()) {
            return Err("its lists do not fit".into());
        }
        // For each axis the first place, the step and the number of places.
        let mut ways: Vec<(i64, i64, usize)> = shape.iter().map(|&size| (0, 1, size)).collect();
        for (k, &a) in axes.iter().enumerate() {
            let (size, step) = (shape[a] as i64, steps[k]);
            if step == 0 || step == i64::MIN {
                return Err("has a step of 0".into());
            }
            let back = i64::from(step < 0);
            let place = |at: i64| {
                let at = if at < 0 { at.saturating_add(size) } else { at };
                at.clamp(-back, size - back)
            };
            let (start, end) = (place(starts[k]), place(ends[k]));
            let room = if step > 0 { end - start } else { start - end };
            let many = if room <= 0 { 0 } else { (room as u64).div_ceil(step.unsigned_abs()) };
            ways[a] = (start, step, many as usize);
        }
        let to: Vec<usize> = ways.iter().map(|way| way.2).collect();
        let by = strides(shape);
        let from = places(&to, |at| {
            let axes = at.iter().zip(&ways).zip(&by);
            axes.map(|((&k, (start, step, _)), by)| (start + k as i64 * step) as usize * by).sum()
        });
        Ok((to, from))
    }

    fn gather(&self, node: &NodeProto, shape: &[usize]) -> Result<Moved, String> {
        let a = axis(attribute(node, "axis").map_or(0, |a| a.i), shape.len())?;
        let list = self.constant(node, 1)?;
        let place = |&at: &i64| {
            let at = if at < 0 { at.saturating_add(shape[a] as i64) } else { at };
            usize::try_from(at).ok().filter(|&at| at < shape[a])
        };
        let picked: Option<Vec<usize>> = list.integers()?.iter().map(place).collect();
        let picked = picked.ok_or("has no such place")?;
        let to = [&shape[..a], &list.shape, &shape[a + 1..]].concat();
        fits_memory(&to)?;
        let inner: usize = shape[a + 1..].iter().product();
        let (all, many): (usize, usize) = (to.iter().product(), picked.len());
        let from = |k: usize| {
            let (outer, at) = (k / inner / many, picked[k / inner % many]);
            (outer * shape[a] + at) * inner + k % inner
        };
        Ok((to, (0..all).map(from).collect()))
    }

    /// The parts of a Split.
    pub fn split(&self, node: &NodeProto, shape: &[usize]) -> Result<Vec<Moved>, String> {
        let a = axis(attribute(node, "axis").map_or(0, |a| a.i), shape.len())?;
        let many = node.output.len();
        let sizes = match self.listed(node, "split", 1)? {
            Some(list) => sizes(&list)?,
            None => {
                let each = shape[a].div_ceil(many);
                let size = |k: usize| shape[a].saturating_sub(k * each).min(each);
                (0..many).map(size).collect()
            }
        };
        if sizes.len() != many
            || sizes.iter().try_fold(0usize, |all, &s| all.checked_add(s)) != Some(shape[a])
        {
            return Err("its parts do not fit".into());
        }
        let by = strides(shape);
        let mut first = 0;
        let mut parts = Vec::new();
        for size in sizes {
            let mut to = shape.to_vec();
            to[a] = size;
            let place = |at: &[usize]| at.iter().zip(&by).map(|(at, by)| at * by).sum::<usize>();
            parts.push((to.clone(), places(&to, |at| place(at) + first * by[a])));
            first += size;
        }
        Ok(parts)
    }

    /// A Pad: where values come from, and what the others are.
    pub fn padded(&self, node: &NodeProto, shape: &[usize]) -> Result<(Moved, f64), String> {
        let rank = shape.len();
        let pads = self.listed(node, "pads", 1)?.ok_or("has no pads")?;
        let axes = match node.input.get(3).filter(|name| !name.is_empty()) {
            Some(_) => self.constant(node, 3)?.integers()?.to_vec(),
            None => (0..rank as i64).collect(),
        };
        counted(&axes, rank)?;
        let axes = axes.iter().map(|&a| axis(a, rank)).collect::<Result<Vec<_>, _>>()?;
        let pads = sizes(&pads)?;
        if pads.len() != 2 * axes.len() || pads.iter().any(|&pad| pad > MOST) {
            return Err("its pads do not fit".into());
        }
        let (mut before, mut to) = (vec![0; rank], shape.to_vec());
        for (k, &a) in axes.iter().enumerate() {
            before[a] = pads[k];
            to[a] += pads[k] + pads[axes.len() + k];
        }
        fits_memory(&to)?;
        let value = match (attribute(node, "value"), node.input.get(2)) {
            (Some(value), _) => f64::from(value.f),
            (None, Some(name)) if !name.is_empty() => match self.constant(node, 2)?.floats()?[..] {
                [value] => value,
                _ => return Err("its value is not a number".into()),
            },
            _ => 0.0,
        };
        let mode = attribute(node, "mode").map_or(&b"constant"[..], |a| &a.s);
        let along = |a: usize, at: usize| -> Option<usize> {
            let (at, last) = (at as i64 - before[a] as i64, shape[a] as i64 - 1);
            let inside = match mode {
                b"edge" => at.clamp(0, last.max(0)),
                b"reflect" if at < 0 => -at,
                b"reflect" if at > last => 2 * last - at,
                _ => at,
            };
            usize::try_from(inside).ok().filter(|&inside| inside < shape[a])
        };
        if ![&b"constant"[..], b"edge", b"reflect"].contains(&mode) {
            return Err("its mode is not supported".into());
        }
        let by = strides(shape);
        let from = places(&to, |at| {
            let axes = at.iter().enumerate().map(|(a, &at)| Some(along(a, at)? * by[a]));
            axes.sum::<Option<usize>>().unwrap_or(usize::MAX)
        });
        if mode != b"constant" && from.contains(&usize::MAX) {
            return Err("its pads are too large".into());
        }
        Ok(((to, from), value))
    }

    /// To the nearest neighbour.
    fn resized(&self, node: &NodeProto, shape: &[usize]) -> Result<Moved, String> {
        let text = |name: &str, default: &'static str| {
            let given = attribute(node, name).map(|a| String::from_utf8_lossy(&a.s).into_owned());
            given.unwrap_or_else(|| default.to_owned())
        };
        let is_old = node.op_type == "Upsample" || node.input.len() < 3;
        if text("mode", "nearest") != "nearest"
            || integers(node, "axes").is_some_and(|a| !a.is_empty())
        {
            return Err("its mode is not supported".into());
        }
        let policy = text("keep_aspect_ratio_policy", "stretch");
        let given = |k: usize| node.input.get(k).filter(|name| !name.is_empty());
        let (scales, wanted) = match attribute(node, "scales") {
            Some(scales) => (Some(scales.floats.iter().map(|&x| f64::from(x)).collect()), None),
            None if is_old => (Some(self.constant(node, 1)?.floats()?), None),
            None if given(2).is_some() && self.constant(node, 2)?.values.many() > 0 => {
                (Some(self.constant(node, 2)?.floats()?), None)
            }
            None => (None, Some(sizes(self.constant(node, 3)?.integers()?)?)),
        };
        let ways = if is_old {
            ("asymmetric".into(), "floor".into())
        } else {
            (
                text("coordinate_transformation_mode", "half_pixel"),
                text("nearest_mode", "round_prefer_floor"),
            )
        };
        let (mut to, mut along) = (Vec::new(), Vec::new());
        for (a, &size) in shape.iter().enumerate() {
            // The scale as a fraction.
            let (over, under) = match (&scales, &wanted) {
                (Some(scales), _) => fraction(*scales.get(a).ok_or("its scales do not fit")?)?,
                (_, Some(wanted)) => {
                    (*wanted.get(a).ok_or("its sizes do not fit")? as i128, size as i128)
                }
                _ => return Err("has no sizes".into()),
            };
            let length = usize::try_from(size as i128 * over / under.max(1))
                .map_err(|_| "its sizes do not fit")?;
            if length == 0 || size == 0 || length > MOST || policy != "stretch" {
                return Err("its sizes are not supported".into());
            }
            let places = (0..length).map(|at| nearest(at, size, length, (over, under), &ways));
            along.push(places.collect::<Result<Vec<usize>, String>>()?);
            to.push(length);
        }
        fits_memory(&to)?;
        let by = strides(shape);
        let from =
            places(&to, |at| at.iter().enumerate().map(|(a, &at)| along[a][at] * by[a]).sum());
        Ok((to, from))
    }
}

/// A scale with few binary digits as a fraction.
fn fraction(scale: f64) -> Result<(i128, i128), String> {
    let under = f64::from(1 << 20);
    let fits = scale > 0.0 && scale <= 65536.0 && (scale * under).fract() == 0.0;
    if fits {
        Ok(((scale * under) as i128, under as i128))
    } else {
        Err("its scales are not supported".into())
    }
}

/// Where a value of a resized axis comes from, in exact numbers. Where a run's rounding may tell, it is refused.
fn nearest(
    at: usize,
    size: usize,
    length: usize,
    (over, under): (i128, i128),
    (mode, rounding): &(String, String),
) -> Result<usize, String> {
    let (at, size) = (at as i128, size as i128);
    let length = length as i128;
    let (top, bottom) = match mode.as_str() {
        "asymmetric" => (at * under, over),
        "pytorch_half_pixel" if length == 1 => (0, 1),
        "half_pixel" | "pytorch_half_pixel" => ((2 * at + 1) * under - over, 2 * over),
        "align_corners" if length == 1 => (0, 1),
        "align_corners" => (at * (size - 1), length - 1),
        _ => return Err("its coordinates are not supported".into()),
    };
    let half = |down: i128| (2 * top + down).div_euclid(2 * bottom);
    let (place, is_edge) = match rounding.as_str() {
        "floor" => (top.div_euclid(bottom), top % bottom == 0),
        "ceil" => (-(-top).div_euclid(bottom), top % bottom == 0),
        "round_prefer_floor" => {
            (-(bottom - 2 * top).div_euclid(2 * bottom), (2 * top + bottom) % (2 * bottom) == 0)
        }
        "round_prefer_ceil" => (half(bottom), (2 * top + bottom) % (2 * bottom) == 0),
        _ => return Err("its rounding is not supported".into()),
    };
    // A scale with few binary digits is divided by exactly where the quotient has few.
    let is_exact = under.is_positive() && (over << 20) % under == 0;
    if is_edge && !is_exact && top != 0 {
        return Err("its sizes are not supported: rounding decides".into());
    }
    Ok(place.clamp(0, size - 1) as usize)
}

/// An axis as it is counted from the front.
pub fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let axis = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    usize::try_from(axis).ok().filter(|&axis| axis < rank).ok_or_else(|| "has no such axis".into())
}

/// Axes as they are counted from the front, each once, in order.
pub fn counted(axes: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    let mut found = axes.iter().map(|&a| axis(a, rank)).collect::<Result<Vec<usize>, _>>()?;
    found.sort_unstable();
    found.dedup();
    if found.len() == axes.len() { Ok(found) } else { Err("names an axis twice".into()) }
}

/// Sizes, none of which is negative.
pub fn sizes(list: &[i64]) -> Result<Vec<usize>, String> {
    let sizes: Option<Vec<usize>> = list.iter().map(|&size| usize::try_from(size).ok()).collect();
    sizes.ok_or_else(|| "a size is negative".into())
}

/// The shape that two tensors are broadcast to.
pub fn common(a: &[usize], b: &[usize]) -> Result<Vec<usize>, String> {
    let rank = a.len().max(b.len());
    let padded = |shape: &[usize]| [vec![1; rank - shape.len()], shape.to_vec()].concat();
    let both = padded(a).into_iter().zip(padded(b));
    let size = |(a, b): (usize, usize)| match (a, b) {
        (1, size) | (size, 1) => Some(size),
        _ => (a == b).then_some(a),
    };
    let shape: Option<Vec<usize>> = both.map(size).collect();
    shape.ok_or_else(|| format!("shapes {a:?} and {b:?} do not fit"))
}

/// The order of axes that a Transpose makes.
fn permutation(node: &NodeProto, rank: usize) -> Result<Vec<usize>, String> {
    let Some(order) = integers(node, "perm") else { return Ok((0..rank).rev().collect()) };
    if counted(order, rank)?.len() < rank || order.iter().any(|&axis| axis < 0) {
        return Err("its axes do not fit".into());
    }
    Ok(order.iter().map(|&axis| axis as usize).collect())
}

pub fn transposed(shape: &[usize], order: &[usize]) -> Result<Moved, String> {
    if order.len() != shape.len() {
        return Err("its axes do not fit".into());
    }
    let (to, by): (Vec<usize>, _) = (order.iter().map(|&a| shape[a]).collect(), strides(shape));
    let from = places(&to, |at| at.iter().zip(order).map(|(at, &a)| at * by[a]).sum());
    Ok((to, from))
}

fn flattened(node: &NodeProto, shape: &[usize]) -> Result<Vec<usize>, String> {
    let axis = attribute(node, "axis").map_or(1, |a| a.i);
    let axis = if axis < 0 { axis.saturating_add(shape.len() as i64) } else { axis };
    let axis = usize::try_from(axis).map_err(|_| "has no such axis")?;
    let (before, after) = shape.split_at_checked(axis).ok_or("has no such axis")?;
    Ok(vec![before.iter().product(), after.iter().product()])
}

/// A shape without these axes of size 1, or without all of them.
fn squeezed(shape: &[usize], axes: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let axes = match axes {
        Some(axes) => counted(axes, shape.len())?,
        None => (0..shape.len()).filter(|&axis| shape[axis] == 1).collect(),
    };
    if axes.iter().any(|&axis| shape[axis] != 1) {
        return Err("an axis is not of size 1".into());
    }
    Ok((0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect())
}

/// A shape with axes of size 1 in these places.
fn unsqueezed(shape: &[usize], axes: &[i64]) -> Result<Vec<usize>, String> {
    let mut shape = shape.to_vec();
    for axis in counted(axes, shape.len() + axes.len())? {
        shape.insert(axis, 1);
    }
    Ok(shape)
}

/// The shape that a Reshape makes: 0 keeps a size, −1 is what is left.
fn reshape(shape: &[usize], to: &[i64]) -> Result<Vec<usize>, String> {
    let all: usize = shape.iter().product();
    let size = |(axis, &dim): (usize, &i64)| match dim {
        0 => shape.get(axis).copied(),
        -1 => Some(1),
        _ => usize::try_from(dim).ok(),
    };
    let sizes: Option<Vec<usize>> = to.iter().enumerate().map(size).collect();
    let mut sizes = sizes.ok_or("its shape does not fit")?;
    let known = sizes.iter().try_fold(1usize, |known, &dim| known.checked_mul(dim));
    let known = known.filter(|&known| known > 0).ok_or("its shape does not fit")?;
    let mut open = (0..to.len()).filter(|&k| to[k] == -1);
    if let Some(open) = open.next() {
        sizes[open] = all / known;
    }
    if open.next().is_some() {
        return Err("leaves two sizes open".into());
    }
    let fits = sizes.iter().product::<usize>() == all;
    if fits { Ok(sizes) } else { Err(format!("cannot make {to:?} of {shape:?}")) }
}
