//! Every epsilon, with its reason.

/// A neuron whose pre-activation has the wrong sign by more than this gets its row in a region LP. Below HiGHS's own
/// feasibility tolerance (1e-7) there would be nothing to gain: the LP would not move. Within it a neuron may take either state.
pub const VIOLATION: f64 = 1e-7;

/// A neuron whose row is in the LP may have the wrong sign by this much: HiGHS keeps rows to 1e-7 after scaling. More
/// means that the answer is wrong.
pub const BROKEN_ROW: f64 = 1e-4;

/// A move whose reduced cost exceeds this joins a region LP; HiGHS's optimality tolerance is 1e-7.
pub const REDUCED_COST: f64 = 1e-7;

/// Duals below this are noise: their rows do not hold the optimum back.
pub const DUAL: f64 = 1e-7;

/// A walk goes on while a step gains more than this; LP optima agree to about 1e-7.
pub const GAIN: f64 = 1e-6;

/// How far an LP's point may be outside the set before it is put back: HiGHS keeps bounds to 1e-7.
pub const INSIDE: f64 = 1e-9;

/// How far a point may break a linear constraint on the input, in units of the constraint's largest weight: HiGHS keeps
/// rows, and the columns in them, to 1e-7. Bounds are proven for all points that keep this.
pub const CONSTRAINT: f64 = 2e-7;

/// A pixel counts as changed from here on: less is what rounding makes of a projection.
pub const CHANGED: f64 = 1e-9;

/// How far an optimal point of the LP solver may be outside its bounds, relative to bounds above 1: ten times HiGHS's own
/// feasibility tolerance. A point further outside is not an answer.
pub const LP_FEASIBLE: f64 = 1e-6;

/// How far the LP solver's objective may be from `c · x`, relative to the sum of the terms' sizes. More means that the answer
/// is wrong.
pub const LP_OBJECTIVE: f64 = 1e-6;

/// Bounds of an LP that cross by more are infeasible: HiGHS's feasibility tolerance.
pub const LP_CROSSING: f64 = 1e-7;

/// How much shorter the judge makes a perturbation that reaches the surface of a ball, relative to its length, and how far beyond the
/// surface it still counts as reaching it. Above the rounding of an `f64` sum of a million values and an LP's
/// tolerance, below what moves a margin.
pub const HAIR: f64 = 1e-7;

/// Below this gap between the best value and the bound a value counts as optimal, unless another gap is asked for.
pub const OPTIMAL_GAP: f64 = 1e-6;

/// A bound that is worked out once more, maybe on another machine, may differ from the stored one by this much, relative to its magnitude or
/// to 1: the order of sums and fused multiplications differ, and they differ in the last bits only.
pub const REPLAYED_BOUND: f64 = 1e-9;

/// Sums of magnitudes before and after a layer's operations were folded into one agree to this, relative, where nothing cancelled: both are f64
/// sums of at most a million terms. What is left of the difference counts as cancelled.
pub const FOLDED_GAIN: f64 = 1e-9;
