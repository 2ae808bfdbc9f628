//! What is written for other programs when a run ends.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use rw_adv::record::json::Fields;
use rw_adv::record::{AttackRecord, ImageOutcomes, Key, image_outcomes};
use rw_adv::report::{csv, junit};

/// What is written for other programs, and what it takes to fail.
#[derive(clap::Args)]
pub struct ExportArgs {
    /// At the end write all records as CSV: one row per image and target, by image
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    csv: Option<PathBuf>,
    /// At the end write a JUnit file: one test case per image
    ///
    /// A case fails if a target has an adversary or the image is not predicted as labelled. It is skipped if targets are left
    /// undecided, and passes if every target that was asked is excluded. It is an error if records are missing; the exit code
    /// is 3 then.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    junit: Option<PathBuf>,
    /// Exit with code 1 if certified accuracy is below this share (0.9) or percentage (90%)
    ///
    /// Certified accuracy is the share of the searched images that are predicted as labelled (where labels are known) and for which
    /// every target that was asked is robust. Undecided images do not count as certified. For a statement about all labels, use
    /// --target all. The exit code is 3 if records are missing: nothing is said about images that were not searched.
    #[arg(long, value_name = "CERTIFIED", value_parser = share, hide_short_help = true)]
    fail_under: Option<f64>,
}

/// A share from 0 to 1, or a percentage.
fn share(text: &str) -> Result<f64, String> {
    let parsed = match text.strip_suffix('%') {
        Some(percentage) => percentage.trim().parse::<f64>().map(|number| number / 100.0),
        None => text.parse(),
    };
    match parsed {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Ok(_) => {
            Err("must be a share from 0 to 1, or a percentage with its sign, as in 90%".into())
        }
        Err(_) => Err("neither a share such as 0.9 nor a percentage such as 90%".into()),
    }
}

/// Exit code where records are missing: as of `merge`.
const INCOMPLETE: u8 = 3;

/// Why a guard fails.
pub enum Shortfall {
    /// Certified accuracy is too low.
    Accuracy(String),
    /// Records are missing, so that nothing can be said.
    Incomplete(String),
}

/// The exit code, and a line on stderr, if certified accuracy falls short or cannot be told.
pub fn fail_with(shortfall: Option<Shortfall>) -> ExitCode {
    let (line, code) = match shortfall {
        None => return ExitCode::SUCCESS,
        Some(Shortfall::Accuracy(line)) => (line, ExitCode::FAILURE),
        Some(Shortfall::Incomplete(line)) => (line, ExitCode::from(INCOMPLETE)),
    };
    // Nothing is left to do when stderr is gone.
    let _ = writeln!(io::stderr(), "rw-adv: {line}");
    code
}

impl ExportArgs {
    /// Whether anything is to be exported or guarded.
    pub fn is_asked(&self) -> bool {
        self.csv.is_some() || self.junit.is_some() || self.fail_under.is_some()
    }

    /// Opens the files, so that nothing is computed for an unwritable place.
    pub fn open(&self) -> Result<Exports> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(ExportFile::open).transpose();
        let (csv, junit) = (open(&self.csv)?, open(&self.junit)?);
        Ok(Exports { csv, junit, fail_under: self.fail_under })
    }

    /// Whether a limit of certified accuracy is set.
    pub fn is_guard(&self) -> bool {
        self.fail_under.is_some()
    }
}

/// The files, open.
pub struct Exports {
    csv: Option<ExportFile>,
    junit: Option<ExportFile>,
    fail_under: Option<f64>,
}

impl Exports {
    /// Whether anything was asked for.
    pub fn wanted(&self) -> bool {
        self.csv.is_some() || self.junit.is_some() || self.fail_under.is_some()
    }

    /// Writes what was asked for; says so if certified accuracy falls short, or if records are `missing`, which is `None` where it
    /// is not known what was asked for.
    pub fn write(
        self,
        records: &[AttackRecord],
        settings: &Fields,
        missing: Option<&[Key]>,
    ) -> Result<Option<Shortfall>> {
        let is_guard = self.junit.is_some() || self.fail_under.is_some();
        if let Some(file) = self.csv {
            file.write(|out| csv::write(out, records))?;
        }
        if let Some(file) = self.junit {
            file.write(|out| junit::write(out, records, settings, missing))?;
        }
        let incomplete = incomplete(records.len(), missing).filter(|_| is_guard);
        Ok(incomplete.map(Shortfall::Incomplete).or_else(|| {
            let least = self.fail_under?;
            shortfall(&image_outcomes(records), least).map(Shortfall::Accuracy)
        }))
    }
}

/// What is missing, if the records are not all that were asked for.
fn incomplete(records: usize, missing: Option<&[Key]>) -> Option<String> {
    match missing {
        None => {
            Some("there is no manifest.json: it cannot be told whether records are missing".into())
        }
        Some([]) if records == 0 => Some("there are no records".into()),
        Some([]) => None,
        Some([first, ..]) => Some(format!(
            "{} records that were asked for are missing, the first of {first}: finish the run with --resume",
            missing.map_or(0, <[Key]>::len)
        )),
    }
}

/// What is missing, if certified accuracy is below `least`.
fn shortfall(images: &ImageOutcomes, least: f64) -> Option<String> {
    let accuracy = images.certified_accuracy();
    let line = || {
        format!(
            "certified accuracy {:.2} % ({} of {} images) is below --fail-under {:.2} %",
            100.0 * accuracy,
            images.certified,
            images.all(),
            100.0 * least
        )
    };
    // A percentage divided by 100 may be off by a rounding.
    (accuracy < least - 1e-12).then(line)
}

/// A file that is kept as it is until there is something to put into it.
struct ExportFile {
    path: PathBuf,
    file: File,
}

impl ExportFile {
    fn open(path: &Path) -> Result<Self> {
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let file = file.with_context(|| format!("{}: cannot write", path.display()))?;
        Ok(Self { path: path.to_owned(), file })
    }

    fn write(mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<()> {
        let mut contents = Vec::new();
        write(&mut contents)
            .and_then(|()| self.file.set_len(0))
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(&contents))
            .with_context(|| format!("{}: cannot write", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_percentages_are_told_apart() {
        for (text, expected) in
            [("0.9", 0.9), ("90%", 0.9), ("1", 1.0), ("0", 0.0), ("2.5 %", 0.025)]
        {
            assert_eq!(share(text), Ok(expected), "{text}");
        }
        for text in ["90", "101%", "-0.1", "-1%", "nan", "%", "", "most"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_run_that_is_not_whole_is_no_guard() {
        let key = Key { image: 7, target: Some(2) };
        assert!(incomplete(3, None).is_some_and(|line| line.contains("manifest.json")));
        assert!(incomplete(0, Some(&[])).is_some());
        assert_eq!(incomplete(1, Some(&[])), None);
        let line = incomplete(9, Some(&[key, key])).expect("incomplete");
        assert!(
            line.starts_with("2 records that were asked for are missing, the first of image 7")
        );
    }

    #[test]
    fn what_is_just_reached_is_not_below() {
        for (certified, all) in [(333, 1000), (17, 50), (1, 3), (0, 7), (7, 7)] {
            let images =
                ImageOutcomes { certified, undecided: all - certified, ..ImageOutcomes::default() };
            let percentage = 100.0 * certified as f64 / all as f64;
            let least = share(&format!("{percentage}%")).expect("a percentage");
            assert_eq!(shortfall(&images, least), None, "{certified} of {all}");
        }
        let half = ImageOutcomes { certified: 1, attacked: 1, ..ImageOutcomes::default() };
        let line = shortfall(&half, 0.51).expect("below");
        assert!(line.starts_with("certified accuracy 50.00 % (1 of 2 images)"), "{line}");
    }
}
