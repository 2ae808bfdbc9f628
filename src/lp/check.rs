//! What must hold before a number or an index reaches the solver, which would refuse it halfway or take it wrongly.

use super::entries::Entries;
use super::highs::{INFINITE, LARGEST_COEFFICIENT};
use super::outcome::LpError;

pub(super) fn same_length(
    what: &'static str,
    found: usize,
    expected: usize,
) -> Result<(), LpError> {
    if found == expected { Ok(()) } else { Err(LpError::Length { what, expected, found }) }
}

/// Numbers that the solver takes for finite.
pub(super) fn finite(what: &'static str, values: &[f64]) -> Result<(), LpError> {
    below(what, values, INFINITE)
}

fn below(what: &'static str, values: &[f64], limit: f64) -> Result<(), LpError> {
    for (position, &value) in values.iter().enumerate() {
        if value.is_nan() {
            return Err(LpError::NotANumber { what, position });
        }
        if value.abs() >= limit {
            return Err(LpError::OutOfRange { what, position, value });
        }
    }
    Ok(())
}

/// Lower bounds may be −∞ and upper bounds ∞. They may cross.
pub(super) fn bounds(lowers: &[f64], uppers: &[f64]) -> Result<(), LpError> {
    for (position, (&lower, &upper)) in lowers.iter().zip(uppers).enumerate() {
        for (what, value, wrong) in
            [("lower bound", lower, lower >= INFINITE), ("upper bound", upper, upper <= -INFINITE)]
        {
            if value.is_nan() {
                return Err(LpError::NotANumber { what, position });
            }
            if wrong {
                return Err(LpError::OutOfRange { what, position, value });
            }
        }
    }
    Ok(())
}

/// Finds repeated indices without a search: it remembers the item that last used each index.
#[derive(Default)]
pub(super) struct EntryCheck {
    item: u64,
    last_used: Vec<u64>,
}

impl EntryCheck {
    /// Finite coefficients, and in each item every index at most once and below `count`.
    pub fn check(
        &mut self,
        entries: &Entries,
        count: usize,
        missing: impl Fn(usize) -> LpError,
    ) -> Result<(), LpError> {
        let Entries { starts, index, values } = entries;
        below("coefficient", values, LARGEST_COEFFICIENT)?;
        self.last_used.resize(self.last_used.len().max(count), 0);
        for item in starts.windows(2) {
            self.item += 1;
            for position in item[0]..item[1] {
                let index = index[position];
                if index >= count {
                    return Err(missing(index));
                }
                if std::mem::replace(&mut self.last_used[index], self.item) == self.item {
                    return Err(LpError::Repeated { position, index });
                }
            }
        }
        Ok(())
    }
}
