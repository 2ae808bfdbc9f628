//! `rw-adv radius`: how far each image may be changed, proven and found.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use rayon::prelude::*;
use rw_adv::budget::Budget;
use rw_adv::data::TargetChoice;
use rw_adv::radius::{RadiusOptions, radii};
use rw_adv::record::{
    Contents, RADIUS_SCHEMA, RadiusRecord, RadiusSettings, RadiusSummary, Summarize, json,
};
use rw_adv::report;
use rw_adv::run::{ResultDirectory, WitnessFiles};
use rw_adv::search::SearchOptions;

use super::out::Work;
use super::screen::Screen;
use super::workload::{Item, RunArgs, STOP, Terminal, Workload, WorkloadArgs, catch_interrupts};
use super::{at_least_one, positive};

#[derive(clap::Args)]
pub struct RadiusArgs {
    #[command(flatten)]
    problem: WorkloadArgs,
    /// Who shall win: all (the smallest radius over all labels), runner-up, a label, or a CSV file with the columns
    /// image,target
    #[arg(long, value_name = "TARGET", default_value_t = TargetChoice::All)]
    target: TargetChoice,
    /// The largest budget tried [default: all inputs are within it: 1 for linf, the number of inputs for l1]
    #[arg(long, value_name = "DELTA", value_parser = positive)]
    max_delta: Option<f64>,
    /// How precise the radii are, relative to each, or to one grey level (1/255) if that is larger
    #[arg(long, value_name = "P", default_value_t = RadiusOptions::PRECISION, value_parser = precision)]
    precision: f64,
    /// End each of an image's searches after so many starts in a row without gain
    #[arg(long, value_name = "N", default_value_t = RadiusOptions::PATIENCE, value_parser = at_least_one)]
    patience: usize,
    #[command(flatten)]
    run: RunArgs,
}

/// Finer than the smallest, f32 does not tell distances apart; the largest is no precision at all.
fn precision(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (1e-6..=0.5).contains(&number) => Ok(number),
        Ok(_) => Err("must be a number from 0.000001 to 0.5".into()),
        Err(_) => Err("not a number".into()),
    }
}

/// What the arguments mean.
struct Job {
    problem: Workload,
    options: RadiusOptions,
    run: RunArgs,
    screen: Screen,
}

/// Prints the radii of the images that were asked for.
pub fn run(args: RadiusArgs, screen: Screen) -> Result<ExitCode> {
    let clock = Budget::unlimited();
    args.run.start_threads()?;
    let norm = args.problem.norm;
    let problem = Workload::open(args.problem, args.target)?;
    let covering = RadiusOptions::covering(norm, problem.model.network.inputs());
    let search =
        SearchOptions { seed: args.run.seed, patience: args.patience, ..SearchOptions::default() };
    let options = RadiusOptions {
        norm,
        max_delta: args.max_delta.unwrap_or(covering),
        precision: args.precision,
        search,
    };
    Job { problem, options, run: args.run, screen }.run(&clock)
}

impl Job {
    fn run(self, clock: &Budget) -> Result<ExitCode> {
        let items = self.problem.items()?;
        let (settings, skipped) = (self.settings(&items), self.problem.skipped(&items));
        if self.run.dry_run {
            return self.run.show_plan(Contents::Radii, &settings, &settings.common, &items);
        }
        let dims = &self.problem.model.input_dims;
        let work = self.run.out.begin(Contents::Radii, &settings, items, dims)?;
        let Work { items, asked, finished, results, witnesses } = work;
        catch_interrupts()?;
        let mut output = Output {
            terminal: Terminal::new(self.screen, results.is_some(), items.len()),
            results,
            asked,
            finished: finished.len(),
            records: finished,
            json: self.run.json,
        };
        output.begin()?;
        let output = Mutex::new(output);
        let searched = items.par_iter().try_for_each(|item| {
            if STOP.load(Ordering::Relaxed) {
                return Ok(());
            }
            let done = self.record(item, witnesses.as_ref()).and_then(|record| {
                output.lock().unwrap_or_else(PoisonError::into_inner).write(&record)
            });
            // A record that cannot be written ends the run: what is on disk stays, nothing more is computed in vain.
            done.inspect_err(|_| STOP.store(true, Ordering::Relaxed))
        });
        let output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        let interrupted = STOP.load(Ordering::Relaxed);
        let summary = RadiusSummary::of(&output.records, output.asked, interrupted);
        let finished = output.finish(summary, &settings, clock.elapsed(), skipped);
        searched?;
        finished?;
        Ok(if interrupted { ExitCode::from(130) } else { ExitCode::SUCCESS })
    }

    /// What was asked for, to be kept beside the results.
    fn settings(&self, items: &[Item]) -> RadiusSettings {
        let RadiusOptions { max_delta, precision, search, .. } = self.options;
        let common = self.problem.settings(&self.run, search.patience, items);
        RadiusSettings { common, max_delta, precision }
    }

    fn record(&self, item: &Item, files: Option<&WitnessFiles>) -> Result<RadiusRecord> {
        let Item { sample, predicted, targets } = item;
        let budget = Budget::start(self.run.time_limit(), Some(&STOP));
        let asked = (*predicted, &targets[..]);
        let radii = radii(&self.problem.model, sample, asked, &self.options, &budget)?;
        let seconds = budget.elapsed().as_secs_f64();
        let mut record = RadiusRecord::new(sample, *predicted, &self.options, &radii, seconds);
        if let (Some(files), Some(adversary)) = (files, &radii.adversary) {
            let pair = (*predicted, adversary.target);
            let picture = adversary.picture.as_ref();
            let saved =
                files.save(sample.index, pair, &sample.pixels, &adversary.witness, picture)?;
            record.npy = Some(saved.npy);
            record.png = saved.png;
        }
        Ok(record)
    }
}

/// Where records go, one at a time.
struct Output {
    terminal: Terminal,
    results: Option<ResultDirectory>,
    /// All of them, also those that were there before.
    records: Vec<RadiusRecord>,
    /// How many were asked for.
    asked: usize,
    /// Records that were there before.
    finished: usize,
    json: bool,
}

impl Output {
    fn begin(&mut self) -> Result<()> {
        if self.json { Ok(()) } else { self.terminal.print(report::text::radius_header) }
    }

    fn write(&mut self, record: &RadiusRecord) -> Result<()> {
        if let Some(results) = &mut self.results {
            results.keep(record)?;
        }
        self.records.push(record.clone());
        let json = self.json;
        self.terminal.print(|out| {
            if json { json::line(out, record) } else { report::text::radius_row(out, record) }
        })?;
        self.terminal.progress.advance();
        Ok(())
    }

    fn finish(
        mut self,
        summary: RadiusSummary,
        settings: &RadiusSettings,
        elapsed: Duration,
        skipped: usize,
    ) -> Result<()> {
        self.terminal.progress.finish();
        if let Some(results) = &self.results {
            results.finish(RADIUS_SCHEMA, &summary, settings, elapsed)?;
        }
        if self.json {
            return Ok(());
        }
        let (finished, seconds) = (self.finished, elapsed.as_secs_f64());
        self.terminal.print(|out| {
            report::text::continued(out, finished)?;
            report::text::radius_summary(out, &summary, seconds, skipped)
        })
    }
}
