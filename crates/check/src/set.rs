//! Sets of inputs and their parts, told in moves: every input can move up or down from a centre, all moves together within a budget.

use std::collections::HashSet;

use crate::format::{Norm, Side, Statement};
use crate::number::Number;

/// Amounts of splits are multiples of this and at most its inverse: sums of them are exact.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// Amounts of inputs that take whole numbers only are at most this: sums of them are exact.
const MOST: f64 = (1u64 << 40) as f64;

/// Points may break a constraint by this much, in units of its largest weight.
pub const CONSTRAINT_TOLERANCE: f64 = 2e-7;

/// A direction in which an input can move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    pub input: usize,
    pub up: bool,
}

/// A linear constraint `lower ≤ Σ weight · x ≤ upper`.
#[derive(Clone, Debug)]
pub struct Constraint {
    pub terms: Vec<(usize, f64)>,
    pub lower: f64,
    pub upper: f64,
}

/// A set: `x = centre + Σ ± p_k` with `0 ≤ p_k ≤ cap_k` and `Σ p_k ≤ budget`, and constraints.
#[derive(Clone, Debug)]
pub struct Set {
    pub centre: Vec<f64>,
    /// By input, upward before downward.
    pub moves: Vec<Move>,
    pub constraints: Vec<Constraint>,
    /// The inputs that take whole numbers only. Bounds and centre are such numbers.
    integers: HashSet<usize>,
    whole: Part,
}

/// A part of a set: some moves are made already, caps and budget are for what is left. All are rounded up.
#[derive(Clone, Debug)]
pub struct Part {
    /// Moves that are made, and how much of them.
    pub taken: Vec<(usize, f64)>,
    pub caps: Vec<f64>,
    pub budget: f64,
}

impl Set {
    /// The set that a statement is about.
    ///
    /// # Errors
    /// What makes no sense.
    pub fn new(statement: &Statement) -> Result<Self, String> {
        match statement {
            Statement::Image(image) => {
                let centre: Vec<f64> = image.original.iter().map(|&x| f64::from(x)).collect();
                if !centre.iter().all(|x| (0.0..=1.0).contains(x)) {
                    return Err("the image is not within [0, 1]".into());
                }
                if !(image.delta > 0.0 && image.delta.is_finite()) {
                    return Err("delta is not a positive number".into());
                }
                let (reach, budget) = match image.norm {
                    Norm::L1 => (1.0, image.delta),
                    Norm::Linf => (image.delta, f64::INFINITY),
                };
                let (lower, upper) = (vec![0.0; centre.len()], vec![1.0; centre.len()]);
                Ok(Self::cut(centre, &lower, &upper, reach, budget, Vec::new()))
            }
            Statement::Domain(domain) => {
                let [centre, lower, upper] = [&domain.centre, &domain.lower, &domain.upper];
                let ordered = |i: usize| lower[i] <= centre[i] && centre[i] <= upper[i];
                let same = lower.len() == centre.len() && upper.len() == centre.len();
                if !same || !(0..centre.len()).all(ordered) {
                    return Err("the centre is not within the bounds".into());
                }
                let constraint = |of: &crate::format::ConstraintStatement| Constraint {
                    terms: of.terms.clone(),
                    lower: of.lower.unwrap_or(f64::NEG_INFINITY),
                    upper: of.upper.unwrap_or(f64::INFINITY),
                };
                let constraints: Vec<_> = domain.constraints.iter().map(constraint).collect();
                for Constraint { terms, .. } in &constraints {
                    let inputs: HashSet<usize> = terms.iter().map(|(input, _)| *input).collect();
                    if inputs.len() < terms.len() || inputs.iter().any(|&i| i >= centre.len()) {
                        return Err("a constraint is not about the inputs".into());
                    }
                }
                // Up to this size sums of amounts are exact.
                let is_whole = |x: f64| x.fract() == 0.0 && x.abs() <= MOST;
                let whole = |&i: &usize| {
                    i < centre.len() && [centre, lower, upper].iter().all(|x| is_whole(x[i]))
                };
                if !domain.integers.iter().all(whole) {
                    return Err("a bound or the centre of an integer input is not a whole number of at most 2^40".into());
                }
                let all = f64::INFINITY;
                let set = Self::cut(centre.clone(), lower, upper, all, all, constraints);
                Ok(Self { integers: domain.integers.iter().copied().collect(), ..set })
            }
        }
    }

    fn cut(
        centre: Vec<f64>,
        lower: &[f64],
        upper: &[f64],
        reach: f64,
        budget: f64,
        constraints: Vec<Constraint>,
    ) -> Self {
        let (mut moves, mut caps) = (Vec::new(), Vec::new());
        for (input, x) in centre.iter().enumerate() {
            for (up, room) in [(true, upper[input] - x), (false, x - lower[input])] {
                if room > 0.0 {
                    moves.push(Move { input, up });
                    caps.push(room.next_up().min(reach));
                }
            }
        }
        let whole = Part { taken: Vec::new(), caps, budget };
        Self { centre, moves, constraints, integers: HashSet::new(), whole }
    }

    /// All of it.
    pub fn whole(&self) -> &Part {
        &self.whole
    }

    /// The side of a split of a part.
    ///
    /// # Errors
    /// When the split makes no sense.
    pub fn side(&self, part: &Part, side: &Side) -> Result<Part, String> {
        let (split, at_least) = match side {
            Side::AtLeast(split) => (split, true),
            Side::AtMost(split) => (split, false),
            _ => return Err("a neuron's sign is no part of the set".into()),
        };
        let is_integer = self.integers.contains(&split.pixel);
        let grains = split.amount / GRAIN;
        if is_integer {
            if split.amount.fract() != 0.0 || !(1.0..=MOST).contains(&split.amount) {
                return Err("an amount of an integer input is not a whole number".into());
            }
        } else if grains.fract() != 0.0 || !(0.0..=1.0 / (GRAIN * GRAIN)).contains(&grains) {
            return Err("an amount is not a multiple of 2^-20".into());
        }
        let place = |up: bool| self.moves.iter().position(|m| m.input == split.pixel && m.up == up);
        let k = place(split.up).ok_or("a pixel is split that cannot move")?;
        let mut part = part.clone();
        if !at_least {
            // No point of the set lies between two whole numbers.
            let most = if is_integer { split.amount - 1.0 } else { split.amount };
            part.caps[k] = part.caps[k].min(most);
            return Ok(part);
        }
        match part.taken.iter_mut().find(|(taken, _)| *taken == k) {
            // Exact: both are multiples of the grain.
            Some((_, amount)) => *amount += split.amount,
            None => part.taken.push((k, split.amount)),
        }
        let rest = |room: f64| (room - split.amount).next_up().max(0.0);
        // What is left of a whole number is one: a cap that was rounded up has the same below it.
        let left = rest(part.caps[k]);
        part.caps[k] = if is_integer { left.floor() } else { left };
        part.budget = rest(part.budget);
        if let Some(back) = place(!split.up) {
            part.caps[back] = 0.0;
        }
        Ok(part)
    }
}

/// What is left to move in a part, with numbers of one kind.
#[derive(Clone, Debug)]
pub struct Room<N> {
    pub caps: Vec<N>,
    /// At most the sum of all caps.
    pub budget: N,
    /// Whether the budget is below the sum of all caps, and what share of it it is.
    pub tightness: f64,
    /// Constraints as `lower ≤ Σ entry · p ≤ upper`.
    pub rows: Vec<Row<N>>,
}

/// A constraint told in moves from a part's centre. A side may be missing.
#[derive(Clone, Debug)]
pub struct Row<N> {
    pub entries: Vec<(usize, N)>,
    pub lower: Option<N>,
    pub upper: Option<N>,
}

impl<N: Number> Room<N> {
    /// The room that a part leaves.
    pub fn new(set: &Set, part: &Part) -> Self {
        let caps: Vec<N> = part.caps.iter().map(|&cap| N::of(cap)).collect();
        let all = N::sum_up(&caps, &vec![N::of(1.0); caps.len()]);
        let share = part.budget / all.nearest();
        let (budget, tightness) =
            if share < 1.0 { (N::of(part.budget), share) } else { (all, 1.0) };
        let row = |constraint: &Constraint| Row::new(set, part, constraint);
        Self { caps, budget, tightness, rows: set.constraints.iter().map(row).collect() }
    }
}

impl<N: Number> Row<N> {
    fn new(set: &Set, part: &Part, constraint: &Constraint) -> Self {
        let largest = constraint.terms.iter().fold(0.0_f64, |most, (_, w)| most.max(w.abs()));
        let tolerance = N::of(CONSTRAINT_TOLERANCE).mul_up(&N::of(largest));
        let mut entries = Vec::new();
        for (k, m) in set.moves.iter().enumerate() {
            if let Some((_, weight)) = constraint.terms.iter().find(|(of, _)| *of == m.input) {
                entries.push((k, N::of(if m.up { *weight } else { -weight })));
            }
        }
        // The activity at the part's centre, rounded down and up.
        let (mut low, mut high) = (N::zero(), N::zero());
        let mut add = |weight: &N, amount: f64| {
            low = low.add_down(&weight.mul_down(&N::of(amount)));
            high = high.add_up(&weight.mul_up(&N::of(amount)));
        };
        constraint.terms.iter().for_each(|(input, w)| add(&N::of(*w), set.centre[*input]));
        for (k, amount) in &part.taken {
            entries.iter().filter(|(of, _)| of == k).for_each(|(_, entry)| add(entry, *amount));
        }
        let finite = |side: f64| side.is_finite().then(|| N::of(side));
        let upper = finite(constraint.upper).map(|side| side.sub_up(&low).add_up(&tolerance));
        let lower = finite(constraint.lower).map(|side| side.sub_down(&high).sub_down(&tolerance));
        Self { entries, lower, upper }
    }
}
