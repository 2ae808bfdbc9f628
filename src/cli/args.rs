//! What was typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use super::attack::AttackArgs;
use super::check_proof::CheckProofArgs;
use super::compare::CompareArgs;
use super::help::{ENVIRONMENT, EXAMPLES, LONG_VERSION};
use super::maximize::MaximizeArgs;
use super::merge::MergeArgs;
use super::radius::RadiusArgs;
use super::report::ReportArgs;
use super::screen::ScreenArgs;
use super::status::StatusArgs;
use super::supports::SupportsArgs;
use super::verify::VerifyArgs;
use crate::bench::Bench;

/// How wrong can a trained ReLU classifier be made within an L1 budget?
///
/// For each image, finds the input within the budget with the largest margin (the target's logit minus the predicted
/// label's), proves an upper bound of that margin, and replays what was found in the ONNX file itself.
#[derive(Parser)]
#[command(name = "rw-adv", version, long_version = LONG_VERSION.as_str(), subcommand_negates_reqs = true,
          allow_negative_numbers = true, after_help = EXAMPLES,
          after_long_help = format!("{EXAMPLES}\n\n{ENVIRONMENT}"),
          override_usage = "rw-adv --model FILE --delta DELTA [OPTIONS]\n       rw-adv COMMAND …")]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Print the name of the program, as VNN-LIB 2.0 asks for it
    #[arg(long, hide_short_help = true, exclusive = true)]
    pub name: bool,
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
        /// Which output of the model, if it has several
        #[arg(long, value_name = "NAME")]
        output: Option<String>,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Find how far each image can be changed: the largest certified budget, and the nearest adversary found
    ///
    /// Prints one row per image. No input within `certified` gets a target as label; this is proved for the file's f32
    /// arithmetic. An input at distance `attacked` does; it was replayed in the ONNX file itself. The true radius lies in
    /// between. Both are about the predicted label, even if that is not the true one (marked misclassified).
    Radius(RadiusArgs),
    /// Maximise a linear function of the outputs and inputs over a box, or over bounds and linear constraints from a file
    ///
    /// Works for any piecewise-linear network; one output is enough. The outputs y0, y1, … are those before a final Softmax. To
    /// minimise, negate the objective. Prints the best value found, a proved upper bound, and the point.
    Maximize(MaximizeArgs),
    /// Decide VNN-LIB properties: sat with a counterexample, unsat proved, or unknown
    ///
    /// VNN-LIB 1.0 and 2.0, plain or gzipped. A file describes the counterexample. `sat` comes with an input in f32 that was replayed in the ONNX
    /// file itself; `unsat` is proved, also for the file's f32 arithmetic. Ends when it is decided, or at --timeout. Exit code 0 for every
    /// answer.
    Verify(VerifyArgs),
    /// Print what `verify` supports, as VNN-LIB 2.0 asks for it
    Supports(SupportsArgs),
    /// Check the proofs that --proof wrote: the parts cover the set, and each bound follows from the numbers given for it
    ///
    /// The checker shares no code with the rest: it reads the model with a reader of its own, and rounds outward. It is also a program of its
    /// own, rw-adv-check. Prints for each proof the whole theorem that it proves. Exit code 1 if a proof does not hold.
    CheckProof(CheckProofArgs),
    /// Compare two result directories: verdicts that changed, margins, bounds, times
    ///
    /// Two models, two budgets, two methods: records of the same image and target are compared; where every image has one target, those of the
    /// same image. Radii and instances of `verify` can be compared, too. Exit code 4 if records contradict each other although the same
    /// was asked of the same model.
    Compare(CompareArgs),
    /// Show what a result directory still lacks: the number of records, or the shards that have to run
    Status(StatusArgs),
    /// Merge what runs and shards wrote into a directory
    ///
    /// Writes results.jsonl (radii.jsonl), summary.json, adversarial/ and report.html from all attempts. May be
    /// repeated. If two records have the same image and target, the one that tells more is kept. Exit code 0: complete; 3: records
    /// are missing, what is there was merged; 4: records contradict each other, nothing was written.
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
    /// Make report.html again from the files of a result directory, and export its records
    ///
    /// Shows what is there, also for a run that was killed or still runs, and for shards that are not merged yet.
    Report(ReportArgs),
    /// Measure: region LPs, walks and searches, quality against proved optima, random networks
    #[command(subcommand)]
    Bench(Bench),
}
