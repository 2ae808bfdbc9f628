//! Many images in one array, kept as the file's bytes until one of them is asked for.
//!
//! The trap is the axis order: `32x32x3` values fill a model that takes `3x32x32` without complaint and mean
//! nothing. Shapes must agree, ones aside, unless one side is flat and so leaves the order to the other.

use std::path::{Path, PathBuf};

use super::error::{SampleError, ShapeText, volume};

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Element {
    pub kind: ElementKind,
    /// Bytes per number: 1, 2, 4 or 8.
    pub size: usize,
    pub big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ElementKind {
    Unsigned,
    Signed,
    Float,
}

impl Element {
    pub const BYTE: Self = Self { kind: ElementKind::Unsigned, size: 1, big_endian: false };

    /// One stored number as an integer with the same bits.
    pub fn bits(self, stored: &[u8]) -> u64 {
        let push = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
        if self.big_endian {
            stored.iter().fold(0, push)
        } else {
            stored.iter().rev().fold(0, push)
        }
    }

    /// A stored byte, or a float of this range, as a pixel in [0, 1]; `Err` is the value that does not lie in the range.
    fn pixel(self, stored: &[u8], (low, high): (f64, f64)) -> Result<f32, f64> {
        let bits = self.bits(stored);
        let value = match (self.kind, self.size) {
            (ElementKind::Float, 4) => f64::from(f32::from_bits(bits as u32)),
            (ElementKind::Float, _) => f64::from_bits(bits),
            _ => return Ok(bits as f32 / 255.0),
        };
        if !(low..=high).contains(&value) {
            return Err(value);
        }
        Ok((((value - low) / (high - low)) as f32).clamp(0.0, 1.0))
    }
}

/// `count` images of one shape: bytes, or floats that are checked when asked for.
pub(super) struct ImageArray {
    path: PathBuf,
    count: usize,
    image_shape: Vec<usize>,
    element: Element,
    bytes: Vec<u8>,
    ranges: Vec<(f64, f64)>,
    /// Whether a channel's values lie together.
    planar: bool,
}

/// What floats lie in, if nothing else is said.
const UNIT: (f64, f64) = (0.0, 1.0);

impl ImageArray {
    /// Takes an array of shape `[count, image...]` whose images fit the model's input.
    pub fn new(
        path: &Path,
        shape: &[usize],
        element: Element,
        bytes: Vec<u8>,
        dims: &[usize],
    ) -> Result<Self, SampleError> {
        let refuse = |problem: String| Err(SampleError::unsupported(path, problem));
        if !matches!(
            (element.kind, element.size),
            (ElementKind::Unsigned, 1) | (ElementKind::Float, _)
        ) {
            return refuse(
                "images must be bytes (uint8, 0 to 255) or floats (float32, 0 to 1), not other integers".into(),
            );
        }
        let Some((&count, image_shape)) = shape.split_first() else {
            return refuse("a single number is not an image".into());
        };
        if count == 0 {
            return Err(SampleError::no_data(path, "holds no images"));
        }
        if !fits(image_shape, dims) {
            return Err(SampleError::DoesNotFit {
                path: path.to_owned(),
                image: image_shape.to_vec(),
                model: dims.to_vec(),
            });
        }
        let image_shape = image_shape.to_vec();
        let path = path.to_owned();
        let planar = matches!(dims, [channels, _, _] if *channels > 1);
        Ok(Self { path, count, image_shape, element, bytes, ranges: vec![UNIT], planar })
    }

    /// The same with floats in other ranges: one for all values, or one for each channel of the model's input.
    pub fn in_ranges(mut self, ranges: &[(f64, f64)]) -> Self {
        if !ranges.is_empty() {
            self.ranges = ranges.to_vec();
        }
        self
    }

    /// The range of the value at a position of an image with so many.
    fn range(&self, position: usize, values: usize) -> (f64, f64) {
        let channels = self.ranges.len();
        if self.planar {
            self.ranges[position * channels / values]
        } else {
            self.ranges[position % channels]
        }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// The shape of one image as the file has it, for people: `28x28`.
    pub fn image_shape(&self) -> String {
        ShapeText(&self.image_shape).to_string()
    }

    /// The pixels of image `index < len()`.
    pub fn pixels(&self, index: usize) -> Result<Vec<f32>, SampleError> {
        let stride = self.bytes.len() / self.count;
        let values = stride / self.element.size;
        self.bytes[index * stride..][..stride]
            .chunks_exact(self.element.size)
            .enumerate()
            .map(|(position, stored)| {
                let range = self.range(position, values);
                self.element.pixel(stored, range).map_err(|value| SampleError::Value {
                    path: self.path.clone(),
                    index,
                    position,
                    value,
                    range,
                })
            })
            .collect()
    }
}

/// Whether values of shape `image`, taken in order, are an input of shape `dims`: one that is flat leaves the order of axes to the other.
///
/// ```
/// use rw_adv::data::fits;
/// assert!(fits(&[28, 28], &[1, 28, 28]) && fits(&[28, 28], &[784]));
/// assert!(!fits(&[32, 32, 3], &[3, 32, 32]));
/// ```
pub fn fits(image: &[usize], dims: &[usize]) -> bool {
    let squeeze =
        |shape: &[usize]| -> Vec<usize> { shape.iter().copied().filter(|&dim| dim != 1).collect() };
    let (image, dims) = (squeeze(image), squeeze(dims));
    let flat = image.len() <= 1 || dims.len() <= 1;
    image == dims || flat && volume(&image).is_some() && volume(&image) == volume(&dims)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shapes_fit_when_equal_or_flat_but_not_in_another_order() {
        assert!(fits(&[28, 28], &[784]));
        assert!(fits(&[784], &[1, 28, 28]));
        assert!(fits(&[28, 28], &[1, 28, 28]));
        assert!(fits(&[28, 28, 1], &[1, 28, 28]));
        assert!(fits(&[], &[1]));
        assert!(!fits(&[32, 32, 3], &[3, 32, 32]));
        assert!(!fits(&[28, 28], &[3, 32, 32]));
        assert!(!fits(&[14, 56], &[28, 28]));
    }

    #[test]
    fn bytes_are_divided_by_255_image_by_image() {
        let array =
            ImageArray::new(Path::new("a"), &[2, 2], Element::BYTE, vec![0, 255, 51, 1], &[2])
                .unwrap();
        assert_eq!(array.pixels(0).unwrap(), [0.0, 1.0]);
        assert_eq!(array.pixels(1).unwrap(), [0.2, 1.0 / 255.0]);
    }

    #[test]
    fn images_of_another_size_are_refused() {
        let wrong = ImageArray::new(
            Path::new("a"),
            &[1, 28, 28],
            Element::BYTE,
            vec![0; 784],
            &[3, 32, 32],
        );
        let error = wrong.err().unwrap().to_string();
        assert_eq!(error, "a: images are 28x28 = 784 values, the model takes 3x32x32 = 3072");
    }

    #[test]
    fn an_array_without_images_is_refused() {
        let empty = ImageArray::new(Path::new("a"), &[0, 4], Element::BYTE, vec![], &[4]);
        assert_eq!(empty.err().unwrap().to_string(), "a: holds no images");
    }

    #[test]
    fn floats_of_other_ranges_become_pixels() {
        let element = Element { kind: ElementKind::Float, size: 8, big_endian: false };
        let array = |values: [f64; 4], dims: &[usize], ranges: &[(f64, f64)]| {
            let bytes = values.map(f64::to_le_bytes).concat();
            let array = ImageArray::new(Path::new("a"), &[1, 4], element, bytes, dims).unwrap();
            array.in_ranges(ranges).pixels(0).map_err(|error| error.to_string())
        };
        let whole = array([-1.0, 0.0, 0.5, 1.0], &[4], &[(-1.0, 1.0)]);
        assert_eq!(whole.unwrap(), [0.0, 0.5, 0.75, 1.0]);
        let two = [(0.0, 1.0), (0.0, 10.0)];
        assert_eq!(array([0.0, 1.0, 0.0, 10.0], &[2, 1, 2], &two).unwrap(), [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(array([0.0, 1.0, 1.0, 10.0], &[1, 2, 2], &two).unwrap(), [0.0, 0.1, 1.0, 1.0]);
        let error = array([0.0, 256.0, 0.0, 0.0], &[4], &[(0.0, 255.0)]).unwrap_err();
        assert!(error.contains("value 1 is 256; values lie in [0, 255]"), "{error}");
    }

    #[test]
    fn floats_outside_zero_to_one_are_refused_with_their_place() {
        let element = Element { kind: ElementKind::Float, size: 4, big_endian: true };
        for (value, text) in
            [(1.5, "1.5"), (-0.1, "-0.1"), (f32::NAN, "NaN"), (f32::INFINITY, "inf")]
        {
            let bytes = [0.5, 0.25, 1.0, value].map(f32::to_be_bytes).concat();
            let array = ImageArray::new(Path::new("a"), &[2, 2], element, bytes, &[2]).unwrap();
            assert_eq!(array.pixels(0).unwrap(), [0.5, 0.25]);
            let error = array.pixels(1).unwrap_err().to_string();
            assert!(error.starts_with(&format!("a: image 1: value 1 is {text}")), "{error}");
        }
    }
}
