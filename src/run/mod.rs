//! Many problems: in parallel, resumable, sharded; the store on disk.

mod attempt;
mod batch;
mod disk;
mod error;
mod finish;
mod job;
mod jobs;
mod json_lines;
mod keep;
mod lock;
mod manifest;
mod merge;
mod npy;
mod proof;
mod property_proof;
mod record_files;
mod record_set;
mod self_check;
mod shard;
mod sketch_file;
mod store;
mod stored;
mod threads;
mod whole_file;
mod witness;
mod work_observer;

pub use batch::{Batch, BatchResult, Destination, RunError, RunLimits};
pub use error::StoreError;
pub use finish::write_report;
pub use job::{BoxError, Job, Sink};
pub use jobs::{
    AttackJob, ImageTargets, MaximizeJob, RadiusJob, VerifyItem, VerifyJob, data_sha256,
};
pub use json_lines::{JsonLine, JsonLines, lines};
pub use keep::{KeepAnswers, KeptAnswer};
pub use manifest::Manifest;
pub use merge::{MergeResult, merge};
pub use proof::ProofFiles;
pub use property_proof::PropertyProofFiles;
pub use record_files::RecordFiles;
pub use record_set::RecordSet;
pub use self_check::{Claimed, SelfCheck};
pub use shard::Shard;
pub use store::OpenMode;
pub use stored::{contents_of, read_run};
pub use threads::{MOST_THREADS, granted_cpus, has_spare_threads, on_threads};
pub use witness::{Pictures, SavedWitness};
