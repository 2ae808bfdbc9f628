//! What was typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use super::attack::AttackArgs;
use super::check_proof::CheckProofArgs;
use super::help::{ENVIRONMENT, EXAMPLES, LONG_VERSION};
use super::maximize::MaximizeArgs;
use super::merge::MergeArgs;
use super::radius::RadiusArgs;
use super::report::ReportArgs;
use super::screen::ScreenArgs;
use super::status::StatusArgs;
use crate::bench::Bench;

/// How wrong can a trained ReLU classifier be made within an L1 budget?
///
/// For each image, looks for the input within the budget that lifts the target's logit furthest above the
/// predicted one (Relax-and-Walk), and replays it in the ONNX file itself.
#[derive(Parser)]
#[command(name = "rw-adv", version, long_version = LONG_VERSION.as_str(), subcommand_negates_reqs = true,
          allow_negative_numbers = true, after_help = EXAMPLES,
          after_long_help = format!("{EXAMPLES}\n\n{ENVIRONMENT}"),
          override_usage = "rw-adv --model FILE --delta DELTA [OPTIONS]\n       rw-adv COMMAND …")]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub screen: ScreenArgs,
    #[command(flatten)]
    pub attack: AttackArgs,
}

#[derive(Subcommand)]
pub enum Command {
    /// Show a model's layers, what was folded or dropped, and how well it agrees with tract
    Inspect {
        /// The model (.onnx or .onnx.gz)
        model: PathBuf,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// How far each image may be changed: the largest certified budget, and the smallest with an adversary found
    ///
    /// A row per image: no input within `certified` gets a target as label, proven for the file's f32 arithmetic; the
    /// input at distance `attacked` does, replayed in the ONNX file itself. Both are about the predicted label, also
    /// where that is not the true one (marked misclassified). The truth lies in between.
    Radius(RadiusArgs),
    /// Maximise a linear function of the outputs over a box, or over bounds and linear constraints from a file
    ///
    /// Any dense ReLU network will do, with one output too. A final Softmax is dropped: the outputs y0, y1, … are those before
    /// it. To minimise, negate the objective. Prints the best value found, what no input can exceed (proven), and the point.
    Maximize(MaximizeArgs),
    /// Check what --proof has written: that the parts cover the set, and that each bound follows from what is given for it
    ///
    /// Shares no code with the search but the network and the rounding-safe evaluation of bounds. Exit code 1 when a proof does not hold.
    CheckProof(CheckProofArgs),
    /// What a result directory still lacks: how many records, or which shards are to be run
    Status(StatusArgs),
    /// Make one result of what plain runs and shards left in a directory
    ///
    /// Writes results.jsonl (radii.jsonl), summary.json, adversarial/ and, of an attack, report.html from all attempts; may be repeated. Of two records of the same
    /// image and target the one that tells more is kept. Exit code 0: complete; 3: records are missing, what is there was merged;
    /// 4: records contradict each other, nothing was written.
    Merge(MergeArgs),
    /// Print completions for a shell: rw-adv completions bash > /etc/bash_completion.d/rw-adv
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of the program or of one of its commands: rw-adv man | man -l -
    Man {
        /// One of the commands
        command: Option<String>,
    },
    /// Make report.html of a result directory again, from its own files; export its records
    ///
    /// Shows what is there, also of a run that was killed or is still going on, and of shards that are not merged yet.
    Report(ReportArgs),
    /// Measure: region LPs, walks and searches, quality against proven optima, random networks
    #[command(subcommand)]
    Bench(Bench),
}
