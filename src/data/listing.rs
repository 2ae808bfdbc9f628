//! Which pictures a directory or a pattern means, and in which order: as people count, `2.png` before `10.png`.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::SampleError;
use super::picture_file::ENDINGS;

/// Whether a path that does not exist is meant as a pattern.
pub(super) fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// The pictures of a directory, hidden ones left out; maybe none.
pub(super) fn directory(path: &Path) -> Result<Vec<PathBuf>, SampleError> {
    entries(path, is_picture)
}

/// The folders of a directory that hold pictures, hidden ones left out, with these; maybe none.
pub(super) fn folders(path: &Path) -> Result<Vec<(PathBuf, Vec<PathBuf>)>, SampleError> {
    let folders = entries(path, Path::is_dir)?.into_iter();
    let with_files = folders.map(|folder| directory(&folder).map(|files| (folder, files)));
    let found: Result<Vec<_>, SampleError> = with_files.collect();
    Ok(found?.into_iter().filter(|(_, files)| !files.is_empty()).collect())
}

fn entries(path: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, SampleError> {
    let fail = |error| SampleError::io(path, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden && wanted(&entry.path()) {
            found.push(entry.path());
        }
    }
    Ok(sorted(found))
}

/// The files a pattern such as `digits/*.png` matches: at least one, and nothing but pictures.
pub(super) fn pattern(pattern: &Path) -> Result<Vec<PathBuf>, SampleError> {
    let refuse = |problem: String| SampleError::no_data(pattern, problem);
    let text = pattern.to_str().ok_or_else(|| refuse("a pattern must be UTF-8".into()))?;
    let matches = glob::glob(text).map_err(|error| {
        refuse(format!("bad pattern: {} at character {}", error.msg, error.pos))
    })?;
    let mut files = Vec::new();
    for file in matches {
        let file = file.map_err(|error| refuse(error.to_string()))?;
        if !is_picture(&file) {
            let endings = ENDINGS.join(", .");
            let problem =
                format!("matches {}, which is not a picture (.{endings})", file.display());
            return Err(refuse(problem));
        }
        files.push(file);
    }
    if files.is_empty() {
        return Err(refuse("no file matches this pattern".into()));
    }
    Ok(sorted(files))
}

fn is_picture(path: &Path) -> bool {
    let is_one = |extension: &OsStr| ENDINGS.iter().any(|end| extension.eq_ignore_ascii_case(end));
    path.extension().is_some_and(is_one) && path.is_file()
}

fn sorted(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.sort_by(|a, b| {
        let order = natural_order(&a.to_string_lossy(), &b.to_string_lossy());
        order.then_with(|| a.cmp(b))
    });
    files
}

/// Compares runs of digits as numbers and everything else character by character.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    loop {
        let (Some(head_a), Some(head_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
            return rest_a.len().cmp(&rest_b.len()).then_with(|| a.cmp(b));
        };
        let order = if head_a.is_ascii_digit() && head_b.is_ascii_digit() {
            let (number_a, number_b);
            (number_a, rest_a) = split_number(rest_a);
            (number_b, rest_b) = split_number(rest_b);
            // Without leading zeros the longer number is the larger one.
            number_a.len().cmp(&number_b.len()).then(number_a.cmp(number_b))
        } else {
            (rest_a, rest_b) = (&rest_a[head_a.len_utf8()..], &rest_b[head_b.len_utf8()..]);
            head_a.cmp(&head_b)
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// The leading digits without their zeros, and what follows.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (digits.trim_start_matches('0'), rest)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::file::scratch::{folder, write};
    use super::*;

    fn names(files: Vec<PathBuf>) -> Vec<String> {
        let name = |file: PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
        files.into_iter().map(name).collect()
    }

    #[test]
    fn a_directory_is_listed_as_people_count() {
        let folder = folder();
        for name in ["10.png", "2.png", "a.PNG", "1.png", "notes.txt", "._2.png"] {
            write(&folder, name, "");
        }
        fs::create_dir(folder.path().join("3.png")).unwrap();
        assert_eq!(names(directory(folder.path()).unwrap()), ["1.png", "2.png", "10.png", "a.PNG"]);
    }

    #[test]
    fn a_pattern_is_expanded_as_people_count() {
        let folder = folder();
        for name in ["10.png", "2.png", "x.png"] {
            write(&folder, name, "");
        }
        let files = pattern(&folder.path().join("[0-9]*.png")).unwrap();
        assert_eq!(names(files), ["2.png", "10.png"]);
    }

    #[test]
    fn patterns_that_are_wrong_or_match_nothing_or_other_files_are_refused() {
        let folder = folder();
        write(&folder, "labels.txt", "");
        for (text, problem) in [
            ("*.png", "no file matches this pattern"),
            ("***.png", "bad pattern: "),
            ("*", "labels.txt, which is not a picture (.png, .jpg, .jpeg, .webp)"),
        ] {
            let error = pattern(&folder.path().join(text)).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn numbers_count_and_the_rest_is_alphabetical() {
        for (small, large) in [
            ("2", "10"),
            ("img2_a", "img10_a"),
            ("a", "b"),
            ("a", "a1"),
            ("7b", "07c"),
            ("99999999999999999999998", "99999999999999999999999"),
        ] {
            assert_eq!(natural_order(small, large), Ordering::Less, "{small} {large}");
        }
    }

    proptest! {
        #[test]
        fn the_order_is_total(names in prop::collection::vec("[a0-2]{0,5}", 3)) {
            let [a, b, c] = &names[..] else { unreachable!() };
            prop_assert_eq!(natural_order(a, b), natural_order(b, a).reverse());
            prop_assert_eq!(natural_order(a, b).is_eq(), a == b);
            if natural_order(a, b).is_le() && natural_order(b, c).is_le() {
                prop_assert!(natural_order(a, c).is_le());
            }
        }
    }
}
