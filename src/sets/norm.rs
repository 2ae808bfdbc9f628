//! How far two inputs lie apart: the value of `--norm`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The norm a budget is measured in.
///
/// ```
/// use rw_adv::sets::Norm;
/// let (a, b) = ([0.0, 0.5, 1.0], [0.25, 0.5, 0.5]);
/// assert_eq!(Norm::L1.distance(&a, &b), 0.75);
/// assert_eq!(Norm::Linf.distance(&a, &b), 0.5);
/// assert_eq!("l1".parse(), Ok(Norm::L1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The sum of all changes.
    #[default]
    L1,
    /// The largest change.
    Linf,
}

impl Norm {
    /// The name in options and records: `l1` or `linf`.
    pub fn name(self) -> &'static str {
        match self {
            Self::L1 => "l1",
            Self::Linf => "linf",
        }
    }

    /// The distance of `a` and `b`; NaN when one of them holds a NaN.
    ///
    /// # Panics
    /// When they are not equally long.
    pub fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        assert_eq!(a.len(), b.len(), "points of one space have equally many values");
        let changes = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        match self {
            Self::L1 => changes.sum(),
            // `f64::max` would pass over a NaN.
            Self::Linf => {
                changes.fold(
                    0.0,
                    |most: f64, change| {
                        if change > most || change.is_nan() { change } else { most }
                    },
                )
            }
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Norm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "l1" => Ok(Self::L1),
            "linf" => Ok(Self::Linf),
            _ => Err(format!("`{text}` is not a norm; write l1 or linf")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn norms_are_typed_as_they_are_shown_and_stored() {
        for norm in [Norm::L1, Norm::Linf] {
            assert_eq!(norm.to_string().parse(), Ok(norm));
            assert_eq!(serde_json::to_string(&norm).unwrap(), format!("\"{norm}\""));
        }
        assert!("l2".parse::<Norm>().unwrap_err().contains("write l1 or linf"));
    }

    #[test]
    fn a_nan_is_never_near() {
        for norm in [Norm::L1, Norm::Linf] {
            for place in 0..3 {
                let mut x = [0.5; 3];
                x[place] = f64::NAN;
                assert!(norm.distance(&x, &[0.0; 3]).is_nan());
            }
        }
    }
}
