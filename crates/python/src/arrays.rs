//! Arrays of the package's own Python half, which has checked and converted them.

use numpy::{Element, PyReadonlyArray2, PyUntypedArrayMethods};

use crate::errors::Failure;

/// The rows of an array.
pub fn rows<T: Element + Copy>(array: &PyReadonlyArray2<'_, T>) -> Result<Vec<Vec<T>>, Failure> {
    let width = array.shape()[1];
    let values = array.as_slice();
    let values = values.map_err(|_| Failure::Internal("the array is not contiguous".into()))?;
    if width == 0 {
        return Err(Failure::Internal("the array has no columns".into()));
    }
    Ok(values.chunks_exact(width).map(<[T]>::to_vec).collect())
}
