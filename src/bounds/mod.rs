//! Intervals that every neuron provably stays in while the input stays in its set, and proven upper bounds of what the
//! network can be made to say there.
//!
//! Others propose: slopes, multipliers, how to split a set. What turns proposals into a [`CertifiedBound`], for a whole set at once or over a
//! [`Cover`] of parts, is here and checks them.

mod bounded_part;
mod boxes;
mod build;
mod certificate;
mod certified;
mod cover;
mod cut;
mod envelope;
mod functions;
mod guide;
mod guide_maker;
mod interval;
mod interval_arithmetic;
mod linear;
mod neurons;
mod optimise;
mod part;
mod parts;
mod push_back;
mod relax_rows;
mod relaxation;
mod slopes;
#[cfg(test)]
mod tests;

pub use bounded_part::{BoundedPart, Cut, CutBy};
pub use boxes::{
    Bottleneck, BoundEvidence, BoundLimits, BoundedBox, BoxBounds, BoxEvidence, BoxPart,
    BoxQuestions, BoxScratch, HalvesEvidence, HeadBounds, Inequality, LineEvidence, NeuronDigits,
    NeuronEvidence, QuadraticEvidence, RowCombination, SignTreeNode, SlopeDigits, SplitBy,
    TailBounds, WholeEvidence,
};
pub use build::PartStart;
pub use certificate::{DualBound, LineBound, SpentMove};
pub use certified::{BoundMethod, CertifiedBound, EmptyPart, PartBound};
pub use cover::{ClosedLeaf, CompleteCover, Cover, CoverError, OpenLeaf};
pub use guide::{Guide, GuideLine, GuideSource};
pub use interval::{Interval, Stability};
pub use interval_arithmetic::interval_arithmetic;
pub use linear::{Arithmetic, LinearBounds};
pub use neurons::NeuronBounds;
pub use optimise::BoundOptions;
pub use part::{InputSplit, Part, PixelPart, Sign, SplitSide};
pub use parts::SignedPart;
pub use relaxation::{Multipliers, NeuronDuals, ReluLine, UpperRelaxation};
