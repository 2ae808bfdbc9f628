//! Linear functions above one ReLU.

use std::sync::Arc;

use crate::number::Number;

/// `lower ≤ g ≤ upper`.
#[derive(Clone, Debug)]
pub struct Interval<N> {
    pub lower: N,
    pub upper: N,
}

/// A neuron is taken to be rather on than off from this ratio of its bounds: below 1, so that equal bounds, which are common, are not told
/// apart by rounding.
pub const RATHER_ON: f64 = 1.0 - 1e-6;

/// What an interval says about a ReLU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    On,
    Off,
    Unstable,
}

impl<N: Number> Interval<N> {
    pub fn state(&self) -> State {
        if self.lower >= N::zero() {
            State::On
        } else if self.upper <= N::zero() {
            State::Off
        } else {
            State::Unstable
        }
    }

    /// The largest magnitude in it.
    pub fn magnitude(&self) -> N {
        self.lower.magnitude().larger(&self.upper.magnitude())
    }

    /// That number alone.
    pub fn exactly(x: &N) -> Self {
        Self { lower: x.clone(), upper: x.clone() }
    }

    /// All sums.
    pub fn plus(&self, other: &Self) -> Self {
        let (lower, upper) = (self.lower.add_down(&other.lower), self.upper.add_up(&other.upper));
        Self { lower, upper }
    }

    /// All multiples by a number.
    pub fn scaled(&self, by: &N) -> Self {
        let Self { lower, upper } = self;
        let (a, b) = if *by < N::zero() { (upper, lower) } else { (lower, upper) };
        Self { lower: a.mul_down(by), upper: b.mul_up(by) }
    }

    /// What is at most so far away.
    pub fn widened(&self, by: &N) -> Self {
        Self { lower: self.lower.sub_down(by), upper: self.upper.add_up(by) }
    }

    /// What is in both.
    pub fn and(&self, lower: &N, upper: &N) -> Self {
        Self { lower: self.lower.larger(lower), upper: self.upper.smaller(upper) }
    }

    /// The slope of the line below the ReLU that leaves the smaller triangle.
    pub fn default_slope(&self) -> f64 {
        if self.upper > self.lower.negated().mul(&N::of(RATHER_ON)) { 1.0 } else { 0.0 }
    }
}

/// A function `constant + slopes · p` of the moves.
#[derive(Clone, Debug)]
pub struct Line<N> {
    pub constant: N,
    pub slopes: Arc<Vec<N>>,
    /// The largest magnitude of a slope.
    pub steepest: N,
}

impl<N: Number> Line<N> {
    /// # Errors
    /// When a number overflowed.
    pub fn new(constant: N, slopes: Vec<N>) -> Result<Self, String> {
        if !constant.is_finite() || !slopes.iter().all(N::is_finite) {
            return Err("numbers overflow".into());
        }
        let steepest = slopes.iter().fold(N::zero(), |most, v| most.larger(&v.magnitude()));
        Ok(Self { constant, slopes: Arc::new(slopes), steepest })
    }

    /// At least its value where these moves are made.
    pub fn at(&self, taken: &[(usize, N)]) -> N {
        let add = |sum: N, (k, amount): &(usize, N)| sum.add_up(&self.slopes[*k].mul_up(amount));
        taken.iter().fold(self.constant.clone(), add)
    }
}

/// Lines above a neuron's pre-activation and above its negative.
#[derive(Clone, Debug)]
pub struct LinePair<N> {
    pub above: Line<N>,
    pub below: Line<N>,
}

/// The envelope of a neuron for one `θ`: `relu(g) ≤ θ·g + constant + Σ max(a·v_k + a0, b·w_k + b0) p_k`, where `v` and `w` are the slopes of the
/// neuron's lines. Proof: `relu(g) − θ g = max((1−θ) g, −θ g)` is at most the larger of two affine functions of `p`, and the right side is no
/// smaller than these at the corners `0` and `D e_k` of `{p ≥ 0, Σ p ≤ D}`.
#[derive(Clone, Debug)]
pub struct Envelope<N> {
    pub lines: Arc<LinePair<N>>,
    pub theta: N,
    pub constant: N,
    a: N,
    a0: N,
    b0: N,
    /// At least the largest magnitude of a slope.
    pub steepest: N,
}

/// A budget below this has no corners to be told apart: both lines as they are lie above.
const SMALLEST_BUDGET: f64 = 1e-9;

/// `θ` is rounded to multiples of this, so that `1 − θ` is exact.
const THETA_GRAIN: f64 = 1.0 / (1u64 << 30) as f64;

impl<N: Number> Envelope<N> {
    /// The envelope where the moves `taken` are made already, and `budget` is left.
    pub fn new(lines: &Arc<LinePair<N>>, taken: &[(usize, N)], budget: &N, theta: f64) -> Self {
        let theta = (theta.clamp(0.0, 1.0) / THETA_GRAIN).round() * THETA_GRAIN;
        let (a, b) = (N::of(1.0 - theta), N::of(theta));
        let above = a.mul_up(&lines.above.at(taken));
        let below = b.mul_up(&lines.below.at(taken));
        // With θ = 0 the line below does not count.
        let below = if theta == 0.0 { N::zero() } else { below };
        let constant = above.larger(&below);
        let share = |value: &N| {
            let less = value.sub_up(&constant);
            if *budget < N::of(SMALLEST_BUDGET) {
                N::zero()
            } else {
                less.quotient_up(budget).smaller(&N::zero())
            }
        };
        let (a0, b0) = (share(&above), share(&below));
        let steepest = [&a.mul_up(&lines.above.steepest), &a0.magnitude(), &b0.magnitude()]
            .into_iter()
            .fold(b.mul_up(&lines.below.steepest), |sum, more| sum.add_up(more));
        Self { lines: Arc::clone(lines), theta: b, constant, a, a0, b0, steepest }
    }

    /// `out += share · slopes`, rounded to nearest.
    pub fn add_to(&self, out: &mut [N], share: &N) {
        let [a, a0, b, b0] = [&self.a, &self.a0, &self.theta, &self.b0].map(|x| x.mul(share));
        let (above, below) = (&self.lines.above.slopes, &self.lines.below.slopes);
        if b == N::zero() {
            for (out, v) in out.iter_mut().zip(above.iter()) {
                let slope = a.mul(v).add(&a0);
                *out = out.add(if slope > b0 { &slope } else { &b0 });
            }
            return;
        }
        for ((out, v), w) in out.iter_mut().zip(above.iter()).zip(below.iter()) {
            let (slope, other) = (a.mul(v).add(&a0), b.mul(w).add(&b0));
            *out = out.add(if slope > other { &slope } else { &other });
        }
    }
}

/// How a ReLU is relaxed: proposals, any of which are valid.
#[derive(Clone, Copy, Debug)]
pub enum Relaxation {
    /// A neuron that nothing is proposed for: the default slope below, the chord above.
    Default,
    /// Slope of the line below, share of the envelope above (the chord gets the rest), and the envelope's `θ`.
    Lines { below: f64, share: f64, theta: f64 },
    /// Multipliers of the pre-activation and of the envelope.
    Multipliers { neuron: f64, envelope: f64 },
}

/// `q · relu(g) ≤ slope · g + constant + share · envelope`, where `θ·share` is in the slope already.
pub struct Relaxed<N> {
    pub slope: N,
    pub constant: N,
    pub share: N,
}

impl<N: Number> Relaxed<N> {
    /// A function above `q · relu(g)`, or above `q · g` for a neuron without a ReLU, which is on; `theta` is that of the envelope, if it has one.
    pub fn new(
        q: &N,
        (interval, state): (&Interval<N>, State),
        by: Relaxation,
        theta: Option<&N>,
    ) -> Self {
        let zero = N::zero();
        if *q == zero && !matches!(by, Relaxation::Multipliers { .. }) {
            return Self { slope: zero.clone(), constant: zero.clone(), share: zero };
        }
        let by = match by {
            Relaxation::Default => {
                Relaxation::Lines { below: interval.default_slope(), share: 0.0, theta: 0.0 }
            }
            other => other,
        };
        let share = match (by, theta) {
            (_, None) | (Relaxation::Default, _) => zero.clone(),
            (Relaxation::Lines { share, .. }, _) => {
                let used = state == State::Unstable && *q > zero;
                if used { q.mul(&N::of(share.clamp(0.0, 1.0))).smaller(q) } else { zero.clone() }
            }
            (Relaxation::Multipliers { envelope, .. }, _) => N::of(envelope.max(0.0)),
        };
        // The envelope bounds `share · relu(g)`. What is left is at most `rest · relu(g)`, because a ReLU is not negative.
        let rest = if share == zero {
            q.clone()
        } else if share == *q {
            zero.clone()
        } else {
            q.sub_up(&share)
        };
        let line = match by {
            Relaxation::Default => zero.clone(),
            Relaxation::Lines { below, .. } => match state {
                State::On => return Self { slope: q.clone(), constant: zero, share },
                State::Off => return Self { slope: zero.clone(), constant: zero, share },
                // Between q and 0: `relu(g) ≥ α·g` for every α in [0, 1].
                State::Unstable if *q <= zero => {
                    let slope = q.mul(&N::of(below.clamp(0.0, 1.0)));
                    return Self { slope, constant: zero, share };
                }
                State::Unstable => {
                    let width = interval.upper.nearest() - interval.lower.nearest();
                    N::of(rest.nearest() * (interval.upper.nearest() / width))
                }
            },
            Relaxation::Multipliers { neuron, .. } if state == State::On => {
                rest.add(&N::of(neuron))
            }
            Relaxation::Multipliers { neuron, .. } => N::of(neuron),
        };
        let passed = theta.map_or(N::zero(), |theta| theta.mul(&share));
        let slope = if passed == zero { line } else { line.add(&passed) };
        let constant = corner(&rest, &slope, &share, theta.unwrap_or(&zero), interval, state);
        Self { slope, constant, share }
    }
}

/// At least `rest · h − (slope − θ·share) · g` at every point `(g, h)` of a ReLU's graph over an interval: it is largest at a corner.
fn corner<N: Number>(
    rest: &N,
    slope: &N,
    share: &N,
    theta: &N,
    Interval { lower, upper }: &Interval<N>,
    state: State,
) -> N {
    let zero = N::zero();
    // The slope without θ·share, rounded both ways.
    let (low, high) = if *theta == zero || *share == zero {
        (slope.clone(), slope.clone())
    } else {
        (slope.sub_down(&theta.mul_up(share)), slope.sub_up(&theta.mul_down(share)))
    };
    // At least `−s·g` for every slope s between low and high, and `(rest − s)·g`.
    let off = |g: &N| low.negated().mul_up(g).larger(&high.negated().mul_up(g));
    let on = |g: &N| rest.sub_up(&low).mul_up(g).larger(&rest.sub_down(&high).mul_up(g));
    match state {
        State::On => on(lower).larger(&on(upper)),
        State::Off => off(lower).larger(&off(upper)),
        State::Unstable => off(lower).larger(&on(upper)).larger(&zero),
    }
}
