//! `rw-adv --delta`: adversaries of images, found and excluded.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rw_adv::attack::{Attack, ImageAttack};
use rw_adv::budget::Budget;
use rw_adv::data::TargetChoice;
use rw_adv::judge::Verdict;
use rw_adv::record::json::{self, Fields};
use rw_adv::record::{AttackRecord, AttackSettings};
use rw_adv::report::text;
use rw_adv::run::{AttackJob, Batch, ImageTargets, ProofFiles, SelfCheck};
use rw_adv::search::Method;
use rw_adv::solve::Goal;

use super::branch::BranchArgs;
use super::exports::{ExportArgs, Shortfall, fail_with};
use super::images::{ImageInputArgs, ImageInputs};
use super::method::MethodArgs;
use super::run_args::{RunArgs, show_plan};
use super::screen::Screen;
use super::self_check::{CheckedModel, SelfCheckArgs};
use super::terminal::Terminal;
use crate::interrupt::catch_interrupts;
use crate::values::{file_of, goal, positive};

#[derive(clap::Args)]
pub struct AttackArgs {
    #[command(flatten)]
    images: ImageInputArgs,
    /// Budget: how far an image may be changed, all pixels together (L1) or each of them (L-infinity)
    #[arg(long, value_name = "DELTA", required = true, value_parser = positive)]
    delta: Option<f64>,
    /// The label that should win: runner-up, a label or class name, all, or a CSV file with the columns image,target
    #[arg(long, value_name = "TARGET", default_value_t = TargetChoice::RunnerUp)]
    target: TargetChoice,
    #[command(flatten)]
    method: MethodArgs,
    /// optimum: the best adversary and the smallest bound; verdict: only one adversary, or a bound below zero
    #[arg(long, default_value = Goal::default().name(), value_name = "GOAL", value_parser = goal())]
    goal: Goal,
    #[command(flatten)]
    branch: BranchArgs,
    /// Write proofs of the bounds to a new directory, for `rw-adv check-proof`
    ///
    /// One file IMAGE_cC_wW.json.gz for each image and target: the leaves of the tree, and for each leaf the slopes or dual multipliers
    /// that its bound follows from.
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    proof: Option<PathBuf>,
    #[command(flatten)]
    self_check: SelfCheckArgs,
    /// First write the problem of one image and target as a MILP for other solvers (.mps or .lp)
    ///
    /// up_7 and down_7 are how far pixel 7 is moved from the image; h_1_5 and z_1_5 are output and state of neuron 5 of the first
    /// hidden layer, where the bounds leave its state open; one is 1 and carries the objective's constant. The objective is the margin.
    #[arg(long, value_name = "FILE", value_parser = file_of(["mps", "lp"]), hide_short_help = true)]
    write_model: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    exports: ExportArgs,
    /// Exit with code 1 if an adversary was found
    #[arg(long)]
    exit_code: bool,
}

/// What the arguments mean, with everything that they name opened and checked.
struct AttackPlan {
    inputs: ImageInputs,
    attack: Attack,
    run: RunArgs,
    write_model: Option<PathBuf>,
    proof: Option<PathBuf>,
    self_check: Option<SelfCheck>,
    exports: ExportArgs,
    exit_code: bool,
    screen: Screen,
}

/// Prints an answer for each image and target.
pub fn run(args: AttackArgs, screen: Screen) -> Result<ExitCode> {
    AttackPlan::new(args, screen)?.run()
}

impl AttackPlan {
    fn new(args: AttackArgs, screen: Screen) -> Result<Self> {
        let AttackArgs { images, run, goal, write_model, proof, exports, exit_code, .. } = args;
        let search = args.method.options(run.seed)?;
        let delta = args.delta.expect("clap requires --delta");
        run.start_threads()?;
        let norm = images.norm;
        let inputs = ImageInputs::open(images, args.target)?;
        // Other methods show what they find by themselves.
        let branch = match search.method {
            Method::Rw => args.branch.attack_options(inputs.images(), &inputs.model.network),
            _ => args.branch.options(inputs.images()),
        };
        let checked = CheckedModel {
            path: inputs.model_path(),
            bytes: inputs.normalised(),
            sha256: &inputs.model.sha256,
        };
        let self_check = args.self_check.open(&checked, exports.is_guard())?;
        if proof.is_some() && inputs.is_normalised() && !run.out.is_named() {
            bail!(
                "--proof: needs --out DIR, too: proofs are about DIR/model.onnx, the model with its normalisation"
            );
        }
        let proofs = proof.is_some() || self_check.is_some();
        let attack = Attack { delta, norm, search, goal, branch, proofs };
        Ok(Self { inputs, attack, run, write_model, proof, self_check, exports, exit_code, screen })
    }

    /// What was asked for, to be kept beside the results.
    fn settings(&self, items: &[ImageTargets]) -> Fields {
        let Attack { delta, search, branch, .. } = self.attack;
        json::fields(&AttackSettings {
            common: self.inputs.settings(&self.run, search.patience, items),
            delta,
            branch: branch.map(|branch| branch.nodes),
            gap: self.attack.gap(),
            method: search.method,
            warm_start: search.method == Method::Milp { warm: true },
            solver: search.method.solver().map(str::to_owned),
            goal: self.attack.goal,
            way_out: search.way_out,
        })
    }

    fn run(self) -> Result<ExitCode> {
        let clock = Budget::unlimited();
        let items = self.inputs.items()?;
        let (settings, skipped) = (self.settings(&items), self.inputs.skipped(&items));
        let model = self.inputs.model.clone();
        let self_check = self.self_check.clone();
        let mut job = AttackJob { model, attack: self.attack, proofs: None, self_check };
        let destination = self.run.out.destination()?;
        if self.run.dry_run {
            return show_plan(&job, &items, &settings, &destination, self.run.json);
        }
        if let Some(file) = &self.write_model {
            self.write_milp(file, &items)?;
        }
        // Everything that is written to is opened before anything is computed.
        let exports = self.exports.open()?;
        job.proofs = self.open_proofs()?;
        let batch = Batch::open(&job, items, settings.clone(), &destination)?;
        self.inputs.write_model(&destination)?;
        if let Some(proofs) = &job.proofs {
            proofs.look_for(batch.finished());
        }
        catch_interrupts()?;
        let outlives_reader = destination.directory.is_some() || self.exit_code || exports.wanted();
        let mut terminal = Terminal::new(self.screen, self.run.json, outlives_reader, batch.left())
            .with_classes(self.inputs.classes.clone());
        terminal.begin::<AttackRecord>()?;
        let mut result = batch.run(&self.run.limits(), &clock, &mut terminal);
        let seconds = result.new_seconds();
        let told = result.stored.map_err(Into::into).and_then(|()| -> Result<Option<Shortfall>> {
            result.records.sort_by_key(|record| (record.image, record.target));
            let shortfall = exports.write(&result.records, &settings, Some(&result.missing))?;
            terminal.print_text(|out| {
                text::continued(out, result.finished_before, result.records.len())?;
                text::attack::summary(out, &result.summary, seconds, skipped)
            })?;
            Ok(shortfall)
        });
        result.solved?;
        let shortfall = told?;
        let adversarial = result.summary.verdicts.get(&Verdict::Adversarial);
        Ok(match adversarial {
            _ if result.interrupted => ExitCode::from(130),
            Some(1..) if self.exit_code && shortfall.is_none() => ExitCode::FAILURE,
            _ => fail_with(shortfall),
        })
    }

    /// Where proofs go. Those of a run that is continued, or shared, are there already.
    fn open_proofs(&self) -> Result<Option<ProofFiles>> {
        let Some(directory) = &self.proof else { return Ok(None) };
        let sha256 = &self.inputs.model.sha256;
        let opened = if self.run.out.is_continued() {
            ProofFiles::resume(directory, sha256, self.run.out.is_shared())
        } else {
            ProofFiles::create(directory, sha256)
        };
        Ok(opened.map(Some)?)
    }

    fn write_milp(&self, file: &Path, items: &[ImageTargets]) -> Result<()> {
        let asked: usize = items.iter().map(|item| item.targets.len()).sum();
        let [ImageTargets { sample, predicted, targets, error }] = items else {
            bail!("--write-model: takes one image, {} were asked for", items.len());
        };
        if let Some(error) = error {
            bail!("--write-model: image {}: {error}", sample.index);
        }
        let &[target] = &targets[..] else {
            bail!("--write-model: takes one target, {asked} were asked for");
        };
        let image = ImageAttack::new(&self.inputs.model, sample, *predicted, &self.attack);
        let written = image.write_milp(target, file, &Budget::unlimited());
        written.with_context(|| file.display().to_string())
    }
}
