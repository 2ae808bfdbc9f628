//! Linear functions of inputs and outputs, as expressions are read.
//!
//! Numbers are f64, as written. Sums and products of weights must be exact in f64, or they are refused: rows are to be what the file
//! says. Constants are added up all the time (`(<= (- X 0.3) 0.1)`), so that what their rounding may have changed is kept beside them.

/// An input or an output of the network, by its place in row-major order, base 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variable {
    /// An input.
    Input(u32),
    /// An output.
    Output(u32),
}

/// `constant ± slack + Σ weight · variable`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LinearForm {
    pub terms: Vec<(Variable, f64)>,
    pub constant: f64,
    /// How far the constant may be from what the file says.
    pub slack: f64,
}

/// Why an expression has no value here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinearFault {
    /// Two variables are multiplied.
    NotLinear,
    /// A weight has more digits than an f64.
    Inexact,
    /// A number is larger than an f64.
    Overflow,
}

impl LinearForm {
    pub fn number(constant: f64) -> Self {
        Self { constant, ..Self::default() }
    }

    pub fn variable(variable: Variable) -> Self {
        Self { terms: vec![(variable, 1.0)], ..Self::default() }
    }

    /// `self + other`.
    pub fn plus(mut self, mut other: Self) -> Self {
        if self.terms.is_empty() {
            std::mem::swap(&mut self.terms, &mut other.terms);
        }
        self.terms.append(&mut other.terms);
        let sum = self.constant + other.constant;
        let error = sum_error(self.constant, other.constant, sum);
        self.slack = up(up(self.slack + other.slack) + error.abs());
        self.constant = sum;
        self
    }

    /// `−self`.
    pub fn negated(mut self) -> Self {
        self.terms.iter_mut().for_each(|(_, weight)| *weight = -*weight);
        self.constant = -self.constant;
        self
    }

    /// `self · other`; one of them must be a number.
    pub fn times(self, other: Self) -> Result<Self, LinearFault> {
        let (mut form, factor) = match (self.terms.is_empty(), other.terms.is_empty()) {
            (_, true) => (self, other),
            (true, _) => (other, self),
            (false, false) => return Err(LinearFault::NotLinear),
        };
        if !form.terms.is_empty() && factor.slack > 0.0 {
            return Err(LinearFault::Inexact);
        }
        for (_, weight) in &mut form.terms {
            let product = *weight * factor.constant;
            if !product.is_finite() {
                return Err(LinearFault::Overflow);
            }
            if product_error(*weight, factor.constant, product) != 0.0 {
                return Err(LinearFault::Inexact);
            }
            *weight = product;
        }
        let product = form.constant * factor.constant;
        let error = product_error(form.constant, factor.constant, product);
        let spread =
            up(up(form.slack * factor.constant.abs()) + up(form.constant.abs() * factor.slack))
                + up(form.slack * factor.slack);
        form.slack = up(up(spread) + error.abs());
        form.constant = product;
        Ok(form)
    }

    /// Every variable once, in their order, those with a weight of 0 left out.
    pub fn gathered(mut self) -> Result<Self, LinearFault> {
        self.terms.sort_by_key(|(variable, _)| *variable);
        let mut inexact = false;
        self.terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                let sum = kept.1 + next.1;
                inexact |= sum_error(kept.1, next.1, sum) != 0.0;
                kept.1 = sum;
            }
            same
        });
        self.terms.retain(|(_, weight)| *weight != 0.0);
        let is_finite = self.constant.is_finite()
            && self.slack.is_finite()
            && self.terms.iter().all(|(_, weight)| weight.is_finite());
        match (is_finite, inexact) {
            (false, _) => Err(LinearFault::Overflow),
            (true, true) => Err(LinearFault::Inexact),
            (true, false) => Ok(self),
        }
    }
}

/// At least the exact result of an operation on numbers that are not negative.
fn up(rounded: f64) -> f64 {
    if rounded == 0.0 { 0.0 } else { rounded.next_up() }
}

/// `a + b − sum`, exactly (Knuth 1969). NaN where the sum overflowed.
fn sum_error(a: f64, b: f64, sum: f64) -> f64 {
    let rest = sum - a;
    (a - (sum - rest)) + (b - rest)
}

/// `a · b − product`, exactly, or at least the smallest number where that underflows. NaN where the product overflowed.
fn product_error(a: f64, b: f64, product: f64) -> f64 {
    let error = a.mul_add(b, -product);
    let underflows = product.abs() < f64::MIN_POSITIVE / f64::EPSILON && a != 0.0 && b != 0.0;
    if underflows { error.abs().max(f64::from_bits(1)) } else { error }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn number(value: f64) -> LinearForm {
        LinearForm::number(value)
    }

    fn y(index: u32) -> LinearForm {
        LinearForm::variable(Variable::Output(index))
    }

    #[test]
    fn sums_and_products_by_hand() {
        let form =
            y(1).times(number(2.0)).unwrap().plus(y(0).negated()).plus(y(1)).plus(number(0.5));
        let form = form.plus(y(2)).plus(y(2).negated()).gathered().unwrap();
        assert_eq!(form.terms, [(Variable::Output(0), -1.0), (Variable::Output(1), 3.0)]);
        assert_eq!((form.constant, form.slack), (0.5, 0.0));
        let scaled = number(3.0).times(y(0).plus(number(1.5))).unwrap();
        assert_eq!((scaled.terms[0].1, scaled.constant, scaled.slack), (3.0, 4.5, 0.0));
    }

    #[test]
    fn roundings_of_constants_are_kept_and_those_of_weights_refused() {
        let sum = number(0.1).plus(number(0.2));
        assert_eq!(sum.constant, 0.1 + 0.2);
        assert!(sum.slack > 0.0 && sum.slack < 1e-16);
        assert_eq!(number(0.25).plus(number(0.5)).slack, 0.0);
        assert!(number(0.1).times(number(0.1)).unwrap().slack > 0.0);
        let twice = y(0).times(number(0.1)).unwrap().times(number(0.1));
        assert_eq!(twice.unwrap_err(), LinearFault::Inexact);
        assert_eq!(y(0).times(sum).unwrap_err(), LinearFault::Inexact);
        let both = y(0).times(number(0.1)).unwrap().plus(y(0).times(number(0.7)).unwrap());
        assert_eq!(both.gathered().unwrap_err(), LinearFault::Inexact);
    }

    #[test]
    fn products_of_variables_and_overflows_are_refused() {
        assert_eq!(y(0).times(y(0)).unwrap_err(), LinearFault::NotLinear);
        let large = number(1e308).plus(number(1e308));
        assert_eq!(large.gathered().unwrap_err(), LinearFault::Overflow);
        let tiny = y(0).times(number(1e-200)).unwrap().times(number(1e-200));
        assert_eq!(tiny.unwrap_err(), LinearFault::Inexact);
        let large = y(0).times(number(1e200)).unwrap().times(number(1e200));
        assert_eq!(large.unwrap_err(), LinearFault::Overflow);
    }
}
