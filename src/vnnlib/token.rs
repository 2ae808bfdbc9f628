//! Bytes become tokens, one at a time, with their places. The file is never in memory as a whole.

use std::io::BufRead;

use super::error::{Complaint, Position};

/// A word may not be longer: names and numbers are not.
const LONGEST_WORD: usize = 4096;

/// One token. The text of a word or of a quoted text is in the [`Lexer`] until the next token is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `[`
    OpenIndex,
    /// `]`
    CloseIndex,
    /// `,`
    Comma,
    /// A name, a number or an operator.
    Word,
    /// A text in double quotes.
    Quoted,
    /// Nothing is left.
    End,
}

/// Reads tokens.
pub(super) struct Lexer<R> {
    reader: R,
    /// Of the next byte.
    next: Position,
    /// Where the token begins that was read last.
    at: Position,
    text: Vec<u8>,
}

impl<R: BufRead> Lexer<R> {
    pub fn new(reader: R) -> Self {
        let start = Position { line: 1, column: 1 };
        Self { reader, next: start, at: start, text: Vec::new() }
    }

    /// Where the token begins that was read last.
    pub fn at(&self) -> Position {
        self.at
    }

    /// The text of the word that was read last. What is no UTF-8 shows as �.
    pub fn word(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Token, Complaint> {
        let first = self.skip_blanks()?;
        self.at = self.next;
        self.text.clear();
        let Some(first) = first else { return Ok(Token::End) };
        let single = match first {
            b'(' => Token::Open,
            b')' => Token::Close,
            b'[' => Token::OpenIndex,
            b']' => Token::CloseIndex,
            b',' => Token::Comma,
            b'"' => return self.quoted(),
            _ => return self.rest_of_word(),
        };
        self.pass(1);
        Ok(single)
    }

    /// Whether the next token begins with this byte.
    pub fn next_is(&mut self, byte: u8) -> Result<bool, Complaint> {
        Ok(self.skip_blanks()? == Some(byte))
    }

    /// Passes blanks and comments; the next byte, if there is one.
    fn skip_blanks(&mut self) -> Result<Option<u8>, Complaint> {
        let mut in_comment = false;
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let mut passed = 0;
            let mut found = None;
            for &byte in buffer {
                match byte {
                    b'\n' => {
                        in_comment = false;
                        self.next = Position { line: self.next.line.saturating_add(1), column: 1 };
                        passed += 1;
                        continue;
                    }
                    b';' => in_comment = true,
                    byte if in_comment || byte.is_ascii_whitespace() => {}
                    byte => {
                        found = Some(byte);
                        break;
                    }
                }
                passed += 1;
                // What continues a UTF-8 character is no column of its own.
                self.next.column = self.next.column.saturating_add(u32::from(byte & 0xc0 != 0x80));
            }
            self.reader.consume(passed);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Passes bytes of the current line.
    fn pass(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.next.column = self.next.column.saturating_add(bytes as u32);
    }

    fn rest_of_word(&mut self) -> Result<Token, Complaint> {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"()[],;\"".contains(byte);
        let at_end = self.take_until(is_end)?;
        debug_assert!(at_end.is_none_or(|byte| is_end(&byte)), "words end where others begin");
        Ok(Token::Word)
    }

    fn quoted(&mut self) -> Result<Token, Complaint> {
        self.pass(1);
        match self.take_until(|byte| *byte == b'"' || *byte == b'\n')? {
            Some(b'"') => {
                self.pass(1);
                Ok(Token::Quoted)
            }
            _ => Err(Complaint::syntax(self.at, "a text in quotes does not end in its line")),
        }
    }

    /// Adds bytes to the text, up to one that ends it; that one, if the file does not end before.
    fn take_until(&mut self, is_end: impl Fn(&u8) -> bool) -> Result<Option<u8>, Complaint> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let many = buffer.iter().position(&is_end).unwrap_or(buffer.len());
            if self.text.len() + many > LONGEST_WORD {
                let text = format!("a word of more than {LONGEST_WORD} characters");
                return Err(Complaint::too_large(self.at, text));
            }
            let end = buffer.get(many).copied();
            let (ended, columns) = (buffer.is_empty(), characters(&buffer[..many]));
            self.text.extend_from_slice(&buffer[..many]);
            self.reader.consume(many);
            self.next.column = self.next.column.saturating_add(columns);
            if end.is_some() || ended {
                return Ok(end);
            }
        }
    }
}

/// How many characters begin in these bytes.
fn characters(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u32
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::BufReader;

    /// All tokens as text with their places, read through a buffer of so many bytes.
    fn tokens(text: &str, capacity: usize) -> Result<Vec<String>, String> {
        let mut lexer = Lexer::new(BufReader::with_capacity(capacity, text.as_bytes()));
        let mut all = Vec::new();
        loop {
            let token = lexer.next().map_err(|c| format!("{:?} {}", c.at, c.problem))?;
            let Position { line, column } = lexer.at();
            match token {
                Token::End => return Ok(all),
                Token::Word => all.push(format!("{line}:{column} {}", lexer.word())),
                Token::Quoted => all.push(format!("{line}:{column} '{}'", lexer.word())),
                token => all.push(format!("{line}:{column} {token:?}")),
            }
        }
    }

    #[test]
    fn every_token_has_its_place_whatever_the_buffer() {
        let text = "; ä comment (\n(<= X_0\t-1.5e-3)\n  Y[0, 12] \"a b\";x\n é,)";
        let expected = [
            "2:1 Open",
            "2:2 <=",
            "2:5 X_0",
            "2:9 -1.5e-3",
            "2:16 Close",
            "3:3 Y",
            "3:4 OpenIndex",
            "3:5 0",
            "3:6 Comma",
            "3:8 12",
            "3:10 CloseIndex",
            "3:12 'a b'",
            "4:2 é",
            "4:3 Comma",
            "4:4 Close",
        ];
        for capacity in [1, 2, 3, 7, 4096] {
            assert_eq!(tokens(text, capacity).unwrap(), expected, "{capacity}");
        }
    }

    #[test]
    fn what_never_ends_is_refused() {
        assert!(tokens(&"x".repeat(5000), 64).unwrap_err().contains("more than 4096"));
        assert!(tokens("\n \"abc\n\"", 64).unwrap_err().contains("line: 2, column: 2"));
        assert!(tokens("\"abc", 64).unwrap_err().contains("does not end"));
    }
}
