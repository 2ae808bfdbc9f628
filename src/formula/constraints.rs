//! Files of bounds and constraints: where inputs may lie when no image says so.
//!
//! One relation a line; `#` begins a comment. What is about a single input is a bound, which takes the place of the
//! box's on that side; of several bounds the tightest holds. All else is a constraint. `int x2` and `bin x5..x9` say which inputs take
//! whole numbers only.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::parse::{Relation, WholeNumbers};
use super::reader::LinearError;
use crate::sets::{Constraint, Domain, NoInteger};

/// Why a file of constraints does not make a domain.
#[derive(Debug, thiserror::Error)]
pub enum ConstraintsError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A line is not a relation.
    #[error("{}: line {line}: {error}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, base 1.
        line: usize,
        /// What is wrong with it.
        error: LinearError,
    },
    /// A bound is too far out.
    #[error("{}: line {line}: x{input} needs bounds between -{far:e} and {far:e}, found {bound}", path.display(), far = Domain::FARTHEST)]
    TooFar {
        /// The file.
        path: PathBuf,
        /// The line, base 1.
        line: usize,
        /// The input.
        input: usize,
        /// Its bound.
        bound: f64,
    },
    /// No whole number is left for an input.
    #[error("{}: line {line}: {error}", path.display())]
    NoInteger {
        /// The file.
        path: PathBuf,
        /// The last line about that input, base 1.
        line: usize,
        /// The input and its bounds.
        error: NoInteger,
    },
    /// Neither 0 nor 1 is left for an input.
    #[error("{}: line {line}: neither 0 nor 1 is left for x{input}: at least {lower} and at most {upper}", path.display())]
    NotBinary {
        /// The file.
        path: PathBuf,
        /// The last line about that input, base 1.
        line: usize,
        /// The input.
        input: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// No value is left for an input.
    #[error("{}: line {line}: nothing is left for x{input}: at least {lower} and at most {upper}", path.display())]
    Crossed {
        /// The file.
        path: PathBuf,
        /// The last line about that input, base 1.
        line: usize,
        /// The input.
        input: usize,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
}

/// What the lines of a file say about one input.
struct InputBounds {
    lower: f64,
    upper: f64,
    line: usize,
}

/// That an input takes whole numbers only, or 0 and 1 only.
struct IntegerLine {
    input: usize,
    binary: bool,
    line: usize,
}

/// What a file says about single inputs.
#[derive(Default)]
struct FileLines {
    bounds: BTreeMap<usize, InputBounds>,
    integers: Vec<IntegerLine>,
}

impl FileLines {
    /// Adds a line about `weight · input`. The bound, if it is too far out.
    fn add_bound(
        &mut self,
        input: usize,
        weight: f64,
        relation: &Relation,
        line: usize,
    ) -> Result<(), f64> {
        let (mut lower, mut upper) = (relation.lower / weight, relation.upper / weight);
        for (side, bound) in [(relation.lower, lower), (relation.upper, upper)] {
            if side.is_finite() && bound.abs() > Domain::FARTHEST {
                return Err(bound);
            }
        }
        if weight < 0.0 {
            (lower, upper) = (upper, lower);
        }
        let (no_lower, no_upper) = (f64::NEG_INFINITY, f64::INFINITY);
        let of_input = InputBounds { lower: no_lower, upper: no_upper, line };
        let of_input = self.bounds.entry(input).or_insert(of_input);
        of_input.lower = of_input.lower.max(lower);
        of_input.upper = of_input.upper.min(upper);
        of_input.line = line;
        Ok(())
    }
}

impl Domain {
    /// Adds the bounds and constraints of a file.
    ///
    /// # Errors
    /// When the file cannot be read, a line makes no sense, or bounds leave nothing of an input.
    pub fn with_file(self, path: &Path) -> Result<Self, ConstraintsError> {
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| ConstraintsError::Io { path: path.to_owned(), error })?;
        self.with_lines(&text, path)
    }

    /// Adds bounds and constraints as a file would hold them, one a line.
    ///
    /// ```
    /// # use rw_adv::sets::Domain;
    /// let domain = Domain::new_box(3, 0.0, 1.0).with_text("x1 <= 0.5\nx0 + x2 <= 1")?;
    /// assert_eq!((domain.upper[1], domain.constraints.len()), (0.5, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a line makes no sense, or bounds leave nothing of an input.
    pub fn with_text(self, text: &str) -> Result<Self, ConstraintsError> {
        self.with_lines(text, Path::new("constraints"))
    }

    fn with_lines(mut self, text: &str, path: &Path) -> Result<Self, ConstraintsError> {
        let mut lines = FileLines::default();
        for (line, content) in text.lines().enumerate().map(|(index, content)| (index + 1, content))
        {
            let content = content.split('#').next().unwrap_or_default();
            if content.trim().is_empty() {
                continue;
            }
            let wrong = |error| ConstraintsError::Line { path: path.to_owned(), line, error };
            if let Some(numbers) = WholeNumbers::of_inputs(content, self.lower.len()) {
                let WholeNumbers { inputs, binary } = numbers.map_err(wrong)?;
                let integers = inputs.into_iter().map(|input| IntegerLine { input, binary, line });
                lines.integers.extend(integers);
                continue;
            }
            let relation = Relation::of_inputs(content, self.lower.len()).map_err(wrong)?;
            let &[(input, weight)] = relation.terms.as_slice() else {
                let Relation { terms, lower, upper } = relation;
                self.constraints.push(Constraint::new(&terms, lower, upper));
                continue;
            };
            lines.add_bound(input, weight, &relation, line).map_err(|bound| {
                let path = path.to_owned();
                ConstraintsError::TooFar { path, line, input, bound }
            })?;
        }
        self.with_bounds(&lines, path)?.with_whole_numbers(&lines, path)
    }

    fn with_bounds(mut self, lines: &FileLines, path: &Path) -> Result<Self, ConstraintsError> {
        for (&input, &InputBounds { lower, upper, line }) in &lines.bounds {
            if lower.is_finite() {
                self.lower[input] = lower;
            }
            if upper.is_finite() {
                self.upper[input] = upper;
            }
            let (lower, upper) = (self.lower[input], self.upper[input]);
            if lower > upper {
                let path = path.to_owned();
                return Err(ConstraintsError::Crossed { path, line, input, lower, upper });
            }
        }
        Ok(self)
    }

    fn with_whole_numbers(
        mut self,
        lines: &FileLines,
        path: &Path,
    ) -> Result<Self, ConstraintsError> {
        for &IntegerLine { input, binary, line } in &lines.integers {
            let path = || path.to_owned();
            let line = lines.bounds.get(&input).map_or(line, |bounds| bounds.line.max(line));
            let (lower, upper) = (self.lower[input], self.upper[input]);
            if binary {
                (self.lower[input], self.upper[input]) = (lower.max(0.0), upper.min(1.0));
                if lower > 1.0 || upper < 0.0 {
                    return Err(ConstraintsError::NotBinary {
                        path: path(),
                        line,
                        input,
                        lower,
                        upper,
                    });
                }
            }
            self = self.with_integers(&[input]).map_err(|error| ConstraintsError::NoInteger {
                path: path(),
                line,
                error,
            })?;
        }
        Ok(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Domain, String> {
        let domain = Domain::new_box(4, 0.0, 1.0).with_lines(text, "limits.txt".as_ref());
        domain.map_err(|error| error.to_string())
    }

    #[test]
    fn bounds_replace_the_box_and_the_rest_is_constraints() {
        let text = "# a comment\n\n -1 <= x0 <= 0.5 # both sides\n-2*x1 <= -0.5\nx1 >= 0.125\nx2 = 0.25\n x3 <= 7\nx0 + x1 - 2*x3 <= 1\n";
        let domain = read(text).unwrap();
        assert_eq!(domain.lower, [-1.0, 0.25, 0.25, 0.0]);
        assert_eq!(domain.upper, [0.5, 1.0, 0.25, 7.0]);
        let constraint = Constraint::new(&[(0, 1.0), (1, 1.0), (3, -2.0)], f64::NEG_INFINITY, 1.0);
        assert_eq!(domain.constraints, [constraint]);
        assert_eq!(domain.clamped(&[2.0, 0.0, 0.3, 5.0]), [0.5, 0.25, 0.25, 5.0]);
        assert_eq!(domain.clamped(&[0.5 - 1e-16, 0.25, 0.25, 7.0 - 1e-9])[..2], [0.5, 0.25]);
        assert_eq!(domain.violation(&[2.0, 1.0, 0.0, 0.0]), 1.0);
    }

    #[test]
    fn whole_numbers_have_whole_bounds() {
        let text = "int x0, x2..x3\n -1.5 <= x0 <= 2.5\nx3 <= 7\nbin x3 # not 7\n0.1*x2 <= 0.3";
        let domain = read(text).unwrap();
        assert_eq!(domain.integers, [0, 2, 3]);
        assert_eq!(domain.lower, [-1.0, 0.0, 0.0, 0.0]);
        // 0.3 / 0.1 is 2.9999999999999996 in f64.
        assert_eq!(domain.upper, [2.0, 1.0, 3.0, 1.0]);
        assert!(domain.is_integral(&[1.0, 0.5, 2.0, 0.0]));
        assert!(!domain.is_integral(&[1.0, 0.5, 2.0 + 1e-9, 0.0]));
    }

    #[test]
    fn every_mistake_names_file_and_line() {
        for (text, line) in [
            (
                "x0 <= 1\nx1 <=",
                "limits.txt: line 2: column 6: expected a number or one of x0, x1, …, found the end",
            ),
            (
                "\nx9 <= 1",
                "limits.txt: line 2: column 1: there is no x9: the model has 4 inputs, x0 to x3",
            ),
            (
                "x0 >= 0.5\nx0 <= 0.25",
                "limits.txt: line 2: nothing is left for x0: at least 0.5 and at most 0.25",
            ),
            ("x0 >= 2", "limits.txt: line 1: nothing is left for x0: at least 2 and at most 1"),
            (
                "int x1, x7",
                "limits.txt: line 1: column 9: there is no x7: the model has 4 inputs, x0 to x3",
            ),
            ("bin", "limits.txt: line 1: column 4: expected an input (x0, x1, …), found the end"),
            ("int x3..x1", "limits.txt: line 1: column 11: x3..x1 is empty: write x1..x3"),
            ("int x0 x1", "limits.txt: line 1: column 8: expected ',', '..' or the end, found 'x'"),
            (
                "int x0\n0.25 <= x0 <= 0.75",
                "limits.txt: line 2: there is no whole number for x0 between 0.25 and 0.75",
            ),
            (
                "2 <= x2 <= 3\n\nbin x2",
                "limits.txt: line 3: neither 0 nor 1 is left for x2: at least 2 and at most 3",
            ),
            (
                "x0 >= -1e16",
                "limits.txt: line 1: x0 needs bounds between -1e9 and 1e9, found -10000000000000000",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), line);
        }
        let missing = Domain::new_box(1, 0.0, 1.0).with_file("no/such/file".as_ref());
        assert!(missing.unwrap_err().to_string().starts_with("no/such/file: "));
    }

    #[test]
    fn what_overflows_is_refused_by_line() {
        for text in [
            "1e308*x0 + 1e308*x0 + x1 <= 1",
            "x0 + 1e308 + 1e308 <= 1",
            "-1e308 <= x0 + x1 + 1e308 <= 1",
        ] {
            let error = read(text).unwrap_err();
            assert!(error.ends_with("the numbers add up to more than an f64 holds"), "{error}");
        }
    }

    /// One of the relations that people write, with numbers that they do not.
    fn line() -> impl Strategy<Value = String> {
        let number = (1u8..10, prop_oneof![-330i32..309, 307..309])
            .prop_map(|(digit, e)| format!("{digit}e{e}"));
        let term = (number, 0usize..6).prop_map(|(number, x)| match x {
            4 | 5 => number,
            x => format!("{number}*x{x}"),
        });
        let sum = prop::collection::vec((term, prop::bool::ANY), 1..4).prop_map(|terms| {
            terms
                .iter()
                .map(|(t, minus)| format!(" {} {t}", if *minus { '-' } else { '+' }))
                .collect()
        });
        let sign = prop::sample::select(vec!["<=", ">=", "="]);
        prop::collection::vec((sum, sign), 2..4).prop_map(|sides: Vec<(String, &str)>| {
            let mut text = sides[0].0.clone();
            for pair in sides.windows(2) {
                text += &format!(" {}{}", pair[0].1, pair[1].0);
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_file_makes_the_reader_panic_or_leaves_a_number_that_is_none(
            lines in prop::collection::vec(prop_oneof![line(), "[ x0-9.e+*<>=#()-]{0,20}", "(int|bin) x[0-9,. x]{0,9}"], 0..4),
        ) {
            let Ok(Domain { lower, upper, constraints, integers }) = read(&lines.join("\n")) else {
                return Ok(());
            };
            for &input in &integers {
                prop_assert!(lower[input].fract() == 0.0 && upper[input].fract() == 0.0);
            }
            for (lower, upper) in lower.iter().zip(&upper) {
                prop_assert!(lower <= upper && lower.abs().max(upper.abs()) <= Domain::FARTHEST);
            }
            for constraint in constraints {
                prop_assert!(constraint.terms().iter().all(|(_, weight)| weight.abs() <= 1.0));
                prop_assert!(!constraint.lower().is_nan() && !constraint.upper().is_nan());
            }
        }
    }
}
