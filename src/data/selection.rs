//! Which images of the data to look at: the value of `--images`.
//!
//! The trap is the number that stands alone: `7` is the first seven images, `7,` and `7..8` are the image with
//! index 7.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::error::SampleError;

/// A choice of images: the first so many, or some indices (base 0) in the order they were typed.
///
/// ```
/// use rw_adv::data::Selection;
/// let selection: Selection = "0..3,9".parse()?;
/// assert_eq!(selection.indices(10)?, [0, 1, 2, 9]);
/// # Ok::<(), rw_adv::data::SampleError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(ImageChoice);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ImageChoice {
    /// That many from the front, at least one.
    First(usize),
    /// Ranges that are neither empty nor overlap.
    Ranges(Vec<Range<usize>>),
}

impl Selection {
    /// The chosen indices, in order.
    ///
    /// # Errors
    /// When one of them is not below `len`, the number of images there are.
    pub fn indices(&self, len: usize) -> Result<Vec<usize>, SampleError> {
        let end = match &self.0 {
            ImageChoice::First(count) => *count,
            ImageChoice::Ranges(ranges) => ranges.iter().map(|range| range.end).max().unwrap_or(0),
        };
        if end > len {
            let asked = format!("--images {self}");
            return Err(SampleError::BeyondData { asked, len });
        }
        Ok(match &self.0 {
            ImageChoice::First(count) => (0..*count).collect(),
            ImageChoice::Ranges(ranges) => ranges.iter().cloned().flatten().collect(),
        })
    }
}

impl FromStr for Selection {
    type Err = SampleError;

    fn from_str(text: &str) -> Result<Self, SampleError> {
        let text = text.trim();
        let choice = if text.contains(',') || text.contains("..") {
            parse_ranges(text).map(ImageChoice::Ranges)
        } else {
            parse_count(text).map(ImageChoice::First)
        };
        choice.map(Selection).map_err(SampleError::Selection)
    }
}

fn parse_count(text: &str) -> Result<usize, String> {
    if text.is_empty() {
        return Err("no images chosen".into());
    }
    match parse_number(text)? {
        0 => Err("a count of 0 chooses no images (the image with index 0 is `0,`)".into()),
        count => Ok(count),
    }
}

fn parse_ranges(text: &str) -> Result<Vec<Range<usize>>, String> {
    let list = text.strip_suffix(',').unwrap_or(text);
    let ranges: Vec<_> = list.split(',').map(parse_range).collect::<Result<_, _>>()?;
    let mut in_order: Vec<_> = ranges.iter().collect();
    in_order.sort_by_key(|range| range.start);
    for pair in in_order.windows(2) {
        if pair[1].start < pair[0].end {
            return Err(format!("index {} is chosen twice", pair[1].start));
        }
    }
    Ok(ranges)
}

fn parse_range(text: &str) -> Result<Range<usize>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("an index is missing beside a comma".into());
    }
    let Some((start, end)) = text.split_once("..") else {
        let index = parse_number(text)?;
        let end = index.checked_add(1).ok_or_else(|| too_large(text))?;
        return Ok(index..end);
    };
    if start.is_empty() || end.is_empty() {
        return Err(format!("the range `{text}` lacks an end"));
    }
    let range = parse_number(start)?..parse_number(end)?;
    if range.is_empty() {
        return Err(format!(
            "the range `{text}` is empty (it runs from the first index to just before the second)"
        ));
    }
    Ok(range)
}

fn parse_number(text: &str) -> Result<usize, String> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("`{text}` is not a number"));
    }
    text.parse().map_err(|_| too_large(text))
}

fn too_large(text: &str) -> String {
    format!("`{text}` is too large")
}

/// As it can be typed again: a single index keeps its comma.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = match &self.0 {
            ImageChoice::First(count) => return write!(f, "{count}"),
            ImageChoice::Ranges(ranges) => ranges,
        };
        for (place, range) in ranges.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            if range.len() == 1 {
                write!(f, "{comma}{}", range.start)?;
            } else {
                write!(f, "{comma}{}..{}", range.start, range.end)?;
            }
        }
        match ranges[..] {
            [Range { start, end }] if end - start == 1 => write!(f, ","),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn indices(text: &str) -> Result<Vec<usize>, String> {
        let selection: Selection = text.parse().map_err(|error: SampleError| error.to_string())?;
        selection.indices(10_000).map_err(|error| error.to_string())
    }

    #[test]
    fn every_spelling_chooses_what_it_says() {
        for (text, expected) in [
            ("3", vec![0, 1, 2]),
            ("3,7,9", vec![3, 7, 9]),
            ("9,3", vec![9, 3]),
            ("100..103", vec![100, 101, 102]),
            ("0..3,9", vec![0, 1, 2, 9]),
            ("9, 0..2", vec![9, 0, 1]),
            ("7,", vec![7]),
            ("7..8", vec![7]),
            ("0,", vec![0]),
            (" 2 ", vec![0, 1]),
        ] {
            assert_eq!(indices(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_and_named() {
        for (text, problem) in [
            ("", "no images chosen"),
            ("0", "a count of 0"),
            ("x", "`x` is not a number"),
            ("-3", "`-3` is not a number"),
            ("+3", "`+3` is not a number"),
            ("1e3", "`1e3` is not a number"),
            ("5..5", "the range `5..5` is empty"),
            ("9..5", "the range `9..5` is empty"),
            ("5..", "the range `5..` lacks an end"),
            ("..5", "the range `..5` lacks an end"),
            ("1..=5", "`=5` is not a number"),
            ("1...5", "`.5` is not a number"),
            (",", "an index is missing"),
            (",7", "an index is missing"),
            ("7,,9", "an index is missing"),
            ("7,,", "an index is missing"),
            ("3,7,3", "index 3 is chosen twice"),
            ("0..5,4", "index 4 is chosen twice"),
            ("99999999999999999999", "is too large"),
            ("18446744073709551615,", "is too large"),
            ("0..99999999999999999999", "is too large"),
        ] {
            let error = indices(text).unwrap_err();
            assert!(error.contains(problem) && error.contains("write a count"), "{text}: {error}");
        }
    }

    #[test]
    fn indices_beyond_the_data_are_refused_without_listing_them() {
        for text in ["9990..10010", "10001", "10000,", "0..18446744073709551615"] {
            let error = indices(text).unwrap_err();
            assert_eq!(error, format!("--images {text}: the data holds 10000 images"));
        }
        assert_eq!(indices("10000").unwrap().len(), 10_000);
    }

    fn any_selection() -> impl Strategy<Value = Selection> {
        let count = (1usize..).prop_map(ImageChoice::First);
        // Steps and lengths in turn make ranges that cannot overlap; shuffled, since order is kept.
        let ranges = prop::collection::vec((0usize..50, 1usize..5), 1..6)
            .prop_map(|steps| {
                let mut at = 0;
                let range = |(gap, len)| {
                    let start = at + gap;
                    at = start + len;
                    start..at
                };
                steps.into_iter().map(range).collect::<Vec<_>>()
            })
            .prop_shuffle()
            .prop_map(ImageChoice::Ranges);
        prop_oneof![count, ranges].prop_map(Selection)
    }

    proptest! {
        #[test]
        fn what_is_displayed_parses_to_the_same(selection in any_selection()) {
            prop_assert_eq!(selection.to_string().parse::<Selection>().unwrap(), selection);
        }

        #[test]
        fn chosen_indices_are_distinct_and_in_the_data(selection in any_selection(), len in 1usize..400) {
            if let Ok(indices) = selection.indices(len) {
                let mut distinct = indices.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), indices.len());
                prop_assert!(indices.iter().all(|&index| index < len));
            }
        }

        #[test]
        fn any_text_parses_or_is_refused_without_panic(text in "[0-9.,x ]{0,12}") {
            let _ = indices(&text);
        }
    }
}
