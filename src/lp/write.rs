//! A program as a file for other solvers, in free MPS or in the LP format.
//!
//! Both formats are written here, with every digit, because readers disagree about what lies beyond the common part of them: some drop a constant
//! in the objective of an LP file, some refuse a row without entries or with two sides. So a constant is the cost of a column that is fixed at 1,
//! a row with two sides is two rows, and a row without entries has the entry 0 at that column.

use std::fmt::Write as _;

use super::entries::NewRows;
use super::program::{LpBounds, Program};

/// The column that is fixed at 1. Its cost is the constant of the objective.
pub const CONSTANT_COLUMN: &str = "one";

/// Lines of LP files are broken once they are longer than this.
const LINE: usize = 200;

/// A program with what only files need.
pub(super) struct ProgramFile<'m> {
    program: &'m Program,
    names: &'m [String],
    constant: f64,
    rows: Vec<OneSidedRow>,
}

/// A row as both formats know it.
struct OneSidedRow {
    name: String,
    sense: RowSense,
    side: f64,
    entries: Vec<(usize, f64)>,
}

#[derive(Clone, Copy)]
enum RowSense {
    AtMost,
    AtLeast,
    Equal,
}

impl RowSense {
    fn mps(self) -> char {
        match self {
            Self::AtMost => 'L',
            Self::AtLeast => 'G',
            Self::Equal => 'E',
        }
    }

    fn lp(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Equal => "=",
        }
    }
}

impl<'m> ProgramFile<'m> {
    /// The program with these rows, whose columns have these names; `constant` is added to its objective.
    pub fn new(program: &'m Program, rows: &NewRows, names: &'m [String], constant: f64) -> Self {
        let mut one_sided = Vec::new();
        for (k, (&lower, &upper)) in rows.lowers.iter().zip(&rows.uppers).enumerate() {
            let mut push = |end: &str, sense, side: f64| {
                if side.is_finite() {
                    let (name, entries) = (format!("r{k}{end}"), rows.entries.item(k).collect());
                    one_sided.push(OneSidedRow { name, sense, side, entries });
                }
            };
            if lower == upper {
                push("", RowSense::Equal, lower);
            } else {
                push("_min", RowSense::AtLeast, lower);
                push("_max", RowSense::AtMost, upper);
            }
        }
        Self { program, names, constant, rows: one_sided }
    }

    /// The columns: name, cost, bounds, whether they take whole numbers only. The constant comes last.
    fn columns(&self) -> impl Iterator<Item = (&str, f64, LpBounds, bool)> {
        let Program { costs, cols, integers, .. } = self.program;
        let columns = self.names.iter().zip(costs).zip(cols).enumerate();
        let columns = columns.map(|(col, ((name, &cost), &bounds))| {
            (name.as_str(), cost, bounds, integers.contains(&col))
        });
        let one = LpBounds { lower: 1.0, upper: 1.0 };
        columns.chain([(CONSTANT_COLUMN, self.constant, one, false)])
    }

    /// In free MPS.
    pub fn mps(&self) -> String {
        let mut by_col: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.names.len()];
        for (k, row) in self.rows.iter().enumerate() {
            for &(col, value) in &row.entries {
                by_col[col].push((k, value));
            }
        }
        // The constant has no entries.
        by_col.push(Vec::new());
        let mut text = "NAME rw-adv\nOBJSENSE\n    MAX\nROWS\n N  obj\n".to_owned();
        for row in &self.rows {
            add(&mut text, format_args!(" {}  {}\n", row.sense.mps(), row.name));
        }
        text += "COLUMNS\n";
        let mut in_integers = false;
        for ((name, cost, _, integer), entries) in self.columns().zip(&by_col) {
            if integer != in_integers {
                let end = if integer { "'INTORG'" } else { "'INTEND'" };
                add(&mut text, format_args!("    MARKER  'MARKER'  {end}\n"));
                in_integers = integer;
            }
            // A column is known once it has an entry: the cost is written in any case.
            add(&mut text, format_args!("    {name}  obj  {cost:?}\n"));
            for &(row, value) in entries {
                add(&mut text, format_args!("    {name}  {}  {value:?}\n", self.rows[row].name));
            }
        }
        text += "RHS\n";
        for OneSidedRow { name, side, .. } in self.rows.iter().filter(|row| row.side != 0.0) {
            add(&mut text, format_args!("    RHS  {name}  {side:?}\n"));
        }
        text += "BOUNDS\n";
        for (name, _, LpBounds { lower, upper }, _) in self.columns() {
            match (lower.is_finite(), upper.is_finite()) {
                (true, true) if lower == upper => {
                    add(&mut text, format_args!(" FX BND  {name}  {lower:?}\n"));
                    continue;
                }
                (true, _) => add(&mut text, format_args!(" LO BND  {name}  {lower:?}\n")),
                (false, true) => add(&mut text, format_args!(" MI BND  {name}\n")),
                (false, false) => add(&mut text, format_args!(" FR BND  {name}\n")),
            }
            if upper.is_finite() {
                add(&mut text, format_args!(" UP BND  {name}  {upper:?}\n"));
            } else if lower.is_finite() {
                add(&mut text, format_args!(" PL BND  {name}\n"));
            }
        }
        text + "ENDATA\n"
    }

    /// In the LP format.
    pub fn lp(&self) -> String {
        let mut text = "Maximize\n".to_owned();
        let costs = self.columns().map(|(name, cost, ..)| (name, cost));
        let nonzero = costs.filter(|&(name, cost)| cost != 0.0 || name == CONSTANT_COLUMN);
        sum(&mut text, "obj", nonzero);
        text += "\nSubject To\n";
        for OneSidedRow { name, sense, side, entries } in &self.rows {
            let entries = entries.iter().map(|&(col, value)| (self.names[col].as_str(), value));
            if entries.len() == 0 {
                sum(&mut text, name, [(CONSTANT_COLUMN, 0.0)]);
            } else {
                sum(&mut text, name, entries);
            }
            add(&mut text, format_args!(" {} {side:?}\n", sense.lp()));
        }
        text += "Bounds\n";
        for (name, _, LpBounds { lower, upper }, _) in self.columns() {
            match (lower.is_finite(), upper.is_finite()) {
                (true, true) => add(&mut text, format_args!(" {lower:?} <= {name} <= {upper:?}\n")),
                (true, false) => add(&mut text, format_args!(" {name} >= {lower:?}\n")),
                (false, true) => add(&mut text, format_args!(" -inf <= {name} <= {upper:?}\n")),
                (false, false) => add(&mut text, format_args!(" {name} free\n")),
            }
        }
        let mut integers = self.columns().filter(|column| column.3).peekable();
        if integers.peek().is_some() {
            text += "General\n";
            for (name, ..) in integers {
                add(&mut text, format_args!(" {name}\n"));
            }
        }
        text + "End\n"
    }
}

/// A named sum of an LP file, over several lines if it is long.
fn sum<'t>(text: &mut String, name: &str, terms: impl IntoIterator<Item = (&'t str, f64)>) {
    add(text, format_args!(" {name}:"));
    let mut line = text.len();
    for (column, value) in terms {
        if text.len() > line + LINE {
            *text += "\n  ";
            line = text.len();
        }
        let sign = if value.is_sign_negative() { '-' } else { '+' };
        add(text, format_args!(" {sign} {:?} {column}", value.abs()));
    }
}

fn add(text: &mut String, words: std::fmt::Arguments) {
    text.write_fmt(words).expect("a string takes all text");
}
