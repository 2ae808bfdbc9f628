//! What was asked for, kept beside the results.

use serde::{Deserialize, Serialize};

use super::json::{self, Value};
use crate::onnx::Normalisation;
use crate::search::Method;
use crate::sets::Norm;
use crate::solve::Goal;
use crate::walk::WayOut;

/// What was asked for, kept beside the results: what all commands have in common.
#[derive(Clone, Debug, Serialize)]
pub struct CommonSettings {
    /// The model file as it was named.
    pub model: String,
    /// Its SHA-256.
    pub model_sha256: String,
    /// Its widths, inputs first.
    pub widths: Vec<usize>,
    /// The data, described.
    pub data: String,
    /// SHA-256 of the images looked at, with their labels.
    pub data_sha256: String,
    /// The images looked at.
    pub images: Vec<usize>,
    /// The norm of the budget.
    pub norm: Norm,
    /// The targets as they were asked for.
    pub target: String,
    /// The seed.
    pub seed: u64,
    /// Starts in a row without gain before a search ends.
    pub patience: usize,
    /// Time limit of each record in seconds, if any.
    pub time_limit: Option<f64>,
    /// What classes are called, in the order of the model's outputs; none, if they have no names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub class_names: Vec<String>,
    /// What was put before the model: its file is `model.onnx` beside the results then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalisation: Option<Normalisation>,
}

/// What was asked of an attack.
#[derive(Clone, Debug, Serialize)]
pub struct AttackSettings {
    /// What all commands have in common.
    #[serde(flatten)]
    pub common: CommonSettings,
    /// The budget.
    pub delta: f64,
    /// Parts of the set bounded at most, if it may be divided.
    pub branch: Option<usize>,
    /// Below this gap a margin counts as optimal.
    pub gap: f64,
    /// The algorithm.
    pub method: Method,
    /// Whether branch and bound began with a point of ours.
    pub warm_start: bool,
    /// The command of the external solver, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solver: Option<String>,
    /// What was wanted, `optimum` or `verdict`.
    pub goal: Goal,
    /// How walks leave a region.
    pub way_out: WayOut,
}

/// What was asked of radii.
#[derive(Clone, Debug, Serialize)]
pub struct RadiusSettings {
    /// What all commands have in common.
    #[serde(flatten)]
    pub common: CommonSettings,
    /// The largest budget tried.
    pub max_delta: f64,
    /// How precise the radii are.
    pub precision: f64,
    /// Nodes of branch and bound for each budget, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<usize>,
}

/// What was asked of `maximize`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MaximizeSettings {
    /// The model's file.
    pub model: String,
    /// SHA-256 of the model.
    pub model_sha256: String,
    /// Inputs, hidden widths, outputs.
    pub widths: Vec<usize>,
    /// The objective as it was given.
    pub objective: String,
    /// Lower and upper bound of the inputs that the file of constraints does not name.
    #[serde(rename = "box")]
    pub bounds: [f64; 2],
    /// The file of bounds and constraints.
    pub constraints: Option<String>,
    /// The algorithm.
    pub method: Method,
    /// How walks leave a region.
    pub way_out: WayOut,
    /// Starts in a row without gain that end the search.
    pub patience: usize,
    /// Parts bounded at most, if the domain is divided.
    pub branch: Option<usize>,
    /// What was wanted, unless it was the optimum.
    #[serde(default, skip_serializing_if = "is_optimum")]
    pub goal: Goal,
    /// What a verdict was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Seconds, if limited.
    pub time_limit: Option<f64>,
    /// The seed.
    pub seed: u64,
}

fn is_optimum(goal: &Goal) -> bool {
    *goal == Goal::Optimum
}

/// What was asked of `verify`.
#[derive(Clone, Debug, Serialize)]
pub struct VerifySettings {
    /// The list of instances as it was named, or the property.
    pub instances: String,
    /// SHA-256 over all networks, properties and timeouts.
    pub instances_sha256: String,
    /// Which output of the network, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Time limit of each record in seconds, if any; the list may have lower ones.
    pub time_limit: Option<f64>,
    /// Parts of a set bounded at most.
    pub branch: Option<usize>,
    /// Starts in a row without gain that end a search.
    pub patience: usize,
    /// The seed.
    pub seed: u64,
}

/// What settings are called where people read them. Names that are missing here are shown with blanks.
const TITLES: [(&str, &str); 27] = [
    ("model", "model"),
    ("model_sha256", "SHA-256 of the model"),
    ("widths", "widths"),
    ("data", "data"),
    ("data_sha256", "SHA-256 of images and labels"),
    ("images", "images"),
    ("instances", "instances"),
    ("instances_sha256", "SHA-256 of networks and properties"),
    ("objective", "objective"),
    ("box", "bounds of every input"),
    ("constraints", "constraints"),
    ("constraints_sha256", "SHA-256 of the constraints"),
    ("threshold", "threshold"),
    ("target", "targets"),
    ("norm", "norm"),
    ("delta", "budget"),
    ("max_delta", "largest budget tried"),
    ("precision", "precision of the radii"),
    ("method", "method"),
    ("warm_start", "begin with what rw finds"),
    ("goal", "goal"),
    ("branch", "nodes of branch and bound at most"),
    ("gap", "gap that counts as optimal"),
    ("patience", "starts in a row without gain"),
    ("way_out", "way out of a region"),
    ("time_limit", "time limit in seconds"),
    ("seed", "seed"),
];

/// A setting as people read it: what it is called, its value, and where it stands among the others. `None` where there is nothing to tell.
pub(crate) fn setting_text(name: &str, value: &Value) -> Option<(usize, String, String)> {
    let place = TITLES.iter().position(|(known, _)| *known == name);
    let title = place.map_or_else(|| name.replace('_', " "), |place| TITLES[place].1.to_owned());
    let text = match value {
        Value::Null | Value::Bool(false) => return None,
        Value::Bool(true) => "yes".into(),
        Value::Number(nodes) if nodes.as_u64() == Some(usize::MAX as u64) => "no limit".into(),
        Value::Array(numbers) if name == "images" => index_ranges(numbers),
        Value::Array(values) => {
            let apart = if name == "widths" { " → " } else { ", " };
            values.iter().map(|value| json::text(Some(value))).collect::<Vec<_>>().join(apart)
        }
        value => json::text(Some(value)),
    };
    Some((place.unwrap_or(TITLES.len()), title, text))
}

/// 0, 1, 2, 5 as `0–2, 5`.
fn index_ranges(numbers: &[Value]) -> String {
    let numbers: Vec<u64> = numbers.iter().filter_map(Value::as_u64).collect();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first}–{last}"),
        _ => run.iter().map(u64::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_in_words() {
        let told = |name: &str, value: &str| {
            let value: Value = json::parse(value.as_bytes()).expect("JSON");
            setting_text(name, &value).map(|(_, title, text)| format!("{title}: {text}"))
        };
        assert_eq!(told("warm_start", "false"), None);
        assert_eq!(told("time_limit", "null"), None);
        let images = told("images", "[0,1,2,5,7,8]");
        assert_eq!(images.as_deref(), Some("images: 0–2, 5, 7–8"));
        assert_eq!(told("widths", "[784,16,10]").as_deref(), Some("widths: 784 → 16 → 10"));
        let nodes = told("branch", &usize::MAX.to_string());
        assert_eq!(nodes.as_deref(), Some("nodes of branch and bound at most: no limit"));
        assert_eq!(told("some_thing", "1.5").as_deref(), Some("some thing: 1.5"));
    }
}
