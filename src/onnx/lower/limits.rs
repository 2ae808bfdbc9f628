//! What is refused for its size, before anything is made of it.

use super::affine::AffineTensor;

/// A layer with more weights than this that may be other than 0 is refused: 32 Mi weights are 256 MB.
const MOST_WEIGHTS: usize = 32 << 20;

/// A tensor of more elements than this is refused.
const LARGEST_TENSOR: usize = 1 << 20;

/// Are so many weights few enough?
pub(super) fn check_weights(weights: Option<usize>) -> Result<(), String> {
    match weights {
        Some(weights) if weights <= MOST_WEIGHTS => Ok(()),
        Some(weights) => Err(format!(
            "it would have {weights} weights, over the limit of {MOST_WEIGHTS} for a layer"
        )),
        None => Err(format!("it has more weights than the limit of {MOST_WEIGHTS} for a layer")),
    }
}

/// Is a tensor small enough whose elements are sums of so many elements of the data each?
pub(super) fn check_sums(shape: &[usize], parts: usize, data: &AffineTensor) -> Result<(), String> {
    let longest = data.rows.iter().map(|row| row.terms.len()).max().unwrap_or(0);
    let in_row = longest.saturating_mul(parts).min(data.span());
    let rows = shape.iter().try_fold(1_usize, |product, &d| product.checked_mul(d));
    check_weights(rows.and_then(|rows| rows.checked_mul(in_row)))
}

/// Is a tensor of this shape small enough?
pub(super) fn check_tensor(shape: &[usize]) -> Result<(), String> {
    match shape.iter().try_fold(1_usize, |product, &d| product.checked_mul(d)) {
        Some(elements) if elements <= LARGEST_TENSOR => Ok(()),
        _ => Err(format!(
            "a tensor of shape {shape:?} is over the limit of {LARGEST_TENSOR} elements"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_or_tensors_over_the_limit_are_refused() {
        assert!(check_weights(Some(1 << 20)).is_ok());
        assert!(check_weights(Some(1 << 26)).is_err());
        assert!(check_weights(None).is_err());
        assert!(check_tensor(&[1, 1 << 20]).is_ok());
        assert!(check_tensor(&[1 << 12, 1 << 12]).is_err());
        assert!(check_tensor(&[usize::MAX, 2]).is_err());
    }

    #[test]
    fn what_counts_is_not_the_dense_matrix() {
        // As dense matrices both would have 2^32 entries.
        let data = AffineTensor::of_variables(0, &[1 << 16]);
        assert!(check_sums(&[1 << 16], 9, &data).is_ok());
        assert!(check_sums(&[1 << 16], 1 << 16, &data).is_err());
        assert!(check_sums(&[usize::MAX, 2], 1, &data).is_err());
    }
}
