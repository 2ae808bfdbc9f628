//! A file as problems: for each set of inputs, what is looked for there.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::bounds::InputBound;
use super::condition::{Condition, Conditions, Requirement};
use super::declarations::{NetworkDeclaration, VnnlibVersion};
use super::dnf::ConditionId;
use super::error::{Complaint, VnnlibError};
use super::linear_form::Variable;
use super::parser::{ParsedFile, parse};
use crate::problem::{Conjunction, InputCondition, Objective, Property, PropertyRow};
use crate::sets::{Constraint, Domain};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Bytes read at once.
const BUFFER: usize = 1 << 16;

/// What a property file asks: whether an input of some set gives outputs with some property. All of its conjunctions that speak of the same
/// inputs are one [`InputCase`].
#[derive(Debug)]
pub struct VnnlibQuery {
    version: VnnlibVersion,
    inputs: usize,
    outputs: usize,
    network: Option<NetworkDeclaration>,
    conditions: Conditions,
    /// What every case has in common.
    common: Gathered,
    cases: Vec<CaseEntry>,
}

/// A set of inputs, and what is looked for there.
#[derive(Clone, Debug, PartialEq)]
pub struct InputCase {
    /// The inputs: closed, and with linear constraints that are kept to a tolerance.
    pub domain: Domain,
    /// What is looked for. It also says what inputs have to keep to the letter.
    pub property: Property,
}

/// What some conditions in conjunction say.
#[derive(Clone, Debug, Default)]
struct Gathered {
    bounds: BTreeMap<u32, InputBound>,
    /// Conditions on inputs that bounds do not tell, or not exactly.
    of_inputs: Vec<ConditionId>,
    of_outputs: Vec<ConditionId>,
    /// Whether no input and no outputs keep them.
    is_empty: bool,
}

#[derive(Debug)]
struct CaseEntry {
    /// Where they differ from the common ones.
    bounds: Vec<(u32, InputBound)>,
    of_inputs: Vec<ConditionId>,
    /// Any of these conjunctions, with what is common to all.
    any_of: Vec<Vec<ConditionId>>,
}

impl VnnlibQuery {
    /// Reads a file, plain or gzipped.
    ///
    /// # Errors
    /// When it cannot be read, is no VNN-LIB 1.0 or 2.0, or asks for something that is not supported: with line and column.
    pub fn read(path: &Path) -> Result<Self, VnnlibError> {
        let read = || -> Result<Self, Complaint> {
            let mut reader = BufReader::with_capacity(BUFFER, File::open(path)?);
            if reader.fill_buf()?.starts_with(&GZIP_MAGIC) {
                return Self::parse(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(reader)));
            }
            Self::parse(reader)
        };
        read().map_err(|complaint| complaint.in_file(path))
    }

    /// Reads the text of a file; errors call it by this name.
    ///
    /// ```
    /// use rw_adv::vnnlib::VnnlibQuery;
    ///
    /// let text = "(declare-const X_0 Real) (declare-const Y_0 Real) (declare-const Y_1 Real)
    ///     (assert (<= X_0 1)) (assert (>= X_0 0)) (assert (or (<= Y_0 0.5) (>= Y_1 Y_0)))";
    /// let query = VnnlibQuery::from_text(text, "example.vnnlib")?;
    /// assert_eq!((query.inputs(), query.outputs(), query.case_count()), (1, 2, 1));
    /// let case = query.case(0);
    /// assert_eq!((case.domain.lower, case.domain.upper), (vec![0.0], vec![1.0]));
    /// assert!(case.property.holds(&[0.5, 0.0]) && !case.property.holds(&[0.75, 0.5]));
    /// # Ok::<(), rw_adv::vnnlib::VnnlibError>(())
    /// ```
    ///
    /// # Errors
    /// As [`VnnlibQuery::read`].
    pub fn from_text(text: &str, name: &str) -> Result<Self, VnnlibError> {
        Self::parse(text.as_bytes()).map_err(|complaint| complaint.in_file(Path::new(name)))
    }

    fn parse(reader: impl BufRead) -> Result<Self, Complaint> {
        let ParsedFile { version, inputs, outputs, network, conditions, common, any_of } =
            parse(reader)?;
        let common = Gathered::default().with(&common, &conditions)?;
        let mut query =
            Self { version, inputs, outputs, network, conditions, common, cases: Vec::new() };
        query.make_cases(any_of)?;
        Ok(query)
    }

    /// The version of the language.
    pub fn version(&self) -> VnnlibVersion {
        self.version
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The network of VNN-LIB 2.0.
    pub fn network(&self) -> Option<&NetworkDeclaration> {
        self.network.as_ref()
    }

    /// Number of cases. None: nothing keeps all conditions, whatever the network.
    pub fn case_count(&self) -> usize {
        self.cases.len()
    }

    /// One case, base 0.
    ///
    /// # Panics
    /// When there are not so many.
    pub fn case(&self, index: usize) -> InputCase {
        let CaseEntry { bounds, of_inputs, any_of } = &self.cases[index];
        let mut domain = Domain {
            lower: vec![f64::NEG_INFINITY; self.inputs],
            upper: vec![f64::INFINITY; self.inputs],
            constraints: Vec::new(),
            integers: Vec::new(),
        };
        let mut strict = BTreeMap::new();
        let common = self.common.bounds.iter().map(|(input, bound)| (*input, *bound));
        for (input, bound) in common.chain(bounds.iter().copied()) {
            let input = input as usize;
            domain.lower[input] = bound.lower.value;
            domain.upper[input] = bound.upper.value;
            strict.insert(input, bound);
        }
        let sides = strict.into_iter().flat_map(|(input, bound)| strict_sides(input, bound));
        let mut property = Property { any_of: Vec::new(), of_inputs: sides.collect() };
        for &id in self.common.of_inputs.iter().chain(of_inputs) {
            let condition = self.conditions.get(id);
            property.of_inputs.extend(input_conditions(&condition));
            domain.constraints.extend(constraint(&condition));
        }
        let of_outputs = |own: &Vec<ConditionId>| Conjunction {
            all_of: self
                .common
                .of_outputs
                .iter()
                .chain(own)
                .flat_map(|id| self.rows(*id))
                .collect(),
        };
        property.any_of = any_of.iter().map(of_outputs).collect();
        InputCase { domain, property }
    }

    /// The rows of a condition on outputs: two, if it is an equation.
    fn rows(&self, id: ConditionId) -> Vec<PropertyRow> {
        let condition = self.conditions.get(id);
        let mut weights = vec![0.0; self.outputs];
        for &(variable, weight) in condition.terms {
            if let Variable::Output(output) = variable {
                weights[output as usize] = weight;
            }
        }
        let objective = Objective { weights, constant: condition.constant };
        let strict = condition.requirement == Requirement::Positive;
        let row = PropertyRow { objective, strict, slack: condition.slack };
        if condition.requirement != Requirement::Zero {
            return vec![row];
        }
        let negated = Objective {
            weights: row.objective.weights.iter().map(|weight| 0.0 - weight).collect(),
            constant: 0.0 - row.objective.constant,
        };
        vec![PropertyRow { objective: negated, ..row.clone() }, row]
    }

    fn make_cases(&mut self, any_of: Vec<Vec<ConditionId>>) -> Result<(), Complaint> {
        let mut case_from_inputs: HashMap<(Vec<[u64; 5]>, Vec<ConditionId>), usize> =
            HashMap::new();
        let open = self.open_inputs();
        for own in any_of {
            let start = Gathered { is_empty: self.common.is_empty, ..Gathered::default() };
            let Gathered { mut bounds, of_inputs, of_outputs, mut is_empty } =
                start.with(&own, &self.conditions)?;
            for (input, bound) in &mut bounds {
                let common = self.common.bounds.get(input).copied().unwrap_or(InputBound::NONE);
                *bound = bound.and(common);
                is_empty |= bound.is_empty();
            }
            if is_empty {
                continue;
            }
            self.check_bounds(&open, &bounds)?;
            bounds.retain(|input, bound| self.common.bounds.get(input) != Some(&*bound));
            let bounds: Vec<(u32, InputBound)> = bounds.into_iter().collect();
            let key = (bounds.iter().map(key).collect(), of_inputs.clone());
            let next = self.cases.len();
            let place = *case_from_inputs.entry(key).or_insert(next);
            if place == next {
                self.cases.push(CaseEntry { bounds, of_inputs, any_of: Vec::new() });
            }
            self.cases[place].any_of.push(of_outputs);
        }
        Ok(())
    }

    /// The inputs that the common conditions leave without bounds that we can work with.
    fn open_inputs(&self) -> Vec<u32> {
        let is_open = |input: &u32| {
            self.common.bounds.get(input).is_none_or(|bound| !bound.is_within(Domain::FARTHEST))
        };
        (0..self.inputs as u32).filter(is_open).collect()
    }

    /// Whether every input has bounds that we can work with; `open` are those that need bounds of their own.
    fn check_bounds(&self, open: &[u32], own: &BTreeMap<u32, InputBound>) -> Result<(), Complaint> {
        const FARTHEST: f64 = Domain::FARTHEST;
        for input in open.iter().chain(own.keys()) {
            let bound = own.get(input).or_else(|| self.common.bounds.get(input));
            let bound = bound.copied().unwrap_or(InputBound::NONE);
            if !bound.is_within(FARTHEST) {
                let (lower, upper) = (bound.lower.value, bound.upper.value);
                return Err(Complaint::of_file(format!(
                    "input {input} lies between {lower} and {upper}: every input needs bounds between -{FARTHEST:e} and {FARTHEST:e}"
                )));
            }
        }
        Ok(())
    }
}

impl Gathered {
    /// With more conditions.
    fn with(mut self, ids: &[ConditionId], conditions: &Conditions) -> Result<Self, Complaint> {
        for &id in ids {
            let condition = conditions.get(id);
            let is_input = |(variable, _): &(Variable, f64)| matches!(variable, Variable::Input(_));
            let inputs = condition.terms.iter().filter(|term| is_input(term)).count();
            match (inputs, condition.terms) {
                (0, []) => self.is_empty |= !is_true(&condition)?,
                (0, _) => self.of_outputs.push(id),
                (1, &[(Variable::Input(input), weight)]) => {
                    let (bound, is_all) = InputBound::of_condition(weight, &condition);
                    let before = self.bounds.entry(input).or_insert(InputBound::NONE);
                    *before = before.and(bound);
                    self.is_empty |= before.is_empty();
                    if !is_all {
                        self.of_inputs.push(id);
                    }
                }
                (inputs, terms) if inputs == terms.len() => self.of_inputs.push(id),
                _ => {
                    let text = "a comparison of inputs with outputs";
                    return Err(Complaint::unsupported(condition.at, text));
                }
            }
        }
        Ok(self)
    }
}

/// A condition without variables.
fn is_true(condition: &Condition) -> Result<bool, Complaint> {
    let Condition { constant, slack, requirement, at, .. } = *condition;
    let (surely, possibly) = match requirement {
        Requirement::NonNegative => (constant >= slack, constant >= -slack),
        Requirement::Positive => (constant > slack, constant > -slack),
        Requirement::Zero => (constant == 0.0 && slack == 0.0, constant.abs() <= slack),
    };
    if surely != possibly {
        let text = "numbers that are equal or not, depending on how they are added up";
        return Err(Complaint::unsupported(at, text));
    }
    Ok(surely)
}

/// Bounds as bits, to tell which are equal.
fn key((input, bound): &(u32, InputBound)) -> [u64; 5] {
    let InputBound { lower, upper } = bound;
    [
        u64::from(*input),
        lower.value.to_bits(),
        upper.value.to_bits(),
        u64::from(lower.strict),
        u64::from(upper.strict),
    ]
}

/// The sides that do not belong to the set.
fn strict_sides(input: usize, bound: InputBound) -> impl Iterator<Item = InputCondition> {
    let side = move |weight: f64, constant: f64| InputCondition {
        terms: vec![(input, weight)],
        constant,
        strict: true,
        slack: 0.0,
    };
    let lower = bound.lower.strict.then(|| side(1.0, -bound.lower.value));
    let upper = bound.upper.strict.then(|| side(-1.0, bound.upper.value));
    lower.into_iter().chain(upper)
}

/// Terms of a condition on inputs.
fn input_terms(condition: &Condition) -> Vec<(usize, f64)> {
    let input = |&(variable, weight): &(Variable, f64)| match variable {
        Variable::Input(input) => Some((input as usize, weight)),
        Variable::Output(_) => None,
    };
    condition.terms.iter().filter_map(input).collect()
}

/// A condition on inputs, to the letter: two, if it is an equation.
fn input_conditions(condition: &Condition) -> Vec<InputCondition> {
    let &Condition { constant, slack, requirement, .. } = condition;
    let strict = requirement == Requirement::Positive;
    let terms = input_terms(condition);
    let both = requirement == Requirement::Zero;
    let negated = both.then(|| InputCondition {
        terms: terms.iter().map(|(input, weight)| (*input, -weight)).collect(),
        constant: -constant,
        strict,
        slack,
    });
    negated.into_iter().chain([InputCondition { terms, constant, strict, slack }]).collect()
}

/// A condition on several inputs as a constraint, no tighter. One on a single input is a bound already.
fn constraint(condition: &Condition) -> Option<Constraint> {
    let &Condition { constant, slack, requirement, .. } = condition;
    if condition.terms.len() < 2 {
        return None;
    }
    let lower = (-constant - slack).next_down();
    let upper = (-constant + slack).next_up();
    let (lower, upper) = match (slack == 0.0, requirement) {
        (true, Requirement::Zero) => (-constant, -constant),
        (false, Requirement::Zero) => (lower, upper),
        (true, _) => (-constant, f64::INFINITY),
        (false, _) => (lower, f64::INFINITY),
    };
    Some(Constraint::new(&input_terms(condition), lower, upper))
}
