//! What is refused for its size, before anything is made of it.

/// A layer whose matrix has more entries than this is refused: 32 Mi entries are 256 MB.
const LARGEST_MATRIX: usize = 32 << 20;

/// A tensor of more elements than this is refused.
const LARGEST_TENSOR: usize = 1 << 20;

/// Is a matrix of this size small enough?
pub(super) fn check_matrix(rows: usize, columns: usize) -> Result<(), String> {
    match rows.checked_mul(columns) {
        Some(entries) if entries <= LARGEST_MATRIX => Ok(()),
        _ => Err(format!(
            "as a dense layer it would be {rows} x {columns}, over the limit of {LARGEST_MATRIX} entries"
        )),
    }
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
    fn a_matrix_or_tensor_over_the_limit_is_refused() {
        assert!(check_matrix(1 << 10, 1 << 10).is_ok());
        assert!(check_matrix(1 << 13, 1 << 13).is_err());
        assert!(check_matrix(usize::MAX, 2).is_err());
        assert!(check_tensor(&[1, 1 << 20]).is_ok());
        assert!(check_tensor(&[1 << 12, 1 << 12]).is_err());
        assert!(check_tensor(&[usize::MAX, 2]).is_err());
    }
}
