//! How wrong can a trained ReLU classifier be made within an L1 budget?
//!
//! For a classifier `f` (an ONNX file), an image `x̂` with predicted label `c`, another label `w` and a budget `Δ`:
//!
//! ```text
//! maximise   y_w − y_c            y = f(x)
//! subject to ‖x − x̂‖₁ < Δ,  0 ≤ x ≤ 1
//! ```
//!
//! Whatever is asked becomes a [`Problem`](problem::Problem): a network, a set of inputs, and a question about the outputs. [`mod@solve`]
//! answers every problem the same way: bound, search, branch, judge.
//!
//! The rooms, in the order data flows:
//!
//! - [`network`]: the function under attack: forward pass, activation pattern, gradient
//! - [`sets`]: where inputs may lie: box, L1 or L∞ ball cut by a box, box cut by linear constraints
//! - [`problem`]: network, set, and an objective or a property of the outputs
//! - [`onnx`]: a file becomes a network, checked against tract's own run of the file
//! - [`data`]: images from MNIST directories, IDX, PNG and npy files
//! - [`formula`]: objectives and constraints as people type them
//! - [`vnnlib`]: property files of VNN-LIB 1.0 and 2.0
//! - [`bounds`]: intervals that every neuron stays in, and certified bounds of the objective
//! - [`lp`]: linear programs in our own words (HiGHS)
//! - [`encode`]: a problem as live LPs: one linear region, the relaxation of the whole network, a MILP
//! - [`mod@walk`]: from region to region while the objective grows
//! - [`mod@search`]: starts, ascent, walks, until nothing new is found; the baselines
//! - [`branch`]: branch and bound over parts of the set and signs of neurons
//! - [`judge`]: a candidate becomes a witness by replay of the file; shares no code with those who propose
//! - [`mod@solve`]: the pipeline; [`budget`] says for how long, [`observer`] tells how it goes
//! - [`attack`], [`radius`], [`maximize`]: front ends; they only build problems
//! - [`mod@proof`]: what was proved, for others to check, and the checker
//! - [`record`]: one flat row for each answer; [`run`]: many problems in parallel, resumable, sharded, on disk; [`report`]: rows as
//!   tables, pages and pictures
//! - [`tolerance`]: every epsilon, with its reason
//!
//! # The surface
//!
//! What most programs need is small: load a network, state a problem, solve it.
//!
//! | | |
//! |---|---|
//! | load | [`onnx::OnnxModel::load`], [`data::Dataset::open`], [`attack::classify`] |
//! | ask | [`attack::ImageAttack`], [`radius::radii`], [`maximize::Maximization`]; [`solve::solve`] for any other [`problem::Problem`] |
//! | limit | [`budget::Budget`]: a time limit, and a flag that cancels |
//! | listen | [`observer::Observer`]; nothing here prints |
//! | read | [`solve::Solution`]: [`judge::Verdict`], the stored point, [`bounds::CertifiedBound`] |
//!
//! ```
//! use rw_adv::attack::{Attack, ImageAttack, classify};
//! use rw_adv::budget::Budget;
//! use rw_adv::data::{DataSource, Dataset};
//! use rw_adv::judge::Verdict;
//! use rw_adv::onnx::OnnxModel;
//!
//! // Load.
//! let model = OnnxModel::load("models/mnist_2x16.onnx".as_ref())?;
//! let source = DataSource { path: "data".into(), ..DataSource::default() };
//! let sample = Dataset::open(&source, &model.input_dims)?.sample(4)?;
//! // Ask: may this 4, changed by at most 5 in all pixels together, become the runner-up?
//! let labels = classify(&model, &sample)?;
//! let image = ImageAttack::new(&model, &sample, labels.predicted, &Attack::within(5.0));
//! // Bound, search, judge.
//! let answer = image.attack(labels.runner_up, &Budget::unlimited(), &())?;
//! assert_eq!(answer.verdict, Verdict::Adversarial);
//! let witness = answer.solution.judgement.witness().expect("judged adversarial");
//! assert!(witness.point().value() > 0.0 && witness.point().distance() < 5.0);
//! assert!(answer.solution.bound.is_some_and(|bound| witness.point().value() <= bound.value()));
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

// The command line is one front end of the library among others and speaks of it by its name.
extern crate self as rw_adv;

pub mod attack;
mod bench;
pub mod bounds;
pub mod branch;
pub mod budget;
#[doc(hidden)]
pub mod cli;
pub mod data;
pub mod encode;
pub mod formula;
mod interrupt;
pub mod judge;
mod logger;
pub mod lp;
pub mod maximize;
mod memory;
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
mod values;
pub mod verify;
pub mod vnnlib;
pub mod walk;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
