//! Operators that are affine functions of values, and those that take the largest or smallest of some.

use super::moves::{common, counted, fits_memory, transposed};
use super::nodes::{Data, Reader, attribute, integers};
use super::proto::NodeProto;
use super::tensor::{places, spread};
use super::windows::{Windows, transposed_windows};
use crate::affine::{Matrix, Step, Uncertain};
use crate::cells::Cell;

/// Weights of a matrix that is not in the file as it is, at most.
const MOST: usize = 1 << 26;

/// Rows of a matrix that are not full.
type Rows = Vec<Vec<(usize, Uncertain)>>;

/// Whether so many weights, the product of these, are not too many.
fn few_weights(factors: &[usize]) -> Result<(), String> {
    let all = factors.iter().try_fold(1usize, |all, &factor| all.checked_mul(factor));
    all.filter(|&all| all <= MOST).map(|_| ()).ok_or_else(|| "is too large".into())
}

impl Reader {
    fn rows(&mut self, data: Data, rows: &Rows, shape: Vec<usize>) -> Data {
        let step = Step::Matrix(Matrix::sparse(data.cells.len(), rows));
        Data { cells: self.cells.apply(step, data.cells, false), shape, ..data }
    }

    pub fn elementwise(&mut self, node: &NodeProto) -> Result<Data, String> {
        let op = node.op_type.as_str();
        let (first, second) = (self.is_constant(node, 0), self.is_constant(node, 1));
        let [a, b] = [self.data(node, 0)?, self.data(node, 1)?];
        let shape = common(&a.shape, &b.shape)?;
        fits_memory(&shape)?;
        let (from_a, from_b) = (spread(&a.shape, &shape)?, spread(&b.shape, &shape)?);
        let broad = |data: &Data, from: Vec<usize>| Data {
            shape: shape.clone(),
            cells: from.into_iter().map(|at| data.cells[at]).collect(),
            double: data.double,
        };
        let (a, b) = (broad(&a, from_a), broad(&b, from_b));
        if !first && !second {
            let sign = match op {
                "Add" => 1.0,
                "Sub" => -1.0,
                _ => return Err("takes two values that depend on the input".into()),
            };
            return Ok(self.added(&a, &b, sign));
        }
        let numbers = self.constant(node, usize::from(second))?.broadcast(&shape)?;
        let data = if first { b } else { a };
        match (op, first) {
            ("Add", _) => self.shifted(data, |k| Uncertain::exact(numbers[k])),
            ("Mul", _) => self.scaled(data, |k| Uncertain::exact(numbers[k])),
            ("Sub", false) => self.shifted(data, |k| Uncertain::exact(-numbers[k])),
            ("Sub", true) => {
                let data = self.scaled(data, |_| Uncertain::exact(-1.0))?;
                self.shifted(data, |k| Uncertain::exact(numbers[k]))
            }
            ("Div", false) if numbers.iter().all(|x| *x != 0.0) => {
                self.scaled(data, |k| Uncertain::inverse(numbers[k]))
            }
            _ => Err("divides by the input or by 0".into()),
        }
    }

    fn added(&mut self, a: &Data, b: &Data, sign: f64) -> Data {
        let pairs = a.cells.iter().zip(&b.cells);
        let rows: Vec<Vec<(Cell, f64)>> = pairs.map(|(&a, &b)| vec![(a, 1.0), (b, sign)]).collect();
        Data { shape: a.shape.clone(), cells: self.cells.combine(&rows, false), double: a.double }
    }

    pub fn sum(&mut self, node: &NodeProto) -> Result<Data, String> {
        let mut all: Vec<Data> = Vec::new();
        for k in 0..node.input.len() {
            all.push(self.data(node, k)?);
        }
        let shape = all.iter().try_fold(vec![], |shape, data| common(&shape, &data.shape))?;
        let many = fits_memory(&shape)?;
        let mut rows: Vec<Vec<(Cell, f64)>> = vec![Vec::new(); many];
        for data in &all {
            let from = spread(&data.shape, &shape)?;
            rows.iter_mut().zip(from).for_each(|(row, at)| row.push((data.cells[at], 1.0)));
        }
        let double = all.iter().any(|data| data.double);
        Ok(Data { shape, cells: self.cells.combine(&rows, false), double })
    }

    /// `x · W` for the rows of `x`, which are its last axis; `W` has a column for each output.
    fn product(
        &mut self,
        data: Data,
        weights: &[f64],
        inputs: usize,
        outputs: usize,
    ) -> Result<Data, String> {
        let mut shape = data.shape.clone();
        if shape.last() != Some(&inputs) || inputs == 0 || outputs == 0 {
            return Err(format!("shapes {shape:?} and {:?} do not fit", [inputs, outputs]));
        }
        let rows = data.cells.len() / inputs;
        *shape.last_mut().expect("it has a last axis") = outputs;
        few_weights(&[rows, outputs, inputs])?;
        let weight = |k: usize| Uncertain::exact(weights[k % inputs * outputs + k / inputs]);
        let matrix = Matrix::dense((0..inputs * outputs).map(weight).collect(), inputs);
        let mut cells = Vec::new();
        for row in data.cells.chunks(inputs) {
            cells.extend(self.cells.apply(Step::Matrix(matrix.clone()), row.to_vec(), false));
        }
        Ok(Data { shape, cells, ..data })
    }

    pub fn matmul(&mut self, node: &NodeProto) -> Result<Data, String> {
        let first = !self.is_constant(node, 0);
        let constant = self.constant(node, usize::from(first))?.clone();
        let [rows, columns] = constant.shape[..] else {
            return Err("its constant is not a matrix".into());
        };
        let weights = constant.floats()?;
        let data = self.data(node, usize::from(!first))?;
        if first {
            return self.product(data, &weights, rows, columns);
        }
        // W · x is the transposed of xᵀ · Wᵀ. A vector is one column.
        let turned = |shape: &[usize]| {
            let rank = shape.len();
            let mut order: Vec<usize> = (0..rank).collect();
            order[rank.saturating_sub(2)..].reverse();
            transposed(shape, &order)
        };
        let data = moved(&data, turned(&data.shape)?);
        let (_, swapped) = transposed(&constant.shape, &[1, 0])?;
        let weights: Vec<f64> = swapped.into_iter().map(|at| weights[at]).collect();
        let product = self.product(data, &weights, columns, rows)?;
        Ok(moved(&product, turned(&product.shape)?))
    }

    pub fn gemm(&mut self, node: &NodeProto) -> Result<Data, String> {
        let flag = |name| attribute(node, name).is_some_and(|a| a.i != 0);
        let factor = |name| attribute(node, name).map_or(1.0, |a| f64::from(a.f));
        let first = !self.is_constant(node, 0);
        let matrix = self.constant(node, usize::from(first))?.clone();
        let mut data = self.data(node, usize::from(!first))?;
        if data.shape.len() != 2 || matrix.shape.len() != 2 {
            return Err("its shapes are not supported".into());
        }
        let (own, of_constant) = if first { ("transA", "transB") } else { ("transB", "transA") };
        // Where the constant comes first, the transposed product is worked out.
        if flag(own) == first {
            data = moved(&data, transposed(&data.shape, &[1, 0])?);
        }
        let (mut shape, mut weights) = (matrix.shape.clone(), matrix.floats()?);
        if flag(of_constant) == first {
            let (turned, from) = transposed(&shape, &[1, 0])?;
            (shape, weights) = (turned, from.into_iter().map(|at| weights[at]).collect());
        }
        let mut data = self.product(data, &weights, shape[0], shape[1])?;
        if !first {
            data = moved(&data, transposed(&data.shape, &[1, 0])?);
        }
        let (alpha, beta) = (factor("alpha"), factor("beta"));
        if !alpha.is_finite() || !beta.is_finite() {
            return Err("its factors are not finite".into());
        }
        if alpha != 1.0 {
            data = self.scaled(data, |_| Uncertain::exact(alpha))?;
        }
        if node.input.get(2).is_some_and(|name| !name.is_empty()) {
            let bias = self.constant(node, 2)?.broadcast(&data.shape)?;
            let double = data.double;
            // The product of two numbers of f32 is exact in f64; a run in f32 rounds it.
            let scaled = |k: usize| match (beta == 1.0, double) {
                (true, _) => Uncertain::exact(bias[k]),
                (false, false) => Uncertain::of_f32(beta * bias[k]),
                (false, true) => Uncertain::rounded(beta * bias[k], (beta * bias[k]).abs()),
            };
            data = self.shifted(data, scaled)?;
        }
        Ok(data)
    }

    pub fn batch_normalization(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let [_, channels, rest @ ..] = &data.shape[..] else {
            return Err("its input has no channels".into());
        };
        if attribute(node, "training_mode").is_some_and(|a| a.i != 0) {
            return Err("is in training mode".into());
        }
        let (channels, each) = (*channels, rest.iter().product::<usize>());
        let epsilon = f64::from(attribute(node, "epsilon").map_or(1e-5, |a| a.f));
        let of_channels = |input: usize| self.constant(node, input)?.broadcast(&[channels]);
        let [scales, biases, means, variances] =
            [of_channels(1)?, of_channels(2)?, of_channels(3)?, of_channels(4)?];
        let (mut factors, mut shifts) = (Vec::new(), Vec::new());
        for k in 0..channels {
            let variance = variances[k] + epsilon;
            // What flushing takes from a smaller one would matter.
            if !(variance >= 1e-30 && variance.is_finite()) {
                return Err("a variance is not positive".into());
            }
            let factor = scales[k] / variance.sqrt();
            factors.push(Uncertain::rounded(factor, factor.abs()));
            let product = means[k] * factor;
            let magnitude = biases[k].abs() + product.abs();
            shifts.push(Uncertain::rounded(biases[k] - product, magnitude));
        }
        let data = self.scaled(data, |k| factors[k / each % channels])?;
        self.shifted(data, |k| shifts[k / each % channels])
    }

    pub fn conv(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let (images, channels, image) = image(&data)?;
        let kernel = self.constant(node, 1)?.clone();
        let group = attribute(node, "group").map_or(1, |a| a.i.max(0) as usize);
        let [outputs, of_group, sizes @ ..] = &kernel.shape[..] else {
            return Err("its kernel does not fit".into());
        };
        let fits = sizes.len() == image.len()
            && group > 0
            && of_group.checked_mul(group) == Some(channels)
            && outputs.is_multiple_of(group.max(1))
            && *outputs > 0;
        if !fits {
            return Err("its kernel does not fit".into());
        }
        let windows = Windows::new(node, &image, sizes)?;
        let weights = kernel.floats()?;
        let (pixels, cells): (usize, usize) = (image.iter().product(), sizes.iter().product());
        few_weights(&[images, *outputs, *of_group, windows.cells.len(), cells])?;
        let mut rows: Rows = Vec::new();
        for output in 0..images * *outputs {
            let (of_image, output) = (output / outputs * channels, output % outputs);
            let begin = of_image + output / (outputs / group) * of_group;
            for window in &windows.cells {
                let terms = (0..*of_group).flat_map(|c| window.iter().map(move |w| (c, *w)));
                let term = |(c, (cell, at)): (usize, (usize, usize))| {
                    let weight = weights[(output * of_group + c) * cells + cell];
                    ((begin + c) * pixels + at, Uncertain::exact(weight))
                };
                rows.push(terms.map(term).collect());
            }
        }
        let shape = [vec![images, *outputs], windows.sizes.clone()].concat();
        let data = self.rows(data, &rows, shape);
        self.biased(node, data, *outputs, windows.cells.len())
    }

    /// Plus a bias for each channel, if there is one.
    fn biased(
        &mut self,
        node: &NodeProto,
        data: Data,
        outputs: usize,
        each: usize,
    ) -> Result<Data, String> {
        if node.input.get(2).is_none_or(|name| name.is_empty()) {
            return Ok(data);
        }
        let bias = self.constant(node, 2)?.broadcast(&[outputs])?;
        self.shifted(data, |k| Uncertain::exact(bias[k / each % outputs]))
    }

    pub fn conv_transpose(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let (images, channels, image) = image(&data)?;
        let kernel = self.constant(node, 1)?.clone();
        let group = attribute(node, "group").map_or(1, |a| a.i.max(0) as usize);
        let [of_all, of_group, sizes @ ..] = &kernel.shape[..] else {
            return Err("its kernel does not fit".into());
        };
        let fits = sizes.len() == image.len() && *of_all == channels && group > 0 && *of_group > 0;
        if !fits || images != 1 || !channels.is_multiple_of(group) {
            return Err("its kernel does not fit".into());
        }
        let (out_sizes, windows) = transposed_windows(node, &image, sizes)?;
        let weights = kernel.floats()?;
        let (pixels, cells): (usize, usize) = (image.iter().product(), sizes.iter().product());
        let (ins, outputs) = (channels / group, of_group * group);
        let most = windows.iter().map(Vec::len).max().unwrap_or(0);
        few_weights(&[outputs, ins, windows.len(), most])?;
        let mut rows: Rows = Vec::new();
        for output in 0..outputs {
            let begin = output / of_group * ins;
            for window in &windows {
                let terms = (begin..begin + ins).flat_map(|c| window.iter().map(move |w| (c, *w)));
                let term = |(c, (cell, at)): (usize, (usize, usize))| {
                    let weight = weights[(c * of_group + output % of_group) * cells + cell];
                    (c * pixels + at, Uncertain::exact(weight))
                };
                rows.push(terms.map(term).collect());
            }
        }
        let data = self.rows(data, &rows, [vec![1, outputs], out_sizes].concat());
        self.biased(node, data, outputs, windows.len())
    }

    /// For each result of a reduction over some axes the places that go into it, in order, and the result's shape.
    fn reduced(
        &self,
        node: &NodeProto,
        shape: &[usize],
    ) -> Result<(Vec<Vec<usize>>, Vec<usize>), String> {
        let rank = shape.len();
        let axes = match self.axes(node)? {
            Some(axes)
                if axes.is_empty()
                    && attribute(node, "noop_with_empty_axes").is_some_and(|a| a.i != 0) =>
            {
                return Err("reduces nothing".into());
            }
            Some(axes) if !axes.is_empty() => counted(&axes, rank)?,
            _ if attribute(node, "noop_with_empty_axes").is_some_and(|a| a.i != 0) => {
                return Err("reduces nothing".into());
            }
            _ => (0..rank).collect(),
        };
        let keeps = attribute(node, "keepdims").is_none_or(|a| a.i != 0);
        let left = |axis: usize| if axes.contains(&axis) { 1 } else { shape[axis] };
        let sizes: Vec<usize> = (0..rank).map(left).collect();
        let outputs: usize = sizes.iter().product();
        if outputs == 0 || shape.iter().product::<usize>() == 0 {
            return Err("is over nothing".into());
        }
        let mut all = vec![Vec::new(); outputs];
        let output = places(shape, |at| {
            at.iter()
                .zip(&sizes)
                .fold(0, |to, (at, &size)| to * size + if size == 1 { 0 } else { *at })
        });
        output.into_iter().enumerate().for_each(|(k, to)| all[to].push(k));
        let kept = (0..rank).filter(|axis| keeps || !axes.contains(axis));
        Ok((all, kept.map(|axis| sizes[axis]).collect()))
    }

    pub fn reduced_sum(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let (from, shape) = self.reduced(node, &data.shape)?;
        let row = |list: &Vec<usize>| list.iter().map(|&at| (at, Uncertain::exact(1.0))).collect();
        let rows: Rows = from.iter().map(row).collect();
        let data = self.rows(data, &rows, shape);
        if node.op_type == "ReduceSum" {
            return Ok(data);
        }
        let share = Uncertain::inverse(from[0].len() as f64);
        self.scaled(data, |_| share)
    }

    pub fn reduced_extreme(&mut self, node: &NodeProto, sign: f64) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let (from, shape) = self.reduced(node, &data.shape)?;
        let window = |list: &Vec<usize>| list.iter().map(|&at| data.cells[at]).collect();
        let windows = from.iter().map(window).collect();
        Ok(Data { shape, cells: self.cells.tournament(sign, windows), ..data })
    }

    /// `(x − offset) · scale`.
    pub fn scaler(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let all = data.cells.len();
        let listed = |name: &str| -> Result<Vec<f64>, String> {
            let list = attribute(node, name).map(|a| &a.floats[..]).unwrap_or_default();
            let each = |k: usize| list.get(if list.len() == 1 { 0 } else { k }).copied();
            let numbers = (0..all).map(|k| each(k).filter(|x| x.is_finite()).map(f64::from));
            numbers.collect::<Option<_>>().ok_or_else(|| format!("its {name} does not fit"))
        };
        let (offset, scale) = (listed("offset")?, listed("scale")?);
        let data = self.shifted(data, |k| Uncertain::exact(-offset[k]))?;
        self.scaled(data, |k| Uncertain::exact(scale[k]))
    }

    /// The windows of a pool, and the number of images and channels.
    fn pool(&self, node: &NodeProto, data: &Data) -> Result<(Windows, usize, usize), String> {
        let (images, channels, image) = image(data)?;
        let kernel: Vec<usize> = match integers(node, "kernel_shape") {
            _ if node.op_type.starts_with("Global") => image.clone(),
            Some(sizes) => sizes.iter().map(|&size| size.max(0) as usize).collect(),
            None => return Err("has no kernel".into()),
        };
        if attribute(node, "storage_order").is_some_and(|a| a.i != 0) {
            return Err("its storage order is not supported".into());
        }
        let windows = Windows::new(node, &image, &kernel)?;
        few_weights(&[images, channels, windows.cells.len(), kernel.iter().product()])?;
        Ok((windows, images * channels, image.iter().product()))
    }

    /// Sums over windows, divided by their numbers of cells.
    pub fn average_pool(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let (windows, planes, pixels) = self.pool(node, &data)?;
        let counts_padding = attribute(node, "count_include_pad").is_some_and(|a| a.i != 0);
        let (mut rows, mut counts): (Rows, _) = (Vec::new(), Vec::new());
        for plane in 0..planes {
            for (window, padded) in windows.cells.iter().zip(&windows.padded) {
                let term = |&(_, at): &(usize, usize)| (plane * pixels + at, Uncertain::exact(1.0));
                rows.push(window.iter().map(term).collect());
                let count = if counts_padding { *padded } else { window.len() };
                if count == 0 {
                    return Err("a window is empty".into());
                }
                counts.push(Uncertain::inverse(count as f64));
            }
        }
        let shape = [&data.shape[..2], &windows.sizes].concat();
        let data = self.rows(data, &rows, shape);
        self.scaled(data, |k| counts[k])
    }

    pub fn max_pool(&mut self, node: &NodeProto) -> Result<Data, String> {
        let data = self.data(node, 0)?;
        let (windows, planes, pixels) = self.pool(node, &data)?;
        let mut all = Vec::new();
        for plane in 0..planes {
            let window = |window: &Vec<(usize, usize)>| -> Vec<Cell> {
                window.iter().map(|(_, at)| data.cells[plane * pixels + at]).collect()
            };
            all.extend(windows.cells.iter().map(window));
        }
        if all.iter().any(Vec::is_empty) {
            return Err("a window is empty".into());
        }
        let shape = [&data.shape[..2], &windows.sizes].concat();
        Ok(Data { shape, cells: self.cells.tournament(1.0, all), ..data })
    }
}

/// The number of images and channels, and the sizes of an image.
fn image(data: &Data) -> Result<(usize, usize, Vec<usize>), String> {
    match &data.shape[..] {
        [images, channels, image @ ..] if !image.is_empty() => {
            Ok((*images, *channels, image.to_vec()))
        }
        _ => Err(format!("its input has shape {:?}, not that of images", data.shape)),
    }
}

fn moved(data: &Data, (shape, from): (Vec<usize>, Vec<usize>)) -> Data {
    Data { shape, cells: from.into_iter().map(|at| data.cells[at]).collect(), double: data.double }
}
