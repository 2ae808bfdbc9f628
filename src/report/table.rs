//! Records as a table: a row each, a column per field.

use crate::record::AttackRecord;
use crate::record::json::{self, Fields};

/// The columns, the most important first. Lists, such as `bound_trace`, have no column.
const COLUMNS: [&str; 33] = [
    "image",
    "name",
    "label",
    "predicted",
    "target",
    "verdict",
    "error",
    "margin",
    "upper_bound",
    "gap",
    "optimal",
    "distance",
    "changed_pixels",
    "delta",
    "norm",
    "margin_f32",
    "margin_png",
    "bound_method",
    "claimed_bound",
    "starts",
    "regions",
    "lps",
    "iterations",
    "nodes",
    "depth",
    "open_nodes",
    "seconds",
    "seconds_to_best",
    "stop",
    "seed",
    "png",
    "npy",
    "schema",
];

/// The fields of all records.
pub(super) struct Table {
    rows: Vec<Fields>,
}

impl Table {
    pub fn of(records: &[AttackRecord]) -> Self {
        Self { rows: records.iter().map(json::fields).collect() }
    }

    /// The names of the columns that some record has, in their order.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        COLUMNS.into_iter().filter(|&column| self.rows.iter().any(|row| row.contains_key(column)))
    }

    /// The rows.
    pub fn rows(&self) -> &[Fields] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::record::record;

    #[test]
    fn every_field_is_a_column_unless_it_is_a_list() {
        let records = [
            record(0, 2, "robust", ""),
            record(1, 2, "unknown", r#","name":"a.png","error":"no","bound_trace":[[0.5,2.0]]"#),
        ];
        let table = Table::of(&records);
        let fields: BTreeSet<&str> =
            table.rows().iter().flat_map(|row| row.keys().map(String::as_str)).collect();
        let columns: BTreeSet<&str> = table.columns().collect();
        assert_eq!(fields.difference(&columns).collect::<Vec<_>>(), [&"bound_trace"]);
        assert_eq!(Table::of(&records[..1]).columns().find(|&column| column == "name"), None);
    }
}
