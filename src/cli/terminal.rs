//! What a run prints: records on stdout as they come, and a progress bar on stderr that must be out of their way.

use std::io::{self, Write};

use anyhow::{Context, Result};
use rw_adv::data::Classes;
use rw_adv::judge::Verdict;
use rw_adv::record::{AttackRecord, RadiusRecord, Resumable, VerifyRecord, WorkState, json};
use rw_adv::report::{Paint, Progress, text};
use rw_adv::run::{BoxError, Sink};

use super::screen::Screen;

/// A record as a row of a table.
pub trait PrintedRecord: Resumable {
    /// The table's head.
    fn header(out: &mut impl Write, classes: &Classes) -> io::Result<()>;

    /// The record's row.
    fn row(&self, out: &mut impl Write, paint: Paint, classes: &Classes) -> io::Result<()>;

    /// What progress counts.
    fn verdict(&self) -> Option<Verdict> {
        None
    }
}

impl PrintedRecord for AttackRecord {
    fn header(out: &mut impl Write, classes: &Classes) -> io::Result<()> {
        text::attack::header(out, classes)
    }

    fn row(&self, out: &mut impl Write, paint: Paint, classes: &Classes) -> io::Result<()> {
        text::attack::row(out, self, paint, classes)
    }

    fn verdict(&self) -> Option<Verdict> {
        Some(self.verdict)
    }
}

impl PrintedRecord for RadiusRecord {
    fn header(out: &mut impl Write, classes: &Classes) -> io::Result<()> {
        text::radius::header(out, classes)
    }

    fn row(&self, out: &mut impl Write, _: Paint, classes: &Classes) -> io::Result<()> {
        text::radius::row(out, self, classes)
    }
}

impl PrintedRecord for VerifyRecord {
    fn header(out: &mut impl Write, _: &Classes) -> io::Result<()> {
        text::verify::header(out)
    }

    fn row(&self, out: &mut impl Write, paint: Paint, _: &Classes) -> io::Result<()> {
        text::verify::row(out, self, paint)
    }
}

/// stdout and the progress bar.
pub struct Terminal {
    /// Gone when its reader is.
    stdout: Option<io::Stdout>,
    /// A reader that goes away ends the run only when nothing else was asked for.
    outlives_reader: bool,
    paint: Paint,
    /// Lines of JSON instead of a table.
    json: bool,
    /// Records that will come.
    expected: usize,
    progress: Progress,
    /// What labels are called in tables.
    classes: Classes,
}

impl Terminal {
    /// For so many records.
    pub fn new(screen: Screen, json: bool, outlives_reader: bool, records: usize) -> Self {
        let progress = Progress::new(records, screen.progress);
        let (stdout, paint) = (Some(io::stdout()), screen.paint);
        let classes = Classes::default();
        Self { stdout, outlives_reader, paint, json, expected: records, progress, classes }
    }

    /// The same with names for labels.
    pub fn with_classes(self, classes: Classes) -> Self {
        Self { classes, ..self }
    }

    /// Begins the table, if it will have rows.
    pub fn begin<R: PrintedRecord>(&mut self) -> Result<()> {
        if self.expected == 0 {
            return Ok(());
        }
        let classes = self.classes.clone();
        self.print_text(|out| R::header(out, &classes))
    }

    /// Writes what is for people only.
    pub fn print_text(
        &mut self,
        write: impl FnOnce(&mut io::Stdout) -> io::Result<()>,
    ) -> Result<()> {
        if self.json { Ok(()) } else { self.print(write) }
    }

    /// Writes to stdout with the progress bar out of the way.
    fn print(&mut self, write: impl FnOnce(&mut io::Stdout) -> io::Result<()>) -> Result<()> {
        let Some(stdout) = &mut self.stdout else { return Ok(()) };
        match self.progress.aside(|| write(stdout).and_then(|()| stdout.flush())) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe && self.outlives_reader => {
                self.stdout = None;
                Ok(())
            }
            result => result.context("stdout"),
        }
    }
}

impl<R: PrintedRecord> Sink<R> for Terminal {
    fn record(&mut self, record: &R) -> Result<(), BoxError> {
        let (json, paint, classes) = (self.json, self.paint, self.classes.clone());
        let row = |out: &mut io::Stdout| match json {
            true => json::line(out, record),
            false => record.row(out, paint, &classes),
        };
        self.print(row)?;
        self.progress.done(record.key(), record.verdict());
        Ok(())
    }

    fn working(&mut self, state: &WorkState) {
        self.progress.working(state);
    }

    fn end(&mut self) {
        self.progress.finish();
    }
}

/// Progress alone, where the only record is printed when all is done.
pub struct ProgressSink(Progress);

impl ProgressSink {
    /// For one record.
    pub fn new(screen: Screen) -> Self {
        Self(Progress::new(1, screen.progress))
    }
}

impl<R: Resumable> Sink<R> for ProgressSink {
    fn record(&mut self, record: &R) -> Result<(), BoxError> {
        self.0.done(record.key(), None);
        Ok(())
    }

    fn working(&mut self, state: &WorkState) {
        self.0.working(state);
    }

    fn end(&mut self) {
        self.0.finish();
    }
}
