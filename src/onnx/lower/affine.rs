//! Tensors whose every element is an affine function of *variables*: the network's inputs, and what its neurons give.
//!
//! Between two ReLUs an ONNX graph moves, scales, adds and mixes numbers: all of it affine. Following
//! the graph with an [`AffineTensor`] in place of numbers folds any such part into one matrix. Rows are
//! sparse, because until a dense layer mixes them each element depends on one variable (layout), or a few (Conv).
//!
//! Coefficients are sums of products of the file's numbers in twice the precision of f64: see [`DoubleDouble`]. What an f32 run of the same
//! operations may be off by is followed along with them; `docs/certificates.md`, "Rounding", says how and why.

use super::double_double::DoubleDouble;
use super::indexing::broadcast;

/// One element: `constant + Σ coefficient · variable[index]`.
#[derive(Clone, Debug)]
pub(super) struct AffineRow {
    /// `(index, coefficient)`, indices ascending and distinct.
    pub terms: Vec<(u32, DoubleDouble)>,
    pub constant: DoubleDouble,
    pub errors: RowErrors,
}

/// What the rounding errors of a row are proportional to, if the file's operations are carried out one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowErrors {
    /// Sum of the magnitudes that went into the coefficients; more than `Σ |coefficient|` where they cancelled.
    pub gain: f64,
    /// Sum of the magnitudes that went into the constant.
    pub offset: f64,
    /// The same as `gain` if every factor below 1 were 1: no intermediate result is larger, whatever is multiplied first.
    pub reach_gain: f64,
    /// The same for the constant.
    pub reach_offset: f64,
    /// Operations one after the other, at most, in whatever order sums are computed.
    pub operations: usize,
}

impl RowErrors {
    /// Of a variable that nothing was done to.
    const VARIABLE: Self =
        Self { gain: 1.0, offset: 0.0, reach_gain: 1.0, reach_offset: 0.0, operations: 0 };

    /// Of nothing.
    const NONE: Self =
        Self { gain: 0.0, offset: 0.0, reach_gain: 0.0, reach_offset: 0.0, operations: 0 };

    /// All magnitudes times that of a factor; the operations stay.
    fn times(self, factor: f64) -> Self {
        let (factor, reach) = (factor.abs(), factor.abs().max(1.0));
        Self {
            gain: self.gain * factor,
            offset: self.offset * factor,
            reach_gain: self.reach_gain * reach,
            reach_offset: self.reach_offset * reach,
            operations: self.operations,
        }
    }

    fn shift(&mut self, by: f64) {
        self.offset += by.abs();
        self.reach_offset += by.abs().max(1.0);
    }
}

/// A factor and a shift, and what the file needs to work them out in f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::onnx) struct FactorShift {
    pub factor: DoubleDouble,
    pub shift: DoubleDouble,
    /// At least the product of those numbers above 1 that make up the factor.
    pub factor_reach: f64,
    /// At least the magnitudes that add up to the shift.
    pub shift_offset: f64,
    /// The same if every factor below 1 were 1.
    pub shift_reach: f64,
    pub operations: usize,
}

impl FactorShift {
    /// By numbers of the file.
    pub fn plain(factor: f64, shift: f64) -> Self {
        Self {
            factor: factor.into(),
            shift: shift.into(),
            factor_reach: factor.abs().max(1.0),
            shift_offset: shift.abs(),
            shift_reach: shift.abs().max(1.0),
            operations: 2,
        }
    }

    /// A division by a number of the file.
    pub fn quotient(divisor: f64) -> Self {
        let factor = DoubleDouble::ONE.over(divisor.into());
        Self { factor, operations: 3, ..Self::plain(factor.to_f64(), 0.0) }
    }
}

impl AffineRow {
    /// The variable of this index.
    pub fn variable(index: usize) -> Self {
        Self {
            terms: vec![(index as u32, DoubleDouble::ONE)],
            constant: DoubleDouble::default(),
            errors: RowErrors::VARIABLE,
        }
    }

    /// A number of the file.
    pub fn constant(value: f64) -> Self {
        let mut errors = RowErrors::NONE;
        errors.shift(value);
        Self { terms: Vec::new(), constant: value.into(), errors }
    }

    /// The variable that this is, if nothing was done to it.
    pub fn as_variable(&self) -> Option<usize> {
        match self.terms[..] {
            [(index, factor)] if self.is_exact() && self.constant.is_zero() => {
                (factor == DoubleDouble::ONE).then_some(index as usize)
            }
            _ => None,
        }
    }

    /// The number that this is, if it depends on no variable.
    pub fn as_constant(&self) -> Option<DoubleDouble> {
        (self.terms.is_empty() && self.is_exact()).then_some(self.constant)
    }

    /// Whether it can be handed on without a neuron of its own.
    pub fn is_free(&self) -> bool {
        self.as_variable().is_some() || self.as_constant().is_some()
    }

    /// Whether an f32 run gives exactly this function of the variables.
    pub fn is_exact(&self) -> bool {
        self.errors.operations == 0
    }

    /// This plus a number, in real arithmetic: no operation of the file.
    pub fn plus(mut self, by: DoubleDouble) -> Self {
        self.constant = self.constant.plus(by);
        self.errors.shift(by.to_f64());
        self
    }

    /// This, charged with more operations.
    pub fn after(mut self, operations: usize) -> Self {
        self.errors.operations += operations;
        self
    }

    /// This times a number, in real arithmetic: no operation of the file.
    pub fn times(mut self, factor: DoubleDouble) -> Self {
        for (_, coefficient) in &mut self.terms {
            *coefficient = coefficient.times(factor);
        }
        self.constant = self.constant.times(factor);
        self.errors = self.errors.times(factor.to_f64());
        self
    }

    pub fn scale_shift(&mut self, by: FactorShift) {
        for (_, coefficient) in &mut self.terms {
            *coefficient = coefficient.times(by.factor);
        }
        self.constant = self.constant.times(by.factor).plus(by.shift);
        let RowErrors { gain, offset, reach_gain, reach_offset, operations } = self.errors;
        let factor = by.factor.abs();
        self.errors = RowErrors {
            gain: gain * factor,
            offset: offset * factor + by.shift_offset,
            reach_gain: reach_gain * by.factor_reach,
            reach_offset: reach_offset * by.factor_reach + by.shift_reach,
            operations: operations + by.operations,
        };
    }
}

/// A tensor of [`AffineRow`]s, row-major.
#[derive(Clone, Debug)]
pub(super) struct AffineTensor {
    /// All variables of the rows have a smaller index.
    pub variables: usize,
    pub shape: Vec<usize>,
    pub rows: Vec<AffineRow>,
}

impl AffineTensor {
    /// Element `i` is variable `first + i`.
    pub fn of_variables(first: usize, shape: &[usize]) -> Self {
        let end = first + shape.iter().product::<usize>();
        let rows = (first..end).map(AffineRow::variable).collect();
        Self { variables: end, shape: shape.to_vec(), rows }
    }

    /// How many variables the rows may depend on, at most.
    pub fn span(&self) -> usize {
        let ends =
            self.rows.iter().filter_map(|row| Some((row.terms.first()?.0, row.terms.last()?.0)));
        let (first, last) = ends.fold((u32::MAX, 0), |(a, b), (c, d)| (a.min(c), b.max(d)));
        (last as usize + 1).saturating_sub(first as usize)
    }

    /// Element `i` of the result is element `from[i]`: whatever only moves or repeats elements.
    pub fn gather(&self, shape: &[usize], from: &[usize]) -> Self {
        let rows = from.iter().map(|&i| self.rows[i].clone()).collect();
        Self { rows, shape: shape.to_vec(), ..*self }
    }

    /// The same in this shape, by NumPy's rule.
    pub fn spread(self, shape: &[usize]) -> Self {
        if self.shape == shape { self } else { self.gather(shape, &broadcast(&self.shape, shape)) }
    }

    /// Each element times its factor, plus its shift.
    pub fn scale_shift(mut self, factor_shift: impl Fn(usize) -> FactorShift) -> Self {
        for (i, row) in self.rows.iter_mut().enumerate() {
            row.scale_shift(factor_shift(i));
        }
        self
    }

    /// `self + factor · other`, element by element; both of one shape.
    pub fn add_scaled(&self, other: &Self, factor: f64) -> Self {
        let variables = self.variables.max(other.variables);
        let mut sum = LinearCombination::new(variables);
        let rows = self.rows.iter().zip(&other.rows);
        let rows = rows.map(|(a, b)| {
            sum.add(a, 1.0);
            sum.add(b, factor);
            sum.finish()
        });
        Self { rows: rows.collect(), shape: self.shape.clone(), variables }
    }
}

/// Builds linear combinations of rows, one after the other.
pub(super) struct LinearCombination {
    /// All variables have a smaller index.
    variables: usize,
    /// The variable of the first coefficient. Only those around the ones that were met have a place: a deep graph has many.
    first: usize,
    coefficients: Vec<DoubleDouble>,
    seen: Vec<bool>,
    touched: Vec<u32>,
    constant: DoubleDouble,
    /// The operations are those of the longest part.
    errors: RowErrors,
    parts: usize,
}

impl LinearCombination {
    pub fn new(variables: usize) -> Self {
        Self {
            variables,
            first: 0,
            coefficients: Vec::new(),
            seen: Vec::new(),
            touched: Vec::new(),
            constant: DoubleDouble::default(),
            errors: RowErrors::NONE,
            parts: 0,
        }
    }

    /// Adds `factor · row`.
    pub fn add(&mut self, row: &AffineRow, factor: f64) {
        let added = row.errors.times(factor);
        self.errors.reach_gain += added.reach_gain;
        self.errors.reach_offset += added.reach_offset;
        if factor == 0.0 {
            return;
        }
        let by = DoubleDouble::from(factor);
        if let (Some(&(low, _)), Some(&(high, _))) = (row.terms.first(), row.terms.last()) {
            self.make_room(low as usize, high as usize);
        }
        for &(index, coefficient) in &row.terms {
            let at = index as usize - self.first;
            let product = if coefficient == DoubleDouble::ONE { by } else { coefficient.times(by) };
            if self.seen[at] {
                self.coefficients[at] = self.coefficients[at].plus(product);
            } else {
                self.seen[at] = true;
                self.touched.push(index);
                self.coefficients[at] = product;
            }
        }
        if !row.constant.is_zero() {
            self.constant = self.constant.plus(row.constant.times(by));
        }
        self.errors.gain += added.gain;
        self.errors.offset += added.offset;
        self.errors.operations = self.errors.operations.max(row.errors.operations);
        self.parts += 1;
    }

    /// Gives the variables from `low` to `high` a place.
    fn make_room(&mut self, low: usize, high: usize) {
        let length = self.coefficients.len();
        if length == 0 {
            self.first = low;
        }
        let before = match self.first.checked_sub(low) {
            Some(missing @ 1..) => missing.max(length).min(self.first),
            _ => 0,
        };
        if before > 0 {
            self.coefficients.splice(0..0, std::iter::repeat_n(DoubleDouble::default(), before));
            self.seen.splice(0..0, std::iter::repeat_n(false, before));
            self.first -= before;
        }
        let needed = high + 1 - self.first;
        if needed > self.coefficients.len() {
            let wanted = needed.max(2 * length).min(self.variables - self.first);
            self.coefficients.resize(wanted, DoubleDouble::default());
            self.seen.resize(wanted, false);
        }
    }

    /// `a − b` in real arithmetic: no operation of the file.
    pub fn difference(&mut self, a: &AffineRow, b: &AffineRow) -> AffineRow {
        self.add(a, 1.0);
        self.add(b, -1.0);
        let mut row = self.finish();
        row.errors.operations = a.errors.operations.max(b.errors.operations);
        row
    }

    /// Adds a constant.
    pub fn shift(&mut self, by: f64) {
        self.constant = self.constant.plus(by.into());
        self.errors.shift(by);
        self.parts += 1;
    }

    /// The combination so far; afterwards it is empty again.
    pub fn finish(&mut self) -> AffineRow {
        self.touched.sort_unstable();
        let terms = self
            .touched
            .iter()
            .map(|&index| (index, self.coefficients[index as usize - self.first]));
        let terms = terms.collect();
        for index in self.touched.drain(..) {
            let at = index as usize - self.first;
            self.coefficients[at] = DoubleDouble::default();
            self.seen[at] = false;
        }
        // A product and an addition for every part.
        let operations = self.errors.operations + self.parts + 1;
        let errors = RowErrors { operations, ..self.errors };
        let row = AffineRow { terms, constant: self.constant, errors };
        (self.constant, self.errors) = (DoubleDouble::default(), RowErrors::NONE);
        self.parts = 0;
        row
    }
}
