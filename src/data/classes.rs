//! The classes of a model: how many there are, and what they are called.
//!
//! A name comes before a number: where classes are called 3 and 7, `7` is the class of that name, not the eighth one.

use std::borrow::Cow;
use std::path::Path;

use super::error::SampleError;
use super::file::FileReader;
use crate::network::Label;

/// The longest file of names that is read.
const LONGEST: u64 = 1 << 20;

/// The classes of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    count: usize,
    /// As many, all different, or none.
    names: Vec<String>,
}

/// The longest name of a class in the name of a file.
const LONGEST_SLUG: usize = 40;

/// The letters and digits of a name, with a hyphen for whatever is between them.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    slug.truncate(LONGEST_SLUG);
    slug.trim_end_matches('-').to_owned()
}

impl Classes {
    /// So many classes without names.
    pub fn unnamed(count: usize) -> Self {
        Self { count, names: Vec::new() }
    }

    /// Classes with these names.
    ///
    /// # Errors
    /// When there are not `count` of them, a name is empty, or two are the same.
    pub fn named(count: usize, names: Vec<String>) -> Result<Self, String> {
        if names.len() != count {
            return Err(format!("holds {} names, the model has {count} classes", names.len()));
        }
        let mut sorted: Vec<&str> = names.iter().map(|name| name.trim()).collect();
        sorted.sort_unstable();
        if sorted.first().is_some_and(|first| first.is_empty()) {
            return Err("a class has an empty name".into());
        }
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two classes are called \"{}\"", pair[0]));
        }
        Ok(Self { count, names })
    }

    /// Names from a text file, one on each line, in the order of the model's outputs.
    ///
    /// # Errors
    /// When the file cannot be read, or does not hold `count` different names.
    pub fn read(path: &Path, count: usize) -> Result<Self, SampleError> {
        let file = FileReader::open(path)?;
        let not_text = file.not("names of classes: text, one on each line");
        let bytes = file.rest(LONGEST)?;
        let text = String::from_utf8(bytes).map_err(|_| not_text)?;
        let lines = text.trim_start_matches('\u{feff}').trim_end().lines();
        let names = lines.map(|line| line.trim().to_owned()).collect();
        Self::named(count, names).map_err(|problem| SampleError::unsupported(path, problem))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Their names, in the order of the model's outputs; none, if they have no names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What the classes are called in names of files: lower-case letters, digits and hyphens. A name of which nothing else is left than digits, or
    /// of which another class has the same left, is replaced by the class's number. None, if they have no names.
    pub fn file_names(names: &[String]) -> Vec<String> {
        let slugs: Vec<String> = names.iter().map(|name| slug(name)).collect();
        let is_number = |slug: &str| slug.chars().all(|c| c.is_ascii_digit());
        let is_double = |slug: &String| slugs.iter().filter(|other| *other == slug).count() > 1;
        let name = |(label, slug): (usize, &String)| match is_number(slug) || is_double(slug) {
            true => label.to_string(),
            false => slug.clone(),
        };
        slugs.iter().enumerate().map(name).collect()
    }

    /// What a class is called: its name, or its number.
    pub fn name(&self, label: usize) -> Cow<'_, str> {
        match self.names.get(label) {
            Some(name) => name.into(),
            None => label.to_string().into(),
        }
    }

    /// The class with this name or, if there is none, this number.
    pub fn find(&self, text: &str) -> Option<Label> {
        if let Some(place) = self.names.iter().position(|name| name == text) {
            return Some(Label(place));
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let label: usize = text.parse().ok().filter(|_| is_number)?;
        (label < self.count).then_some(Label(label))
    }

    /// What can be typed for a class, for messages.
    pub fn choices(&self) -> String {
        const SHOWN: usize = 12;
        match &self.names[..] {
            [] => format!("0 to {}", self.count.saturating_sub(1)),
            names if names.len() <= SHOWN => names.join(", "),
            names => format!("{}, … ({} in all)", names[..SHOWN].join(", "), names.len()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::file::scratch::{folder, write};
    use super::*;

    fn named(names: &[&str]) -> Result<Classes, String> {
        Classes::named(names.len(), names.iter().map(|&name| name.into()).collect())
    }

    #[test]
    fn names_of_files_are_letters_digits_and_hyphens() {
        let names = ["Cat", "big  dog!", "犬", "", "7", "CAT.", "T-shirt/top"].map(str::to_owned);
        let files = Classes::file_names(&names);
        assert_eq!(files, ["0", "big-dog", "2", "3", "4", "5", "t-shirt-top"]);
        assert!(Classes::file_names(&[]).is_empty());
    }

    #[test]
    fn a_name_comes_before_a_number() {
        let classes = named(&["7", "3", "boat"]).unwrap();
        for (text, label) in
            [("7", Some(0)), ("3", Some(1)), ("boat", Some(2)), ("2", Some(2)), ("9", None)]
        {
            assert_eq!(classes.find(text), label.map(Label), "{text}");
        }
        assert_eq!((classes.name(2), classes.name(5)), ("boat".into(), "5".into()));
        let unnamed = Classes::unnamed(10);
        assert_eq!((unnamed.find("9"), unnamed.find("10")), (Some(Label(9)), None));
        for text in ["", "-1", "1.0", "+1", "boat"] {
            assert_eq!(unnamed.find(text), None, "{text}");
        }
        assert_eq!((unnamed.choices(), classes.choices()), ("0 to 9".into(), "7, 3, boat".into()));
    }

    #[test]
    fn a_file_has_one_name_on_each_line() {
        let folder = folder();
        let read = |text: &str, count| {
            let path = write(&folder, "classes.txt", text);
            Classes::read(&path, count).map_err(|error| error.to_string())
        };
        let classes = read("\u{feff}T-shirt\r\nankle boot\n\n", 2).unwrap();
        assert_eq!(classes.names(), ["T-shirt", "ankle boot"]);
        for (text, count, problem) in [
            ("a\nb\n", 3, "classes.txt: holds 2 names, the model has 3 classes"),
            ("a\nb\na\n", 3, "two classes are called \"a\""),
            ("a\n\nb\n", 3, "a class has an empty name"),
        ] {
            let error = read(text, count).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        let path = write(&folder, "bytes", b"\xff\xfe\x00");
        assert!(Classes::read(&path, 2).unwrap_err().to_string().contains("not names of classes"));
    }
}
