//! Expressions, from the inside out: an operator takes its operands one by one, and what it makes of them is an operand in turn.
//!
//! There is no recursion: what is open is on a stack of its own, and a file that nests deeper than that is refused.

use super::condition::{Conditions, Requirement};
use super::dnf::{Dnf, MOST_CONJUNCTIONS};
use super::error::{Complaint, Position};
use super::linear_form::{LinearFault, LinearForm};

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Compare(Comparator),
    Plus,
    Minus,
    Times,
}

/// How two expressions are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparator {
    AtMost,
    AtLeast,
    Less,
    Greater,
    Equal,
}

/// What an expression is.
#[derive(Debug)]
pub(super) enum Value {
    /// A number, a variable, or arithmetic with them.
    Linear(LinearForm),
    /// A comparison, or what is made of several.
    Formula(Dnf),
}

/// An operator that has not got all of its operands.
#[derive(Debug)]
pub(super) struct OpenExpression {
    operation: Operation,
    name: &'static str,
    at: Position,
    operands: usize,
    linear: LinearForm,
    formula: Dnf,
}

impl OpenExpression {
    /// The operator of this name.
    pub fn new(name: &str, at: Position) -> Result<Self, Complaint> {
        let compare = Operation::Compare;
        let (operation, name) = match name {
            "and" => (Operation::And, "and"),
            "or" => (Operation::Or, "or"),
            "<=" => (compare(Comparator::AtMost), "<="),
            ">=" => (compare(Comparator::AtLeast), ">="),
            "<" => (compare(Comparator::Less), "<"),
            ">" => (compare(Comparator::Greater), ">"),
            "==" | "=" => (compare(Comparator::Equal), "=="),
            "+" => (Operation::Plus, "+"),
            "-" => (Operation::Minus, "-"),
            "*" => (Operation::Times, "*"),
            "!=" | "distinct" | "not" | "=>" | "xor" | "ite" | "let" | "/" => {
                return Err(Complaint::unsupported(at, format!("the operator {name}")));
            }
            name => {
                let text = format!("expected and, or, <=, >=, <, >, ==, +, - or *, found '{name}'");
                return Err(Complaint::syntax(at, text));
            }
        };
        let formula = if operation == Operation::And { Dnf::TRUE } else { Dnf::FALSE };
        let linear = LinearForm::default();
        Ok(Self { operation, name, at, operands: 0, linear, formula })
    }

    /// One more operand.
    pub fn take(&mut self, value: Value, at: Position) -> Result<(), Complaint> {
        self.operands += 1;
        match (self.operation, value) {
            (Operation::And | Operation::Or, Value::Formula(formula)) => {
                let before = std::mem::replace(&mut self.formula, Dnf::TRUE);
                let both = match self.operation {
                    Operation::And => before.and(formula),
                    _ => before.or(formula),
                };
                self.formula = both.map_err(|_| too_many(at))?;
                Ok(())
            }
            (Operation::And | Operation::Or, Value::Linear(_)) => {
                let text = format!("'{}' takes comparisons, found an expression", self.name);
                Err(Complaint::syntax(at, text))
            }
            (_, Value::Formula(_)) => {
                let text = format!("'{}' takes numbers and variables, found a formula", self.name);
                Err(Complaint::syntax(at, text))
            }
            (_, Value::Linear(operand)) => self.take_linear(operand, at),
        }
    }

    fn take_linear(&mut self, operand: LinearForm, at: Position) -> Result<(), Complaint> {
        let before = std::mem::take(&mut self.linear);
        self.linear = match self.operation {
            _ if self.operands == 1 => operand,
            Operation::Times => before.times(operand).map_err(|fault| explain(fault, at))?,
            Operation::Plus => before.plus(operand),
            Operation::Compare(_) if self.operands > 2 => {
                let text = format!("'{}' takes two operands", self.name);
                return Err(Complaint::syntax(at, text));
            }
            _ => before.plus(operand.negated()),
        };
        Ok(())
    }

    /// What the operator makes of its operands.
    pub fn close(self, conditions: &mut Conditions) -> Result<Value, Complaint> {
        let Self { operation, name, at, operands, linear, formula } = self;
        let least = if matches!(operation, Operation::Compare(_)) { 2 } else { 1 };
        if operands < least {
            let many = if least == 2 { "two operands" } else { "at least one operand" };
            return Err(Complaint::syntax(at, format!("'{name}' takes {many}, found {operands}")));
        }
        let linear =
            if operation == Operation::Minus && operands == 1 { linear.negated() } else { linear };
        let comparator = match operation {
            Operation::And | Operation::Or => return Ok(Value::Formula(formula)),
            Operation::Plus | Operation::Minus | Operation::Times => {
                return Ok(Value::Linear(linear));
            }
            Operation::Compare(comparator) => comparator,
        };
        // The left side minus the right one, turned so that it is to be positive.
        let (form, requirement) = match comparator {
            Comparator::AtLeast => (linear, Requirement::NonNegative),
            Comparator::Greater => (linear, Requirement::Positive),
            Comparator::AtMost => (linear.negated(), Requirement::NonNegative),
            Comparator::Less => (linear.negated(), Requirement::Positive),
            Comparator::Equal => (linear, Requirement::Zero),
        };
        let added = conditions.add(form, requirement, at);
        Ok(Value::Formula(Dnf::One(added.map_err(|fault| explain(fault, at))?)))
    }
}

/// The file would have to be multiplied out.
pub(super) fn too_many(at: Position) -> Complaint {
    let text = format!("'and' of 'or's: multiplied out, these are more than {MOST_CONJUNCTIONS}");
    Complaint::too_large(at, text)
}

fn explain(fault: LinearFault, at: Position) -> Complaint {
    match fault {
        LinearFault::NotLinear => Complaint::unsupported(at, "a product of variables"),
        LinearFault::Inexact => {
            let text =
                "a weight that is no f64: write the product or sum of its factors as one number";
            Complaint::unsupported(at, text)
        }
        LinearFault::Overflow => Complaint::syntax(at, "numbers that are too large for an f64"),
    }
}
