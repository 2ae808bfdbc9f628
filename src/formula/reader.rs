//! The characters of an expression, one after the other.

use super::linear::Linear;

/// Why a text is not a linear expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct LinearError {
    /// The character at which reading ended, base 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: String,
}

#[derive(Clone, Copy)]
pub(super) enum Comparison {
    AtMost,
    AtLeast,
    Equal,
}

/// What variables are called, and how many there are.
#[derive(Clone, Copy)]
pub(super) struct Variables {
    pub letter: char,
    pub count: usize,
    pub kind: &'static str,
}

/// The text and how far it has been read.
pub(super) struct Reader {
    text: Vec<char>,
    at: usize,
    variables: Vec<Variables>,
}

impl Reader {
    /// Variables of several kinds are counted one after the other.
    pub fn new(text: &str, variables: &[Variables]) -> Self {
        Self { text: text.chars().collect(), at: 0, variables: variables.to_vec() }
    }

    /// The next character that is not blank, if there is one.
    pub fn peek(&mut self) -> Option<char> {
        while self.text.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    /// Goes on behind the next word if that is one of these, and says which.
    pub fn word<'w>(&mut self, words: &[&'w str]) -> Option<&'w str> {
        self.peek();
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|c| c.is_ascii_alphabetic()).count();
        let found: String = rest[..length].iter().collect();
        let word = words.iter().copied().find(|word| *word == found)?;
        // `int3` is a word of its own.
        if rest.get(length).is_some_and(|c| c.is_ascii_digit()) {
            return None;
        }
        self.at += length;
        Some(word)
    }

    /// Goes on behind the next character if that is `wanted`.
    pub fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// The digits from here on.
    fn digits(&mut self) -> String {
        let digits: String =
            self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).collect();
        self.at += digits.len();
        digits
    }

    pub fn wrong(&self, problem: impl Into<String>) -> LinearError {
        LinearError { column: self.at + 1, problem: problem.into() }
    }

    pub fn expected(&self, what: &str, found: char) -> LinearError {
        self.wrong(format!("expected {what}, found '{found}'"))
    }

    pub fn overflow(&self) -> LinearError {
        self.wrong("the numbers add up to more than an f64 holds")
    }

    fn expected_term(&mut self) -> LinearError {
        let names = self
            .variables
            .iter()
            .map(|Variables { letter, .. }| format!("{letter}0, {letter}1, …"));
        let what = format!("a number or one of {}", names.collect::<Vec<_>>().join(", "));
        match self.peek() {
            Some(found) => self.expected(&what, found),
            None => self.wrong(format!("expected {what}, found the end")),
        }
    }

    /// Terms with signs between them, up to whatever is neither.
    pub fn expression(&mut self) -> Result<Linear, LinearError> {
        let mut linear = Linear::default();
        let mut first = true;
        loop {
            let mut sign = 1.0;
            let mut signs = 0;
            while let Some(c @ ('+' | '-')) = self.peek() {
                sign = if c == '-' { -sign } else { sign };
                self.at += 1;
                signs += 1;
            }
            if signs == 0 && !first {
                let linear = linear.gathered();
                return if linear.is_finite() { Ok(linear) } else { Err(self.overflow()) };
            }
            let (weight, variable) = self.term()?;
            match variable {
                Some(variable) => linear.terms.push((variable, sign * weight)),
                None => linear.constant += sign * weight,
            }
            first = false;
        }
    }

    /// `2`, `y1`, `2*y1`, `2 y1` or `y1*2`.
    fn term(&mut self) -> Result<(f64, Option<usize>), LinearError> {
        if let Some(variable) = self.variable()? {
            let weight = if self.take('*') { self.number()? } else { Some(1.0) };
            return weight
                .map(|weight| (weight, Some(variable)))
                .ok_or_else(|| self.expected_term());
        }
        let weight = self.number()?.ok_or_else(|| self.expected_term())?;
        let times = self.take('*');
        match self.variable()? {
            None if times => Err(self.expected_term()),
            variable => Ok((weight, variable)),
        }
    }

    /// The next variable, if one begins here.
    pub fn variable(&mut self) -> Result<Option<usize>, LinearError> {
        self.peek();
        let start = self.at;
        let mut before = 0;
        let mut found = None;
        for &variables in &self.variables.clone() {
            if self.take(variables.letter) {
                found = Some(variables);
                break;
            }
            before += variables.count;
        }
        let Some(Variables { letter, count, kind }) = found else { return Ok(None) };
        let digits = self.digits();
        if digits.is_empty() {
            return Err(self.wrong(format!(
                "expected the number of one of the {count} {kind} after {letter}"
            )));
        }
        match digits.parse::<usize>() {
            Ok(index) if index < count => Ok(Some(before + index)),
            _ => {
                let last = count - 1;
                self.at = start;
                Err(self.wrong(format!("there is no {letter}{digits}: the model has {count} {kind}, {letter}0 to {letter}{last}")))
            }
        }
    }

    /// A number without sign, if one begins here.
    fn number(&mut self) -> Result<Option<f64>, LinearError> {
        self.peek();
        let start = self.at;
        self.digits();
        if self.text.get(self.at) == Some(&'.') {
            self.at += 1;
            self.digits();
        }
        let exponent = self.at;
        if self.at > start && matches!(self.text.get(self.at), Some('e' | 'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.text.get(self.at), Some('+' | '-')));
            if self.digits().is_empty() {
                self.at = exponent;
            }
        }
        if self.at == start {
            return Ok(None);
        }
        let text: String = self.text[start..self.at].iter().collect();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            result => {
                self.at = start;
                let problem = if result.is_ok() { "is too large" } else { "is not a number" };
                Err(self.wrong(format!("{text} {problem}")))
            }
        }
    }

    pub fn comparison(&mut self, expected: &str) -> Result<Comparison, LinearError> {
        let found = self.peek();
        let start = self.at;
        let comparison = match found {
            Some('<') => Comparison::AtMost,
            Some('>') => Comparison::AtLeast,
            Some('=') => Comparison::Equal,
            Some(found) => return Err(self.expected(expected, found)),
            None => return Err(self.wrong(format!("expected {expected}, found the end"))),
        };
        self.at += 1;
        let closed = self.text.get(self.at) == Some(&'=');
        self.at += usize::from(closed);
        if let (Some(strict @ ('<' | '>')), false) = (found, closed) {
            self.at = start;
            return Err(
                self.wrong(format!("'{strict}' would leave the border out: write {strict}="))
            );
        }
        Ok(comparison)
    }
}
