//! `--out`: where results go, whether they are continued, and which share of the work is ours.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use rw_adv::record::{Contents, Key, Resumable};
use rw_adv::run::{Manifest, OpenMode, OpenRun, ResultDirectory, Shard, WitnessFiles};
use serde::Serialize;

use super::at_least_one;
use super::workload::Item;

/// Where schedulers say which task of an array this is: Slurm, HyperQueue, GNU parallel.
const TASK_VARIABLES: [&str; 3] = ["SLURM_ARRAY_TASK_ID", "HQ_TASK_ID", "PARALLEL_SEQ"];

#[derive(clap::Args)]
pub struct OutArgs {
    /// Write the records (results.jsonl, radii.jsonl), summary.json, pictures and arrays to a new directory
    ///
    /// Of an attack also report.html: one page to look at, which needs no other file and no network.
    /// For every adversary its folder adversarial/ receives, as .npy and .png: the image (IMAGE), the adversary
    /// (IMAGE_cC_wW) and the signed difference (IMAGE_cC_wW_difference); and all three side by side in
    /// IMAGE_cC_wW_strip.png. C is the predicted label, W the target.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in --out: what is finished there stays, the rest is done
    ///
    /// The directory's manifest.json keeps the settings and the SHA-256 of model and images; a run that differs is refused. A run that was
    /// killed at any moment, and resumed, ends with the same records as one that was not. Where there is nothing to continue, a new run
    /// begins. Only new records are printed; the summary counts all.
    #[arg(long, requires = "out", hide_short_help = true)]
    resume: bool,
    /// Work on one share of the images: I/N, the I-th of N, or auto
    ///
    /// Any number of shares may run at a time, on machines that share --out, each as often as need be: finished records are skipped, and
    /// every attempt writes files of its own, attempts/I-*.jsonl. `rw-adv status` tells which shares are still to be run, `rw-adv merge`
    /// makes the results of all of them. With auto, I comes from SLURM_ARRAY_TASK_ID, HQ_TASK_ID or PARALLEL_SEQ, whichever is set
    /// first, and N from --shards.
    #[arg(long, value_name = "I/N", requires = "out", hide_short_help = true)]
    shard: Option<ShardChoice>,
    /// With --shard auto: the number of shares
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

/// The work that is ours and still to be done, and where its records go.
pub struct Work<R> {
    pub items: Vec<Item>,
    /// How many records our share has in all.
    pub asked: usize,
    /// Those that were there already.
    pub finished: Vec<R>,
    pub results: Option<ResultDirectory>,
    pub witnesses: Option<WitnessFiles>,
}

impl OutArgs {
    /// Our share, if the work is shared.
    pub fn shard(&self) -> Result<Option<Shard>> {
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

    fn opening(&self, shard: Option<Shard>) -> OpenMode {
        match shard {
            Some(shard) => OpenMode::Shard(shard),
            None if self.resume => OpenMode::Resume,
            None => OpenMode::New,
        }
    }

    /// Whether others, or an earlier run, may have left something behind that is ours.
    pub fn is_continued(&self) -> bool {
        self.resume || self.shard.is_some()
    }

    /// Where results go.
    pub fn place(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    /// What is finished there, without touching it.
    pub fn finished<R: Resumable>(&self, manifest: &Manifest) -> Result<BTreeSet<Key>> {
        let Some(out) = &self.out else { return Ok(BTreeSet::new()) };
        let opening = self.opening(self.shard()?);
        let finished = ResultDirectory::look::<R>(out, manifest, opening)?;
        Ok(finished.records().map(Resumable::key).collect())
    }

    /// Opens the result directory, before anything is computed, and takes what is finished there from the work.
    pub fn begin<R: Resumable>(
        &self,
        contents: Contents,
        settings: &impl Serialize,
        items: Vec<Item>,
        dims: &[usize],
    ) -> Result<Work<R>> {
        let listed = items.iter().map(|item| (item.sample.index, &item.targets[..]));
        let manifest = Manifest::new(contents, settings, listed);
        let shard = self.shard()?;
        let asked: BTreeSet<Key> = manifest.keys(shard).collect();
        let Some(out) = &self.out else {
            let (results, witnesses) = (None, None);
            return Ok(Work {
                items,
                asked: asked.len(),
                finished: Vec::new(),
                results,
                witnesses,
            });
        };
        let opening = self.opening(shard);
        let OpenRun { results, witnesses, finished } =
            ResultDirectory::open::<R>(out, &manifest, opening, dims)?;
        let is_left = |key: Key| asked.contains(&key) && !finished.has(key);
        let items = items.into_iter().filter_map(|item| left(contents, item, is_left)).collect();
        let mine = finished.into_records().filter(|record| asked.contains(&record.key()));
        let finished: Vec<R> = mine.collect();
        log::info!(
            "{}: {} of {} records were there already",
            out.display(),
            finished.len(),
            asked.len()
        );
        Ok(Work {
            items,
            asked: asked.len(),
            finished,
            results: Some(results),
            witnesses: Some(witnesses),
        })
    }
}

/// What is left to do for an image.
fn left(contents: Contents, mut item: Item, is_left: impl Fn(Key) -> bool) -> Option<Item> {
    let image = item.sample.index;
    if contents == Contents::Radii {
        return is_left(Key { image, target: None }).then_some(item);
    }
    item.targets.retain(|target| is_left(Key { image, target: Some(target.0) }));
    (!item.targets.is_empty()).then_some(item)
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
