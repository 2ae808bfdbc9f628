//! Colours, for people at a terminal.

use std::fmt;

use anstyle::{AnsiColor, Style};

use crate::record::{RecordedResult, Verdict};

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// As it is.
    #[default]
    Plain,
    /// With ANSI escapes.
    Coloured,
}

impl Paint {
    /// A verdict, right-aligned: red for adversarial, green for robust, yellow for unknown.
    pub(super) fn verdict(self, verdict: Verdict, width: usize) -> impl fmt::Display {
        let colour = match verdict {
            Verdict::Adversarial => AnsiColor::Red,
            Verdict::Robust => AnsiColor::Green,
            Verdict::Unknown => AnsiColor::Yellow,
        };
        let style = self.style(colour);
        format!("{style}{verdict:>width$}{style:#}")
    }

    /// A result, left-aligned: red for sat, green for unsat, yellow for all else.
    pub(super) fn result(self, result: RecordedResult, width: usize) -> impl fmt::Display {
        let colour = match result {
            RecordedResult::Sat => AnsiColor::Red,
            RecordedResult::Unsat => AnsiColor::Green,
            RecordedResult::Unknown | RecordedResult::Timeout | RecordedResult::Error => {
                AnsiColor::Yellow
            }
        };
        let (style, name) = (self.style(colour), result.name());
        format!("{style}{name:<width$}{style:#}")
    }

    fn style(self, colour: AnsiColor) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Coloured => colour.on_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_nothing_but_colours() {
        assert_eq!(Paint::Plain.verdict(Verdict::Robust, 8).to_string(), "  robust");
        let coloured = Paint::Coloured.verdict(Verdict::Robust, 8).to_string();
        assert_eq!(coloured, "\u{1b}[32m  robust\u{1b}[0m");
    }
}
