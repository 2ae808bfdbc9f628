//! How a set is divided in two: by how far one pixel moves in one direction.
//!
//! The part in which it moves by at least `t` is told from where it has moved by `t`: the centre goes there, and the budget is smaller by
//! `t`. In the other part its cap is `t`. Both are sets of the same form. What the two halves are is said here and nowhere else, for sets
//! told in pixels ([`InputSet`](super::InputSet)) and in moves ([`MovePart`](super::MovePart)).
//!
//! An input that takes whole numbers only is divided between two of them: `t` is one, and in the other part its cap is `t − 1`. What lies between
//! the halves holds no point of the set.
//!
//! Trap: where the new centre were rounded, a sliver between the halves would be in neither. Such a split is refused.

/// A division of a set by how far a pixel moves in one direction, beyond what it has moved already.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelSplit {
    /// The pixel.
    pub pixel: usize,
    /// Upwards or downwards.
    pub up: bool,
    /// The amount of the move at which the set is cut; positive.
    pub amount: f64,
}

/// One of the two parts that a [`PixelSplit`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The pixel moves by at least the amount. It then does not move the other way.
    AtLeast,
    /// The pixel moves by at most the amount; by at most the amount less 1, if it takes whole numbers only.
    AtMost,
}

impl Half {
    /// The other one.
    pub fn opposite(self) -> Self {
        match self {
            Self::AtLeast => Self::AtMost,
            Self::AtMost => Self::AtLeast,
        }
    }
}

impl PixelSplit {
    /// +1 or −1.
    pub fn sign(&self) -> f64 {
        if self.up { 1.0 } else { -1.0 }
    }
}

/// What the numbers of a set that can be divided are.
pub(super) trait Divide: Clone {
    /// How far a pixel can move in a direction. `None` where it cannot.
    fn cap_mut(&mut self, pixel: usize, up: bool) -> Option<&mut f64>;

    /// Whether a pixel takes whole numbers only. It is at one where it does not move.
    fn is_integer(&self, pixel: usize) -> bool;

    /// What all moves together can spend, if that is limited.
    fn budget_mut(&mut self) -> Option<&mut f64>;

    /// Makes the split's move to its amount. `None` where that would round.
    fn advance(&mut self, split: PixelSplit) -> Option<()>;

    /// Leaves one half of it. `None` where the halves would not cover it; what is left then is not to be used.
    fn keep(&mut self, split: PixelSplit, half: Half) -> Option<()> {
        let PixelSplit { pixel, up, amount } = split;
        let is_integer = self.is_integer(pixel);
        if is_integer && !(amount >= 1.0 && amount.fract() == 0.0) {
            return None;
        }
        if half == Half::AtMost {
            let cap = self.cap_mut(pixel, up)?;
            *cap = cap.min(if is_integer { amount - 1.0 } else { amount });
            return Some(());
        }
        self.advance(split)?;
        let cap = self.cap_mut(pixel, up)?;
        // A cap that was rounded up has the same whole number below it.
        let left = rest(*cap, amount);
        *cap = if is_integer { left.floor() } else { left };
        if let Some(back) = self.cap_mut(pixel, !up) {
            *back = 0.0;
        }
        if let Some(budget) = self.budget_mut() {
            *budget = rest(*budget, amount);
        }
        Some(())
    }

    /// Both halves, at least and at most. `None` where they would not cover it.
    fn halves(&self, split: PixelSplit) -> Option<[Self; 2]> {
        let (mut at_least, mut at_most) = (self.clone(), self.clone());
        at_least.keep(split, Half::AtLeast)?;
        at_most.keep(split, Half::AtMost)?;
        Some([at_least, at_most])
    }
}

/// What is left of a cap or budget, rounded up.
fn rest(room: f64, amount: f64) -> f64 {
    (room - amount).next_up().max(0.0)
}

/// `a + b` if f64 holds it.
pub(super) fn exact_sum(a: f64, b: f64) -> Option<f64> {
    let sum = a + b;
    (sum - a == b && sum - b == a).then_some(sum)
}
