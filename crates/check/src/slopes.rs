//! Slopes of lines below ReLUs, as proofs write them: one character for each neuron of a layer.

/// A neuron that nothing is proposed for.
const DEFAULT: u8 = u8::MAX;

/// Slopes of the neurons of several layers.
#[derive(Clone, Debug, Default)]
pub struct Slopes {
    layers: Vec<Vec<u8>>,
}

impl Slopes {
    /// One text for each layer: of the alphabet of base64, character `k` is the slope `k / 63`; a dot is the default slope.
    ///
    /// # Errors
    /// When there is another character.
    pub fn parse(layers: &[String]) -> Result<Self, String> {
        let digit = |c: u8| match c {
            b'A'..=b'Z' => Ok(c - b'A'),
            b'a'..=b'z' => Ok(c - b'a' + 26),
            b'0'..=b'9' => Ok(c - b'0' + 52),
            b'+' => Ok(62),
            b'/' => Ok(63),
            b'.' => Ok(DEFAULT),
            _ => Err(format!("{:?} is not a slope", char::from(c))),
        };
        let layer = |text: &String| text.bytes().map(digit).collect::<Result<Vec<u8>, String>>();
        Ok(Self { layers: layers.iter().map(layer).collect::<Result<_, _>>()? })
    }

    /// The slope of a neuron, if one is proposed.
    #[inline(always)]
    pub fn get(&self, layer: usize, j: usize) -> Option<f64> {
        let digit = *self.layers.get(layer)?.get(j)?;
        (digit != DEFAULT).then(|| f64::from(digit) / 63.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_slopes() {
        let slopes = Slopes::parse(&["A/.".to_owned(), "f".to_owned()]).expect("slopes");
        assert_eq!([0, 1, 2, 3].map(|j| slopes.get(0, j)), [Some(0.0), Some(1.0), None, None]);
        assert_eq!((slopes.get(1, 0), slopes.get(2, 0)), (Some(31.0 / 63.0), None));
        assert!(Slopes::parse(&["a\"".to_owned()]).is_err());
    }
}
