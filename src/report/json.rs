//! JSON for programs: records, summaries, inspections.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::record::SCHEMA;
use crate::onnx::OnnxModel;

/// One record on one line.
pub fn line(out: &mut impl Write, record: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, record)?;
    writeln!(out)
}

/// What a record was, if `text` is one, whole.
///
/// # Errors
/// When it is not.
pub fn parse<T: DeserializeOwned>(text: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(text)?)
}

/// The contents of `summary.json`.
pub fn summary(
    out: &mut impl Write,
    schema: &str,
    summary: &impl Serialize,
    settings: &impl Serialize,
    elapsed: Duration,
) -> io::Result<()> {
    let value = json!({
        "schema": schema,
        "version": env!("CARGO_PKG_VERSION"),
        "summary": summary,
        "settings": settings,
        "seconds": elapsed.as_secs_f64(),
    });
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

/// What `inspect --json` prints.
pub fn inspection(out: &mut impl Write, path: &Path, model: &OnnxModel) -> io::Result<()> {
    let layers = model
        .network
        .layers()
        .iter()
        .map(|l| json!({ "inputs": l.inputs(), "outputs": l.outputs() }));
    let value = json!({
        "schema": SCHEMA,
        "model": path.display().to_string(),
        "sha256": model.sha256,
        "opset": model.opset,
        "input_dims": model.input_dims,
        "widths": model.network.widths(),
        "layers": layers.collect::<Vec<_>>(),
        "parameters": model.network.parameters(),
        "relus": model.network.neurons(),
        "nodes": model.nodes,
        "check": model.agreement,
    });
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

/// Settings by their names.
pub type Fields = serde_json::Map<String, serde_json::Value>;

/// The fields of what is written as an object; of anything else, none.
pub fn fields(settings: &impl Serialize) -> Fields {
    match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => Fields::new(),
    }
}

/// How many entries a field has that is a list.
pub fn length(fields: &Fields, name: &str) -> usize {
    fields.get(name).and_then(serde_json::Value::as_array).map_or(0, Vec::len)
}

/// A value in a few words.
pub fn brief(value: Option<&serde_json::Value>) -> String {
    use serde_json::Value;

    const LONGEST: usize = 40;
    let text = match value {
        None | Some(Value::Null) => "none".into(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
