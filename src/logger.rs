//! What the library logs, as lines on stderr. The environment variable `RW_ADV_LOG` says from which level on. `env_logger` would not be
//! shorter: lines have to take the progress bar away, and other crates' messages are left out.

use std::env;
use std::io::{self, Write};

use anyhow::{Context, Result};
use log::{LevelFilter, Log, Metadata, Record};
use rw_adv::report;

const VARIABLE: &str = "RW_ADV_LOG";

struct Stderr;

impl Log for Stderr {
    /// tract logs too; its messages are not for users.
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.target().starts_with("rw_adv")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_lowercase();
            let line = format!("rw-adv: {level}: {}\n", record.args());
            // Nothing is left to do when stderr is gone.
            let _ = report::with_bar_aside(|| io::stderr().write_all(line.as_bytes()));
        }
    }

    fn flush(&self) {}
}

/// From now on, what is logged at the level asked for (or `warn`) is written.
pub fn install() -> Result<()> {
    let asked = env::var_os(VARIABLE).filter(|text| !text.is_empty());
    let level = asked.map_or(Ok(LevelFilter::Warn), |text| {
        let text = text.to_string_lossy();
        text.parse().ok().with_context(|| {
            format!("{VARIABLE}: '{text}' is none of off, error, warn, info and debug")
        })
    })?;
    log::set_logger(&Stderr).expect("there is no other logger");
    log::set_max_level(level);
    Ok(())
}
