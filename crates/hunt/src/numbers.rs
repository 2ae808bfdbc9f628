//! Numbers that go wrong, and numbers that cannot.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rand::{Rng, RngExt};

/// A number that exactly is what it is.
pub type Exact = BigRational;

/// The number that a float is.
///
/// # Panics
/// When it is not finite.
pub fn exact(value: f64) -> Exact {
    BigRational::from_float(value).expect("a finite number")
}

/// The square root, to 300 binary places, rounded down.
pub fn square_root(value: &Exact) -> Exact {
    let scaled: BigInt = (value.numer() << 600_u32) / value.denom();
    BigRational::new(scaled.sqrt(), BigInt::one() << 300_u32)
}

/// The larger of a number and 0.
pub fn relu(value: Exact) -> Exact {
    if value.is_negative() { Exact::zero() } else { value }
}

/// Roughly what size the weights of a layer have.
#[derive(Clone, Copy, Debug)]
pub struct Scale(pub f32);

impl Scale {
    /// Mostly ordinary, sometimes far off.
    pub fn draw(rng: &mut impl Rng) -> Self {
        Self(match rng.random_range(0..12) {
            0 => 10f32.powi(rng.random_range(-30..=30)),
            1 => 10f32.powi(rng.random_range(-6..=6)),
            2 => 2f32.powi(rng.random_range(-20..=20)),
            _ => 1.0,
        })
    }
}

/// A weight: often simple, so that ties and cancellations happen.
pub fn weight(rng: &mut (impl Rng + ?Sized), Scale(scale): Scale) -> f32 {
    scale
        * match rng.random_range(0..10) {
            0 => 0.0,
            1 => 1.0,
            2 => -1.0,
            3 => 0.5,
            4 => 1.0 + f32::EPSILON,
            _ => rng.random_range(-1.0..1.0),
        }
}

/// A pixel.
pub fn pixel(rng: &mut impl Rng) -> f32 {
    match rng.random_range(0..12) {
        0 | 1 => 0.0,
        2 => 1.0,
        3 => f32::from(rng.random_range(0..=255_u8)) / 255.0,
        4 => 1.3e-38,
        5 => 1e-44,
        _ => rng.random_range(0.0..=1.0),
    }
}
