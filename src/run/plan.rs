//! What a run would do, for `--dry-run`.

use std::io::{self, Write};
use std::path::Path;

use crate::record::CommonSettings;
use crate::record::json::{self, Fields};

/// What a run would do.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// What all commands have in common.
    pub common: &'a CommonSettings,
    /// Everything that was asked for.
    pub settings: &'a Fields,
    /// Images with something to do.
    pub images: usize,
    /// Records of our share.
    pub asked: usize,
    /// Those of them that are there already.
    pub finished: usize,
    /// Our share, if the work is shared.
    pub shard: Option<String>,
    /// How many threads.
    pub threads: usize,
    /// Where the results would go.
    pub out: Option<&'a Path>,
}

/// Settings with lines of their own.
const TOLD: [&str; 6] = ["model", "model_sha256", "widths", "data", "data_sha256", "images"];

impl Plan<'_> {
    /// Writes it for people.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Plan { common, images, asked, finished, .. } = self;
        let widths: Vec<String> = common.widths.iter().map(usize::to_string).collect();
        writeln!(out, "model     {} ({})", common.model, widths.join(" -> "))?;
        writeln!(out, "          SHA-256 {}", common.model_sha256)?;
        writeln!(out, "data      {}", common.data)?;
        writeln!(out, "          SHA-256 of the images asked for {}", common.data_sha256)?;
        writeln!(out, "images    {images} of {} asked for", common.images.len())?;
        let told = self.settings.iter().filter(|(name, _)| !TOLD.contains(&name.as_str()));
        for (place, (name, value)) in told.enumerate() {
            let title = if place == 0 { "settings" } else { "" };
            writeln!(out, "{title:<9} {name} {}", json::brief(Some(value)))?;
        }
        writeln!(out, "threads   {}", self.threads)?;
        if let Some(shard) = &self.shard {
            writeln!(out, "shard     {shard}")?;
        }
        match self.out {
            Some(path) => writeln!(out, "out       {}", path.display())?,
            None => writeln!(out, "out       nothing is kept without --out")?,
        }
        writeln!(out, "records   {} to make, {finished} of {asked} are finished", asked - finished)
    }
}
