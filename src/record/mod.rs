//! What is known about one piece of work, as one flat row. Field names are a contract with users' scripts.

mod attack;
mod changes;
mod comparison;
mod contents;
mod inspection;
pub mod json;
mod key;
mod maximize;
mod outcome;
mod plan;
mod radius;
mod settings;
mod sketch;
mod stats;
mod stored;
mod summary;
mod verify;
mod work_state;

pub(crate) use attack::change_text;
pub use attack::{ATTACK_SCHEMA, AttackRecord};
pub(crate) use changes::{append_varint, places as picture_places};
pub use comparison::{
    ComparedChange, ComparedNumber, ComparedPoint, RunComparison, compare_attacks,
    compare_instances, compare_radii,
};
pub use contents::Contents;
pub use inspection::{InspectedNode, Inspection, LayerSize, NodeRole, TractComparison};
pub use key::{Key, Resumable, Summarize};
pub use maximize::{MAXIMIZE_SCHEMA, MaximizeRecord};
pub(crate) use outcome::{ImageOutcome, by_image};
pub use outcome::{ImageOutcomes, image_outcomes};
pub use plan::Plan;
pub use radius::{RADIUS_SCHEMA, RadiusRecord};
pub(crate) use settings::setting_text;
pub use settings::{
    AttackSettings, CommonSettings, MaximizeSettings, RadiusSettings, VerifySettings,
};
pub(crate) use sketch::thinned;
pub use sketch::{PictureSize, Sketch, Sketches};
pub use stats::SolveStats;
pub use stored::{RunOrigin, StoredRun};
pub use summary::{AttackSummary, Averages, RadiusSummary};
pub use verify::{RecordedResult, VERIFY_SCHEMA, VerifyInstance, VerifyRecord, VerifySummary};

pub use work_state::{PhaseTimes, WorkState};

pub use crate::judge::Verdict;

#[cfg(test)]
pub(crate) use attack::tests::record;
