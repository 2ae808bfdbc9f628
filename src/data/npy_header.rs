//! The dictionary at the head of an `.npy` file: just enough of Python's literals to read it.

/// The header's dictionary: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
#[derive(Debug, PartialEq)]
pub(super) struct NpyHeader {
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

impl NpyHeader {
    /// On failure, what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut text = Scanner(text);
        text.expect("{")?;
        while !text.eat("}") {
            let key = text.quoted()?;
            text.expect(":")?;
            match key {
                "descr" if text.sees("[") => return Err("arrays of records are not read".into()),
                "descr" => descr = Some(text.quoted()?.to_owned()),
                "fortran_order" if text.eat("True") => fortran_order = Some(true),
                "fortran_order" if text.eat("False") => fortran_order = Some(false),
                "shape" => shape = Some(text.tuple()?),
                _ => return Err(format!("unexpected entry '{key}'")),
            }
            if !text.eat(",") {
                text.expect("}")?;
                break;
            }
        }
        if !text.0.trim().is_empty() {
            return Err(format!("text after its end: {:?}", text.0.trim()));
        }
        Ok(Self {
            descr: descr.ok_or("no 'descr'")?,
            fortran_order: fortran_order.ok_or("no 'fortran_order'")?,
            shape: shape.ok_or("no 'shape'")?,
        })
    }
}

/// The part of a Python literal that is still to be read.
struct Scanner<'a>(&'a str);

impl<'a> Scanner<'a> {
    fn sees(&self, token: &str) -> bool {
        self.0.trim_start().starts_with(token)
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) {
            return Ok(());
        }
        let found: String = self.0.trim_start().chars().take(12).collect();
        Err(format!("'{token}' expected at {found:?}"))
    }

    fn quoted(&mut self) -> Result<&'a str, String> {
        let quote = if self.eat("\"") {
            '"'
        } else {
            self.expect("'")?;
            '\''
        };
        let (inside, rest) = self.0.split_once(quote).ok_or("a quote is not closed")?;
        self.0 = rest;
        Ok(inside)
    }

    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        let mut numbers = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            let text = self.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let (digits, rest) = text.split_at(end);
            let number = digits.parse();
            numbers.push(number.map_err(|_| format!("'{digits}' is not a size"))?);
            self.0 = rest;
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(numbers)
    }
}
