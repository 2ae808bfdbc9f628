//! The problems of the paper's two experiments: random networks over the unit box, and the optimal adversary.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result};
use rw_adv::network::{Network, torch};
use rw_adv::problem::{Objective, Problem};
use rw_adv::sets::InputSet;

use crate::bench::images::{BenchImage, ImageArgs};

/// A size of random networks: inputs, hidden layers and their width; written `1000x2x500`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkSize {
    pub inputs: usize,
    pub layers: usize,
    pub width: usize,
}

impl NetworkSize {
    /// The paper's sizes, in the order of its table.
    pub fn of_the_paper() -> Vec<Self> {
        let mut sizes = Vec::new();
        for inputs in [10, 100, 1000] {
            for layers in [1, 2, 3] {
                sizes.extend([100, 500].map(|width| Self { inputs, layers, width }));
            }
        }
        sizes
    }

    /// The widths of all stages, inputs first, one output last.
    fn widths(self) -> Vec<usize> {
        let hidden = std::iter::repeat_n(self.width, self.layers);
        std::iter::once(self.inputs).chain(hidden).chain([1]).collect()
    }
}

impl fmt::Display for NetworkSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.inputs, self.layers, self.width)
    }
}

impl FromStr for NetworkSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Option<Vec<usize>> =
            text.split('x').map(|part| part.parse().ok().filter(|&n| n > 0)).collect();
        match parts.as_deref() {
            Some(&[inputs, layers, width]) => Ok(Self { inputs, layers, width }),
            _ => Err("must be inputs, hidden layers and width, such as 1000x2x500".into()),
        }
    }
}

/// The most seeds that are accepted.
const MOST_SEEDS: u64 = 100_000;

/// Seeds, each once, in order: `50`, `50,53` or `50..55`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let part = |part: &str| match part.split_once("..") {
            Some((from, to)) => Some(number(from)?..number(to)?),
            None => number(part).map(|seed| seed..seed.saturating_add(1)),
        };
        let parts: Option<Vec<Range<u64>>> = text.split(',').map(part).collect();
        let parts = parts.filter(|parts| parts.iter().all(|part| !part.is_empty()));
        let parts = parts.ok_or("must be seeds, such as 50,53 or 50..55")?;
        if parts.iter().map(|part| part.end - part.start).fold(0, u64::saturating_add) > MOST_SEEDS
        {
            return Err(format!("must be at most {MOST_SEEDS} seeds"));
        }
        let seeds: BTreeSet<u64> = parts.into_iter().flatten().collect();
        Ok(Self(seeds.into_iter().collect()))
    }
}

/// One problem.
pub struct Instance {
    /// Its name in all files.
    pub name: String,
    /// What it is counted under: the size, or the budget.
    pub group: String,
    /// Seed of all methods' random choices.
    pub seed: u64,
    kind: InstanceKind,
}

enum InstanceKind {
    /// The network is drawn when it is needed, because networks are large.
    Random {
        size: NetworkSize,
        seed: u64,
    },
    Image(Problem),
}

impl Instance {
    /// A network as PyTorch draws it with this seed; maximise its output over the unit box.
    pub fn random(size: NetworkSize, seed: u64) -> Self {
        let name = format!("{size}_seed{seed}");
        Self { name, group: size.to_string(), seed, kind: InstanceKind::Random { size, seed } }
    }

    /// The optimal adversary at an image.
    pub fn image(args: &ImageArgs, network: &Arc<Network>, image: &BenchImage) -> Self {
        let BenchImage { image: index, predicted, runner_up, .. } = image;
        let name = format!("image{index}_c{predicted}_w{runner_up}");
        let kind = InstanceKind::Image(args.problem(network, image, *runner_up));
        Self { name, group: format!("L1 budget {}", args.delta), seed: *index as u64, kind }
    }

    /// The problem.
    ///
    /// # Errors
    /// When the random network cannot be made.
    pub fn problem(&self) -> Result<Problem> {
        match &self.kind {
            InstanceKind::Random { size, seed } => {
                let network = torch::linear_stack(&size.widths(), *seed);
                let network = Arc::new(network.with_context(|| format!("--sizes {size}"))?);
                let n = network.inputs();
                let set = InputSet::new_box(&vec![0.0; n], &vec![1.0; n]);
                Ok(Problem::new(&network, set, Objective::new(vec![1.0])))
            }
            InstanceKind::Image(problem) => Ok(problem.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_seeds_are_read() {
        let size = NetworkSize { inputs: 1000, layers: 2, width: 500 };
        assert_eq!("1000x2x500".parse(), Ok(size));
        assert_eq!(size.to_string(), "1000x2x500");
        assert_eq!(size.widths(), [1000, 500, 500, 1]);
        for wrong in ["", "10x2", "10x0x5", "axbxc", "10x2x5x1", "-1x2x3"] {
            assert!(wrong.parse::<NetworkSize>().is_err(), "{wrong}");
        }
        assert_eq!("50,53".parse(), Ok(Seeds(vec![50, 53])));
        assert_eq!("50..53, 7".parse(), Ok(Seeds(vec![7, 50, 51, 52])));
        assert_eq!("50,50".parse(), Ok(Seeds(vec![50])));
        for wrong in ["", "a", "5..5", "1,,2", "-3", "0..99999999999", "7,3..2"] {
            assert!(wrong.parse::<Seeds>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_paper_has_ninety_instances() {
        assert_eq!(NetworkSize::of_the_paper().len() * 5, 90);
    }
}
