//! Bounds of every input, linear constraints between inputs, and which inputs take whole numbers only.

use super::constraint::Constraint;

/// Bounds of every input, and what has to hold between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// The least value of each input.
    pub lower: Vec<f64>,
    /// The largest value of each input.
    pub upper: Vec<f64>,
    /// What else has to hold.
    pub constraints: Vec<Constraint>,
    /// The inputs that take whole numbers only, sorted. Their bounds are whole numbers: see [`Domain::with_integers`].
    pub integers: Vec<usize>,
}

/// A bound that misses a whole number by so many roundings is meant to be it: `0.1*x0 <= 0.3` allows 3.
const ROUNDINGS: f64 = 4.0 * f64::EPSILON;

/// No whole number is left for an input.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("there is no whole number for x{input} between {lower} and {upper}")]
pub struct NoInteger {
    /// The input.
    pub input: usize,
    /// Its lower bound.
    pub lower: f64,
    /// Its upper bound.
    pub upper: f64,
}

impl Domain {
    /// Bounds that people give lie no further out: from here on f64 has no digits left to keep constraints to
    /// [`tolerance::CONSTRAINT`](crate::tolerance::CONSTRAINT), and LP solvers lose their way.
    pub const FARTHEST: f64 = 1e9;

    /// The same bounds for all inputs.
    ///
    /// # Panics
    /// When they are not finite or cross.
    pub fn new_box(inputs: usize, lower: f64, upper: f64) -> Self {
        assert!(lower <= upper && lower.is_finite() && upper.is_finite(), "bounds in order");
        Self {
            lower: vec![lower; inputs],
            upper: vec![upper; inputs],
            constraints: Vec::new(),
            integers: Vec::new(),
        }
    }

    /// The same with whole numbers only for these inputs. Their bounds are rounded inwards, which leaves no whole number out.
    ///
    /// ```
    /// # use rw_adv::sets::Domain;
    /// let domain = Domain::new_box(2, -0.5, 2.5).with_integers(&[1])?;
    /// assert_eq!((domain.lower, domain.upper), (vec![-0.5, 0.0], vec![2.5, 2.0]));
    /// assert!(Domain::new_box(1, 0.25, 0.75).with_integers(&[0]).is_err());
    /// # Ok::<(), rw_adv::sets::NoInteger>(())
    /// ```
    ///
    /// # Errors
    /// When no whole number is left for one of them.
    ///
    /// # Panics
    /// When there is no such input.
    pub fn with_integers(mut self, inputs: &[usize]) -> Result<Self, NoInteger> {
        for &input in inputs {
            let (lower, upper) = (self.lower[input], self.upper[input]);
            // + 0.0 turns −0 into 0.
            let least = (lower - ROUNDINGS * lower.abs()).ceil() + 0.0;
            let most = (upper + ROUNDINGS * upper.abs()).floor() + 0.0;
            if least > most {
                return Err(NoInteger { input, lower, upper });
            }
            (self.lower[input], self.upper[input]) = (least, most);
        }
        self.integers.extend(inputs);
        self.integers.sort_unstable();
        self.integers.dedup();
        Ok(self)
    }

    /// Whether an input takes whole numbers only.
    pub fn is_integer(&self, input: usize) -> bool {
        self.integers.binary_search(&input).is_ok()
    }

    /// Whether all inputs that take whole numbers only have one at `x`.
    pub fn is_integral(&self, x: &[f64]) -> bool {
        self.integers.iter().all(|&input| x[input].fract() == 0.0)
    }

    /// `x` with every input between its bounds, exactly, and on the one that it misses by a rounding.
    pub fn clamped(&self, x: &[f64]) -> Vec<f64> {
        let clamped = |(x, (&lower, &upper)): (&f64, (&f64, &f64))| {
            let rounding = 4.0 * f64::EPSILON * lower.abs().max(upper.abs());
            match *x {
                x if x <= lower + rounding => lower,
                x if x >= upper - rounding => upper,
                x => x,
            }
        };
        x.iter().zip(self.lower.iter().zip(&self.upper)).map(clamped).collect()
    }

    /// The largest violation of a constraint at `x`.
    pub fn violation(&self, x: &[f64]) -> f64 {
        self.constraints.iter().map(|c| c.violation(x)).fold(0.0, f64::max)
    }
}
