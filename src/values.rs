//! Values of options, for every command.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use rw_adv::run::Pictures;
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

/// A number of bytes: 500M, 4G.
pub fn memory_size(text: &str) -> Result<u64, String> {
    let text = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let unit = units.iter().find(|(name, _)| text.to_uppercase().ends_with(*name));
    let (number, shift) = match unit {
        Some((_, shift)) => (&text[..text.len() - 1], *shift),
        None => (text, 0),
    };
    let bytes = number.trim().parse::<f64>().map_err(|_| "must be a size such as 500M or 4G")?;
    let bytes = bytes * (1_u64 << shift) as f64;
    // Less would not even hold the program.
    if !(1e7..1e18).contains(&bytes) {
        return Err("must be a size from 10M on, such as 500M or 4G".into());
    }
    Ok(bytes as u64)
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

/// One of the methods' names, or that of the method which needs a solver.
pub fn method() -> impl TypedValueParser<Value = Method> {
    let names = Method::NAMES.into_iter().chain([Method::EXTERNAL]);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Method>())
}

/// One of the goals' names.
pub fn goal() -> impl TypedValueParser<Value = Goal> {
    let goals = [Goal::Optimum, Goal::Verdict];
    PossibleValuesParser::new(goals.map(Goal::name)).map(move |name| {
        let named = goals.into_iter().find(|goal| goal.name() == name);
        named.expect("only names of goals are possible")
    })
}

/// Which pictures are written.
pub fn pictures() -> impl TypedValueParser<Value = Pictures> {
    PossibleValuesParser::new(Pictures::ALL.map(Pictures::name)).map(|name| {
        let named = Pictures::ALL.into_iter().find(|pictures| pictures.name() == name);
        named.expect("only names of choices are possible")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(memory_size("500M"), Ok(500 << 20));
        assert_eq!(memory_size("4GiB"), Ok(4 << 30));
        assert_eq!(memory_size("1.5g"), Ok(3 << 29));
        assert_eq!(memory_size("100000000"), Ok(100_000_000));
        for bad in ["", "M", "4X", "-1G", "1K", "inf", "nan", "many"] {
            assert!(memory_size(bad).is_err(), "{bad}");
        }
    }

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
