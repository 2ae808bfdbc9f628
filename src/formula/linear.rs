//! `constant + Σ weight · variable`.

/// `constant + Σ weight · variable`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linear {
    /// Variables and their weights, each variable once, in their order; weights that cancel are left out.
    pub terms: Vec<(usize, f64)>,
    /// What is added.
    pub constant: f64,
}

impl Linear {
    /// `self − other`.
    pub(super) fn minus(mut self, other: &Self) -> Self {
        self.terms.extend(other.terms.iter().map(|&(variable, weight)| (variable, -weight)));
        self.constant -= other.constant;
        self.gathered()
    }

    /// Every variable once.
    pub(super) fn gathered(mut self) -> Self {
        self.terms.sort_by_key(|&(variable, _)| variable);
        self.terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        self.terms.retain(|&(_, weight)| weight != 0.0);
        self
    }

    pub(super) fn is_finite(&self) -> bool {
        self.constant.is_finite() && self.terms.iter().all(|(_, weight)| weight.is_finite())
    }
}
