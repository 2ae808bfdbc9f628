//! How a model's input is a picture: its size, its colour, and where each pixel lies.
//!
//! The trap is guessing: `[3, 32, 3]` can be read with the channels first or last, and then neither is taken.

/// A model's input seen as a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureLayout {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Channels and their order.
    pub colour: Colour,
}

/// The channels of a picture and how they are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// One channel.
    Grey,
    /// Three channels, a whole plane of red before green before blue (CHW).
    RgbPlanar,
    /// Three channels, red, green and blue of a pixel side by side (HWC).
    RgbInterleaved,
}

impl PictureLayout {
    /// The layout of a model's input, given its dimensions without batch; `None` when it is not a picture or can be
    /// read as two different ones.
    ///
    /// Pictures are `[h, w]`, `[1, h, w]`, `[h, w, 1]` (grey), `[3, h, w]`, `[h, w, 3]` (RGB), and `n` values in one
    /// dimension when `n` is a square number (a grey square); ones beside a single dimension do not matter.
    ///
    /// ```
    /// use rw_adv::data::{Colour, PictureLayout};
    /// let layout = PictureLayout::from_dims(&[784]).expect("784 is 28 squared");
    /// assert_eq!((layout.width, layout.height, layout.colour), (28, 28, Colour::Grey));
    /// ```
    pub fn from_dims(dims: &[usize]) -> Option<Self> {
        if dims.contains(&0) {
            return None;
        }
        let mut long = dims.iter().filter(|&&dim| dim > 1);
        let (first, second) = (long.next(), long.next());
        if second.is_none() {
            let values = first.copied().unwrap_or(1);
            let side = values.isqrt();
            return (side * side == values).then_some(Self::new(side, side, Colour::Grey));
        }
        match *dims {
            [height, width] => Some(Self::new(width, height, Colour::Grey)),
            [a, b, c] => {
                let readings = [
                    (a == 1).then_some(Self::new(c, b, Colour::Grey)),
                    (c == 1).then_some(Self::new(b, a, Colour::Grey)),
                    (a == 3).then_some(Self::new(c, b, Colour::RgbPlanar)),
                    (c == 3).then_some(Self::new(b, a, Colour::RgbInterleaved)),
                ];
                let mut readings = readings.into_iter().flatten();
                let only = readings.next();
                only.filter(|_| readings.next().is_none())
            }
            _ => None,
        }
    }

    fn new(width: usize, height: usize, colour: Colour) -> Self {
        Self { width, height, colour }
    }

    /// Number of channels: 1 or 3.
    pub fn channels(&self) -> usize {
        match self.colour {
            Colour::Grey => 1,
            Colour::RgbPlanar | Colour::RgbInterleaved => 3,
        }
    }

    /// Number of values of the input.
    pub fn values(&self) -> usize {
        self.width * self.height * self.channels()
    }

    /// Where a pixel's channel lies in the input; row, column and channel have base 0 and must be in the picture.
    pub fn position(&self, row: usize, column: usize, channel: usize) -> usize {
        let pixel = row * self.width + column;
        match self.colour {
            Colour::Grey => pixel,
            Colour::RgbPlanar => channel * self.width * self.height + pixel,
            Colour::RgbInterleaved => pixel * 3 + channel,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn layout(dims: &[usize]) -> Option<(usize, usize, Colour)> {
        PictureLayout::from_dims(dims).map(|layout| (layout.width, layout.height, layout.colour))
    }

    #[test]
    fn the_usual_shapes_are_pictures() {
        use Colour::*;
        assert_eq!(layout(&[28, 20]), Some((20, 28, Grey)));
        assert_eq!(layout(&[1, 28, 20]), Some((20, 28, Grey)));
        assert_eq!(layout(&[28, 20, 1]), Some((20, 28, Grey)));
        assert_eq!(layout(&[3, 32, 20]), Some((20, 32, RgbPlanar)));
        assert_eq!(layout(&[32, 20, 3]), Some((20, 32, RgbInterleaved)));
        for flat in [&[784][..], &[1, 784], &[784, 1], &[1, 1, 784], &[1, 784, 1, 1]] {
            assert_eq!(layout(flat), Some((28, 28, Grey)), "{flat:?}");
        }
        assert_eq!(layout(&[]), Some((1, 1, Grey)));
    }

    #[test]
    fn other_shapes_are_not() {
        for dims in
            [&[785][..], &[3072], &[2, 28, 28], &[28, 1, 28], &[1, 1, 28, 28], &[0, 4], &[3, 0, 4]]
        {
            assert_eq!(layout(dims), None, "{dims:?}");
        }
    }

    #[test]
    fn shapes_with_two_readings_are_not_taken() {
        for dims in [[3, 32, 3], [3, 3, 3], [1, 32, 3], [3, 32, 1]] {
            assert_eq!(layout(&dims), None, "{dims:?}");
        }
    }

    #[test]
    fn positions_cover_the_input_once() {
        for dims in [&[4, 5][..], &[3, 4, 5], &[4, 5, 3]] {
            let layout = PictureLayout::from_dims(dims).unwrap();
            let mut seen = vec![false; layout.values()];
            for row in 0..layout.height {
                for column in 0..layout.width {
                    for channel in 0..layout.channels() {
                        seen[layout.position(row, column, channel)] = true;
                    }
                }
            }
            assert_eq!(seen.len(), dims.iter().product::<usize>());
            assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
