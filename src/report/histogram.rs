//! Two samples as bars of characters, one above the other bin by bin, so that they can be compared at a glance.

use std::io::{self, Write};

/// At most this many bins. Their width is 1, 2 or 5 times a power of ten, so there may be fewer.
const BINS: usize = 12;
/// Length of the longest bar.
const LONGEST: usize = 40;

/// A line per bin and sample: bounds, name, count, bar. Nothing when there are no values.
pub fn histogram(out: &mut impl Write, samples: &[(&str, &[f64])]) -> io::Result<()> {
    let values = || samples.iter().flat_map(|(_, values)| values.iter().copied());
    let Some(largest) = values().reduce(f64::max) else { return Ok(()) };
    let smallest = values().fold(largest, f64::min);
    let width = bin_width(smallest, largest);
    let bin = |value: f64| (value / width).floor() as usize;
    let (first, last) = (bin(smallest), bin(largest));
    let counts: Vec<Vec<usize>> = samples
        .iter()
        .map(|(_, values)| {
            let mut counts = vec![0; last - first + 1];
            values.iter().for_each(|&value| counts[bin(value) - first] += 1);
            counts
        })
        .collect();
    let most = counts.iter().flatten().copied().max().unwrap_or(0).max(1);
    let decimals = (-width.log10().floor()).max(0.0) as usize;
    let digits = format!("{:.decimals$}", (last + 1) as f64 * width).len();
    let names = samples.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for k in 0..=last - first {
        let (from, to) = ((first + k) as f64 * width, (first + k + 1) as f64 * width);
        let mut bounds = format!("{from:>digits$.decimals$} .. {to:>digits$.decimals$}");
        for ((name, _), counts) in samples.iter().zip(&counts) {
            // Rounded up: the smallest count still shows.
            let bar = "#".repeat((counts[k] * LONGEST).div_ceil(most));
            let line = format!("{bounds}  {name:<names$} {:>5} {bar}", counts[k]);
            writeln!(out, "{}", line.trim_end())?;
            bounds = " ".repeat(bounds.len());
        }
    }
    Ok(())
}

/// The narrowest round width with which the values fit the bins.
fn bin_width(smallest: f64, largest: f64) -> f64 {
    // Equal values share one bin, as wide as the value.
    let spread = if largest > smallest { largest - smallest } else { largest.max(1e-6) };
    let wanted = spread / (BINS - 2) as f64;
    let power = 10.0f64.powf(wanted.log10().floor());
    let round = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= wanted);
    round.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(samples: &[(&str, &[f64])]) -> String {
        let mut out = Vec::new();
        histogram(&mut out, samples).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_histogram_by_hand() {
        let text = drawn(&[("low", &[0.0, 0.5, 1.5]), ("lower", &[9.5])]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!(" 0 ..  1  low       2 {}", "#".repeat(40)));
        assert_eq!(lines[1], format!("{:10}lower     0", ""));
        assert_eq!(lines[2], format!(" 1 ..  2  low       1 {}", "#".repeat(20)));
        assert_eq!(lines[18], " 9 .. 10  low       0");
        assert_eq!(lines[19], format!("{:10}lower     1 {}", "", "#".repeat(20)));
        assert_eq!(lines.len(), 20);
    }

    #[test]
    fn nothing_few_and_equal_values_are_drawn_too() {
        assert_eq!(drawn(&[("a", &[]), ("b", &[])]), "");
        for value in [0.0, 1e-9, 0.02, 3.0, 784.0] {
            let text = drawn(&[("a", &[value, value])]);
            assert_eq!(text.lines().count(), 1, "{value}: {text}");
            assert!(text.contains("2 ####"), "{value}: {text}");
        }
    }

    #[test]
    fn about_ten_bins_whatever_the_scale() {
        for scale in [1e-4, 0.3, 1.0, 7.0, 784.0] {
            let values: Vec<f64> = (0..100).map(|k| scale * (1.0 + f64::from(k) / 40.0)).collect();
            let bins = drawn(&[("a", &values)]).lines().count();
            assert!((5..=BINS).contains(&bins), "{scale}: {bins}");
        }
    }
}
