//! From values to places along an axis, and the round numbers to write beside it.

/// Larger values count as infinite, so that twice this is still finite.
const LARGEST: f64 = 1e300;
/// A range is never narrower than this, relative to its larger end: ticks then differ within eight digits.
const NARROWEST: f64 = 1e-6;
/// An axis has at most about this many labels, however small they are.
const MOST_LABELS: f64 = 10.0;

/// Whether a value has a place on some axis.
pub fn drawable(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// A range of values, and how it is spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

/// A place on an axis where a number may be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub value: f64,
    /// Empty between the numbers.
    pub label: String,
}

impl Scale {
    /// A scale on which all drawable values find a place, those at the ends `margin` (a share of the length) inside. It
    /// is linear when a logarithmic one, though asked for, has no place for some value.
    pub fn around(values: impl IntoIterator<Item = f64>, log: bool, margin: f64) -> Self {
        let mut ends: Option<(f64, f64)> = None;
        for value in values.into_iter().filter(|&value| drawable(value)) {
            let (low, high) = ends.unwrap_or((value, value));
            ends = Some((low.min(value), high.max(value)));
        }
        let log = log && ends.is_none_or(|(low, _)| low >= 1.0 / LARGEST);
        let Some((low, high)) = ends else {
            return if log { Self { low: 1.0, high: 10.0, log } } else { Self::linear(0.0, 1.0) };
        };
        if log {
            let (low, high) = (low.log10(), high.log10());
            // Of a value alone the neighbourhood: from half to twice as much.
            let narrow = high - low < NARROWEST;
            let margin = if narrow { 2f64.log10() } else { margin * (high - low) };
            // Beyond these ends, powers of ten are zero or infinite.
            let end = |power: f64| 10f64.powf(power.clamp(-307.0, 307.0));
            return Self { low: end(low - margin), high: end(high + margin), log };
        }
        let size = low.abs().max(high.abs());
        let margin = match high - low {
            _ if size < 1.0 / LARGEST => 1.0,
            spread if spread < NARROWEST * size => 0.05 * size,
            spread => margin * spread,
        };
        Self::linear(low - margin, high + margin)
    }

    /// A linear scale.
    pub fn linear(low: f64, high: f64) -> Self {
        Self { low, high, log: false }
    }

    /// The same scale, but from zero when that costs little and all is positive.
    pub fn with_zero(self, lowest: f64) -> Self {
        let near = !self.log && lowest >= 0.0 && lowest <= 0.3 * self.high;
        if near { Self { low: 0.0, ..self } } else { self }
    }

    pub fn low(&self) -> f64 {
        self.low
    }

    pub fn high(&self) -> f64 {
        self.high
    }

    /// Where a value is, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let along = |value: f64| if self.log { value.log10() } else { value };
        (along(value) - along(self.low)) / (along(self.high) - along(self.low))
    }

    /// As many ticks as fit an axis of this length when each label takes `room`.
    pub fn ticks(&self, length: f64, room: impl Fn(&str) -> f64) -> Vec<Tick> {
        let fits = |ticks: &Vec<Tick>| {
            let labelled: Vec<&Tick> = ticks.iter().filter(|tick| !tick.label.is_empty()).collect();
            labelled.len() >= 2
                && labelled.windows(2).all(|pair| {
                    let apart = length * (self.share(pair[1].value) - self.share(pair[0].value));
                    apart >= (room(&pair[0].label) + room(&pair[1].label)) / 2.0
                })
        };
        let mut candidates = self.candidates();
        candidates.find(fits).unwrap_or_default()
    }

    /// Sets of ticks, from many to few.
    fn candidates(&self) -> Box<dyn Iterator<Item = Vec<Tick>> + '_> {
        if !self.log {
            return Box::new(self.even_candidates());
        }
        // Not of the quotient, which may be too large to be a number.
        let decades = self.high.log10() - self.low.log10();
        let powers = [&[1, 2, 5][..], &[1, 3], &[1]].into_iter().map(|digits| (digits, 1));
        let strides = [2, 3, 5, 10, 20, 50, 100, 200].into_iter().map(|stride| (&[1][..], stride));
        let enough = move |&(digits, stride): &(&[i32], i32)| {
            digits.len() as f64 * decades / f64::from(stride) <= MOST_LABELS
        };
        let powers = powers.chain(strides).filter(enough);
        let powers = powers.map(|(digits, stride)| self.power_ticks(digits, stride));
        // Where a decade is long, powers of ten are too rare to read between them.
        if decades < 1.0 {
            Box::new(self.even_candidates().take(3).chain(powers).chain(self.even_candidates()))
        } else {
            Box::new(powers.chain(self.even_candidates()))
        }
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn even_candidates(&self) -> impl Iterator<Item = Vec<Tick>> + '_ {
        let spread = self.high - self.low;
        let power = (spread / MOST_LABELS).log10().floor() as i32;
        let steps = (power..=power + 2).flat_map(|power| [1, 2, 5].map(|digit| (digit, power)));
        let enough =
            move |&(digit, power): &(i32, i32)| spread / times_power(digit, power) <= MOST_LABELS;
        steps.filter(enough).map(|(digit, power)| self.even_ticks(digit, power))
    }

    fn even_ticks(&self, digit: i32, power: i32) -> Vec<Tick> {
        let step = times_power(digit, power);
        // The ends belong to the axis, whatever a division makes of them.
        let (first, last) = (self.low / step - 1e-9, self.high / step + 1e-9);
        let counts = first.ceil() as i64..=last.floor() as i64;
        let values: Vec<f64> = counts.map(|count| count as f64 * step).collect();
        let labels = numbers(&values, power);
        values.into_iter().zip(labels).map(|(value, label)| Tick { value, label }).collect()
    }

    /// A label at each of these digits times every so many powers of ten, and small ticks between.
    fn power_ticks(&self, digits: &[i32], stride: i32) -> Vec<Tick> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().floor() as i32);
        // Beyond this, numbers of zeros are hard to count.
        let plain = first >= -4 && last <= 5;
        let mut ticks = Vec::new();
        for power in first..=last {
            for digit in 1..=9 {
                let value = times_power(digit, power);
                let labelled = digits.contains(&digit) && power % stride == 0;
                // With a stride, the small ticks are other powers.
                let small = stride == 1 || digit == 1 && power % (stride / 5).max(1) == 0;
                if !(self.low..=self.high).contains(&value) || !(labelled || small) {
                    continue;
                }
                let label = match labelled {
                    false => String::new(),
                    true if plain => format!("{value:.*}", (-power).max(0) as usize),
                    true if digit == 1 => format!("10{}", raised(power)),
                    true => format!("{digit}×10{}", raised(power)),
                };
                ticks.push(Tick { value, label });
            }
        }
        ticks
    }
}

/// The number nearest to a digit times a power of ten, as the library's own powers are not always.
fn times_power(digit: i32, power: i32) -> f64 {
    format!("{digit}e{power}").parse().expect("written as a number")
}

/// Multiples of a step whose last digit is at this power of ten, all with the same digits after the point.
fn numbers(values: &[f64], power: i32) -> Vec<String> {
    let plain: Vec<String> = values
        .iter()
        .map(|value| format!("{value:.*}", (-power).max(0) as usize).replace('-', "−"))
        .collect();
    let longest = |labels: &[String]| labels.iter().map(|label| label.chars().count()).max();
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if longest(&plain) <= Some(7) || largest == 0.0 {
        return plain;
    }
    let exponent = largest.log10().floor() as i32;
    let digits = (exponent - power).max(0) as usize;
    let short: Vec<String> = values
        .iter()
        .map(|&value| match value {
            0.0 => "0".to_owned(),
            _ => format!("{:.digits$}×10{}", value / times_power(1, exponent), raised(exponent))
                .replace('-', "−"),
        })
        .collect();
    if longest(&short) < longest(&plain) { short } else { plain }
}

/// A whole number in superscript.
fn raised(number: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |c: char| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]);
    number.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels of an axis of 500 points with letters 8 points wide.
    fn labels(low: f64, high: f64, log: bool) -> Vec<String> {
        let scale = Scale { low, high, log };
        let ticks = scale.ticks(500.0, |label| 8.0 * label.chars().count() as f64 + 12.0);
        ticks.into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn even_ticks_are_round_numbers() {
        assert_eq!(labels(0.0, 1.0, false)[..3], ["0.0", "0.1", "0.2"]);
        assert_eq!(labels(-3.0, 14.0, false), ["−2", "0", "2", "4", "6", "8", "10", "12", "14"]);
        assert_eq!(labels(0.1, 0.3, false).last().map(String::as_str), Some("0.30"));
        assert_eq!(labels(0.99, 1.51, false), ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]);
        assert_eq!(labels(0.0, 91.0, false).last().map(String::as_str), Some("90"));
        assert_eq!(labels(0.0, 2e7, false), ["0", "0.5×10⁷", "1.0×10⁷", "1.5×10⁷", "2.0×10⁷"]);
        assert_eq!(labels(-2e-7, 2e-7, false), ["−2×10⁻⁷", "−1×10⁻⁷", "0", "1×10⁻⁷", "2×10⁻⁷"]);
        assert_eq!(
            labels(1e6, 1e6 + 1.0, false),
            ["1000000.0", "1000000.2", "1000000.4", "1000000.6", "1000000.8", "1000001.0"]
        );
    }

    #[test]
    fn logarithmic_ticks_are_powers_and_few_between() {
        assert_eq!(labels(0.15, 43.0, true), ["0.2", "0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(0.02, 60.0, true), ["0.03", "0.1", "0.3", "1", "3", "10", "30"]);
        assert_eq!(labels(5e-4, 2e4, true)[..4], ["0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels(1e-9, 1e3, true)[..2], ["10⁻⁸", "10⁻⁶"]);
        assert_eq!(labels(3e-9, 1e-7, true), ["5×10⁻⁹", "10⁻⁸", "2×10⁻⁸", "5×10⁻⁸", "10⁻⁷"]);
        // Less than a decade: as on an even axis, only placed differently.
        assert_eq!(labels(3.9, 7.1, true), ["4.0", "4.5", "5.0", "5.5", "6.0", "6.5", "7.0"]);
        assert_eq!(labels(1e-300, 1e300, true).len(), 7);
    }

    #[test]
    fn labels_never_meet_and_there_are_always_some() {
        let mut x = 0.37;
        for _ in 0..2000 {
            // A logistic map: numbers of all kinds without a generator.
            x = 3.99 * x * (1.0 - x);
            let size = 10f64.powf(24.0 * x - 12.0);
            for (low, high, log) in [
                (-size, size * x, false),
                (size, size * (1.0 + x), false),
                (size, size * (1.0 + 1e-6), false),
                (size, size * (1.0 + x), true),
                (size, size * 10f64.powf(20.0 * x), true),
            ] {
                let scale = Scale::around([low, high], log, 0.04);
                let room = |label: &str| 8.0 * label.chars().count() as f64 + 12.0;
                let mut ticks = scale.ticks(500.0, room);
                assert!(ticks.is_sorted_by(|a, b| a.value < b.value), "{scale:?}");
                ticks.retain(|tick| !tick.label.is_empty());
                assert!((2..=12).contains(&ticks.len()), "{scale:?}: {ticks:?}");
                for pair in ticks.windows(2) {
                    let apart = 500.0 * (scale.share(pair[1].value) - scale.share(pair[0].value));
                    assert!(apart > room(&pair[0].label).min(room(&pair[1].label)), "{pair:?}");
                    assert_ne!(pair[0].label, pair[1].label);
                }
            }
        }
    }

    #[test]
    fn a_scale_has_its_values_inside() {
        let scale = Scale::around([1.0, f64::NAN, 3.0, f64::INFINITY], false, 0.25);
        assert_eq!(scale, Scale::linear(0.5, 3.5));
        assert_eq!(scale.share(2.0), 0.5);
        let scale = Scale::around([1.0, 100.0], true, 0.5);
        assert!((scale.low() - 0.1).abs() < 1e-12 && (scale.high() - 1000.0).abs() < 1e-9);
        assert!((scale.share(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(Scale::around([3.0; 4], false, 0.0).share(3.0), 0.5);
    }
}
