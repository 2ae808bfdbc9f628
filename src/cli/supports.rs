//! `rw-adv supports` and `--name`: what VNN-LIB 2.0 lets tools ask a solver.

use std::io::{self, Write};

use anyhow::{Context, Result};
use rw_adv::onnx;

/// The name of the program.
const NAME: &str = "rw-adv (Relax-and-Walk)";

/// One of the questions.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct SupportsArgs {
    /// The oldest and the newest ONNX opset
    #[arg(long)]
    onnx_opset_versions: bool,
    /// Element types of tensors
    #[arg(long)]
    onnx_element_types: bool,
    /// ONNX operators
    #[arg(long)]
    onnx_operators: bool,
    /// The oldest and the newest version of VNN-LIB
    #[arg(long)]
    vnnlib_versions: bool,
    /// Whether properties may be about hidden nodes
    #[arg(long)]
    hidden_node_theories: bool,
    /// Whether networks may have several inputs or outputs
    #[arg(long)]
    multiple_input_output_theories: bool,
    /// Whether properties may be about several networks
    #[arg(long)]
    multiple_network_theories: bool,
    /// Whether inputs may be compared with outputs
    #[arg(long)]
    multiple_node_comparison_theories: bool,
    /// Which arithmetic properties may use
    #[arg(long)]
    arithmetic_complexity_theories: bool,
    /// Whether disjunctions are more than several questions
    #[arg(long)]
    optimised_disjunctive_reasoning: bool,
    /// Whether counterexamples can be written as ONNX tensors
    #[arg(long)]
    serialise_assignments: bool,
    /// Whether proofs can be written in the format of VNN-LIB
    #[arg(long)]
    unsat_proofs: bool,
}

impl SupportsArgs {
    fn answer(&self) -> Vec<String> {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        match () {
            () if self.onnx_opset_versions => {
                let (oldest, newest) = onnx::OPSETS;
                vec![oldest.to_string(), newest.to_string()]
            }
            () if self.onnx_element_types => lines(&["float32", "real"]),
            () if self.onnx_operators => onnx::operators().map(str::to_owned).collect(),
            () if self.vnnlib_versions => lines(&["1.0", "2.0"]),
            () if self.hidden_node_theories => lines(&["NH"]),
            () if self.multiple_input_output_theories => lines(&["SIO"]),
            () if self.multiple_network_theories => lines(&["SNET"]),
            () if self.multiple_node_comparison_theories => lines(&["SNC"]),
            () if self.arithmetic_complexity_theories => lines(&["BND", "OUTC", "LIN"]),
            // Disjunctions share bounds of neurons, but each is decided on its own.
            () => lines(&["false"]),
        }
    }
}

/// Prints the answer, a line for each entry.
pub fn run(args: &SupportsArgs) -> Result<()> {
    print(&args.answer())
}

/// Prints the name of the program.
pub fn name() -> Result<()> {
    print(&[NAME.to_owned()])
}

fn print(lines: &[String]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let printed = lines.iter().try_for_each(|line| writeln!(stdout, "{line}"));
    printed.and_then(|()| stdout.flush()).context("stdout")
}
