//! Model files, word by word: readers of other solvers are tried by `scripts/check_models.py`.

use std::fs;

use super::*;

/// `max 2a − b + 0.1 z + 7` with a row of two sides, an equation, a row without entries, a row without sides, a column without bounds, and a binary.
fn model() -> LpModel {
    let mut model = LpModel::new();
    let a = model.add_col(2.0, 0.0, 1.5, &[]);
    let b = model.add_col(-1.0, -INF, INF, &[]);
    let z = model.add_col(0.1, 0.0, 1.0, &[]);
    model.set_integer(z);
    model.add_row(-1.0, 4.0, &[(a, 1.0), (b, -2.5)]);
    model.add_row(0.25, 0.25, &[(b, 1e-7), (z, 3.0)]);
    model.add_row(-INF, 5.0, &[]);
    model.add_row(-INF, INF, &[(a, 1.0)]);
    model
}

fn written(name: &str, constant: f64) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(name);
    model().write(&path, &["a", "b", "z"].map(String::from), constant).expect("written");
    fs::read_to_string(path).expect("text")
}

#[test]
fn an_lp_file_has_its_constant_in_a_column() {
    let text = "Maximize\n obj: + 2.0 a - 1.0 b + 0.1 z + 7.0 one\nSubject To\n \
        r0_min: + 1.0 a - 2.5 b >= -1.0\n r0_max: + 1.0 a - 2.5 b <= 4.0\n \
        r1: + 1e-7 b + 3.0 z = 0.25\n r2_max: + 0.0 one <= 5.0\nBounds\n \
        0.0 <= a <= 1.5\n b free\n 0.0 <= z <= 1.0\n 1.0 <= one <= 1.0\nGeneral\n z\nEnd\n";
    assert_eq!(written("net.lp", 7.0), text);
}

#[test]
fn an_mps_file_has_the_same_rows_and_columns() {
    let text = "NAME rw-adv\nOBJSENSE\n    MAX\nROWS\n N  obj\n G  r0_min\n L  r0_max\n E  r1\n L  r2_max\nCOLUMNS\n    \
        a  obj  2.0\n    a  r0_min  1.0\n    a  r0_max  1.0\n    \
        b  obj  -1.0\n    b  r0_min  -2.5\n    b  r0_max  -2.5\n    b  r1  1e-7\n    \
        MARKER  'MARKER'  'INTORG'\n    z  obj  0.1\n    z  r1  3.0\n    MARKER  'MARKER'  'INTEND'\n    \
        one  obj  7.0\nRHS\n    RHS  r0_min  -1.0\n    RHS  r0_max  4.0\n    RHS  r1  0.25\n    RHS  r2_max  5.0\nBOUNDS\n \
        LO BND  a  0.0\n UP BND  a  1.5\n FR BND  b\n LO BND  z  0.0\n UP BND  z  1.0\n FX BND  one  1.0\nENDATA\n";
    assert_eq!(written("net.mps", 7.0), text);
}

#[test]
fn long_sums_are_broken_into_lines() {
    let mut model = LpModel::new();
    let cols: Vec<Col> = (0..200).map(|_| model.add_col(1.0, 0.0, 1.0, &[])).collect();
    let entries: Vec<(Col, f64)> = cols.iter().map(|&col| (col, -0.123_456_789)).collect();
    model.add_row(-INF, 1.0, &entries);
    let names: Vec<String> = (0..200).map(|k| format!("column_{k}")).collect();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("net.lp");
    model.write(&path, &names, 0.0).expect("written");
    let text = fs::read_to_string(&path).expect("text");
    assert!(text.lines().all(|line| line.len() < 256), "{text}");
    assert_eq!(text.matches("- 0.123456789 column_").count(), 200);
    let missing = model.write(&path, &names[1..], 0.0);
    assert!(matches!(missing, Err(LpError::Length { .. })), "{missing:?}");
}
