//! Weights as the file has them.

use tract_onnx::prelude::*;

/// A constant tensor, row-major.
pub(super) struct Constant {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Constant {
    /// # Errors
    /// When a value is not a finite number.
    pub fn new(tensor: &Tensor) -> Result<Self, String> {
        let values = tensor.cast_to::<f64>().map_err(|e| format!("{e:#}"))?;
        let values = values.to_plain_array_view::<f64>().map_err(|e| format!("{e:#}"))?;
        let values: Vec<f64> = values.iter().copied().collect();
        match values.iter().find(|v| !v.is_finite()) {
            Some(v) => Err(format!("a weight is {v}, not a finite number")),
            None => Ok(Self { shape: tensor.shape().to_vec(), values }),
        }
    }
}
