//! Bounds of single functions over a part of a box: by lines, by trees over the signs of neurons, or by quadratic relaxations.

use crate::boxes::{BoxProblem, BoxRegion, InputLine, Proposal, Sign};
use crate::number::Number;
use crate::property::{Bound, SignNode};
use crate::region::Failure;
use crate::slopes::Slopes;

/// No tree over signs is deeper.
const DEEPEST: usize = 1000;

/// Leaves that are pushed back at once.
const AT_ONCE: usize = 128;

/// A leaf of a tree over signs.
struct SignLeaf<'l> {
    slopes: Slopes,
    signs: Vec<Sign>,
    multipliers: &'l [f64],
}

impl<N: Number> BoxRegion<N> {
    /// At least the largest value of a function of a layer's pre-activations over the part that signs lead to.
    pub fn function_bound(
        &self,
        problem: &BoxProblem<N>,
        signs: &[Sign],
        (layer, row): (usize, Vec<N>),
        by: &Bound,
    ) -> Result<N, Failure> {
        if let Some(quadratic) = &by.quadratic {
            return self.quadratic_bound(problem, layer, row, quadratic);
        }
        if by.tree.is_empty() {
            let line = self.function_line(problem, signs, (layer, row), (&by.slopes, &by.signs))?;
            return Ok(self.bound(&line));
        }
        let mut most: Option<N> = None;
        let mut push = |leaves: &mut Vec<SignLeaf>| {
            let rows = leaves.iter().flat_map(|_| row.iter().cloned()).collect();
            let by = |k: usize| Proposal {
                slopes: Some(&leaves[k].slopes),
                signs: &leaves[k].signs,
                multipliers: Some(leaves[k].multipliers),
            };
            for line in self.push_back(problem, layer, rows, &by) {
                let value = self.bound(&line);
                most = Some(most.take().map_or(value.clone(), |most| most.larger(&value)));
            }
            leaves.clear();
        };
        let (mut waiting, mut leaves) = (vec![signs.to_vec()], Vec::new());
        for SignNode { neuron, slopes, signs: multipliers } in &by.tree {
            let here = waiting.pop().ok_or_else(|| "a node is behind its tree".to_owned())?;
            let Some((at, j)) = *neuron else {
                check_weights(multipliers)?;
                leaves.push(SignLeaf { slopes: Slopes::parse(slopes)?, signs: here, multipliers });
                if leaves.len() == AT_ONCE {
                    push(&mut leaves);
                }
                continue;
            };
            if at >= layer || j >= problem.network.widths[at] || here.len() > signs.len() + DEEPEST
            {
                return Err(Failure::Wrong(format!("cannot be split by neuron {j} of layer {at}")));
            }
            for on in [false, true] {
                let mut side = here.clone();
                side.push(Sign { layer: at, neuron: j, on });
                waiting.push(side);
            }
        }
        push(&mut leaves);
        let is_whole = waiting.is_empty();
        most.filter(|_| is_whole).ok_or_else(|| Failure::Wrong("a tree is not complete".into()))
    }

    /// A function of the inputs that is not below a function of a layer's pre-activations, by slopes and multipliers of signs.
    pub fn function_line(
        &self,
        problem: &BoxProblem<N>,
        signs: &[Sign],
        (layer, row): (usize, Vec<N>),
        (slopes, multipliers): (&[String], &[f64]),
    ) -> Result<InputLine<N>, Failure> {
        check_weights(multipliers)?;
        let slopes = Slopes::parse(slopes)?;
        let by = Proposal { slopes: Some(&slopes), signs, multipliers: Some(multipliers) };
        Ok(self.push_back(problem, layer, row, &|_| by).remove(0))
    }
}

/// Whether weights are finite and not negative.
pub fn check_weights(weights: &[f64]) -> Result<(), Failure> {
    let is_weight = |weight: &f64| *weight >= 0.0 && weight.is_finite();
    let all = weights.iter().all(is_weight);
    if all { Ok(()) } else { Err(Failure::Wrong("a weight is negative".into())) }
}
