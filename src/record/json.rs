//! JSON for programs: records and summaries.

use std::io::{self, Write};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
pub use serde_json::{Map, Value};

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

/// A number that may not be one: JSON has no word for NaN and infinities, and `null` is written for them.
///
/// # Errors
/// When it is something else.
pub fn number_or_nan<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(value).map(|number| number.unwrap_or(f64::NAN))
}

/// Settings, or a record, by the names of their fields.
pub type Fields = Map<String, Value>;

/// The fields of what is written as an object; of anything else, none.
pub fn fields(value: &impl Serialize) -> Fields {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Fields::new(),
    }
}

/// A field as people write it: texts without quotes, nothing for nothing.
pub fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// The texts in a list; none, if there is no such list.
pub fn texts(fields: &Fields, name: &str) -> Vec<String> {
    let list = fields.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// How many entries a field has that is a list.
pub fn length(fields: &Fields, name: &str) -> usize {
    fields.get(name).and_then(Value::as_array).map_or(0, Vec::len)
}

/// A value in a few words.
pub fn brief(value: Option<&Value>) -> String {
    const LONGEST: usize = 40;
    let text = match text(value) {
        nothing if nothing.is_empty() => "none".into(),
        text => text,
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A value as it may stand in an HTML script element: nothing in it can end the element, or begin a comment in it.
///
/// # Errors
/// When it cannot be serialised.
pub fn for_script(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string(value)?;
    if !text.contains(['<', '>']) {
        return Ok(text);
    }
    // In JSON, these characters occur within strings only.
    Ok(text.replace('<', "\\u003c").replace('>', "\\u003e"))
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
    pretty(out, &value)
}

/// A value on many lines.
pub fn pretty(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
