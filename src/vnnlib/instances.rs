//! Lists of instances as VNN-COMP writes them: `network, property, timeout`, one a line, no header.

use std::path::{Path, PathBuf};
use std::time::Duration;

use csv::{ReaderBuilder, StringRecord, Trim};

/// One line of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedInstance {
    /// The network as it is written there.
    pub model: String,
    /// The property as it is written there.
    pub property: String,
    /// Seconds.
    pub timeout: Option<f64>,
}

/// Why a list is none.
#[derive(Debug, thiserror::Error)]
pub enum InstancesError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: csv::Error,
    },
    /// A line is no instance.
    #[error("{}: line {line}: expected NETWORK,PROPERTY,SECONDS, found '{found}'", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, base 1.
        line: u64,
        /// What is there.
        found: String,
    },
    /// There is nothing in it.
    #[error("{}: lists no instance", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl ListedInstance {
    /// Reads a list. The timeout may be left out.
    ///
    /// # Errors
    /// When it cannot be read, a line is no instance, or there is none.
    pub fn read(path: &Path) -> Result<Vec<Self>, InstancesError> {
        let in_file = |error| InstancesError::Csv { path: path.to_owned(), error };
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_path(path)
            .map_err(in_file)?;
        let mut list = Vec::new();
        for row in reader.records() {
            let row = row.map_err(in_file)?;
            let line = row.position().map_or(0, csv::Position::line);
            let instance = Self::of_row(&row).ok_or_else(|| InstancesError::Line {
                path: path.to_owned(),
                line,
                found: row.iter().collect::<Vec<&str>>().join(","),
            })?;
            list.push(instance);
        }
        if list.is_empty() {
            return Err(InstancesError::Empty { path: path.to_owned() });
        }
        Ok(list)
    }

    fn of_row(row: &StringRecord) -> Option<Self> {
        let fields: Vec<&str> = row.iter().collect();
        let (model, property, timeout) = match fields[..] {
            [model, property] => (model, property, None),
            [model, property, timeout] => {
                let seconds = timeout.parse().ok();
                let is_time =
                    |seconds: &f64| *seconds > 0.0 && Duration::try_from_secs_f64(*seconds).is_ok();
                (model, property, Some(seconds.filter(is_time)?))
            }
            _ => return None,
        };
        let named = !model.is_empty() && !property.is_empty();
        named.then(|| Self { model: model.into(), property: property.into(), timeout })
    }

    /// A file of the list, relative to it: as it is named there, or gzipped.
    pub fn file(list: &Path, name: &str) -> PathBuf {
        let plain = list.parent().unwrap_or(Path::new("")).join(name);
        let mut packed = plain.clone().into_os_string();
        packed.push(".gz");
        let packed = PathBuf::from(packed);
        if !plain.exists() && packed.exists() { packed } else { plain }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ListedInstance>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("instances.csv");
        std::fs::write(&path, text).unwrap();
        ListedInstance::read(&path).map_err(|error| {
            let text = error.to_string();
            text.split_once("instances.csv: ").unwrap().1.to_owned()
        })
    }

    #[test]
    fn lists_by_hand() {
        let list = read("onnx/a.onnx, vnnlib/b.vnnlib ,116\r\nc.onnx,d.vnnlib\n\n").unwrap();
        let [first, second] = &list[..] else { panic!("{list:?}") };
        assert_eq!((first.property.as_str(), first.timeout), ("vnnlib/b.vnnlib", Some(116.0)));
        assert_eq!((second.model.as_str(), second.timeout), ("c.onnx", None));
        for (text, expected) in [
            ("", "lists no instance"),
            ("a,b,1\na", "line 2: expected NETWORK,PROPERTY,SECONDS, found 'a'"),
            ("a,b,-1", "line 1: expected NETWORK,PROPERTY,SECONDS, found 'a,b,-1'"),
            (
                "onnx,vnnlib,timeout",
                "line 1: expected NETWORK,PROPERTY,SECONDS, found 'onnx,vnnlib,timeout'",
            ),
            ("a,,1", "line 1: expected NETWORK,PROPERTY,SECONDS, found 'a,,1'"),
            ("a,b,1e300", "line 1: expected NETWORK,PROPERTY,SECONDS, found 'a,b,1e300'"),
        ] {
            assert_eq!(read(text).unwrap_err(), expected);
        }
    }

    #[test]
    fn files_are_beside_the_list_and_may_be_gzipped() {
        let directory = tempfile::tempdir().unwrap();
        let list = directory.path().join("instances.csv");
        std::fs::write(directory.path().join("a.onnx.gz"), "").unwrap();
        assert_eq!(ListedInstance::file(&list, "a.onnx"), directory.path().join("a.onnx.gz"));
        assert_eq!(ListedInstance::file(&list, "b.onnx"), directory.path().join("b.onnx"));
    }
}
