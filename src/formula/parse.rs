//! Linear expressions as people type them: `y0 - 0.5*y3 + 2 y1 + 1.5`, and comparisons of them: `0 <= x0 - x1 <= 0.3`.
//!
//! Numbers are read as f64, and what belongs together is added in f64 in the order in which it stands. Where that overflows, the
//! text is refused: an infinite number has no meaning here but "no limit".

use super::linear::Linear;
use super::reader::{Comparison, LinearError, Reader, Variables};

/// `lower ≤ Σ weight · variable ≤ upper`; a side without a limit is infinite.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// As in [`Linear`].
    pub terms: Vec<(usize, f64)>,
    /// The lower side.
    pub lower: f64,
    /// The upper side.
    pub upper: f64,
}

impl Linear {
    /// Reads an expression over the outputs `y0`, `y1`, … of a model with so many of them.
    ///
    /// ```
    /// # use rw_adv::formula::Linear;
    /// let linear = Linear::of_outputs("y0 - 0.5*y3 + 1", 10)?;
    /// assert_eq!((linear.terms, linear.constant), (vec![(0, 1.0), (3, -0.5)], 1.0));
    /// # Ok::<(), rw_adv::formula::LinearError>(())
    /// ```
    ///
    /// # Errors
    /// When it is none, names an output that does not exist, names none, or overflows.
    pub fn of_outputs(text: &str, outputs: usize) -> Result<Self, LinearError> {
        Self::of(text, &[Variables { letter: 'y', count: outputs, kind: "outputs" }])
    }

    /// Reads an expression over the outputs `y0`, `y1`, … and the inputs `x0`, `x1`, … of a model. Inputs are counted behind the
    /// outputs.
    ///
    /// ```
    /// # use rw_adv::formula::Linear;
    /// let linear = Linear::of_model("y0 - 0.1*x3", 10, 784)?;
    /// assert_eq!(linear.terms, [(0, 1.0), (13, -0.1)]);
    /// # Ok::<(), rw_adv::formula::LinearError>(())
    /// ```
    ///
    /// # Errors
    /// When it is none, names what does not exist, names nothing, or overflows.
    pub fn of_model(text: &str, outputs: usize, inputs: usize) -> Result<Self, LinearError> {
        let outputs = Variables { letter: 'y', count: outputs, kind: "outputs" };
        Self::of(text, &[outputs, Variables { letter: 'x', count: inputs, kind: "inputs" }])
    }

    fn of(text: &str, variables: &[Variables]) -> Result<Self, LinearError> {
        let mut reader = Reader::new(text, variables);
        let linear = reader.expression()?;
        if let Some(found) = reader.peek() {
            return Err(reader.expected("+, - or the end", found));
        }
        if linear.terms.is_empty() {
            let what = if variables.len() > 1 {
                "no output or input (y0, x0, …)"
            } else {
                "no output (y0, y1, …)"
            };
            return Err(reader.wrong(format!("{what} is left in it")));
        }
        Ok(linear)
    }
}

/// Inputs that take whole numbers only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeNumbers {
    /// The inputs, in the order in which they are named.
    pub inputs: Vec<usize>,
    /// Whether these are 0 and 1.
    pub binary: bool,
}

impl WholeNumbers {
    /// Reads `int x1, x4` or `bin x5..x9` about the inputs of a model with so many of them. `None` if the text does not begin with `int` or
    /// `bin`.
    ///
    /// # Errors
    /// When it does, and is not followed by inputs of the model.
    pub fn of_inputs(text: &str, inputs: usize) -> Option<Result<Self, LinearError>> {
        let mut reader =
            Reader::new(text, &[Variables { letter: 'x', count: inputs, kind: "inputs" }]);
        let word = reader.word(&["int", "bin"])?;
        Some(Self::list(&mut reader).map(|inputs| Self { inputs, binary: word == "bin" }))
    }

    /// Inputs and ranges of inputs with commas between them, up to the end.
    fn list(reader: &mut Reader) -> Result<Vec<usize>, LinearError> {
        let mut inputs = Vec::new();
        loop {
            let first = Self::input(reader)?;
            let mut last = first;
            if reader.take('.') {
                if !reader.take('.') {
                    return Err(reader.wrong("a range has two dots: x5..x9"));
                }
                last = Self::input(reader)?;
                if last < first {
                    let range = format!("x{first}..x{last}");
                    return Err(reader.wrong(format!("{range} is empty: write x{last}..x{first}")));
                }
            }
            inputs.extend(first..=last);
            if reader.take(',') {
                continue;
            }
            return match reader.peek() {
                None => Ok(inputs),
                Some(found) => Err(reader.expected("',', '..' or the end", found)),
            };
        }
    }

    fn input(reader: &mut Reader) -> Result<usize, LinearError> {
        match (reader.variable()?, reader.peek()) {
            (Some(input), _) => Ok(input),
            (None, Some(found)) => Err(reader.expected("an input (x0, x1, …)", found)),
            (None, None) => Err(reader.wrong("expected an input (x0, x1, …), found the end")),
        }
    }
}

impl Relation {
    /// Reads one comparison, or two in a row, over the inputs `x0`, `x1`, … of a model with so many of them.
    ///
    /// # Errors
    /// When it is none, names an input that does not exist, names none, or overflows.
    pub fn of_inputs(text: &str, inputs: usize) -> Result<Self, LinearError> {
        let mut reader =
            Reader::new(text, &[Variables { letter: 'x', count: inputs, kind: "inputs" }]);
        let first = reader.expression()?;
        let comparison = reader.comparison("<=, >= or =")?;
        let second = reader.expression()?;
        let relation = if reader.peek().is_none() {
            Self::between(&first, comparison, &second)
        } else {
            let again = reader.comparison("<=, >= or the end")?;
            let third = reader.expression()?;
            if let Some(found) = reader.peek() {
                return Err(reader.expected("the end", found));
            }
            let numbers = first.terms.is_empty() && third.terms.is_empty();
            match (comparison, again) {
                (Comparison::AtMost, Comparison::AtMost) if numbers => {
                    Self::chain(&first, second, &third)
                }
                (Comparison::AtLeast, Comparison::AtLeast) if numbers => {
                    Self::chain(&third, second, &first)
                }
                _ => {
                    return Err(reader.wrong(
                        "two comparisons have a number at each end and point the same way",
                    ));
                }
            }
        };
        let relation = relation.ok_or_else(|| reader.overflow())?;
        if relation.terms.is_empty() {
            return Err(reader.wrong("no input (x0, x1, …) is left in it"));
        }
        Ok(relation)
    }

    /// `left ? right`, unless the difference overflows.
    fn between(left: &Linear, comparison: Comparison, right: &Linear) -> Option<Self> {
        let difference = left.clone().minus(right);
        if !difference.is_finite() {
            return None;
        }
        let Linear { terms, constant } = difference;
        // Not a negative zero.
        let side = 0.0 - constant;
        let (lower, upper) = match comparison {
            Comparison::AtMost => (f64::NEG_INFINITY, side),
            Comparison::AtLeast => (side, f64::INFINITY),
            Comparison::Equal => (side, side),
        };
        Some(Self { terms, lower, upper })
    }

    /// `least ≤ middle ≤ most`, with numbers at the ends, unless a difference overflows.
    fn chain(least: &Linear, middle: Linear, most: &Linear) -> Option<Self> {
        let Linear { terms, constant } = middle;
        let (lower, upper) = (least.constant - constant, most.constant - constant);
        (lower.is_finite() && upper.is_finite()).then_some(Self { terms, lower, upper })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn objective(text: &str) -> (Vec<(usize, f64)>, f64) {
        let linear = Linear::of_outputs(text, 10).unwrap();
        (linear.terms, linear.constant)
    }

    fn relation(text: &str) -> (Vec<(usize, f64)>, f64, f64) {
        let relation = Relation::of_inputs(text, 784).unwrap();
        (relation.terms, relation.lower, relation.upper)
    }

    #[test]
    fn objectives_are_read_as_people_write_them() {
        assert_eq!(objective("y0 - 0.5*y3 + 2 y1"), (vec![(0, 1.0), (1, 2.0), (3, -0.5)], 0.0));
        assert_eq!(objective("y0 + 1.5"), (vec![(0, 1.0)], 1.5));
        assert_eq!(objective("-y0"), (vec![(0, -1.0)], 0.0));
        assert_eq!(objective("  1e-3*y2  "), (vec![(2, 1e-3)], 0.0));
        assert_eq!(objective("2y9"), (vec![(9, 2.0)], 0.0));
        assert_eq!(objective("y4*.5 - -y4 + 3. - 1"), (vec![(4, 1.5)], 2.0));
        assert_eq!(objective("y0 + y1 - y0"), (vec![(1, 1.0)], 0.0));
    }

    #[test]
    fn a_wrong_objective_says_where_and_what_was_expected() {
        for (text, line) in [
            ("", "column 1: expected a number or one of y0, y1, …, found the end"),
            ("y0 +", "column 5: expected a number or one of y0, y1, …, found the end"),
            ("y0 * y1", "column 6: expected a number or one of y0, y1, …, found 'y'"),
            ("2 * ", "column 5: expected a number or one of y0, y1, …, found the end"),
            ("2 ** y1", "column 4: expected a number or one of y0, y1, …, found '*'"),
            ("y0 y1", "column 4: expected +, - or the end, found 'y'"),
            ("(y0)", "column 1: expected a number or one of y0, y1, …, found '('"),
            ("x0", "column 1: expected a number or one of y0, y1, …, found 'x'"),
            ("y", "column 2: expected the number of one of the 10 outputs after y"),
            ("y0 + y10", "column 6: there is no y10: the model has 10 outputs, y0 to y9"),
            (
                "y99999999999999999999",
                "column 1: there is no y99999999999999999999: the model has 10 outputs, y0 to y9",
            ),
            ("1e999 y0", "column 1: 1e999 is too large"),
            (". y0", "column 1: . is not a number"),
            ("y0 <= 1", "column 4: expected +, - or the end, found '<'"),
            ("3", "column 2: no output (y0, y1, …) is left in it"),
            ("y0 - y0", "column 8: no output (y0, y1, …) is left in it"),
            ("2e y0", "column 2: expected +, - or the end, found 'e'"),
            ("1e308 y0 + 1e308 y0", "column 20: the numbers add up to more than an f64 holds"),
            ("y0 - 1e308 - 1e308", "column 19: the numbers add up to more than an f64 holds"),
        ] {
            let error = Linear::of_outputs(text, 10).unwrap_err();
            assert_eq!(error.to_string(), line, "{text}");
        }
    }

    #[test]
    fn comparisons_become_two_sides() {
        let (no_lower, no_upper) = (f64::NEG_INFINITY, f64::INFINITY);
        let sum = vec![(0, 1.0), (1, 1.0), (5, -2.0)];
        assert_eq!(relation("x0 + x1 - 2*x5 <= 1"), (sum.clone(), no_lower, 1.0));
        assert_eq!(relation("x0 + x1 - 1 <= 2*x5"), (sum, no_lower, 1.0));
        assert_eq!(relation("x0 = x1"), (vec![(0, 1.0), (1, -1.0)], 0.0, 0.0));
        assert_eq!(relation("x7 == 0.25"), (vec![(7, 1.0)], 0.25, 0.25));
        assert_eq!(relation("x1 >= 0"), (vec![(1, 1.0)], 0.0, no_upper));
        assert_eq!(relation("0.2 <= x3 <= 0.5"), (vec![(3, 1.0)], 0.2, 0.5));
        assert_eq!(relation("0.5 >= x3 + 1 >= 0.25"), (vec![(3, 1.0)], -0.75, -0.5));
        assert_eq!(relation("0 <= x0 - x1 <= 0.3"), (vec![(0, 1.0), (1, -1.0)], 0.0, 0.3));
    }

    #[test]
    fn a_wrong_comparison_says_where_and_what_was_expected() {
        for (text, line) in [
            ("x0", "column 3: expected <=, >= or =, found the end"),
            ("x0 < 1", "column 4: '<' would leave the border out: write <="),
            ("x0 <= 1 2", "column 9: expected <=, >= or the end, found '2'"),
            ("x0 <= 1 <= 2 <= 3", "column 14: expected the end, found '<'"),
            (
                "0 <= x0 >= 1",
                "column 13: two comparisons have a number at each end and point the same way",
            ),
            (
                "x0 <= x1 <= 1",
                "column 14: two comparisons have a number at each end and point the same way",
            ),
            ("0 <= 1", "column 7: no input (x0, x1, …) is left in it"),
            ("x784 = 1", "column 1: there is no x784: the model has 784 inputs, x0 to x783"),
            ("x0 != 1", "column 4: expected <=, >= or =, found '!'"),
            (
                "1e308*x0 + 1e308*x0 + x1 <= 1",
                "column 26: the numbers add up to more than an f64 holds",
            ),
            ("x0 + 1e308 + 1e308 <= 1", "column 20: the numbers add up to more than an f64 holds"),
            (
                "x1 + 1e308*x0 <= -1e308*x0",
                "column 27: the numbers add up to more than an f64 holds",
            ),
            ("x0 + 1e308 <= -1e308", "column 21: the numbers add up to more than an f64 holds"),
            (
                "-1e308 <= x0 + x1 + 1e308 <= 1",
                "column 31: the numbers add up to more than an f64 holds",
            ),
        ] {
            let error = Relation::of_inputs(text, 784).unwrap_err();
            assert_eq!(error.to_string(), line, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            terms in prop::collection::btree_map(0usize..50, -1e6f64..1e6, 1..8),
            constant in -1e3f64..1e3,
        ) {
            let written = terms.iter().map(|(y, w)| format!("{w:e} * y{y} + ")).collect::<String>();
            let linear = Linear::of_outputs(&format!("{written}{constant}"), 50).unwrap();
            let terms: Vec<(usize, f64)> = terms.into_iter().filter(|(_, w)| *w != 0.0).collect();
            prop_assert_eq!(linear, Linear { terms, constant });
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[ xy0-9.e+*<>=()-]{0,20}") {
            let _ = Linear::of_outputs(&text, 3);
            let _ = Relation::of_inputs(&text, 3);
        }
    }
}
