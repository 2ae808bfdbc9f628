//! Operators that are affine functions of the value: products, convolutions, pools, and what moves numbers.

use super::constants::counted;
use super::nodes::{Reader, attribute, integers, permutation};
use super::proto::NodeProto;
use super::tensor::Tensor;
use super::windows::{Windows, unravelled};
use crate::affine::{Matrix, Step, Uncertain};

/// Weights of a matrix that is not in the file as it is, at most.
const MOST: usize = 1 << 26;

/// Rows of a matrix that are not full.
type Rows = Vec<Vec<(usize, Uncertain)>>;

/// Whether so many weights, the product of these, are not too many.
fn fits_memory(factors: &[usize]) -> Result<(), String> {
    let all = factors.iter().try_fold(1usize, |all, &factor| all.checked_mul(factor));
    all.filter(|&all| all <= MOST).map(|_| ()).ok_or_else(|| "is too large".into())
}

impl Reader {
    fn push_rows(&mut self, rows: &Rows, shape: Vec<usize>) {
        let inputs = self.shape.iter().product();
        self.chain.push(Step::Matrix(Matrix::sparse(inputs, rows)));
        self.shape = shape;
    }

    /// Each value becomes one of those there are, by its place.
    fn select(&mut self, from: impl Iterator<Item = usize>, shape: Vec<usize>) {
        let rows: Rows = from.map(|i| vec![(i, Uncertain::exact(1.0))]).collect();
        self.push_rows(&rows, shape);
    }

    pub fn transpose(&mut self, node: &NodeProto) -> Result<(), String> {
        let order = permutation(node, self.shape.len())?;
        let shape: Vec<usize> = order.iter().map(|&axis| self.shape[axis]).collect();
        let moved = order.iter().filter(|&&axis| self.shape[axis] != 1);
        if moved.is_sorted() {
            self.shape = shape;
            return Ok(());
        }
        let stride = |axis: usize| self.shape[axis + 1..].iter().product::<usize>();
        let place = |k: usize| {
            let places = unravelled(k, &shape);
            places.iter().zip(&order).map(|(place, &axis)| place * stride(axis)).sum()
        };
        let from: Vec<usize> = (0..shape.iter().product()).map(place).collect();
        self.select(from.into_iter(), shape);
        Ok(())
    }

    /// Makes axes of size 1 as large as those of a constant.
    pub fn expand_to(&mut self, constant: &[usize]) -> Result<(), String> {
        let rank = self.shape.len().max(constant.len());
        let padded = |shape: &[usize]| [vec![1; rank - shape.len()], shape.to_vec()].concat();
        let (own, theirs) = (padded(&self.shape), padded(constant));
        let size = |(&a, &b): (&usize, &usize)| if a == 1 { b } else { a };
        let shape: Vec<usize> = own.iter().zip(&theirs).map(size).collect();
        if shape == own {
            self.shape = shape;
            return Ok(());
        }
        let place = |k: usize| {
            let places = unravelled(k, &shape).into_iter().zip(&own);
            places.fold(0, |at, (place, &size)| at * size + if size == 1 { 0 } else { place })
        };
        let from: Vec<usize> = (0..shape.iter().product()).map(place).collect();
        self.select(from.into_iter(), shape);
        Ok(())
    }

    pub fn elementwise(&mut self, node: &NodeProto) -> Result<(), String> {
        let first = node.input.first() == Some(&self.name);
        let constant = self.constant(node, usize::from(first))?.clone();
        self.expand_to(&constant.shape)?;
        let numbers = constant.broadcast(&self.shape)?;
        let exactly = |numbers: Vec<f64>| numbers.into_iter().map(Uncertain::exact).collect();
        match (node.op_type.as_str(), first) {
            ("Add", _) => self.chain.push(Step::Shift(exactly(numbers))),
            ("Mul", _) => self.chain.push(Step::Scale(exactly(numbers))),
            ("Sub", true) => {
                self.chain.push(Step::Shift(exactly(numbers.iter().map(|x| -x).collect())));
            }
            ("Sub", false) => {
                self.chain.push(Step::Scale(exactly(vec![-1.0; numbers.len()])));
                self.chain.push(Step::Shift(exactly(numbers)));
            }
            ("Div", true) if numbers.iter().all(|x| *x != 0.0) => {
                self.chain.push(Step::Scale(numbers.into_iter().map(Uncertain::inverse).collect()));
            }
            _ => return Err("divides by the input or by 0".into()),
        }
        Ok(())
    }

    /// `x · W`, where `W` has a column for each output: for the rows of `x`, which are its last axis. Otherwise for its columns.
    fn product(&mut self, matrix: &Tensor, by_rows: bool) -> Result<(), String> {
        let [inputs, outputs] = matrix.shape[..] else {
            return Err("its constant is not a matrix".into());
        };
        // A vector is one row, or one column.
        let is_vector = self.shape.len() == 1;
        let (axis, other) = match self.shape.len() {
            0 => return Err("its value has no axis".into()),
            1 => (0, 1),
            rank if by_rows => (rank - 1, 1),
            rank => (rank - 2, self.shape[rank - 1]),
        };
        if self.shape[axis] != inputs || inputs == 0 || outputs == 0 {
            return Err(format!("shapes {:?} and {:?} do not fit", self.shape, matrix.shape));
        }
        let weights = matrix.floats()?;
        let mut shape = self.shape.clone();
        shape[axis] = outputs;
        let all: usize = shape.iter().product();
        if all == outputs {
            let weight = |k: usize| weights[k % inputs * outputs + k / inputs].into();
            let weights = (0..inputs * outputs).map(|k| Uncertain::exact(weight(k))).collect();
            self.chain.push(Step::Matrix(Matrix::dense(weights, inputs)));
            self.shape = shape;
            return Ok(());
        }
        fits_memory(&[all, inputs])?;
        let other = if is_vector { 1 } else { other };
        let row = |k: usize| -> Vec<(usize, Uncertain)> {
            let (block, j, column) = (k / other / outputs, k / other % outputs, k % other);
            let input = |i: usize| (block * inputs + i) * other + column;
            let weight = |i: usize| Uncertain::exact(weights[i * outputs + j].into());
            (0..inputs).map(|i| (input(i), weight(i))).collect()
        };
        let rows: Rows = (0..all).map(row).collect();
        self.push_rows(&rows, shape);
        Ok(())
    }

    pub fn matmul(&mut self, node: &NodeProto) -> Result<(), String> {
        let first = node.input.first() == Some(&self.name);
        let constant = self.constant(node, usize::from(first))?.clone();
        if constant.shape.len() != 2 {
            return Err("its constant is not a matrix".into());
        }
        let matrix = if first { constant } else { constant.transposed(&[1, 0])? };
        self.product(&matrix, first)
    }

    pub fn gemm(&mut self, node: &NodeProto) -> Result<(), String> {
        let flag = |name| attribute(node, name).is_some_and(|a| a.i != 0);
        let factor = |name| attribute(node, name).map_or(1.0, |a| f64::from(a.f));
        let first = node.input.first() == Some(&self.name);
        let (own, of_constant) = if first { ("transA", "transB") } else { ("transB", "transA") };
        let matrix = self.constant(node, usize::from(first))?.clone();
        if self.shape.len() != 2 || matrix.shape.len() != 2 {
            return Err("its shapes are not supported".into());
        }
        let turned = flag(of_constant) == first;
        let matrix = if turned { matrix.transposed(&[1, 0])? } else { matrix };
        if flag(own) {
            // With one row or column the order of values stays.
            if !self.shape.contains(&1) {
                return Err("its shapes are not supported".into());
            }
            self.shape.swap(0, 1);
        }
        self.product(&matrix, first)?;
        let all: usize = self.shape.iter().product();
        let (alpha, beta) = (factor("alpha"), factor("beta"));
        if alpha != 1.0 {
            self.chain.push(Step::Scale(vec![Uncertain::exact(alpha); all]));
        }
        if node.input.get(2).is_some_and(|name| !name.is_empty()) {
            let bias = self.constant(node, 2)?.broadcast(&self.shape)?;
            // The product of two numbers of f32 is exact in f64; a run in f32 rounds it.
            let scaled = |b: f64| {
                if beta == 1.0 { Uncertain::exact(b) } else { Uncertain::of_f32(beta * b) }
            };
            self.chain.push(Step::Shift(bias.into_iter().map(scaled).collect()));
        }
        Ok(())
    }

    pub fn batch_normalization(&mut self, node: &NodeProto) -> Result<(), String> {
        let [1, channels, rest @ ..] = &self.shape[..] else {
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
            if variances[k] + epsilon <= 0.0 {
                return Err("a variance is not positive".into());
            }
            let factor = scales[k] / (variances[k] + epsilon).sqrt();
            factors.extend(vec![Uncertain::rounded(factor, factor.abs()); each]);
            let product = means[k] * factor;
            let magnitude = biases[k].abs() + product.abs();
            shifts.extend(vec![Uncertain::rounded(biases[k] - product, magnitude); each]);
        }
        self.chain.push(Step::Scale(factors));
        self.chain.push(Step::Shift(shifts));
        Ok(())
    }

    /// Batch, channels and image.
    fn image(&self) -> Result<(usize, Vec<usize>), String> {
        match &self.shape[..] {
            [1, channels, image @ ..] if !image.is_empty() => Ok((*channels, image.to_vec())),
            _ => Err(format!("its input has shape {:?}, not one image", self.shape)),
        }
    }

    pub fn conv(&mut self, node: &NodeProto) -> Result<(), String> {
        let (channels, image) = self.image()?;
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
        if node.input.first() != Some(&self.name) || !fits {
            return Err("its kernel does not fit".into());
        }
        let windows = Windows::new(node, &image, sizes)?;
        let weights = kernel.floats()?;
        let (pixels, cells): (usize, usize) = (image.iter().product(), sizes.iter().product());
        fits_memory(&[*outputs, *of_group, windows.cells.len(), cells])?;
        let mut rows: Rows = Vec::new();
        for output in 0..*outputs {
            let begin = output / (outputs / group) * of_group;
            for window in &windows.cells {
                let of_channel = |c: usize| {
                    let weight = move |cell: usize| weights[(output * of_group + c) * cells + cell];
                    let term = move |&(cell, at): &(usize, usize)| {
                        ((begin + c) * pixels + at, Uncertain::exact(weight(cell).into()))
                    };
                    window.iter().map(term)
                };
                rows.push((0..*of_group).flat_map(of_channel).collect());
            }
        }
        let places = windows.cells.len();
        let shape = [vec![1, *outputs], windows.sizes].concat();
        let outputs = *outputs;
        self.push_rows(&rows, shape);
        if node.input.get(2).is_some_and(|name| !name.is_empty()) {
            let bias = self.constant(node, 2)?.broadcast(&[outputs])?;
            let each = bias.iter().flat_map(|&b| vec![Uncertain::exact(b); places]);
            self.chain.push(Step::Shift(each.collect()));
        }
        Ok(())
    }

    /// The mean over some axes.
    pub fn mean(&mut self, node: &NodeProto) -> Result<(), String> {
        let rank = self.shape.len();
        let axes = match self.axes(node)? {
            Some(axes) => counted(&axes, rank)?,
            None => (0..rank).collect(),
        };
        let keeps = attribute(node, "keepdims").is_none_or(|a| a.i != 0);
        let left = |axis: usize| if axes.contains(&axis) { 1 } else { self.shape[axis] };
        let sizes: Vec<usize> = (0..rank).map(left).collect();
        let outputs: usize = sizes.iter().product();
        let all: usize = self.shape.iter().product();
        if outputs == 0 || all == 0 {
            return Err("is over nothing".into());
        }
        let mut rows: Rows = vec![Vec::new(); outputs];
        for k in 0..all {
            let places = unravelled(k, &self.shape).into_iter().zip(&sizes);
            let output = places.fold(0, |at, (place, &size)| at * size + place % size);
            rows[output].push((k, Uncertain::exact(1.0)));
        }
        let kept = (0..rank).filter(|axis| keeps || !axes.contains(axis));
        let shape = kept.map(|axis| sizes[axis]).collect();
        self.push_rows(&rows, shape);
        let share = Uncertain::inverse((all / outputs) as f64);
        self.chain.push(Step::Scale(vec![share; outputs]));
        Ok(())
    }

    /// `(x − offset) · scale`.
    pub fn scaler(&mut self, node: &NodeProto) -> Result<(), String> {
        let all: usize = self.shape.iter().product();
        let listed = |name: &str| -> Result<Vec<f64>, String> {
            let list = attribute(node, name).map(|a| &a.floats[..]).unwrap_or_default();
            let each = |k: usize| list.get(if list.len() == 1 { 0 } else { k }).copied();
            let numbers = (0..all).map(|k| each(k).filter(|x| x.is_finite()).map(f64::from));
            numbers.collect::<Option<_>>().ok_or_else(|| format!("its {name} does not fit"))
        };
        let (offset, scale) = (listed("offset")?, listed("scale")?);
        self.chain.push(Step::Shift(offset.iter().map(|x| Uncertain::exact(-x)).collect()));
        self.chain.push(Step::Scale(scale.into_iter().map(Uncertain::exact).collect()));
        Ok(())
    }

    /// Sums over windows, divided by their numbers of cells.
    pub fn average_pool(&mut self, node: &NodeProto) -> Result<(), String> {
        let (channels, image) = self.image()?;
        let is_global = node.op_type == "GlobalAveragePool";
        let kernel: Vec<usize> = match integers(node, "kernel_shape") {
            _ if is_global => image.clone(),
            Some(sizes) => sizes.iter().map(|&size| size.max(0) as usize).collect(),
            None => return Err("has no kernel".into()),
        };
        let windows = Windows::new(node, &image, &kernel)?;
        fits_memory(&[channels, windows.cells.len(), kernel.iter().product()])?;
        let counts_padding = attribute(node, "count_include_pad").is_some_and(|a| a.i != 0);
        let pixels: usize = image.iter().product();
        let (mut rows, mut counts): (Rows, _) = (Vec::new(), Vec::new());
        for channel in 0..channels {
            for (window, padded) in windows.cells.iter().zip(&windows.padded) {
                let term =
                    |&(_, at): &(usize, usize)| (channel * pixels + at, Uncertain::exact(1.0));
                rows.push(window.iter().map(term).collect());
                let count = if counts_padding { *padded } else { window.len() };
                if count == 0 {
                    return Err("a window is empty".into());
                }
                counts.push(Uncertain::inverse(count as f64));
            }
        }
        self.push_rows(&rows, [vec![1, channels], windows.sizes].concat());
        self.chain.push(Step::Scale(counts));
        Ok(())
    }
}
