//! Formulas in disjunctive normal form: any of (all of conditions).
//!
//! A conjunction of disjunctions is multiplied out, which may make many of few: there is a limit, and a file beyond it is refused.

/// The place of a condition among all of a file.
pub(super) type ConditionId = u32;

/// More conjunctions than this are not made.
pub(super) const MOST_CONJUNCTIONS: usize = 1 << 20;

/// More places in conjunctions than this are not filled: 256 MB.
pub(super) const MOST_PLACES: usize = 1 << 26;

/// Any of these conjunctions, each all of its conditions.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Dnf {
    /// One condition.
    One(ConditionId),
    /// Several of them, in conjunction; none: always true.
    All(Vec<ConditionId>),
    /// Any of several conjunctions; none: never true.
    Any(Vec<Vec<ConditionId>>),
}

/// Multiplying out would give too many conjunctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl Dnf {
    /// Always true.
    pub const TRUE: Self = Self::All(Vec::new());
    /// Never true.
    pub const FALSE: Self = Self::Any(Vec::new());

    /// The conjunctions.
    pub fn into_conjunctions(self) -> Vec<Vec<ConditionId>> {
        match self {
            Self::One(condition) => vec![vec![condition]],
            Self::All(conditions) => vec![conditions],
            Self::Any(conjunctions) => conjunctions,
        }
    }

    /// This or that.
    pub fn or(self, other: Self) -> Result<Self, TooMany> {
        let mut any = self.into_conjunctions();
        match other {
            Self::One(condition) => any.push(vec![condition]),
            Self::All(conditions) => any.push(conditions),
            Self::Any(conjunctions) => any.extend(conjunctions),
        }
        if any.len() > MOST_CONJUNCTIONS { Err(TooMany) } else { Ok(Self::Any(any)) }
    }

    /// This and that.
    pub fn and(self, other: Self) -> Result<Self, TooMany> {
        match (self, other) {
            (Self::All(mut all), Self::One(one)) => {
                all.push(one);
                Ok(Self::All(all))
            }
            (Self::All(mut all), Self::All(more)) => {
                all.extend(more);
                Ok(Self::All(all))
            }
            (Self::All(all), other) if all.is_empty() => Ok(other),
            (this, other) => multiply(this.into_conjunctions(), &other.into_conjunctions()),
        }
    }
}

/// Every conjunction of one list with every one of the other.
fn multiply(left: Vec<Vec<ConditionId>>, right: &[Vec<ConditionId>]) -> Result<Dnf, TooMany> {
    let places = |list: &[Vec<ConditionId>]| list.iter().map(Vec::len).sum::<usize>();
    let many = left.len().saturating_mul(right.len());
    let filled = places(&left)
        .saturating_mul(right.len())
        .saturating_add(places(right).saturating_mul(left.len()));
    if many > MOST_CONJUNCTIONS || filled > MOST_PLACES {
        return Err(TooMany);
    }
    let mut product = Vec::with_capacity(many);
    for one in &left {
        product.extend(right.iter().map(|other| [one.as_slice(), other].concat()));
    }
    Ok(Dnf::Any(product))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn any(ids: &[ConditionId]) -> Dnf {
        ids.iter().fold(Dnf::FALSE, |any, id| any.or(Dnf::One(*id)).unwrap())
    }

    #[test]
    fn disjunctions_are_multiplied_out_in_order() {
        let product = any(&[0, 1]).and(any(&[2, 3])).unwrap().and(Dnf::One(4)).unwrap();
        let expected = [[0, 2, 4], [0, 3, 4], [1, 2, 4], [1, 3, 4]];
        assert_eq!(product.into_conjunctions(), expected);
        assert_eq!(Dnf::TRUE.and(any(&[5, 6])).unwrap(), any(&[5, 6]));
        assert!(Dnf::FALSE.and(any(&[5, 6])).unwrap().into_conjunctions().is_empty());
        assert_eq!(Dnf::TRUE.into_conjunctions(), [Vec::<ConditionId>::new()]);
    }

    #[test]
    fn too_many_are_refused_before_they_are_made() {
        let two = any(&[0, 1]);
        let product = (0..20).try_fold(Dnf::TRUE, |product, _| product.and(two.clone()));
        assert_eq!(product.unwrap().into_conjunctions().len(), MOST_CONJUNCTIONS);
        let product = (0..21).try_fold(Dnf::TRUE, |product, _| product.and(two.clone()));
        assert_eq!(product, Err(TooMany));
    }
}
