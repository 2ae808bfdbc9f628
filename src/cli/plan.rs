//! `--dry-run`: what would be done, and on what.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use rw_adv::record::{AttackRecord, CommonSettings, Contents, RadiusRecord, json};
use rw_adv::run::{Manifest, Plan};
use serde::Serialize;

use super::workload::{Item, RunArgs};

impl RunArgs {
    /// Prints the plan. What would be refused is refused; nothing is written.
    pub fn show_plan(
        &self,
        contents: Contents,
        settings: &impl Serialize,
        common: &CommonSettings,
        items: &[Item],
    ) -> Result<ExitCode> {
        let listed = items.iter().map(|item| (item.sample.index, &item.targets[..]));
        let manifest = Manifest::new(contents, settings, listed);
        let shard = self.out.shard()?;
        let finished = match contents {
            Contents::Radii => self.out.finished::<RadiusRecord>(&manifest)?,
            _ => self.out.finished::<AttackRecord>(&manifest)?,
        };
        let asked: Vec<_> = manifest.keys(shard).collect();
        let plan = Plan {
            common,
            settings: manifest.settings(),
            images: items.len(),
            threads: rayon::current_num_threads(),
            shard: shard.map(|shard| shard.to_string()),
            out: self.out.place(),
            finished: asked.iter().filter(|key| finished.contains(key)).count(),
            asked: asked.len(),
        };
        let mut stdout = io::stdout().lock();
        let printed =
            if self.json { json::line(&mut stdout, &manifest) } else { plan.write(&mut stdout) };
        printed.and_then(|()| stdout.flush()).context("stdout")?;
        Ok(ExitCode::SUCCESS)
    }
}
