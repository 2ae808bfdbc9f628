//! What a caller may ask of a solve.

/// Which simplex to use. After new rows or changed bounds the last basis suits the dual one, after new columns or changed
/// costs the primal one. Without effect if there are integer columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simplex {
    /// Keeps the reduced costs right and works on the bounds.
    Dual,
    /// Keeps the point inside its bounds and works on the objective.
    Primal,
    /// The solver decides by the basis at hand.
    Choose,
}

/// What branch and bound calls while it works.
pub struct Callbacks<'c> {
    /// Gets every better point, one value per column.
    pub on_improvement: &'c mut dyn FnMut(&[f64]),
    /// Is asked now and then whether to stop.
    pub should_stop: &'c dyn Fn() -> bool,
    /// Is asked whether the caller wants an answer at once, whatever the solver is doing. Only with integer columns; without it the caller waits.
    pub gives_up: Option<&'c dyn Fn() -> bool>,
}
