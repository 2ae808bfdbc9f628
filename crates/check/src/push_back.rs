//! Linear functions pushed back through relaxed ReLUs and affine operations, until they are functions of the moves.

use crate::number::Number;
use crate::region::{Failure, Problem, Region};
use crate::relax::{Envelope, Interval, Line, LinePair, Relaxation, Relaxed, State};

impl<N: Number> Region<'_, N> {
    /// Functions of a layer's pre-activations as functions of the moves that are left, not below them. One row of coefficients each.
    pub fn push_back(
        &self,
        layer: usize,
        mut rows: Vec<N>,
        by: &dyn Fn(usize, usize) -> Relaxation,
    ) -> Result<Vec<Line<N>>, Failure> {
        let network = &self.problem.network;
        let moves = self.room.caps.len();
        let many = rows.len() / network.widths[layer];
        let mut constants = vec![N::zero(); many];
        let mut slopes = vec![N::zero(); many * moves];
        // At least the sum of magnitudes of all that goes into a slope, and the number of its terms.
        let (mut steepest, mut terms) = (vec![N::zero(); many], 16);
        for behind in (1..=layer).rev() {
            rows = network.pull_back(behind, &self.errors[behind], rows, &mut constants);
            let below = behind - 1;
            let envelopes = self.relax(below, &mut rows, &mut constants, by)?;
            terms += network.widths[below];
            self.add_envelopes(&envelopes, &mut slopes, &mut steepest);
        }
        Ok(self.finish(rows, constants, slopes, (steepest, terms))?)
    }

    /// Turns coefficients of a layer's outputs into coefficients of its pre-activations. What goes to envelopes is returned: the row, the
    /// neuron's envelope and its share.
    fn relax(
        &self,
        layer: usize,
        rows: &mut [N],
        constants: &mut [N],
        by: &dyn Fn(usize, usize) -> Relaxation,
    ) -> Result<Vec<EnvelopeShares<N>>, Failure> {
        let width = self.problem.network.widths[layer];
        let mut all = Vec::new();
        for j in 0..width {
            let relaxation = by(layer, j);
            let fresh = if self.stale {
                self.fresh_interval(layer, j, relaxation, &rows[j])?
            } else {
                None
            };
            let interval = fresh.as_ref().unwrap_or(&self.intervals[layer][j]);
            let state = self.problem.network.state(layer, j, interval);
            let envelope = self.envelope(layer, j, relaxation);
            let theta = envelope.as_ref().map(|envelope| &envelope.theta);
            let mut shares = Vec::new();
            for (row, constant) in constants.iter_mut().enumerate() {
                let q = &mut rows[row * width + j];
                let relaxed = Relaxed::new(q, (interval, state), relaxation, theta);
                *q = relaxed.slope;
                if relaxed.constant != N::zero() {
                    *constant = constant.add_up(&relaxed.constant);
                }
                if let (Some(envelope), true) = (&envelope, relaxed.share != N::zero()) {
                    *constant = constant.add_up(&relaxed.share.mul_up(&envelope.constant));
                    shares.push((row, relaxed.share));
                }
            }
            if let (Some(envelope), false) = (envelope, shares.is_empty()) {
                all.push(EnvelopeShares { envelope, shares });
            }
        }
        Ok(all)
    }

    /// A neuron's interval over what is left, if its coefficient is `q` and the relaxation depends on it. For one row only.
    fn fresh_interval(
        &self,
        layer: usize,
        j: usize,
        by: Relaxation,
        q: &N,
    ) -> Result<Option<Interval<N>>, Failure> {
        let known = &self.intervals[layer][j];
        let independent = match by {
            Relaxation::Lines { share, .. } => *q <= N::zero() || share >= 1.0,
            _ => false,
        };
        match &self.lines[layer][j] {
            Some(pair) if !independent && self.state(layer, j) == State::Unstable => {
                self.interval(pair, Some(known)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A neuron's envelope, if it is asked for and has lines.
    fn envelope(&self, layer: usize, j: usize, by: Relaxation) -> Option<Envelope<N>> {
        let unstable = || self.state(layer, j) == State::Unstable;
        let (wanted, theta) = match by {
            Relaxation::Default => (false, 0.0),
            Relaxation::Lines { share, theta, .. } => (share > 0.0 && unstable(), theta),
            Relaxation::Multipliers { envelope, .. } => {
                (envelope > 0.0 && self.problem.network.has_relu(layer, j), 0.0)
            }
        };
        if !wanted {
            return None;
        }
        let lines = self.lines[layer][j].as_ref()?;
        // In the first layer θ makes no difference; without a budget that binds it does not help.
        let theta = if layer == 0 || self.room.tightness >= 1.0 { 0.0 } else { theta };
        Some(Envelope::new(lines, &self.taken, &self.room.budget, theta))
    }

    /// `slopes += shares · envelopes`.
    fn add_envelopes(&self, all: &[EnvelopeShares<N>], slopes: &mut [N], steepest: &mut [N]) {
        let (moves, many) = (self.room.caps.len(), steepest.len());
        for EnvelopeShares { envelope, shares } in all {
            for (row, share) in shares {
                let size = share.mul_up(&envelope.steepest);
                steepest[*row] = steepest[*row].add_up(&size);
            }
        }
        if many < 8 {
            for EnvelopeShares { envelope, shares } in all {
                for (row, share) in shares {
                    envelope.add_to(&mut slopes[row * moves..][..moves], share);
                }
            }
            return;
        }
        let mut of_envelopes = vec![N::zero(); all.len() * moves];
        let mut factors = vec![N::zero(); many * all.len()];
        for (k, EnvelopeShares { envelope, shares }) in all.iter().enumerate() {
            envelope.add_to(&mut of_envelopes[k * moves..][..moves], &N::of(1.0));
            shares.iter().for_each(|(row, share)| factors[row * all.len() + k] = share.clone());
        }
        if !all.is_empty() {
            N::add_product(slopes, &factors, &of_envelopes, all.len(), moves);
        }
    }

    /// Adds the first layer, whose pre-activations the rows are functions of, and all that rounding may have lost.
    fn finish(
        &self,
        rows: Vec<N>,
        mut constants: Vec<N>,
        mut slopes: Vec<N>,
        (steepest, mut terms): (Vec<N>, usize),
    ) -> Result<Vec<Line<N>>, String> {
        let Problem { network, set, first, .. } = self.problem;
        let (width, moves) = (network.widths[0], set.moves.len());
        terms += width;
        let mut by_input = vec![N::zero(); constants.len() * network.inputs];
        N::add_product(&mut by_input, &rows, &first.slopes, width, network.inputs);
        let gamma = N::of(N::gamma(terms).min(1e30));
        let tiny = N::of(N::TINY * terms as f64);
        let mut lines = Vec::new();
        for (r, constant) in constants.iter_mut().enumerate() {
            let mut reach = steepest[r].mul_up(&self.room.budget);
            for (j, q) in rows[r * width..][..width].iter().enumerate() {
                if *q != N::zero() {
                    let LinePair { above, below } = &*self.first[j];
                    let line = if *q > N::zero() { above } else { below };
                    let (size, steepest) =
                        (q.magnitude(), line.steepest.mul_up(&self.whole_budget));
                    *constant = constant.add_up(&size.mul_up(&line.constant));
                    reach = reach.add_up(&size.mul_up(&steepest));
                }
            }
            let by_input = &by_input[r * network.inputs..][..network.inputs];
            let slope = |k: usize| {
                let slope = &by_input[set.moves[k].input];
                if set.moves[k].up { slope.clone() } else { slope.negated() }
            };
            for (k, amount) in &self.taken {
                *constant = constant.add_up(&slope(*k).mul_up(amount));
            }
            let lost = gamma.mul_up(&reach).add_up(&tiny.mul_up(&self.whole_budget));
            let slopes = &mut slopes[r * moves..][..moves];
            slopes.iter_mut().enumerate().for_each(|(k, s)| *s = s.add(&slope(k)));
            lines.push(Line::new(constant.add_up(&lost), slopes.to_vec())?);
        }
        Ok(lines)
    }
}

/// How much of a neuron's envelope goes into which rows.
struct EnvelopeShares<N> {
    envelope: Envelope<N>,
    shares: Vec<(usize, N)>,
}
