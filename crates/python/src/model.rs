//! Models: loaded, asked, looked into.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use rw_adv::data::PictureLayout;
use rw_adv::judge::nearest_byte;
use rw_adv::network::{Activation, ActivationPattern, Network, Trace};
use rw_adv::onnx::{Normalisation, OnnxModel};
use rw_adv::run::SelfCheck;

use crate::arrays::rows;
use crate::errors::{Failure, chain, guarded};

/// A network, and the file that it was read from.
#[pyclass(frozen, module = "rw_adv._native")]
pub struct Model {
    pub model: Arc<OnnxModel>,
    /// What the file is called in records and errors.
    #[pyo3(get)]
    pub name: String,
    /// The file, if it was given as bytes.
    bytes: Option<Arc<[u8]>>,
}

impl Model {
    /// The same model for another thread.
    pub fn share(&self) -> Self {
        let (model, name) = (Arc::clone(&self.model), self.name.clone());
        Self { model, name, bytes: self.bytes.clone() }
    }

    /// The independent checker, which reads the model once more; `None` if it is not wanted.
    pub fn self_check(&self, wanted: bool) -> Result<Option<SelfCheck>, Failure> {
        if !wanted {
            return Ok(None);
        }
        let opened = match &self.bytes {
            Some(bytes) => SelfCheck::from_bytes(self.name.as_ref(), bytes, &self.model.sha256),
            None => SelfCheck::open(self.name.as_ref(), &self.model.sha256),
        };
        opened.map(Some).map_err(|why| Failure::Model(format!("check_proofs: {why}")))
    }
}

/// Weights, biases, and which neurons have a ReLU.
type LayerArrays<'py> =
    (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<bool>>);

/// Loads a file, or the bytes of one that is called `name`.
#[pyfunction]
#[pyo3(signature = (name, data=None, output=None))]
pub fn load(
    py: Python<'_>,
    name: PathBuf,
    data: Option<&[u8]>,
    output: Option<&str>,
) -> PyResult<Model> {
    let loaded = guarded(|| {
        py.detach(|| match data {
            Some(bytes) => OnnxModel::from_bytes_output(&name, bytes, output),
            None => OnnxModel::load_output(&name, output),
        })
    })?;
    let model = loaded.map_err(Failure::from)?;
    let bytes = data.map(Arc::from);
    Ok(Model { model: Arc::new(model), name: name.display().to_string(), bytes })
}

/// The bytes of a model with `(x - mean) / std` before it.
#[pyfunction]
pub fn normalised(
    py: Python<'_>,
    name: PathBuf,
    data: &[u8],
    mean: Vec<f64>,
    std: Vec<f64>,
) -> PyResult<Vec<u8>> {
    let normalisation = Normalisation::new(mean, std).map_err(Failure::Input)?;
    let done = guarded(|| py.detach(|| normalisation.before(&name, data)))?;
    Ok(done.map_err(Failure::from)?)
}

/// Whether values of one shape, taken in order, are an input of another.
#[pyfunction]
pub fn fits(image: Vec<usize>, dims: Vec<usize>) -> bool {
    rw_adv::data::fits(&image, &dims)
}

/// A PNG of an image, a changed one and the difference; `None` for inputs that are no pictures.
#[pyfunction]
pub fn strip(dims: Vec<usize>, original: Vec<f32>, changed: Vec<f32>) -> PyResult<Option<Vec<u8>>> {
    let Some(layout) = PictureLayout::from_dims(&dims) else { return Ok(None) };
    let bytes =
        |values: &[f32]| values.iter().map(|&value| nearest_byte(value)).collect::<Vec<u8>>();
    guarded(|| rw_adv::report::strip(&layout, &bytes(&original), &bytes(&changed), None)).map(Some)
}

#[pymethods]
impl Model {
    /// The shape of one input.
    #[getter]
    fn input_shape(&self) -> Vec<usize> {
        self.model.input_dims.clone()
    }

    /// Inputs, hidden widths, outputs.
    #[getter]
    fn widths(&self) -> Vec<usize> {
        self.model.network.widths()
    }

    /// SHA-256 of the file.
    #[getter]
    fn sha256(&self) -> String {
        self.model.sha256.clone()
    }

    /// The file's opset.
    #[getter]
    fn opset(&self) -> i64 {
        self.model.opset
    }

    /// Operators behind the outputs that were cut off.
    #[getter]
    fn final_ops(&self) -> Vec<String> {
        self.model.final_ops.clone()
    }

    /// What the file calls the classes; none, if it has no names for them.
    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.model.class_names.clone()
    }

    /// Whether an input is a picture: height, width, channels.
    #[getter]
    fn picture(&self) -> Option<(usize, usize, usize)> {
        let layout = PictureLayout::from_dims(&self.model.input_dims)?;
        Some((layout.height, layout.width, layout.channels()))
    }

    /// The outputs that the file itself gives, run by tract in f32.
    fn logits<'py>(
        &self,
        py: Python<'py>,
        inputs: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (inputs, outputs) = (rows(&inputs)?, self.model.network.outputs());
        let run =
            || inputs.iter().map(|x| self.model.replay.logits(x)).collect::<Result<Vec<_>, _>>();
        let all = guarded(|| py.detach(run))?;
        let all = all.map_err(|error| Failure::Model(chain(&error)))?.concat();
        all.into_pyarray(py).reshape([inputs.len(), outputs])
    }

    /// Which hidden neurons are on: one array for each layer, one row for each input.
    fn pattern<'py>(
        &self,
        py: Python<'py>,
        inputs: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Vec<Bound<'py, PyArray2<bool>>>> {
        let inputs = rows(&inputs)?;
        let network = &self.model.network;
        let patterns = guarded(|| py.detach(|| patterns(network, &inputs)))?;
        let of_layer = |(layer, states): (usize, Vec<bool>)| {
            let width = network.hidden()[layer].outputs();
            states.into_pyarray(py).reshape([inputs.len(), width])
        };
        patterns.into_iter().enumerate().map(of_layer).collect()
    }

    /// The extracted layers: weights (outputs × inputs), biases, and which neurons have a ReLU.
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Vec<LayerArrays<'py>>> {
        let layers = self.model.network.layers().iter();
        layers
            .map(|layer| {
                let (map, outputs) = (layer.affine(), layer.outputs());
                let weights: Vec<f64> =
                    (0..outputs).flat_map(|output| map.dense_row(output).into_owned()).collect();
                let relu: Vec<bool> =
                    (0..outputs).map(|k| layer.activation(k) == Activation::Relu).collect();
                let weights = weights.into_pyarray(py).reshape([outputs, layer.inputs()])?;
                let bias = map.bias().to_vec().into_pyarray(py);
                Ok((weights, bias, relu.into_pyarray(py)))
            })
            .collect()
    }
}

/// The states of each layer's neurons, input by input.
fn patterns(network: &Network, inputs: &[Vec<f64>]) -> Vec<Vec<bool>> {
    let mut trace = Trace::new(network);
    let mut layers: Vec<Vec<bool>> = vec![Vec::new(); network.hidden().len()];
    for input in inputs {
        network.forward(input, &mut trace);
        let pattern = ActivationPattern::at(&trace);
        for (layer, states) in layers.iter_mut().enumerate() {
            let width = network.hidden()[layer].outputs();
            states.extend((0..width).map(|index| pattern.get(layer, index)));
        }
    }
    layers
}
