//! Loops over tensors as lists of offsets.

/// Row-major strides.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// For each element of `to`, row-major, the element of `from` it is a copy of (NumPy's rule).
pub(super) fn broadcast(from: &[usize], to: &[usize]) -> Vec<usize> {
    let padded: Vec<usize> =
        vec![1; to.len() - from.len()].into_iter().chain(from.iter().copied()).collect();
    let strides = strides(&padded);
    let axes = to.iter().zip(padded.iter().zip(strides));
    let axes = axes.map(|(&len, (&own, stride))| Axis {
        len,
        data: if own == 1 { 0 } else { stride },
        weights: 0,
    });
    offsets(&axes.collect::<Vec<_>>()).into_iter().map(|(at, _)| at).collect()
}

/// One loop of a nest, with the strides at which it runs through data and weights.
pub(super) struct Axis {
    pub len: usize,
    pub data: usize,
    pub weights: usize,
}

/// The offsets into data and weights that a nest of loops visits, the last axis fastest.
pub(super) fn offsets(axes: &[Axis]) -> Vec<(usize, usize)> {
    axes.iter().fold(vec![(0, 0)], |visited, axis| {
        let step = |(data, weights)| {
            (0..axis.len).map(move |i| (data + i * axis.data, weights + i * axis.weights))
        };
        visited.into_iter().flat_map(step).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_repeats_axes_of_length_one_and_missing_ones() {
        assert_eq!(broadcast(&[2], &[3, 2]), [0, 1, 0, 1, 0, 1]);
        assert_eq!(broadcast(&[3, 1], &[3, 2]), [0, 0, 1, 1, 2, 2]);
        assert_eq!(broadcast(&[], &[2]), [0, 0]);
    }

    #[test]
    fn loops_nest_with_the_last_axis_fastest() {
        let axes = [Axis { len: 2, data: 10, weights: 1 }, Axis { len: 3, data: 1, weights: 0 }];
        assert_eq!(offsets(&axes), [(0, 0), (1, 0), (2, 0), (10, 1), (11, 1), (12, 1)]);
    }
}
