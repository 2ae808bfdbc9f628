//! The comparisons of a file, all in one place: a large file has millions.

use super::dnf::ConditionId;
use super::error::Position;
use super::linear_form::{LinearFault, LinearForm, Variable};

/// What is asked of a linear function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requirement {
    /// `≥ 0`.
    NonNegative,
    /// `> 0`.
    Positive,
    /// `= 0`.
    Zero,
}

/// One comparison: a linear function and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition<'c> {
    /// Each variable once, in their order, no weight 0.
    pub terms: &'c [(Variable, f64)],
    pub constant: f64,
    /// How far the constant may be from what the file says.
    pub slack: f64,
    pub requirement: Requirement,
    /// Where it stands.
    pub at: Position,
}

/// All comparisons.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    terms: Vec<(Variable, f64)>,
    entries: Vec<ConditionEntry>,
}

#[derive(Debug)]
struct ConditionEntry {
    /// Its terms go from where those of the entry before end up to here.
    end: usize,
    constant: f64,
    slack: f64,
    requirement: Requirement,
    at: Position,
}

impl Conditions {
    /// Adds a comparison of `form` with 0.
    pub fn add(
        &mut self,
        form: LinearForm,
        requirement: Requirement,
        at: Position,
    ) -> Result<ConditionId, LinearFault> {
        let LinearForm { terms, constant, slack } = form.gathered()?;
        let id = ConditionId::try_from(self.entries.len()).map_err(|_| LinearFault::Overflow)?;
        self.terms.extend(terms);
        let end = self.terms.len();
        self.entries.push(ConditionEntry { end, constant, slack, requirement, at });
        Ok(id)
    }

    /// One of them.
    pub fn get(&self, id: ConditionId) -> Condition<'_> {
        let index = id as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.entries[before].end);
        let &ConditionEntry { end, constant, slack, requirement, at } = &self.entries[index];
        Condition { terms: &self.terms[start..end], constant, slack, requirement, at }
    }
}
