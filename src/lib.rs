//! How wrong can a trained ReLU classifier be made within an L1 budget?
//!
//! For a classifier `f` (an ONNX file), an image `x̂` with predicted label `c`, another label `w` and a budget `Δ`:
//!
//! ```text
//! maximise   y_w − y_c            y = f(x)
//! subject to ‖x − x̂‖₁ < Δ,  0 ≤ x ≤ 1
//! ```
//!
//! The rooms, in the order data flows:
//!
//! - [`onnx`]: a file becomes a [`network::Network`], checked against tract's own run of the file
//! - [`network`]: the function under attack: forward pass, activation pattern, gradient
//! - [`input`]: images from MNIST directories, IDX, PNG and npy files
//! - [`query`]: network, input set and objective
//! - [`bounds`]: intervals that every neuron stays in, and certified bounds of the objective
//! - [`lp`]: linear programs in our own words (HiGHS)
//! - [`encode`]: a query as live LPs: one linear region, or the relaxation of the whole network
//! - [`mod@walk`]: from region to region while the margin grows
//! - [`mod@search`]: starts, ascent, walks, until nothing new is found; [`budget`] says for how long
//! - [`verdict`]: the judge, who shares only the forward pass with the search and replays the file
//! - [`verify`]: the pipeline for one image and its targets
//! - [`maximize`]: any linear function of the outputs over a box with linear constraints
//! - [`radius`]: how far an image may be changed, by bisection on the budget
//! - [`report`]: records, tables, JSON, pictures, figures, files, and one page to look at
//! - [`tolerance`]: every epsilon, with its reason
//!
//! ```
//! use rw_adv::network::Trace;
//! use rw_adv::onnx::OnnxModel;
//!
//! let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref())?;
//! let black = vec![0.0; model.network.inputs()];
//! let mut trace = Trace::new(&model.network);
//! model.network.forward(&black, &mut trace);
//! assert_eq!(trace.logits().len(), 10);
//! # Ok::<(), rw_adv::onnx::OnnxError>(())
//! ```

pub mod bounds;
pub mod budget;
pub mod encode;
pub mod input;
pub mod lp;
pub mod maximize;
pub mod network;
pub mod onnx;
pub mod query;
pub mod radius;
pub mod report;
pub mod search;
pub mod tolerance;
pub mod verdict;
pub mod verify;
pub mod walk;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
