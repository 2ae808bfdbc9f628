//! What can be wrong with a property file, always with the file's name and, where there is one, line and column.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A property file that cannot be used, and why. One line.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{problem}", path.display(), at.map(|at| format!("{at}: ")).unwrap_or_default())]
pub struct VnnlibError {
    /// The file.
    pub path: PathBuf,
    /// Where, if the problem has a place.
    pub at: Option<Position>,
    /// What is wrong.
    pub problem: VnnlibProblem,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, base 1.
    pub line: u32,
    /// The character in the line, base 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// What is wrong with a property file.
#[derive(Debug, thiserror::Error)]
pub enum VnnlibProblem {
    /// The file cannot be read, or is not the gzip file that it begins as.
    #[error("cannot read the file: {0}")]
    Unreadable(#[from] io::Error),
    /// The text is no VNN-LIB.
    #[error("{0}")]
    Syntax(String),
    /// VNN-LIB that is not supported.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// More than a limit allows.
    #[error("{0}")]
    TooLarge(String),
}

/// A problem and its place, before the file's name is known.
#[derive(Debug)]
pub(super) struct Complaint {
    pub at: Option<Position>,
    pub problem: VnnlibProblem,
}

impl Complaint {
    pub fn syntax(at: Position, text: impl Into<String>) -> Self {
        Self { at: Some(at), problem: VnnlibProblem::Syntax(text.into()) }
    }

    pub fn unsupported(at: Position, text: impl Into<String>) -> Self {
        Self { at: Some(at), problem: VnnlibProblem::Unsupported(text.into()) }
    }

    pub fn too_large(at: Position, text: impl Into<String>) -> Self {
        Self { at: Some(at), problem: VnnlibProblem::TooLarge(text.into()) }
    }

    /// About the file as a whole.
    pub fn of_file(text: impl Into<String>) -> Self {
        Self { at: None, problem: VnnlibProblem::Syntax(text.into()) }
    }

    pub fn in_file(self, path: &Path) -> VnnlibError {
        let Self { at, problem } = self;
        VnnlibError { path: path.to_owned(), at, problem }
    }
}

impl From<io::Error> for Complaint {
    fn from(error: io::Error) -> Self {
        Self { at: None, problem: error.into() }
    }
}
