//! A share of the work: every `count`-th image, from the `index`-th on.

use std::fmt;
use std::str::FromStr;

/// One of several shares. Shards are numbered from 1, as Slurm's arrays may be and GNU parallel's jobs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Share `index` of `count`; `None` unless `1 ≤ index ≤ count`.
    pub fn new(index: usize, count: usize) -> Option<Self> {
        (1..=count).contains(&index).then_some(Self { index, count })
    }

    /// All shares.
    pub fn all(count: usize) -> impl Iterator<Item = Self> {
        (1..=count).map(move |index| Self { index, count })
    }

    /// The number of this share, base 1.
    pub fn index(self) -> usize {
        self.index
    }

    /// Whether the image at this place (base 0) of all images asked for is in this share.
    pub fn holds(self, place: usize) -> bool {
        place % self.count == self.index - 1
    }
}

/// As it can be typed again.
impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(index, count)| {
            Some((index.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
        });
        let (index, count) = parsed.ok_or("must be I/N, such as 3/16, or auto")?;
        Self::new(index, count).ok_or_else(|| match count {
            0 => "there must be at least one shard".into(),
            _ => format!("shards are numbered from 1 to {count}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_is_in_one_shard() {
        for count in 1..7 {
            for place in 0..20 {
                assert_eq!(Shard::all(count).filter(|shard| shard.holds(place)).count(), 1);
            }
        }
    }

    #[test]
    fn shards_are_typed_as_they_are_shown() {
        for text in ["1/1", "3/16", "16/16"] {
            assert_eq!(text.parse::<Shard>().map(|shard| shard.to_string()), Ok(text.into()));
        }
        for text in ["", "3", "0/4", "5/4", "0/0", "a/4", "1/", "-1/4", "1/4/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
