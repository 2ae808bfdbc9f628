//! `--config`: a TOML file of options, put on the command line where they were not typed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Arg, ArgAction, Command};
use toml::{Table, Value};

/// The option that names the file.
const CONFIG: &str = "config";
/// What makes no sense in a file.
const NOT_IN_FILE: [&str; 3] = [CONFIG, "help", "version"];
/// Less alike than this, a name is no suggestion; the value that clap takes.
const ALIKE: f64 = 0.7;

/// The file that the command line names.
pub fn file(typed: &[OsString]) -> Option<PathBuf> {
    value_of(typed, CONFIG).map(PathBuf::from)
}

/// The command line with the options of the file that it names, if it names one.
pub fn expand(command: &Command, typed: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(file) = file(&typed) else { return Ok(typed) };
    let mut command = command.clone();
    command.build();
    let command = chosen(&command, &typed);
    let more = options(&file, command, &typed).with_context(|| file.display().to_string())?;
    Ok(typed.into_iter().chain(more).collect())
}

/// The value of an option that was typed, before anything is parsed.
fn value_of(typed: &[OsString], name: &str) -> Option<OsString> {
    let (alone, joined) = (format!("--{name}"), format!("--{name}="));
    typed.iter().enumerate().find_map(|(place, argument)| {
        if argument.to_str() == Some(&alone) {
            return typed.get(place + 1).cloned();
        }
        argument.to_str()?.strip_prefix(&joined).map(Into::into)
    })
}

/// The subcommand that was typed, or the one of that.
pub fn chosen<'c>(command: &'c Command, typed: &[OsString]) -> &'c Command {
    let mut chosen = command;
    let mut is_value = false;
    for argument in typed.iter().skip(1).map(|argument| argument.to_string_lossy()) {
        if std::mem::take(&mut is_value) {
            continue;
        }
        match argument.strip_prefix("--") {
            Some(name) => is_value = find(chosen, name).is_some_and(|arg| !is_flag(arg)),
            None => chosen = chosen.find_subcommand(&*argument).unwrap_or(chosen),
        }
    }
    chosen
}

fn find<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(name))
}

fn is_flag(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count)
}

/// What the file adds to what was typed.
fn options(file: &Path, command: &Command, typed: &[OsString]) -> Result<Vec<OsString>> {
    let text = fs::read_to_string(file).context("cannot read")?;
    let table: Table = toml::from_str(&text).map_err(|error| in_one_line(&error, &text))?;
    let mut more = Vec::new();
    for (key, value) in &table {
        let known = find(command, key).filter(|_| !NOT_IN_FILE.contains(&key.as_str()));
        let Some(arg) = known else { bail!("{}", unknown(command, key)) };
        let words = words(arg, key, value)?;
        if !is_typed(arg, typed) {
            more.extend(words.into_iter().map(OsString::from));
        }
    }
    Ok(more)
}

/// Where it is wrong, without the lines that show it.
fn in_one_line(error: &toml::de::Error, text: &str) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    anyhow::anyhow!("line {line}: {}", error.message())
}

fn unknown(command: &Command, key: &str) -> String {
    let names = command.get_arguments().filter_map(Arg::get_long);
    let names = names.filter(|name| !NOT_IN_FILE.contains(name));
    let alike = names.map(|name| (strsim::jaro(key, name), name));
    let nearest = alike.filter(|(alike, _)| *alike > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((_, name)) => format!("unknown key '{key}'; a similar one exists: '{name}'"),
        None => format!("unknown key '{key}': no option of this command has that name"),
    }
}

/// Whether the user has typed the option, or the opposite of it.
fn is_typed(arg: &Arg, typed: &[OsString]) -> bool {
    let said = |name: &str, short: Option<char>| {
        let (alone, joined) = (format!("--{name}"), format!("--{name}="));
        typed.iter().filter_map(|argument| argument.to_str()).any(|argument| {
            let letters = argument.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            let is_short = short.is_some_and(|short| letters.is_some_and(|l| l.contains(short)));
            argument == alone || argument.starts_with(&joined) || is_short
        })
    };
    let name = arg.get_long().unwrap_or_default();
    let is_loudness = ["verbose", "quiet"].contains(&name);
    said(name, arg.get_short())
        || is_loudness && (said("verbose", Some('v')) || said("quiet", Some('q')))
}

/// An option as it would have been typed.
fn words(arg: &Arg, key: &str, value: &Value) -> Result<Vec<String>> {
    let may_be_alone = arg.get_num_args().is_some_and(|values| values.min_values() == 0);
    let is_switch = is_flag(arg) || may_be_alone && value.is_bool();
    if !is_switch {
        let Some(text) = text(value) else {
            bail!("{key}: must be text, a number, or a list of them");
        };
        return Ok(vec![format!("--{key}={text}")]);
    }
    match value {
        Value::Boolean(true) => Ok(vec![format!("--{key}")]),
        Value::Boolean(false) => Ok(Vec::new()),
        Value::Integer(times @ 0..=9) if matches!(arg.get_action(), ArgAction::Count) => {
            Ok((0..*times).map(|_| format!("--{key}")).collect())
        }
        _ => bail!("{key}: must be true or false"),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Array(values) => {
            let texts: Option<Vec<String>> = values.iter().map(text).collect();
            // One image is "3,": the number alone would be a count.
            texts.map(|texts| match &values[..] {
                [Value::Integer(only)] => format!("{only},"),
                _ => texts.join(","),
            })
        }
        Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}
