//! `--out`: where results go, whether they are continued, and which share of the work is ours.

use std::env;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use rw_adv::run::{Destination, OpenMode, Pictures, Shard};

use crate::values::{at_least_one, pictures};

/// Where schedulers say which task of an array this is: Slurm, HyperQueue, GNU parallel.
const TASK_VARIABLES: [&str; 3] = ["SLURM_ARRAY_TASK_ID", "HQ_TASK_ID", "PARALLEL_SEQ"];

#[derive(clap::Args)]
pub struct OutArgs {
    /// Write the records (results.jsonl, radii.jsonl), summary.json, pictures and arrays to a new directory
    ///
    /// Also writes report.html: one page that needs no other file and no network. The folder adversarial/ has every adversary as
    /// IMAGE_cC_wW.npy and IMAGE_cC_wW.png; --pictures writes more, or less. C is the predicted label, W the target; classes with names are
    /// called by them: IMAGE_cat_to_dog.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Files in adversarial/ beside IMAGE_cC_wW.npy: none, adversaries (IMAGE_cC_wW.png), or all
    ///
    /// `all` adds IMAGE_cC_wW_strip.png: image, adversary and signed difference side by side, enlarged, with labels and margin. The
    /// adversary's array and report.html, which holds its own pictures, are written in any case. The choice is not a setting of the run: it
    /// may be another one when the run is continued.
    #[arg(long, value_name = "WHICH", default_value = Pictures::default().name(), value_parser = pictures(), hide_short_help = true)]
    pictures: Pictures,
    /// Continue the run in --out: finished records stay, the rest is done
    ///
    /// The directory's manifest.json keeps the settings and the SHA-256 of model and images; a run with other settings is refused.
    /// A run may be killed at any moment; resumed, it ends with the same records as an undisturbed one. If there is nothing to continue, a
    /// new run begins. Only new records are printed; the summary counts all.
    #[arg(long, requires = "out", hide_short_help = true)]
    resume: bool,
    /// Work on one share of the images: I/N, the I-th of N, or auto
    ///
    /// Any number of shards may run at a time, on machines that share --out, and a shard may run again: finished records are skipped, and
    /// every attempt writes its own files, attempts/I-*.jsonl. `rw-adv status` tells which shards still have to run, `rw-adv merge` merges
    /// their results. With auto, I comes from SLURM_ARRAY_TASK_ID, HQ_TASK_ID or PARALLEL_SEQ, whichever is set first, and N from --shards.
    #[arg(long, value_name = "I/N", requires = "out", hide_short_help = true)]
    shard: Option<ShardChoice>,
    /// With --shard auto: the number of shards
    #[arg(long, value_name = "N", requires = "shard", value_parser = at_least_one, hide_short_help = true)]
    shards: Option<usize>,
}

/// `--shard` as it was typed.
#[derive(Clone, Copy)]
enum ShardChoice {
    One(Shard),
    Auto,
}

impl FromStr for ShardChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::One) }
    }
}

impl OutArgs {
    /// Whether there is a directory.
    pub fn is_named(&self) -> bool {
        self.out.is_some()
    }

    /// Our share, if the work is shared.
    fn shard(&self) -> Result<Option<Shard>> {
        match (self.shard, self.shards) {
            (None, _) => Ok(None),
            (Some(ShardChoice::One(shard)), None) => Ok(Some(shard)),
            (Some(ShardChoice::One(shard)), Some(_)) => {
                bail!("--shards: goes with --shard auto, not with --shard {shard}")
            }
            // Slurm's own count is that of the tasks submitted this time, which may be a few that are run again.
            (Some(ShardChoice::Auto), None) => bail!("--shard auto: needs --shards N"),
            (Some(ShardChoice::Auto), Some(count)) => task(count).map(Some),
        }
    }

    /// Whether others may be writing to the same place.
    pub fn is_shared(&self) -> bool {
        self.shard.is_some()
    }

    /// Whether others, or an earlier run, may have left something behind that is ours.
    pub fn is_continued(&self) -> bool {
        self.resume || self.shard.is_some()
    }

    /// Where results go.
    pub fn destination(&self) -> Result<Destination> {
        let mode = match self.shard()? {
            Some(shard) => OpenMode::Shard(shard),
            None if self.resume => OpenMode::Resume,
            None => OpenMode::New,
        };
        Ok(Destination { directory: self.out.clone(), mode, pictures: self.pictures })
    }
}

/// The share that the scheduler gives us.
fn task(count: usize) -> Result<Shard> {
    let set = TASK_VARIABLES.iter().find_map(|&name| Some((name, env::var_os(name)?)));
    let (name, value) = set.with_context(|| {
        let names = TASK_VARIABLES.join(", ");
        format!("--shard auto: none of {names} is set; write --shard I/{count}")
    })?;
    let value = value.to_string_lossy();
    let shard = value.parse().ok().and_then(|index| Shard::new(index, count));
    shard.with_context(|| {
        format!("--shard auto: {name} is '{value}', but shards are numbered from 1 to {count}")
    })
}
