//! Labels in tables: numbers, or names of classes.

use crate::data::Classes;

/// The widths of the columns label, predicted and target: names may be longer than these words.
pub(super) fn label_widths(classes: &Classes) -> [usize; 3] {
    let longest = classes.names().iter().map(|name| name.chars().count()).max().unwrap_or(0);
    ["label", "predicted", "target"].map(|word| word.len().max(longest))
}
