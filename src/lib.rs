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
//! - [`problem`]: network, input set and objective
//! - [`bounds`]: intervals that every neuron stays in, and certified bounds of the objective
//! - [`lp`]: linear programs in our own words (HiGHS)
//! - [`encode`]: a problem as live LPs: one linear region, or the relaxation of the whole network
//! - [`mod@walk`]: from region to region while the margin grows
//! - [`mod@search`]: starts, ascent, walks, until nothing new is found; [`budget`] says for how long
//! - [`verdict`]: the judge, who shares only the forward pass with the search and replays the file
//! - [`verify`]: the pipeline for one image and its targets
//! - [`mod@proof`]: what branch and bound proved, for others to check, and the checker
//! - [`maximize`]: any linear function of the outputs over a box with linear constraints
//! - [`radius`]: how far an image may be changed, by bisection on the budget
//! - [`report`]: records, tables, JSON, pictures, figures, files, and one page to look at
//! - [`tolerance`]: every epsilon, with its reason
//!
//! # The surface
//!
//! What most programs need is small: load a network, state a problem, search, certify, judge.
//!
//! | | |
//! |---|---|
//! | load | [`onnx::OnnxModel::load`], [`input::Dataset::open`], [`verify::classify`] |
//! | ask | [`verify::Attack`] and [`verify::Subject`]; [`maximize::MaximizeProblem`] for other objectives; [`radius::radii`] |
//! | limit | [`budget::Budget`]: a time limit, and a flag that calls a search off |
//! | listen | [`observer::Observer`], by [`verify::Subject::observed_by`]; nothing here prints |
//! | read | [`verify::Answer`]: [`verdict::Verdict`], the stored point, [`bounds::CertifiedBound`] |
//!
//! ```
//! use rw_adv::budget::Budget;
//! use rw_adv::data::{DataSource, Dataset};
//! use rw_adv::onnx::OnnxModel;
//! use rw_adv::judge::Verdict;
//! use rw_adv::verify::{Attack, Subject, classify};
//!
//! // Load.
//! let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref())?;
//! let source = DataSource { path: "data".into(), ..DataSource::default() };
//! let sample = Dataset::open(&source, &model.input_dims)?.sample(4)?;
//! // Ask: may this 4, changed by at most 5 in all pixels together, become the runner-up?
//! let standing = classify(&model, &sample)?;
//! let subject = Subject::new(&model, &sample, standing.predicted, &Attack::within(5.0));
//! // Search, certify, judge.
//! let answer = subject.attack(standing.runner_up, &Budget::unlimited())?;
//! assert_eq!(answer.verdict, Verdict::Adversarial);
//! let witness = answer.judged.witness().expect("judged adversarial");
//! assert!(witness.point().margin() > 0.0 && witness.point().distance() < 5.0);
//! assert!(answer.bound.is_some_and(|bound| witness.point().margin() <= bound.value()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Versions
//!
//! Semantic versioning. Until 1.0, a minor version may change anything that is public; a patch version changes nothing that compiles. The
//! table above is what will be kept stable from 1.0 on. The other rooms are public because a proof is worth more when each of its steps can be
//! called and checked; they may change with any minor version. The names of options, and of fields in records, are a contract with
//! users' scripts: they are added to, and a format that changes gets a new `schema`.
//!
//! # One room alone
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

pub mod attack;
pub mod bounds;
pub mod branch;
pub mod budget;
pub mod data;
pub mod encode;
pub mod formula;
pub mod judge;
pub mod lp;
pub mod maximize;
pub mod network;
pub mod observer;
pub mod onnx;
pub mod problem;
pub mod proof;
pub mod radius;
pub mod record;
pub mod report;
pub mod run;
pub mod search;
pub mod sets;
pub mod solve;
pub mod tolerance;
pub mod walk;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
