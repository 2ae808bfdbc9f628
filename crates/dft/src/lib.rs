//! The discrete Fourier transform by its definition, behind the part of rustfft's interface that tract uses.
//!
//! tract carries the operators DFT and STFT and with them all of rustfft, which is much to compile and, without optimisation, a quarter of the program.
//! No network that we accept has a Fourier transform, but tract may be asked for one while it reads a file that is refused
//! later. So it is there and right, in n² operations.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

pub use num_complex;
pub use num_traits;

use num_complex::Complex;
use num_traits::{FromPrimitive, Signed};

/// A floating-point number.
pub trait FftNum: Copy + FromPrimitive + Signed + Sync + Send + Debug + 'static {}

impl<T> FftNum for T where T: Copy + FromPrimitive + Signed + Sync + Send + Debug + 'static {}

/// The sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FftDirection {
    /// `exp(−2πi·jk/n)`.
    Forward,
    /// `exp(2πi·jk/n)`, without the division by n.
    Inverse,
}

/// A transform of one length in one direction.
pub trait Fft<T: FftNum>: Sync + Send {
    /// Transforms every piece of that length.
    ///
    /// # Panics
    /// When the buffer is not a whole number of pieces.
    fn process(&self, buffer: &mut [Complex<T>]);
}

/// Makes transforms.
#[derive(Debug)]
pub struct FftPlanner<T>(PhantomData<T>);

impl<T: FftNum> FftPlanner<T> {
    /// A planner.
    #[expect(clippy::new_without_default, reason = "rustfft's has none that tract uses")]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// The transform of this length.
    pub fn plan_fft(&mut self, length: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
        let sign = match direction {
            FftDirection::Forward => -1.0,
            FftDirection::Inverse => 1.0,
        };
        let number =
            |value: f64| T::from_f64(value).expect("every float type holds sines and cosines");
        let root = |k: usize| {
            let angle = std::f64::consts::TAU * k as f64 / length as f64;
            Complex::new(number(angle.cos()), number(sign * angle.sin()))
        };
        Arc::new(Transform { roots: (0..length).map(root).collect() })
    }

    /// The forward transform of this length.
    pub fn plan_fft_forward(&mut self, length: usize) -> Arc<dyn Fft<T>> {
        self.plan_fft(length, FftDirection::Forward)
    }
}

/// All n-th roots of unity, in order.
struct Transform<T> {
    roots: Vec<Complex<T>>,
}

impl<T: FftNum> Fft<T> for Transform<T> {
    fn process(&self, buffer: &mut [Complex<T>]) {
        let length = self.roots.len();
        if length == 0 {
            return;
        }
        assert_eq!(buffer.len() % length, 0, "the buffer is not a whole number of transforms");
        for piece in buffer.chunks_exact_mut(length) {
            let input = piece.to_vec();
            for (k, output) in piece.iter_mut().enumerate() {
                let zero = Complex::new(T::zero(), T::zero());
                *output = input.iter().enumerate().fold(zero, |sum, (j, &value)| {
                    // Below n² for lengths that n² operations can be waited for.
                    sum + value * self.roots[j * k % length]
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transformed(values: &[f64], direction: FftDirection) -> Vec<Complex<f64>> {
        let mut buffer: Vec<_> = values.iter().map(|&re| Complex::new(re, 0.0)).collect();
        FftPlanner::new().plan_fft(values.len(), direction).process(&mut buffer);
        buffer
    }

    #[test]
    fn four_points_by_hand() {
        let forward = transformed(&[1.0, 2.0, 3.0, 5.0], FftDirection::Forward);
        let expected = [(11.0, 0.0), (-2.0, 3.0), (-3.0, 0.0), (-2.0, -3.0)];
        for (found, (re, im)) in forward.iter().zip(expected) {
            assert!((found.re - re).abs() < 1e-12 && (found.im - im).abs() < 1e-12, "{found}");
        }
        let inverse = transformed(&[1.0, 2.0, 3.0, 5.0], FftDirection::Inverse);
        assert!((inverse[1].im + 3.0).abs() < 1e-12);
    }

    #[test]
    fn back_and_forth_is_n_times_the_input() {
        let values = [0.3, -1.7, 2.2, 0.0, 4.1, 9.0, -3.5];
        let mut buffer = transformed(&values, FftDirection::Forward);
        FftPlanner::new().plan_fft(7, FftDirection::Inverse).process(&mut buffer);
        for (found, value) in buffer.iter().zip(values) {
            assert!((found.re - 7.0 * value).abs() < 1e-12 && found.im.abs() < 1e-12);
        }
    }
}
