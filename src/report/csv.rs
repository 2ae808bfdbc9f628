//! Records for spreadsheets: one row per image and target, a column per field. The only file that says `csv`.

use std::io::{self, Write};

use super::table::Table;
use crate::record::AttackRecord;
use crate::record::json;

/// Writes a head and all rows. What was not computed is an empty cell.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: impl Write, records: &[AttackRecord]) -> io::Result<()> {
    let table = Table::of(records);
    let columns: Vec<&str> = table.columns().collect();
    let mut written = csv::Writer::from_writer(out);
    written.write_record(&columns)?;
    for row in table.rows() {
        written.write_record(columns.iter().map(|&column| cell(row.get(column))))?;
    }
    written.flush()
}

/// A value as a cell. A text that a spreadsheet would take for a formula (a file may have such a name) gets an apostrophe.
fn cell(value: Option<&json::Value>) -> String {
    let text = json::text(value);
    let is_text = value.is_some_and(json::Value::is_string);
    if is_text && text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        return format!("'{text}");
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::record;

    fn written(records: &[AttackRecord]) -> String {
        let mut out = Vec::new();
        write(&mut out, records).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_by_hand() {
        let records = [
            record(0, 2, "robust", r#","margin":-0.1,"gap":null"#),
            record(
                4,
                3,
                "adversarial",
                r#","name":"a \"b\", c.png","seed":18446744073709551615,"bound_trace":[[0.5,2.0]]"#,
            ),
        ];
        let expected = "\
image,name,label,predicted,target,verdict,margin,upper_bound,gap,optimal,distance,changed_pixels,delta,norm,\
margin_f32,margin_png,bound_method,claimed_bound,starts,regions,lps,iterations,nodes,depth,open_nodes,seconds,\
seconds_to_best,stop,seed,png,npy,schema
0,,1,1,2,robust,-0.1,,,false,1.5,3,5.0,l1,-1.0,,,,1,2,3,4,0,0,0,0.0,0.0,no_gain,0,,,rw-adv/1
4,\"a \"\"b\"\", c.png\",1,1,3,adversarial,-1.0,,,false,1.5,3,5.0,l1,-1.0,,,,1,2,3,4,0,0,0,0.0,0.0,no_gain,\
18446744073709551615,,,rw-adv/1
";
        assert_eq!(written(&records), expected);
    }

    #[test]
    fn file_names_are_no_formulas() {
        for name in ["=1+1", "+1", "-1", "@SUM(A1)", "\\t=1"] {
            let text = written(&[record(0, 2, "robust", &format!(r#","name":"{name}""#))]);
            let cell = text.lines().nth(1).unwrap().split(',').nth(1).unwrap();
            assert!(cell.trim_start_matches('"').starts_with('\''), "{text}");
            assert!(text.contains(",-1.0,"), "numbers stay: {text}");
        }
    }
}
