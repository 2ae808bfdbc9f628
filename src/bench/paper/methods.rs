//! The methods of a comparison: those that are built in, and MILP solvers outside this program.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use rw_adv::search::Method;

/// The solvers that `scripts/solve_mps.py` knows and that are not built in.
const SOLVERS: [&str; 2] = ["gurobi", "scip"];

/// A method under its name in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedMethod {
    pub name: &'static str,
    pub method: Method,
}

/// A name of a method or of a solver.
pub fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(Method::NAMES.into_iter().chain(SOLVERS))
}

/// The methods with these names, each once. Solvers that do not answer are left out, and `out` says so.
pub fn resolve(
    names: &[String],
    solve_mps: &str,
    out: &mut impl Write,
) -> Result<Vec<NamedMethod>> {
    let mut methods: Vec<NamedMethod> = Vec::new();
    for name in names {
        if methods.iter().any(|method| method.name == name) {
            continue;
        }
        if let Some(solver) = SOLVERS.into_iter().find(|solver| solver == name) {
            let command = format!("{solve_mps} {solver}");
            match version(&command) {
                Ok(version) => {
                    writeln!(out, "{solver}: {version}")?;
                    let method = Method::External { solver: command.leak() };
                    methods.push(NamedMethod { name: solver, method });
                }
                Err(reason) => writeln!(out, "{solver}: left out, {reason}")?,
            }
        } else {
            let method: Method = name.parse()?;
            methods.push(NamedMethod { name: method.name(), method });
        }
    }
    Ok(methods)
}

/// What a solver says when it is asked for its version, or why it says nothing.
fn version(command: &str) -> Result<String, String> {
    let mut words = command.split_whitespace();
    let program = words.next().ok_or("--solve-mps is empty")?;
    let said = Command::new(program).args(words).arg("--version").stdin(Stdio::null()).output();
    let said = said.map_err(|error| format!("`{program}` cannot be run: {error}"))?;
    let line = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).lines().last().unwrap_or("it says nothing").to_owned()
    };
    if said.status.success() { Ok(line(&said.stdout)) } else { Err(line(&said.stderr)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_is_run_once_and_missing_solvers_are_told() {
        let names = ["rw", "scip", "milp", "rw"].map(String::from);
        let mut said = Vec::new();
        let methods = resolve(&names, "/no/such/program", &mut said).expect("names");
        let kept: Vec<&str> = methods.iter().map(|method| method.name).collect();
        assert_eq!(kept, ["rw", "milp"]);
        let said = String::from_utf8(said).expect("text");
        assert!(said.starts_with("scip: left out, `/no/such/program` cannot be run"), "{said}");
    }
}
