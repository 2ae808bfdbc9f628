//! Claims: that their leaves cover the set, and what bound follows from what is proposed for each leaf.

use std::sync::Arc;

use crate::affine::Arithmetic;
use crate::cells::Plan;
use crate::first_layer::FirstLayer;
use crate::format::{BoundedPart, Claim, Evidence, GuideLayer, Leaf, LineEntry, Side};
use crate::network::Network;
use crate::number::Number;
use crate::region::{Failure, Problem, Region};
use crate::relax::{Interval, Relaxation};
use crate::set::{Part, Set};

/// Bounds of parts that are kept: children of a part, and cuts of it, come soon after it.
const RECENT: usize = 6;

/// At least the largest value of `objective · y` over the set, by a claim's leaves.
///
/// # Errors
/// The first thing found that is wrong.
pub fn bound<N: Number>(
    plan: &Plan,
    set: &Set,
    objective: &[f64],
    claim: &Claim,
) -> Result<f64, String> {
    let arithmetic = if claim.f32 { Arithmetic::F32 } else { Arithmetic::Exact };
    let network = Network::<N>::new(plan, arithmetic)?;
    let first = FirstLayer::new(&network, set)?;
    let problem = Problem { network, set: set.clone(), first, objective: objective.to_vec() };
    let known = claim.parts.iter().map(|_| None).collect();
    let mut replay = Replay {
        problem: &problem,
        claim,
        known,
        recent: Vec::new(),
        signs_in: 0,
        signs: Vec::new(),
    };
    let mut order = in_order(&claim.leaves)?;
    order.sort_by_key(|&leaf| claim.leaves[leaf].part);
    let mut bound = f64::MIN;
    for leaf in order {
        let value =
            replay.leaf(&claim.leaves[leaf]).map_err(|what| format!("leaf {leaf}: {what}"))?;
        bound = bound.max(value);
    }
    Ok(bound)
}

/// The leaves in the order of the tree, if they are just the leaves of a tree of splits: those that agree in their first sides divide what these
/// lead to into the two sides of one split, or are one leaf alone.
fn in_order(leaves: &[Leaf]) -> Result<Vec<usize>, String> {
    let mut order = Vec::new();
    let mut rest: Vec<(Vec<usize>, usize)> = vec![((0..leaves.len()).collect(), 0)];
    while let Some((group, depth)) = rest.pop() {
        let Some(&first) = group.first() else {
            return Err("the leaves do not cover the set: a side of a split has none".into());
        };
        let Some(&side) = leaves[first].sides.get(depth) else {
            if group.len() > 1 {
                return Err(format!("leaf {first} is split by other leaves"));
            }
            order.push(first);
            continue;
        };
        let (mut these, mut others) = (Vec::new(), Vec::new());
        for leaf in group {
            match leaves[leaf].sides.get(depth) {
                Some(own) if *own == side => these.push(leaf),
                Some(own) if *own == side.opposite() => others.push(leaf),
                _ => {
                    return Err(format!("leaf {leaf} is not on a side of a split of leaf {first}"));
                }
            }
        }
        rest.extend([(others, depth + 1), (these, depth + 1)]);
    }
    Ok(order)
}

/// What is known of the neurons in a part: for those of its points only whose value is at least the goal, if there is one.
struct Known<N> {
    intervals: Vec<Vec<Interval<N>>>,
    goal: Option<f64>,
    empty: bool,
}

/// Evaluates leaves, which should come in the order of their parts: what the last ones were made of is kept.
struct Replay<'p, N> {
    problem: &'p Problem<N>,
    claim: &'p Claim,
    /// What is known in each part so far.
    known: Vec<Option<Known<N>>>,
    /// The bounds of the last parts that are not empty.
    recent: Vec<(usize, Arc<Region<'p, N>>)>,
    /// A part, and signs demanded there, one after the other.
    signs_in: usize,
    signs: Vec<(Side, Arc<Region<'p, N>>)>,
}

impl<'p, N: Number> Replay<'p, N> {
    /// At least the largest value in a leaf.
    fn leaf(&mut self, leaf: &Leaf) -> Result<f64, String> {
        let claim = self.claim;
        let part = claim.parts.get(leaf.part).ok_or("there is no such part")?;
        let needed = leaf.sides.get(..leaf.needs).ok_or("has too few sides")?;
        let after = needed.strip_prefix(&part.sides[..]).ok_or("is not in its part")?;
        let value = self.part(leaf.part).and_then(|region| {
            if after.iter().all(|side| side.sign().is_some()) {
                let region = self.signed(leaf.part, region, after)?;
                evaluate(&*region, &leaf.evidence)
            } else {
                let (outer, inner) = (self.split(&part.sides)?, self.split(needed)?);
                evaluate(&region.within(&outer, &inner), &leaf.evidence)
            }
        });
        let value = match value {
            Ok(value) => value.rounded_up(),
            Err(Failure::Empty) => f64::MIN,
            Err(Failure::Wrong(what)) => return Err(what),
        };
        let goal = self.known[leaf.part].as_ref().and_then(|known| known.goal);
        if value.is_nan() {
            Err("numbers overflow".into())
        } else {
            Ok(goal.map_or(value, |goal| value.max(goal)))
        }
    }

    /// The part that splits of pixels lead to.
    fn split(&self, sides: &[Side]) -> Result<Part, String> {
        let set = &self.problem.set;
        sides.iter().try_fold(set.whole().clone(), |part, side| set.side(&part, side))
    }

    /// The bounds of a part of the list; what it needs of its parents is made before.
    fn part(&mut self, place: usize) -> Result<Arc<Region<'p, N>>, Failure> {
        let mut missing = vec![place];
        while let Some(&at) = missing.last() {
            let parent = self.parent(at)?;
            let is_recent = |place| self.recent.iter().any(|(of, _)| *of == place);
            let is_empty =
                |place: usize| self.known[place].as_ref().is_some_and(|known| known.empty);
            let is_ready = |parent: &usize| match self.claim.parts[at].cut {
                Some(_) => is_recent(*parent) || is_empty(*parent),
                None => self.known[*parent].is_some(),
            };
            match parent.filter(|parent| !is_ready(parent)) {
                Some(parent) => missing.push(parent),
                None => {
                    if !is_recent(at) && !is_empty(at) {
                        self.make(at, parent)?;
                    }
                    missing.pop();
                }
            }
        }
        let region = self.recent.iter().find(|(of, _)| *of == place);
        region.map(|(_, region)| Arc::clone(region)).ok_or(Failure::Empty)
    }

    /// The parent of a part, which contains it.
    fn parent(&self, place: usize) -> Result<Option<usize>, String> {
        let BoundedPart { parent, sides, guide, cut } = &self.claim.parts[place];
        match *parent {
            None if sides.is_empty() && guide.is_none() && cut.is_none() => Ok(None),
            Some(parent) if parent < place => {
                let outer = &self.claim.parts[parent].sides;
                let more = sides.strip_prefix(&outer[..]);
                let fits = match cut.as_ref().map(|cut| &cut.by) {
                    None => more.is_some(),
                    Some(Evidence::Multipliers { .. }) => {
                        more.is_some_and(|more| more.iter().all(|side| side.sign().is_some()))
                    }
                    Some(_) => more.is_some_and(<[_]>::is_empty),
                };
                if fits {
                    Ok(Some(parent))
                } else {
                    Err(format!("part {place} is not in its parent"))
                }
            }
            _ => Err(format!("part {place} has no parent before it")),
        }
    }

    /// Bounds the neurons of a part whose parent is ready.
    fn make(&mut self, place: usize, parent: Option<usize>) -> Result<(), Failure> {
        let part = &self.claim.parts[place];
        let known = parent.and_then(|parent| self.known[parent].as_ref());
        let widths = &self.problem.network.widths;
        let guide = part.guide.as_ref().map(|layers| guide(layers, widths)).transpose()?;
        let region = match &part.cut {
            _ if known.is_some_and(|known| known.empty) => Err(Failure::Empty),
            Some(cut) => {
                let before = self.recent.iter().find(|(of, _)| Some(*of) == parent);
                let (_, before) = before.ok_or(Failure::Empty)?;
                let signs = &part.sides[self.claim.parts[parent.unwrap_or(0)].sides.len()..];
                after_signs(before, signs).and_then(|before| {
                    let by = proposals(&cut.by, widths)?;
                    let above = before.objective(&|layer, j| by[layer][j])?;
                    match cut.by {
                        Evidence::Multipliers { .. } => before.narrowed_toward(cut.goal, &above),
                        _ => before.cut(cut.goal, &above, guide),
                    }
                })
            }
            None => {
                let known = known.map(|known| &known.intervals[..]);
                Region::new(self.problem, &self.split(&part.sides)?, known, guide)
            }
        };
        let goals = [known.and_then(|known| known.goal), part.cut.as_ref().map(|cut| cut.goal)];
        let goal = goals.into_iter().flatten().reduce(f64::max);
        let (intervals, empty) = match region {
            Err(Failure::Wrong(what)) => return Err(Failure::Wrong(what)),
            Err(Failure::Empty) => (Vec::new(), true),
            Ok(region) => {
                let intervals = region.intervals.clone();
                self.recent.truncate(RECENT - 1);
                self.recent.insert(0, (place, Arc::new(region)));
                (intervals, false)
            }
        };
        self.known[place] = Some(Known { intervals, goal, empty });
        Ok(())
    }

    /// The bounds where neurons have these signs, too.
    fn signed(
        &mut self,
        part: usize,
        region: Arc<Region<'p, N>>,
        signs: &[Side],
    ) -> Result<Arc<Region<'p, N>>, Failure> {
        if part != self.signs_in {
            (self.signs_in, self.signs) = (part, Vec::new());
        }
        let common = self.signs.iter().zip(signs).take_while(|((known, _), side)| known == *side);
        let common = common.count();
        self.signs.truncate(common);
        for side in &signs[common..] {
            let before = self.signs.last().map_or(&region, |(_, region)| region);
            let (neuron, on) = side.sign().ok_or_else(|| "is not a sign".to_owned())?;
            let after = before.signed(neuron.layer, neuron.neuron, on)?;
            self.signs.push((*side, Arc::new(after)));
        }
        Ok(self.signs.last().map_or(region, |(_, region)| Arc::clone(region)))
    }
}

/// What is proposed for each neuron of the hidden layers.
type Table = Vec<Vec<Relaxation>>;

fn table(widths: &[usize], default: Relaxation) -> Table {
    widths[..widths.len() - 1].iter().map(|&width| vec![default; width]).collect()
}

fn entry(table: &mut Table, layer: usize, index: usize) -> Result<&mut Relaxation, String> {
    let entry = table.get_mut(layer).and_then(|layer| layer.get_mut(index));
    entry.ok_or_else(|| format!("there is no neuron {index} in hidden layer {layer}"))
}

fn by_lines(lines: &[Vec<LineEntry>], widths: &[usize]) -> Result<Table, String> {
    let mut table = table(widths, Relaxation::Default);
    for (layer, lines) in lines.iter().enumerate() {
        for &(index, below, share, theta) in lines {
            *entry(&mut table, layer, index)? = Relaxation::Lines { below, share, theta };
        }
    }
    Ok(table)
}

fn guide(layers: &[GuideLayer], widths: &[usize]) -> Result<Table, String> {
    let mut table = table(widths, Relaxation::Lines { below: 0.0, share: 0.0, theta: 0.0 });
    for (layer, GuideLayer { on, envelope }) in layers.iter().enumerate() {
        for (index, is_on) in
            on.iter().map(|j| (*j, true)).chain(envelope.iter().map(|j| (*j, false)))
        {
            if let Relaxation::Lines { below, share, .. } = entry(&mut table, layer, index)? {
                *(if is_on { below } else { share }) = 1.0;
            }
        }
    }
    Ok(table)
}

/// What evidence proposes for each neuron.
fn proposals(evidence: &Evidence, widths: &[usize]) -> Result<Table, String> {
    match evidence {
        Evidence::Empty {} => Err("is not proven to be empty".into()),
        Evidence::Lines(lines) => by_lines(lines, widths),
        Evidence::Multipliers { neurons, .. } => {
            let mut by = table(widths, Relaxation::Multipliers { neuron: 0.0, envelope: 0.0 });
            for (layer, list) in neurons.iter().enumerate() {
                for &(index, neuron, envelope) in list {
                    *entry(&mut by, layer, index)? = Relaxation::Multipliers { neuron, envelope };
                }
            }
            Ok(by)
        }
    }
}

fn evaluate<N: Number>(region: &Region<N>, evidence: &Evidence) -> Result<N, Failure> {
    let by = proposals(evidence, region.widths())?;
    let prices = match evidence {
        Evidence::Multipliers { prices, .. } => &prices[..],
        _ => &[],
    };
    region.bound(&|layer, j| by[layer][j], prices)
}

/// The bounds where neurons have these signs, too.
fn after_signs<'p, N: Number>(
    region: &Region<'p, N>,
    signs: &[Side],
) -> Result<Region<'p, N>, Failure> {
    signs.iter().try_fold(region.clone(), |region, side| {
        let (neuron, on) = side.sign().ok_or_else(|| "is not a sign".to_owned())?;
        region.signed(neuron.layer, neuron.neuron, on)
    })
}
