//! `--check-proofs`: the independent checker during a run.

use std::path::Path;

use anyhow::{Error, Result};
use rw_adv::run::SelfCheck;

#[derive(clap::Args)]
pub struct SelfCheckArgs {
    /// Check every robust and optimal answer before it is written, with a checker that shares no code: yes or no [default: yes with --fail-under]
    ///
    /// The proof of the answer is given to the checker of `rw-adv check-proof`, which reads the model with a reader of its own. A run ends with
    /// an error if a proof does not hold. By itself, --fail-under goes without the check if the checker does not support the model, and says so.
    #[arg(long, value_name = "WHETHER", num_args = 0..=1, default_missing_value = "yes", value_parser = ["yes", "no"], hide_short_help = true)]
    check_proofs: Option<String>,
}

/// The model that answers are about.
pub struct CheckedModel<'m> {
    pub path: &'m Path,
    /// Its file, if it is another one than lies there: with the normalisation.
    pub bytes: Option<&'m [u8]>,
    pub sha256: &'m str,
}

impl CheckedModel<'_> {
    fn open(&self) -> Result<SelfCheck, String> {
        match self.bytes {
            Some(bytes) => SelfCheck::from_bytes(self.path, bytes, self.sha256),
            None => SelfCheck::open(self.path, self.sha256),
        }
    }
}

impl SelfCheckArgs {
    /// Whether it was asked for in so many words.
    pub fn is_asked(&self) -> bool {
        self.check_proofs.as_deref() == Some("yes")
    }

    /// The checker, if it was asked for, or if there is a `guard`.
    pub fn open(&self, model: &CheckedModel, guard: bool) -> Result<Option<SelfCheck>> {
        match self.check_proofs.as_deref() {
            Some("yes") => model.open().map(Some).map_err(Error::msg),
            None if guard => {
                let refused = |problem: &String| log::warn!("proofs are not checked: {problem}");
                Ok(model.open().inspect_err(refused).ok())
            }
            _ => Ok(None),
        }
    }
}
