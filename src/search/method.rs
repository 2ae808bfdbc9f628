//! The methods and their names.

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Which algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum Method {
    /// All kinds of starts, first-order ascent, then the walk.
    #[default]
    Rw,
    /// Algorithms 1 and 2 of the paper: starts from relaxations only, ε-steps, no ascent.
    Paper,
    /// Perakis and Tsiourvas 2022: sample a region, solve its LP, then free the neurons that are zero at the vertex and let
    /// branch and bound decide them.
    SampleMip,
    /// Branch and bound on the whole problem.
    Milp {
        /// Whether to begin with what [`Method::Rw`] finds in a tenth of the time.
        warm: bool,
    },
    /// Croce and Hein 2021, for L1 balls cut by the pixel box; projected gradient for sets without a budget.
    Apgd,
    /// Our starts and first-order ascent, without any LP.
    FrankWolfe,
    /// The whole problem as an MPS file for a MILP solver outside this program.
    External {
        /// How to call it: a program and its first arguments, with spaces between. It lives as long as the program, because there is one
        /// command line.
        solver: &'static str,
    },
}

impl Method {
    /// The names of the built-in methods, as the command line takes them.
    pub const NAMES: [&str; 6] = ["rw", "paper", "sample-mip", "milp", "apgd", "frank-wolfe"];

    /// The name of the method that needs a solver.
    pub const EXTERNAL: &str = "external";

    /// The command of the external solver, if this is one.
    pub fn solver(self) -> Option<&'static str> {
        match self {
            Self::External { solver } => Some(solver),
            _ => None,
        }
    }

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rw => "rw",
            Self::Paper => "paper",
            Self::SampleMip => "sample-mip",
            Self::Milp { .. } => "milp",
            Self::Apgd => "apgd",
            Self::FrankWolfe => "frank-wolfe",
            Self::External { .. } => Self::EXTERNAL,
        }
    }
}

/// By its name: whether a MILP begins with a point, and which solver is called, are other settings.
impl From<Method> for &'static str {
    fn from(method: Method) -> Self {
        method.name()
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let cold = Self::Milp { warm: false };
        let external = Self::External { solver: "" };
        let all =
            [Self::Rw, Self::Paper, Self::SampleMip, cold, Self::Apgd, Self::FrankWolfe, external];
        let named = all.into_iter().find(|method| method.name() == name);
        named.ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// There is no method of this name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no method is called {0:?}")]
pub struct UnknownMethod(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_method() {
        for name in Method::NAMES.into_iter().chain([Method::EXTERNAL]) {
            assert_eq!(name.parse::<Method>().map(Method::name), Ok(name));
        }
        assert_eq!("magic".parse::<Method>(), Err(UnknownMethod("magic".into())));
    }
}
