//! Files by hand, files that are refused, and random formulas against their own truth.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;

use super::*;
use crate::problem::PropertyRow;
use crate::tolerance;

fn read(text: &str) -> VnnlibQuery {
    VnnlibQuery::from_text(text, "p.vnnlib").unwrap_or_else(|error| panic!("{error}"))
}

/// The declarations of so many inputs and outputs in VNN-LIB 1.0.
fn declare(inputs: usize, outputs: usize) -> String {
    let mut text = String::new();
    for (letter, many) in [('X', inputs), ('Y', outputs)] {
        for i in 0..many {
            writeln!(text, "(declare-const {letter}_{i} Real)").unwrap();
        }
    }
    text
}

/// The unit box for so many inputs.
fn unit_box(inputs: usize) -> String {
    (0..inputs).map(|i| format!("(assert (<= X_{i} 1)) (assert (>= X_{i} 0))\n")).collect()
}

fn row(weights: &[f64], constant: f64, strict: bool) -> PropertyRow {
    let objective = crate::problem::Objective { weights: weights.to_vec(), constant };
    PropertyRow { objective, strict, slack: 0.0 }
}

#[test]
fn a_file_of_the_first_version() {
    let text = declare(2, 2)
        + "; comment\n(assert (<= X_0 0.25)) (assert (>= X_0 -1e-1))\n(assert (and (<= X_1 2.) (<= +.5 X_1)))
        (assert (or (and (>= Y_0 Y_1)) (and (<= Y_1 (- 0.5)) (>= (+ Y_0 (* 2 Y_1)) 1)))";
    let query = read(&(text + ")"));
    assert_eq!((query.inputs(), query.outputs(), query.case_count()), (2, 2, 1));
    assert_eq!(query.version(), VnnlibVersion::One);
    let InputCase { domain, property } = query.case(0);
    assert_eq!((domain.lower, domain.upper), (vec![-0.1, 0.5], vec![0.25, 2.0]));
    assert!(domain.constraints.is_empty() && property.of_inputs.is_empty());
    assert_eq!(property.any_of[0].all_of, [row(&[1.0, -1.0], 0.0, false)]);
    let second = [row(&[0.0, -1.0], -0.5, false), row(&[1.0, 2.0], -1.0, false)];
    assert_eq!(property.any_of[1].all_of, second);
}

#[test]
fn a_file_of_the_second_version() {
    let text = "(vnnlib-version <2.0>) ; the version
        (declare-network acc (declare-input X float32 [1,2,2] \"in\") (declare-output Y real []))
        (assert (and (< X[0,1,0] 1.5) (> X [0, 1, 0] 0.5) (<= X[0,0,0] 1) (>= X[0,0,0] 0)
             (== X[0,0,1] 0.25) (<= X[0,1,1] 1) (>= X[0,1,1] 0)))
        (assert (or (< Y 0.5) (== (* 2 Y 3) 12)))";
    let query = read(text);
    let network = query.network().unwrap();
    assert_eq!((network.name.as_str(), network.input.shape.as_slice()), ("acc", &[1, 2, 2][..]));
    assert_eq!((query.inputs(), query.outputs(), query.version()), (4, 1, VnnlibVersion::Two));
    let InputCase { domain, property } = query.case(0);
    assert_eq!(domain.lower, [0.0, 0.25, 0.5, 0.0]);
    assert_eq!(domain.upper, [1.0, 0.25, 1.5, 1.0]);
    // The open sides.
    assert!(property.admits(&[0.0, 0.25, 1.0, 0.0]));
    assert!(!property.admits(&[0.0, 0.25, 1.5, 0.0]) && !property.admits(&[0.0, 0.25, 0.5, 0.0]));
    assert_eq!(property.any_of[0].all_of, [row(&[-1.0], 0.5, true)]);
    assert_eq!(property.any_of[1].all_of, [row(&[-6.0], 12.0, false), row(&[6.0], -12.0, false)]);
}

#[test]
fn conjunctions_about_the_same_inputs_are_one_case() {
    let text = declare(2, 2)
        + &unit_box(2)
        + "(assert (or (and (<= X_0 0.5) (<= Y_0 0)) (and (>= X_0 0.5) (<= Y_0 0)) (and (<= X_0 0.5) (<= Y_1 0))
             (and (>= X_0 0.75) (<= X_0 0.25)) (and (<= X_0 7) (<= Y_1 1))))
           (assert (or (<= Y_0 1) (<= Y_1 2)))";
    let query = read(&text);
    assert_eq!(query.case_count(), 3, "one box is empty");
    let sizes: Vec<usize> = (0..3).map(|i| query.case(i).property.any_of.len()).collect();
    assert_eq!(sizes, [4, 2, 2]);
    assert_eq!(query.case(0).domain.upper, [0.5, 1.0]);
    assert_eq!(query.case(1).domain.lower, [0.5, 0.0]);
    assert_eq!(query.case(2).domain.upper, [1.0, 1.0]);
}

#[test]
fn linear_conditions_on_inputs_are_constraints_and_held_to_the_letter() {
    let text = declare(2, 1)
        + &unit_box(2)
        + "(assert (<= (+ X_0 X_1) 1.5)) (assert (<= (* 3 X_0) 1)) (assert (>= Y_0 0))";
    let InputCase { domain, property } = read(&text).case(0);
    assert_eq!(domain.constraints.len(), 1);
    assert!(domain.violation(&[1.0, 1.0]) == 0.5 && domain.violation(&[1.0, 0.5]) == 0.0);
    let third = 1.0 / 3.0;
    assert!(domain.upper[0] > third && domain.upper[0] < third + 1e-15);
    assert!(property.admits(&[third, 1.0]) && !property.admits(&[third.next_up(), 1.0]));
    assert!(!property.admits(&[0.0, 1.5 + 1e-9]));
}

#[test]
fn what_cannot_be_is_no_case() {
    for never in [
        "(assert (<= 1 0))",
        "(assert (< 1 1))",
        "(assert (== 1 2))",
        "(assert (>= X_0 2))",
        "(assert (and (<= X_0 0.25) (>= X_0 0.5)))",
        "(assert (or (<= 1 0) (>= X_1 3)))",
        "(assert (< X_0 0))",
    ] {
        assert_eq!(read(&(declare(2, 1) + &unit_box(2) + never)).case_count(), 0, "{never}");
    }
    for always in ["(assert (<= 0 0))", "(assert (>= (- 3 1 1) 1))", "(assert (<= Y_0 Y_0))"] {
        let case = read(&(declare(2, 1) + &unit_box(2) + always)).case(0);
        assert!(case.property.any_of[0].all_of.is_empty(), "{always}");
    }
}

#[test]
fn roundings_of_constants_are_kept_beside_them() {
    let text = declare(1, 1) + &unit_box(1);
    let case = read(&(text.clone() + "(assert (<= Y_0 (+ 0.1 0.2)))")).case(0);
    let row = &case.property.any_of[0].all_of[0];
    assert!(row.slack > 0.0 && row.slack < 1e-16);
    let sum = 0.1 + 0.2;
    assert!(!row.holds(&[sum]) && row.holds(&[sum.next_down().next_down()]));
    // As a bound the same is rounded outwards, and said to the letter beside it.
    let case = read(&(text + "(assert (<= (- X_0 0.1) 0.2)) (assert (<= Y_0 0))")).case(0);
    assert!(case.domain.upper[0] > sum && case.domain.upper[0] < sum + 1e-15);
    assert!(!case.property.admits(&[sum]) && case.property.admits(&[0.3]));
    assert!(case.domain.constraints.is_empty());
}

/// What is wrong with a file, without its name.
fn complaint(text: &str) -> String {
    let error = VnnlibQuery::from_text(text, "p").expect_err(text).to_string();
    error.strip_prefix("p: ").unwrap().to_owned()
}

#[test]
fn every_mistake_has_line_and_column() {
    let two = "(vnnlib-version <2.0>)\n(declare-network N (declare-input X real [2]) (declare-output Y real [1]))\n";
    let one = "(declare-const X_0 Real)\n(declare-const Y_0 Real)\n";
    for (start, text, expected) in [
        (one, "(assert (<= X_0 0.5)", "line 3, column 21: expected ')', found the end of the file"),
        (one, "(assert (<= X_0 a))", "line 3, column 17: 'a' is not declared"),
        (one, "(assert (<= X_1 0))", "line 3, column 13: 'X_1' is not declared"),
        (one, "(assert (<= X_0 0 1))", "line 3, column 19: '<=' takes two operands"),
        (one, "(assert (<= X_0))", "line 3, column 10: '<=' takes two operands, found 1"),
        (one, "(assert (and))", "line 3, column 10: 'and' takes at least one operand, found 0"),
        (one, "(assert X_0)", "line 3, column 9: expected a formula, found an expression"),
        (one, "(assert )", "line 3, column 9: expected a formula, found ')'"),
        (
            one,
            "(assert (and X_0))",
            "line 3, column 14: 'and' takes comparisons, found an expression",
        ),
        (
            one,
            "(assert (+ (<= X_0 0) 1))",
            "line 3, column 21: '+' takes numbers and variables, found a formula",
        ),
        (one, "(assert (<= X_0 1.2.3))", "line 3, column 17: '1.2.3' is not a number"),
        (one, "(assert (<= X_0 1e999))", "line 3, column 17: 1e999 is too large for an f64"),
        (
            one,
            "(assert (foo X_0 1))",
            "line 3, column 10: expected and, or, <=, >=, <, >, ==, +, - or *, found 'foo'",
        ),
        (one, "\n\n  x", "line 5, column 3: expected '(', found 'x'"),
        (one, "(declare-const X_0 Real)", "line 3, column 16: X_0 is declared twice"),
        (
            one,
            "(declare-const Z Real)",
            "line 3, column 16: expected a name such as X_0 or Y_0, found 'Z'",
        ),
        (one, "(declare-const X_2 Real)", "declares X_2, but not X_1"),
        ("", "(declare-const X_0 Real)", "declares no Y_0: this is not a property of a network"),
        (
            one,
            "(assert (<= Y_0 0))",
            "input 0 lies between -inf and inf: every input needs bounds between -1e9 and 1e9",
        ),
        (
            one,
            "(assert (and (<= X_0 0) (>= X_0 -1e10)))",
            "input 0 lies between -10000000000 and 0: every input needs bounds between -1e9 and 1e9",
        ),
        (two, "(assert (<= X[2] 0))", "line 3, column 13: X[2]: X has the shape [2]"),
        (two, "(assert (<= X 0))", "line 3, column 13: X[]: X has the shape [2]"),
        (two, "(assert (<= X[0,0] 0))", "line 3, column 13: X[0, 0]: X has the shape [2]"),
        (two, "(assert (<= X[-1] 0))", "line 3, column 15: expected a whole number, found '-1'"),
        (two, "(assert (<= X[0 0))", "line 3, column 17: expected ',' or ']', found '0'"),
        (
            two,
            "(assert (<= X[0] 1e-5))",
            "line 3, column 18: '1e-5': VNN-LIB 2.0 has no exponents, write all digits",
        ),
        (two, "(declare-const X_0 Real)", "line 3, column 16: declare-const is not VNN-LIB 2.0"),
        (two, "(vnnlib-version <2.0>)", "line 3, column 17: the version comes first, and once"),
        (
            "",
            "(vnnlib-version 2)",
            "line 1, column 17: expected a version such as <2.0>, found '2'",
        ),
    ] {
        assert_eq!(complaint(&(start.to_owned() + text)), expected, "{text}");
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let network = |inside: &str| format!("(vnnlib-version <2.0>)\n(declare-network N {inside})");
    let (input, output) = ("(declare-input X real [1])", "(declare-output Y real [1])");
    let plain = network(&format!("{input}{output}"));
    let one = declare(1, 1);
    for (text, expected) in [
        (
            format!("{plain}\n(declare-network M {input}{output})"),
            "line 3, column 2: not supported: several networks (N and M)",
        ),
        (
            network(&format!("(equal-to M){input}{output}")),
            "line 2, column 21: not supported: several networks (equal-to)",
        ),
        (
            network(&format!("{input}(declare-hidden H real [1] \"h\"){output}")),
            "line 2, column 47: not supported: hidden outputs",
        ),
        (
            network(&format!("{input}{input}")),
            "line 2, column 47: not supported: a network of several inputs or outputs (declare-input twice)",
        ),
        (
            network("(declare-input X float16 [1])"),
            "line 2, column 37: not supported: the element type float16: float32 and real are",
        ),
        (
            format!("{plain}\n(assert (!= Y[0] 0))"),
            "line 3, column 10: not supported: the operator !=",
        ),
        (
            format!("{plain}\n(assert (<= (* Y[0] Y[0]) 0))"),
            "line 3, column 21: not supported: a product of variables",
        ),
        (
            format!("{one}(assert (not (<= Y_0 0)))"),
            "line 3, column 10: not supported: the operator not",
        ),
        (
            format!("{one}(assert (<= Y_0 X_0))"),
            "line 3, column 10: not supported: a comparison of inputs with outputs",
        ),
        (format!("{one}(check-sat)"), "line 3, column 2: not supported: the statement check-sat"),
        (
            "(vnnlib-version <3.0>)".into(),
            "line 1, column 17: not supported: VNN-LIB 3.0: 1.0, which has no version line, and 2.0 are",
        ),
        (
            format!("{one}(assert (<= (* 0.1 0.1 Y_0) 0))"),
            "line 3, column 24: not supported: a weight that is no f64: write the product or sum of its factors as one number",
        ),
        (
            format!("{one}(assert (<= (+ 0.1 0.2) 0.30000000000000004))"),
            "line 3, column 10: not supported: numbers that are equal or not, depending on how they are added up",
        ),
    ] {
        assert_eq!(complaint(&text), expected);
    }
}

#[test]
fn deep_nesting_is_refused_and_a_thousand_is_read() {
    let nested = |depth: usize| {
        let open = "(and ".repeat(depth - 1) + "(<= X_0 1)" + &")".repeat(depth - 1);
        declare(1, 1) + "(assert (>= X_0 0))\n(assert " + &open + ")"
    };
    assert_eq!(read(&nested(1000)).case_count(), 1);
    let expected = "line 4, column 5010: expressions nested more than 1000 deep";
    assert_eq!(complaint(&nested(1001)), expected);
    let bomb = declare(1, 1) + "(assert " + &"(+ ".repeat(1_000_000);
    assert!(complaint(&bomb).contains("nested more than 1000 deep"));
    let product = "(assert (or (<= Y_0 0) (<= Y_0 1)))\n".repeat(21);
    let text = declare(1, 1) + &unit_box(1) + &product;
    assert!(complaint(&text).starts_with("line 24, column 2: 'and' of 'or's: multiplied out"));
}

#[test]
fn files_may_be_gzipped_and_bad_ones_say_so() {
    let directory = tempfile::tempdir().unwrap();
    let text = declare(1, 1) + &unit_box(1) + "(assert (<= Y_0 0))";
    let (plain, packed) = (directory.path().join("a.vnnlib"), directory.path().join("a.vnnlib.gz"));
    std::fs::write(&plain, &text).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    std::fs::write(&packed, &bytes).unwrap();
    for path in [&plain, &packed] {
        assert_eq!(VnnlibQuery::read(path).unwrap().case_count(), 1);
    }
    std::fs::write(&packed, &bytes[..bytes.len() / 2]).unwrap();
    let error = VnnlibQuery::read(&packed).unwrap_err().to_string();
    assert!(error.contains("cannot read the file"), "{error}");
    let error = VnnlibQuery::read(&directory.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("none: cannot read the file"), "{error}");
}

/// 50 MB of boxes, each with a property of its own: a second or two.
#[test]
fn a_large_file_is_read() {
    let (inputs, cases) = (8, 112_000);
    let mut text = declare(inputs, 3) + "(assert (or\n";
    for case in 0..cases {
        text += "(and";
        for input in 0..inputs {
            let value = (case * 31 + input * 7) % 1000;
            write!(
                text,
                " (<= X_{input} 0.{value:03}929999999329447746) (>= X_{input} 0.{value:03}0298)"
            )
            .unwrap();
        }
        text += " (<= (+ (* 2.0 Y_0) Y_2) Y_1))\n";
    }
    text += "))";
    assert!(text.len() > 50_000_000, "{}", text.len());
    let query = read(&text);
    assert_eq!(query.case_count(), 1000);
    let rows: usize = (0..1000).map(|i| query.case(i).property.any_of.len()).sum();
    assert_eq!(rows, cases);
}

// Random formulas.

/// A comparison of a linear function of inputs, or of outputs, with 0: weights, constant, operator.
#[derive(Clone, Debug)]
struct RandomRow {
    inputs: bool,
    weights: Vec<i32>,
    constant: i32,
    operator: &'static str,
}

#[derive(Clone, Debug)]
enum RandomFormula {
    Row(RandomRow),
    All(Vec<RandomFormula>),
    Any(Vec<RandomFormula>),
}

const INPUTS: usize = 2;
const OUTPUTS: usize = 3;

impl RandomRow {
    fn holds(&self, x: &[f64], y: &[f64]) -> bool {
        let values = if self.inputs { x } else { y };
        let sum: f64 = self.weights.iter().zip(values).map(|(w, v)| f64::from(*w) * v).sum();
        let sum = sum + 0.25 * f64::from(self.constant);
        match self.operator {
            "<=" => sum <= 0.0,
            ">=" => sum >= 0.0,
            "<" => sum < 0.0,
            ">" => sum > 0.0,
            _ => sum == 0.0,
        }
    }

    /// In one of several ways to write it.
    fn write(&self, way: usize) -> String {
        let letter = if self.inputs { 'X' } else { 'Y' };
        let constant = 0.25 * f64::from(self.constant);
        let terms: Vec<String> = self
            .weights
            .iter()
            .enumerate()
            .map(|(i, w)| match (way + i) % 3 {
                0 => format!("(* {w}.0 {letter}_{i})"),
                1 => format!("(* {letter}_{i} 0.5 {})", 2 * w),
                _ => format!("(- (* {} {letter}_{i}))", -w),
            })
            .collect();
        let sum = terms.join(" ");
        match way % 4 {
            0 => format!("({} (+ {sum} {constant}) 0)", self.operator),
            1 => format!("({} (+ {sum}) {})", self.operator, -constant),
            2 => format!("({} (- (+ {sum}) {}) 0.0)", self.operator, -constant),
            _ => format!("({} 0 (- (- (+ {sum})) (+ 0.25 {constant} -0.25)))", self.operator),
        }
    }
}

impl RandomFormula {
    fn holds(&self, x: &[f64], y: &[f64]) -> bool {
        match self {
            Self::Row(row) => row.holds(x, y),
            Self::All(parts) => parts.iter().all(|part| part.holds(x, y)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(x, y)),
        }
    }

    fn write(&self, way: usize) -> String {
        let inside = |parts: &[Self]| -> String {
            parts.iter().enumerate().map(|(i, part)| format!(" {}", part.write(way + i))).collect()
        };
        match self {
            Self::Row(row) => row.write(way),
            Self::All(parts) => format!("(and{})", inside(parts)),
            Self::Any(parts) => format!("(or{})", inside(parts)),
        }
    }
}

fn random_formula() -> impl Strategy<Value = RandomFormula> {
    let operator = prop::sample::select(vec!["<=", ">=", "<", ">", "=="]);
    let row = (any::<bool>(), prop::collection::vec(-2i32..3, OUTPUTS), -4i32..5, operator);
    let row = row.prop_map(|(inputs, mut weights, constant, operator)| {
        weights.truncate(if inputs { INPUTS } else { OUTPUTS });
        RandomFormula::Row(RandomRow { inputs, weights, constant, operator })
    });
    row.prop_recursive(3, 24, 4, |inner| {
        let parts = prop::collection::vec(inner, 1..4);
        (parts, any::<bool>()).prop_map(|(parts, all)| {
            if all { RandomFormula::All(parts) } else { RandomFormula::Any(parts) }
        })
    })
}

/// Whether the query's cases say that these inputs and outputs are a counterexample.
fn query_holds(query: &VnnlibQuery, x: &[f64], y: &[f64]) -> bool {
    (0..query.case_count()).any(|index| {
        let InputCase { domain, property } = query.case(index);
        let sides = x.iter().zip(domain.lower.iter().zip(&domain.upper));
        let in_box = sides.clone().all(|(x, (lower, upper))| lower <= x && x <= upper);
        let admitted = in_box && property.admits(x);
        // Whoever keeps everything to the letter keeps the constraints.
        assert!(!admitted || domain.violation(x) <= tolerance::CONSTRAINT);
        admitted && property.holds(y)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(random_cases()))]
    #[test]
    fn a_query_is_true_where_its_formula_is(
        formulas in prop::collection::vec(random_formula(), 1..4),
        way in 0usize..12,
        points in prop::collection::vec((prop::collection::vec(-4i32..5, INPUTS), prop::collection::vec(-4i32..5, OUTPUTS)), 24),
    ) {
        let mut text = declare(INPUTS, OUTPUTS);
        for i in 0..INPUTS {
            write!(text, "(assert (and (<= X_{i} 1) (>= X_{i} -1)))").unwrap();
        }
        for formula in &formulas {
            writeln!(text, "(assert {})", formula.write(way)).unwrap();
        }
        let query = read(&text);
        let quarter = |k: &i32| 0.25 * f64::from(*k);
        for (x, y) in &points {
            let (x, y): (Vec<f64>, Vec<f64>) = (x.iter().map(quarter).collect(), y.iter().map(quarter).collect());
            let truth = formulas.iter().all(|formula| formula.holds(&x, &y));
            prop_assert_eq!(query_holds(&query, &x, &y), truth, "{:?} {:?}\n{}", x, y, text);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[()XY_0-9 \n\"\\[\\],;<=>+*.eandorsl-]{0,120}") {
        let _ = VnnlibQuery::from_text(&text, "p");
        let started = declare(1, 1) + &unit_box(1) + "(assert (<= " + &text;
        let _ = VnnlibQuery::from_text(&started, "p");
    }
}

/// `RW_ADV_CASES` asks for so many times more.
fn random_cases() -> u32 {
    300 * std::env::var("RW_ADV_CASES").map_or(1, |text| text.parse::<u32>().unwrap())
}
