//! Values of options, for every command.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use rw_adv::search::Method;
use rw_adv::solve::Goal;

/// A number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // More would overflow a duration, and is no limit anyway.
        Ok(number) if number > 0.0 && number <= 1e15 => Ok(number),
        Ok(_) => Err("must be a positive number".into()),
        Err(_) => Err("not a number".into()),
    }
}

/// A number from 1 on.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| "must be a whole number from 1 on".into())
}

/// A number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("must be a number from 1 to 1024".into()),
    }
}

/// A file whose name ends like one of these formats.
pub fn file_of<const N: usize>(
    formats: [&'static str; N],
) -> impl Fn(&str) -> Result<PathBuf, String> + Clone + Send + Sync + 'static {
    move |text| {
        let file = PathBuf::from(text);
        if formats.iter().any(|format| file.extension().is_some_and(|end| end == *format)) {
            return Ok(file);
        }
        Err(format!("must end in {}", formats.map(|format| format!(".{format}")).join(" or ")))
    }
}

/// One of the methods' names.
pub fn method() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::NAMES).try_map(|name| name.parse::<Method>())
}

/// One of the goals' names.
pub fn goal() -> impl TypedValueParser<Value = Goal> {
    let goals = [Goal::Optimum, Goal::Verdict];
    PossibleValuesParser::new(goals.map(Goal::name)).map(move |name| {
        let named = goals.into_iter().find(|goal| goal.name() == name);
        named.expect("only names of goals are possible")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_ends() {
        let drawing = file_of(["svg", "png"]);
        assert_eq!(drawing("a/b.svg"), Ok("a/b.svg".into()));
        for text in ["b", "svg", "b.svg.gz", "b.PNG"] {
            assert_eq!(drawing(text), Err("must end in .svg or .png".into()), "{text}");
        }
        assert_eq!(file_of(["png"])("b"), Err("must end in .png".into()));
    }
}
