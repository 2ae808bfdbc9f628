//! Many problems: the result directory, resume, shards.

mod attempts;
mod manifest;
mod npy;
mod plan;
mod proof;
mod results;
mod shard;
mod sketch;
mod stored;
mod witness;

pub use attempts::{RecordSet, merge};
pub use manifest::{Manifest, data_sha256};
pub use plan::Plan;
pub use proof::ProofFiles;
pub use results::{OpenMode, OpenRun, ResultDirectory, StoreError, write_report, write_summary};
pub use shard::Shard;
pub use stored::read_run;
pub use witness::{SavedWitness, WitnessFiles};
