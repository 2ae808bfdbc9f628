//! Properties: any of (all of rows).

use super::exact_sign::is_positive;
use super::objective::Objective;

/// A condition on the outputs: any of these conjunctions holds. It describes what is looked for, a counterexample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Property {
    /// Any of them.
    pub any_of: Vec<Conjunction>,
    /// What the input must keep to the letter. Sets are closed, and keep linear constraints to a tolerance; where that is not what was
    /// asked, the rest is said here. Bounds do not look at it: a bound of more inputs is a bound of these.
    pub of_inputs: Vec<InputCondition>,
}

/// All of these rows hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conjunction {
    /// All of them.
    pub all_of: Vec<PropertyRow>,
}

/// A function of the outputs that is not to be negative.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyRow {
    /// The function.
    pub objective: Objective,
    /// Whether it is to be positive.
    pub strict: bool,
    /// How far the objective's constant may be from what was meant, because it was added up in f64. A row holds only where it does for
    /// every constant that may be meant.
    pub slack: f64,
}

/// A linear function of the inputs that is not to be negative.
#[derive(Clone, Debug, PartialEq)]
pub struct InputCondition {
    /// Inputs with their weights, each input once.
    pub terms: Vec<(usize, f64)>,
    /// What is added.
    pub constant: f64,
    /// Whether it is to be positive.
    pub strict: bool,
    /// As in [`PropertyRow`].
    pub slack: f64,
}

impl Property {
    /// One function is positive.
    pub fn positive(objective: Objective) -> Self {
        let row = PropertyRow::new(objective, true);
        Self { any_of: vec![Conjunction { all_of: vec![row] }], of_inputs: Vec::new() }
    }

    /// Positive where outputs have the property, 0 on its border, up to rounding: the smallest row of the best conjunction. NaN where a row
    /// is.
    pub fn value(&self, outputs: &[f64]) -> f64 {
        let values = self.any_of.iter().map(|all| -all.value(outputs));
        -values.fold(f64::INFINITY, smaller)
    }

    /// Whether these outputs have the property: in exact arithmetic.
    pub fn holds(&self, outputs: &[f64]) -> bool {
        self.any_of.iter().any(|all| all.holds(outputs))
    }

    /// Whether an input keeps what is asked of it to the letter.
    pub fn admits(&self, input: &[f64]) -> bool {
        self.of_inputs.iter().all(|condition| condition.holds(input))
    }
}

impl Conjunction {
    /// The smallest row; infinite if there is none.
    pub fn value(&self, outputs: &[f64]) -> f64 {
        let rows = self.all_of.iter().map(|row| row.objective.value(outputs) - row.slack);
        rows.fold(f64::INFINITY, smaller)
    }

    /// Whether all rows hold: in exact arithmetic.
    pub fn holds(&self, outputs: &[f64]) -> bool {
        self.all_of.iter().all(|row| row.holds(outputs))
    }
}

impl PropertyRow {
    /// A function that is to be positive, or, if not `strict`, may be 0.
    pub fn new(objective: Objective, strict: bool) -> Self {
        Self { objective, strict, slack: 0.0 }
    }

    /// Whether it holds: in exact arithmetic.
    pub fn holds(&self, outputs: &[f64]) -> bool {
        let Objective { weights, constant } = &self.objective;
        let products = outputs.iter().copied().zip(weights.iter().copied());
        is_positive(products.chain([(*constant, 1.0), (self.slack, -1.0)]), self.strict)
    }
}

impl InputCondition {
    /// Whether it holds: in exact arithmetic.
    pub fn holds(&self, input: &[f64]) -> bool {
        let products = self.terms.iter().map(|&(i, weight)| (weight, input[i]));
        is_positive(products.chain([(self.constant, 1.0), (self.slack, -1.0)]), self.strict)
    }
}

/// The smaller one, or NaN if one of them is.
fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(weights: &[f64], constant: f64, strict: bool, slack: f64) -> PropertyRow {
        PropertyRow { objective: Objective { weights: weights.to_vec(), constant }, strict, slack }
    }

    fn any_of(rows: &[PropertyRow]) -> Property {
        let one = |row: &PropertyRow| Conjunction { all_of: vec![row.clone()] };
        Property { any_of: rows.iter().map(one).collect(), of_inputs: Vec::new() }
    }

    #[test]
    fn borders_belong_to_rows_that_are_not_strict() {
        for (outputs, open, closed) in
            [([1.0, 1.0], false, true), ([1.0, 0.5], true, true), ([0.5, 1.0], false, false)]
        {
            assert_eq!(any_of(&[row(&[1.0, -1.0], 0.0, true, 0.0)]).holds(&outputs), open);
            assert_eq!(any_of(&[row(&[1.0, -1.0], 0.0, false, 0.0)]).holds(&outputs), closed);
            assert!(!any_of(&[row(&[1.0, -1.0], 0.0, false, 0.75)]).holds(&outputs));
        }
    }

    #[test]
    fn conjunctions_and_properties_by_hand() {
        let both = Conjunction {
            all_of: vec![row(&[1.0, 0.0], 0.0, false, 0.0), row(&[0.0, 1.0], -1.0, false, 0.0)],
        };
        assert_eq!(both.value(&[2.0, 1.5]), 0.5);
        assert!(both.holds(&[0.0, 1.0]) && !both.holds(&[0.0, 0.5]));
        let property =
            Property { any_of: vec![both, Conjunction::default()], of_inputs: Vec::new() };
        assert!(property.holds(&[-1.0, -1.0]), "no row asks for nothing");
        assert_eq!(property.value(&[-1.0, -1.0]), f64::INFINITY);
        assert_eq!(Property::default().value(&[0.0]), f64::NEG_INFINITY);
        assert!(!Property::default().holds(&[0.0]));
        assert!(!any_of(&[row(&[1.0], 0.0, false, 0.0)]).holds(&[f64::NAN]));
    }

    #[test]
    fn inputs_are_held_to_the_letter() {
        // 3 x ≤ 1, and x ≥ 1/3 as f64 has it, which is less than a third.
        let third = 1.0 / 3.0;
        let at_most =
            InputCondition { terms: vec![(0, -3.0)], constant: 1.0, strict: false, slack: 0.0 };
        let below =
            InputCondition { terms: vec![(0, -1.0)], constant: third, strict: true, slack: 0.0 };
        let property = Property { any_of: Vec::new(), of_inputs: vec![at_most.clone()] };
        assert!(property.admits(&[third]) && !property.admits(&[third.next_up()]));
        let property = Property { any_of: Vec::new(), of_inputs: vec![at_most, below] };
        assert!(!property.admits(&[third]) && property.admits(&[third.next_down()]));
    }
}
