//! Tokens become declarations and one formula.

use std::io::BufRead;

use super::condition::Conditions;
use super::declarations::{Declarations, NetworkDeclaration, TensorDeclaration, VnnlibVersion};
use super::dnf::{ConditionId, Dnf};
use super::error::{Complaint, Position};
use super::expression::{OpenExpression, Value, too_many};
use super::linear_form::LinearForm;
use super::token::{Lexer, Token};

/// Expressions nested deeper are refused.
const DEEPEST: usize = 1000;

/// Element types whose networks we answer for: our bounds hold for every run in f32, and `real` leaves it to us.
const ELEMENT_TYPES: [&str; 3] = ["float32", "real", "Real"];

/// Everything that a file says.
#[derive(Debug)]
pub(super) struct ParsedFile {
    pub version: VnnlibVersion,
    pub inputs: usize,
    pub outputs: usize,
    pub network: Option<NetworkDeclaration>,
    pub conditions: Conditions,
    /// What all conjunctions have in common.
    pub common: Vec<ConditionId>,
    /// Any of these, each with all that is common.
    pub any_of: Vec<Vec<ConditionId>>,
}

/// Reads a whole file.
pub(super) fn parse(reader: impl BufRead) -> Result<ParsedFile, Complaint> {
    let mut parser = Parser {
        lexer: Lexer::new(reader),
        declarations: Declarations::default(),
        conditions: Conditions::default(),
        open: Vec::new(),
        common: Vec::new(),
        any_of: Dnf::TRUE,
    };
    while parser.statement()? {}
    let Parser { declarations, conditions, common, any_of, .. } = parser;
    let version = declarations.version();
    let (inputs, outputs, network) = declarations.finish()?;
    let any_of = any_of.into_conjunctions();
    Ok(ParsedFile { version, inputs, outputs, network, conditions, common, any_of })
}

struct Parser<R> {
    lexer: Lexer<R>,
    declarations: Declarations,
    conditions: Conditions,
    /// The operators that are open, the innermost last.
    open: Vec<OpenExpression>,
    /// Assertions of single comparisons.
    common: Vec<ConditionId>,
    /// The other assertions.
    any_of: Dnf,
}

impl<R: BufRead> Parser<R> {
    /// Reads one statement; false when there is none left.
    fn statement(&mut self) -> Result<bool, Complaint> {
        match self.lexer.next()? {
            Token::End => return Ok(false),
            Token::Open => {}
            found => return Err(self.expected("'('", found)),
        }
        let keyword = self.word("a statement such as declare-const or assert")?;
        let at = self.lexer.at();
        match keyword.as_str() {
            "vnnlib-version" => {
                let version = self.word("a version such as <2.0>")?;
                self.declarations.declare_version(self.lexer.at(), &version)?;
            }
            "declare-const" => self.constant()?,
            "declare-network" => self.network(at)?,
            "assert" => self.assertion(at)?,
            keyword => {
                let text = format!("the statement {keyword}");
                return Err(Complaint::unsupported(at, text));
            }
        }
        self.expect(Token::Close, "')'")?;
        Ok(true)
    }

    fn constant(&mut self) -> Result<(), Complaint> {
        let name = self.word("a name such as X_0")?;
        self.declarations.declare_const(self.lexer.at(), &name)?;
        let sort = self.word("Real")?;
        if sort != "Real" {
            let text = format!("a constant of type {sort}, only Real is");
            return Err(Complaint::unsupported(self.lexer.at(), text));
        }
        Ok(())
    }

    /// The rest of `(declare-network NAME (declare-input …) (declare-output …))`, up to the last bracket.
    fn network(&mut self, at: Position) -> Result<(), Complaint> {
        let name = self.word("a name of the network")?;
        let (mut input, mut output) = (None, None);
        while self.lexer.next_is(b'(')? {
            self.expect(Token::Open, "'('")?;
            let keyword = self.word("declare-input or declare-output")?;
            let at = self.lexer.at();
            let tensor = match keyword.as_str() {
                "declare-input" if output.is_none() => &mut input,
                "declare-output" => &mut output,
                "declare-input" => {
                    return Err(Complaint::syntax(at, "inputs are declared before outputs"));
                }
                "declare-hidden" => return Err(Complaint::unsupported(at, "hidden outputs")),
                "equal-to" | "isomorphic-to" => {
                    let text = format!("several networks ({keyword})");
                    return Err(Complaint::unsupported(at, text));
                }
                keyword => {
                    let text =
                        format!("expected declare-input or declare-output, found '{keyword}'");
                    return Err(Complaint::syntax(at, text));
                }
            };
            if tensor.is_some() {
                let text = format!("a network of several inputs or outputs ({keyword} twice)");
                return Err(Complaint::unsupported(at, text));
            }
            *tensor = Some(self.tensor()?);
            self.expect(Token::Close, "')'")?;
        }
        let (Some(input), Some(output)) = (input, output) else {
            return Err(Complaint::syntax(at, format!("{name} has no input or no output")));
        };
        self.declarations.declare_network(at, NetworkDeclaration { name, input, output })
    }

    /// Name, type, shape and, if there is one, the name in the ONNX file, which is not looked at: there is only one.
    fn tensor(&mut self) -> Result<TensorDeclaration, Complaint> {
        let name = self.word("a name")?;
        let element_type = self.word("an element type")?;
        if !ELEMENT_TYPES.contains(&element_type.as_str()) {
            let text = format!("the element type {element_type}: float32 and real are");
            return Err(Complaint::unsupported(self.lexer.at(), text));
        }
        let shape = self.indices()?;
        if self.lexer.next_is(b'"')? {
            self.lexer.next()?;
        }
        Ok(TensorDeclaration { name, element_type, shape })
    }

    /// `[0,5]` or `[]`.
    fn indices(&mut self) -> Result<Vec<usize>, Complaint> {
        self.expect(Token::OpenIndex, "'['")?;
        let mut indices = Vec::new();
        if self.lexer.next_is(b']')? {
            self.lexer.next()?;
            return Ok(indices);
        }
        loop {
            let text = self.word("a number")?;
            // No sign: `parse` would take one.
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let Some(index) = text.parse().ok().filter(|_| digits) else {
                let text = format!("expected a whole number, found '{text}'");
                return Err(Complaint::syntax(self.lexer.at(), text));
            };
            indices.push(index);
            match self.lexer.next()? {
                Token::Comma => {}
                Token::CloseIndex => return Ok(indices),
                found => return Err(self.expected("',' or ']'", found)),
            }
        }
    }

    /// The rest of `(assert …)`, up to the last bracket.
    fn assertion(&mut self, at: Position) -> Result<(), Complaint> {
        match self.formula()? {
            Dnf::One(condition) => self.common.push(condition),
            Dnf::All(conditions) => self.common.extend(conditions),
            any => {
                let before = std::mem::replace(&mut self.any_of, Dnf::TRUE);
                self.any_of = before.and(any).map_err(|_| too_many(at))?;
            }
        }
        Ok(())
    }

    fn formula(&mut self) -> Result<Dnf, Complaint> {
        loop {
            let token = self.lexer.next()?;
            let at = self.lexer.at();
            let value = match token {
                Token::Open => {
                    self.open_expression()?;
                    continue;
                }
                Token::Word => Value::Linear(self.number_or_variable(at)?),
                Token::Close => match self.open.pop() {
                    Some(expression) => expression.close(&mut self.conditions)?,
                    None => return Err(Complaint::syntax(at, "expected a formula, found ')'")),
                },
                found => return Err(self.expected("an expression", found)),
            };
            match (self.open.last_mut(), value) {
                (Some(around), value) => around.take(value, at)?,
                (None, Value::Formula(formula)) => return Ok(formula),
                (None, Value::Linear(_)) => {
                    return Err(Complaint::syntax(at, "expected a formula, found an expression"));
                }
            }
        }
    }

    fn open_expression(&mut self) -> Result<(), Complaint> {
        let operator = self.word("an operator")?;
        let at = self.lexer.at();
        if self.open.len() == DEEPEST {
            let text = format!("expressions nested more than {DEEPEST} deep");
            return Err(Complaint::too_large(at, text));
        }
        self.open.push(OpenExpression::new(&operator, at)?);
        Ok(())
    }

    /// What the word that was read last stands for, and the index behind it.
    fn number_or_variable(&mut self, at: Position) -> Result<LinearForm, Complaint> {
        let version = self.declarations.version();
        let word = self.lexer.word();
        if begins_number(&word) {
            return number(&word, version)
                .map(LinearForm::number)
                .map_err(|text| Complaint::syntax(at, text));
        }
        if !self.declarations.has_tensors() {
            return self.declarations.scalar(at, &word).map(LinearForm::variable);
        }
        let name = word.into_owned();
        let indices = if self.lexer.next_is(b'[')? { self.indices()? } else { Vec::new() };
        self.declarations.element(at, &name, &indices).map(LinearForm::variable)
    }

    fn word(&mut self, wanted: &str) -> Result<String, Complaint> {
        match self.lexer.next()? {
            Token::Word => Ok(self.lexer.word().into_owned()),
            found => Err(self.expected(wanted, found)),
        }
    }

    fn expect(&mut self, wanted: Token, name: &str) -> Result<(), Complaint> {
        match self.lexer.next()? {
            found if found == wanted => Ok(()),
            found => Err(self.expected(name, found)),
        }
    }

    /// The token that was read last is another than what was wanted.
    fn expected(&self, wanted: &str, found: Token) -> Complaint {
        let found = match found {
            Token::Open => "'('".into(),
            Token::Close => "')'".into(),
            Token::OpenIndex => "'['".into(),
            Token::CloseIndex => "']'".into(),
            Token::Comma => "','".into(),
            Token::Word => format!("'{}'", self.lexer.word()),
            Token::Quoted => format!("\"{}\"", self.lexer.word()),
            Token::End => "the end of the file".into(),
        };
        Complaint::syntax(self.lexer.at(), format!("expected {wanted}, found {found}"))
    }
}

/// Whether a word is a number, or wants to be one.
fn begins_number(word: &str) -> bool {
    let unsigned = word.trim_start_matches(['+', '-']);
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// The number as the nearest f64.
fn number(word: &str, version: VnnlibVersion) -> Result<f64, String> {
    let value: f64 = word.parse().map_err(|_| format!("'{word}' is not a number"))?;
    if version == VnnlibVersion::Two && word.contains(['e', 'E']) {
        return Err(format!("'{word}': VNN-LIB 2.0 has no exponents, write all digits"));
    }
    if !value.is_finite() {
        return Err(format!("{word} is too large for an f64"));
    }
    Ok(value)
}
