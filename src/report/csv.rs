//! Records for spreadsheets: one row per image and target, a column per field. The only file that says `csv`.

use std::io::{self, Write};

use super::entry::{Entry, fields};

/// Writes a head and all rows. What was not computed is an empty cell.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: impl Write, rows: &[Entry]) -> io::Result<()> {
    let columns = fields(rows);
    let mut table = csv::Writer::from_writer(out);
    table.write_record(&columns)?;
    for row in rows {
        table.write_record(columns.iter().map(|field| row.text(field)))?;
    }
    table.flush()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::entry::tests::row;
    use super::*;

    fn written(rows: &[Entry]) -> String {
        let mut out = Vec::new();
        write(&mut out, rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_by_hand() {
        let rows = [
            row(0, 2, "robust", r#","margin":-0.1,"gap":null,"optimal":false"#),
            row(4, 3, "adversarial", r#","name":"a \"b\", c.png","seed":18446744073709551615"#),
        ];
        let expected = "\
image,name,label,predicted,target,verdict,margin,gap,optimal,seed
0,,1,1,2,robust,-0.1,,false,
4,\"a \"\"b\"\", c.png\",1,1,3,adversarial,,,,18446744073709551615
";
        assert_eq!(written(&rows), expected);
    }
}
