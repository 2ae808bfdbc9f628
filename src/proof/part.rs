//! The parts in which neurons were bounded, as files hold them.

use serde::{Deserialize, Serialize};

use super::evidence::Evidence;
use super::side::ProofSide;
use crate::bounds::{BoundedPart, Cut, CutBy, Guide, GuideLine};

/// A part in which all neurons were bounded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProofPart {
    /// The part whose intervals hold here too: a place in the list. `None` for the whole set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// The splits of pixels that lead to it. After a cut, they are those of the parent.
    pub sides: Vec<ProofSide>,
    /// Which lines of lower neurons the lines of deeper ones are made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guide: Option<Vec<GuideEntry>>,
    /// If the parent's intervals were narrowed by a cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<ProofCut>,
}

/// The lines of one layer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GuideEntry {
    /// The neurons with slope 1 below. The others have 0.
    pub on: Vec<usize>,
    /// The neurons with the envelope above. The others have the chord.
    pub envelope: Vec<usize>,
}

/// A cut toward a goal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProofCut {
    /// The value that points of interest have at least. A bound behind the cut is at least this.
    pub goal: f64,
    /// What gives the linear function above the objective: lines or multipliers.
    #[serde(flatten)]
    pub by: Evidence,
}

impl GuideEntry {
    fn new(lines: &[GuideLine]) -> Self {
        let places = |is: fn(&GuideLine) -> bool| {
            lines.iter().enumerate().filter(|(_, line)| is(line)).map(|(j, _)| j).collect()
        };
        Self { on: places(|line| line.on), envelope: places(|line| line.envelope) }
    }

    /// `None` if a place is absurd.
    fn lines(&self, width: usize) -> Option<Vec<GuideLine>> {
        let mut lines = vec![GuideLine::default(); width];
        self.on.iter().try_for_each(|&j| lines.get_mut(j).map(|line| line.on = true))?;
        self.envelope
            .iter()
            .try_for_each(|&j| lines.get_mut(j).map(|line| line.envelope = true))?;
        Some(lines)
    }
}

/// A guide from a file, for layers of these widths. `None` if it does not fit.
pub(super) fn guide(entries: &[GuideEntry], widths: &[usize]) -> Option<Guide> {
    let fits = entries.len() <= widths.len();
    let layers = entries.iter().zip(widths).map(|(entry, &width)| entry.lines(width));
    layers.collect::<Option<_>>().filter(|_| fits).map(|layers| Guide { layers })
}

impl ProofPart {
    pub(super) fn new(part: &BoundedPart, parent: Option<usize>) -> Self {
        let guide = part.guide().map(|guide| &guide.layers);
        let cut = part.cut().map(|Cut { goal, by }| ProofCut {
            goal: *goal,
            by: match by {
                CutBy::Lines(lines) => Evidence::lines(lines),
                CutBy::Multipliers(multipliers) => Evidence::multipliers(multipliers),
            },
        });
        Self {
            parent,
            sides: part.part().sides().into_iter().map(ProofSide::from).collect(),
            guide: guide.map(|layers| layers.iter().map(|lines| GuideEntry::new(lines)).collect()),
            cut,
        }
    }
}
