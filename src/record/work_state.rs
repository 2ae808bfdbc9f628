//! What a thread is at, for progress: which record it works on, in which phase, and what is known so far.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::contents::Contents;
use super::key::Key;
use crate::observer::{Phase, TreeState};

/// One piece of work that has begun and has no record yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkState {
    /// What kind of record it will be.
    pub contents: Contents,
    /// Which record it will be.
    pub key: Key,
    /// The phase it is in, once it is in one.
    pub phase: Option<Phase>,
    /// When it was begun, on the clock of the run.
    pub begun: Duration,
    /// Starts followed to their end.
    pub starts: usize,
    /// Nodes bounded.
    pub nodes: usize,
    /// The best margin (or value) so far.
    pub margin: Option<f64>,
    /// The smallest bound so far.
    pub bound: Option<f64>,
    /// The certified radius and the distance of the nearest adversary so far.
    pub radii: Option<(f64, Option<f64>)>,
}

impl WorkState {
    /// Work that begins.
    pub fn new(contents: Contents, key: Key, begun: Duration) -> Self {
        let (phase, margin, bound, radii) = (None, None, None, None);
        Self { contents, key, phase, begun, starts: 0, nodes: 0, margin, bound, radii }
    }

    /// Takes over a margin that is better.
    pub fn improve(&mut self, margin: f64) {
        if margin.is_finite() && self.margin.is_none_or(|known| margin > known) {
            self.margin = Some(margin);
        }
    }

    /// Takes over a bound that is lower.
    pub fn tighten(&mut self, bound: f64) {
        if bound.is_finite() && self.bound.is_none_or(|known| bound < known) {
            self.bound = Some(bound);
        }
    }

    /// Takes over how far a tree is.
    pub fn divide(&mut self, tree: &TreeState) {
        self.nodes += tree.more;
        self.improve(tree.best);
        self.tighten(tree.bound);
    }

    /// `image 4, target 9`.
    fn subject(&self) -> String {
        match self.contents {
            Contents::Attacks | Contents::Radii => self.key.to_string(),
            Contents::Maximum => "maximum".into(),
            Contents::Instances => format!("instance {}", self.key.image),
        }
    }

    /// The phase in words.
    pub fn phase_name(&self) -> &'static str {
        self.phase.map_or("begin", Phase::name)
    }
}

/// `image 4, target 9: search, 52 starts, margin -0.3121, bound 1.2210`.
impl fmt::Display for WorkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject(), self.phase_name())?;
        for (count, what) in [(self.starts, "starts"), (self.nodes, "nodes")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        for (value, what) in [(self.margin, "margin"), (self.bound, "bound")] {
            if let Some(value) = value {
                write!(f, ", {what} {value:.4}")?;
            }
        }
        if let Some((certified, attacked)) = self.radii {
            write!(f, ", certified {certified:.4}")?;
            attacked.map_or(Ok(()), |attacked| write!(f, ", attacked {attacked:.4}"))?;
        }
        Ok(())
    }
}

/// For `--progress json`: what is not known is left out.
impl Serialize for WorkState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row {
            #[serde(skip_serializing_if = "Option::is_none")]
            image: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            instance: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            target: Option<usize>,
            phase: &'static str,
            begun: f64,
            starts: usize,
            nodes: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            margin: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            bound: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            certified_radius: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            attack_radius: Option<f64>,
        }
        let of_kind = |kinds: &[Contents]| kinds.contains(&self.contents).then_some(self.key.image);
        Row {
            image: of_kind(&[Contents::Attacks, Contents::Radii]),
            instance: of_kind(&[Contents::Instances]),
            target: self.key.target,
            phase: self.phase_name(),
            begun: self.begun.as_secs_f64(),
            starts: self.starts,
            nodes: self.nodes,
            margin: self.margin,
            bound: self.bound,
            certified_radius: self.radii.map(|(certified, _)| certified),
            attack_radius: self.radii.and_then(|(_, attacked)| attacked),
        }
        .serialize(serializer)
    }
}

/// Seconds of all threads, phase by phase: where the time went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseTimes([Duration; Phase::ALL.len()]);

impl PhaseTimes {
    /// So much more in a phase.
    pub fn add(&mut self, phase: Phase, time: Duration) {
        self.0[phase as usize] += time;
    }

    /// Takes over the times of other work.
    pub fn add_all(&mut self, others: &Self) {
        self.0.iter_mut().zip(&others.0).for_each(|(sum, time)| *sum += *time);
    }

    /// The time in all phases.
    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }
}

/// `bounds 1.2 s (30 %), search 2.8 s (70 %)`: phases that took any time.
impl fmt::Display for PhaseTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total().as_secs_f64().max(f64::MIN_POSITIVE);
        let taken = Phase::ALL.into_iter().zip(&self.0).filter(|(_, time)| !time.is_zero());
        let parts: Vec<String> = taken
            .map(|(phase, time)| {
                let seconds = time.as_secs_f64();
                format!("{} {seconds:.2} s ({:.0} %)", phase.name(), 100.0 * seconds / total)
            })
            .collect();
        if parts.is_empty() { f.write_str("nothing") } else { f.write_str(&parts.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    #[test]
    fn a_state_tells_what_is_known() {
        let key = Key { image: 4, target: Some(9) };
        let mut state = WorkState::new(Contents::Attacks, key, Duration::from_secs(2));
        assert_eq!(state.to_string(), "image 4, target 9: begin");
        state.phase = Some(Phase::Search);
        state.starts = 52;
        state.improve(-0.5);
        state.improve(f64::NEG_INFINITY);
        state.tighten(f64::INFINITY);
        state.divide(&TreeState { more: 7, open: 3, bound: 1.25, best: -0.25 });
        let text = "image 4, target 9: search, 52 starts, 7 nodes, margin -0.2500, bound 1.2500";
        assert_eq!(state.to_string(), text);
        let fields = json::fields(&state);
        assert_eq!((&fields["image"], &fields["phase"]), (&4.into(), &"search".into()));
        assert!(!fields.contains_key("instance") && !fields.contains_key("certified_radius"));
        let key = Key { image: 3, target: None };
        let mut instance = WorkState::new(Contents::Instances, key, Duration::ZERO);
        assert_eq!(instance.to_string(), "instance 3: begin");
        assert_eq!(json::fields(&instance)["instance"], 3);
        instance.radii = Some((1.5, None));
        assert!(instance.to_string().ends_with("certified 1.5000"));
    }

    #[test]
    fn times_are_summed_by_phase() {
        let mut times = PhaseTimes::default();
        assert_eq!(times.to_string(), "nothing");
        times.add(Phase::Search, Duration::from_millis(750));
        times.add(Phase::Bounds, Duration::from_millis(250));
        times.add_all(&times.clone());
        assert_eq!(times.to_string(), "bounds 0.50 s (25 %), search 1.50 s (75 %)");
        assert_eq!(times.total(), Duration::from_secs(2));
    }
}
