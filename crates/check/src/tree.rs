//! Trees over boxes: that the nodes are all of a tree, and that every conjunction is refuted on the way to every leaf.

use std::cell::RefCell;
use std::rc::Rc;

use crate::affine::Arithmetic;
use crate::boxes::{BoxPart, BoxProblem, BoxRegion, InputLine, Sign, Whole};
use crate::cells::Plan;
use crate::function_bound::check_weights;
use crate::network::Network;
use crate::number::Number;
use crate::property::{Combination, NeuronBound, NeuronSlopes, PropertyCase, Row, Tree, TreeNode};
use crate::region::Failure;
use crate::slopes::Slopes;

/// No tree is deeper.
const DEEPEST: usize = 10_000;

/// A part and, once they were asked for, its bounds.
struct Place<N> {
    part: BoxPart<N>,
    parent: Option<Rc<Place<N>>>,
    /// Splits that lead to it.
    depth: usize,
    /// Layers before this one have the bounds of the parent.
    fresh_from: usize,
    bounds: RefCell<Option<PlaceBounds<N>>>,
}

/// Bounds of a part.
#[derive(Clone)]
struct PlaceBounds<N> {
    region: Rc<BoxRegion<N>>,
    /// Whether all parts before it were bounded, too: bounds of any of them may be better somewhere.
    is_best: bool,
}

/// What is to be shown of a case.
pub struct Case<'c, N> {
    pub problem: BoxProblem<'c, N>,
    case: &'c PropertyCase,
}

/// Shows that no point of a case's box has its property. The number of leaves.
///
/// # Errors
/// The first thing found that is wrong.
pub fn refute<N: Number>(
    plan: &Plan,
    case: &PropertyCase,
    f32: bool,
    tree: &Tree,
) -> Result<usize, String> {
    let of_case = Case::<N>::new(plan, case, f32, tree)?;
    match &tree.bottleneck {
        Some(halves) if tree.nodes.is_empty() => of_case.refute_in_halves(plan, f32, halves),
        Some(_) => Err("it has nodes and a bottleneck".into()),
        None => of_case.refute_by(&tree.nodes, |_| false),
    }
}

impl<'c, N: Number> Case<'c, N> {
    /// # Errors
    /// When the tree or the case is about another network.
    pub fn new(
        plan: &Plan,
        case: &'c PropertyCase,
        f32: bool,
        tree: &'c Tree,
    ) -> Result<Self, String> {
        let arithmetic = if f32 { Arithmetic::F32 } else { Arithmetic::Exact };
        let network = Network::<N>::new(plan, arithmetic)?;
        check_case(&network, case)?;
        let mut whole = vec![Whole::new(&network, &tree.slopes, &[])?];
        for again in &tree.again {
            whole.push(Whole::new(&network, &again.slopes, &again.bounds)?);
        }
        Ok(Self { problem: BoxProblem { network, whole }, case })
    }

    /// What is to be shown.
    pub fn stated(&self) -> &'c PropertyCase {
        self.case
    }

    /// All of the box.
    pub fn whole_box(&self) -> BoxPart<N> {
        let (lower, upper) = (self.case.lower.clone(), self.case.upper.clone());
        BoxPart { lower, upper, signs: Vec::new(), cuts: Vec::new() }
    }

    /// Shows it by the nodes of a tree. Parts that `is_left` need not be refuted. The number of leaves.
    ///
    /// # Errors
    /// The first thing found that is wrong.
    pub fn refute_by(
        &self,
        nodes: &[TreeNode],
        is_left: impl Fn(&BoxPart<N>) -> bool,
    ) -> Result<usize, String> {
        let (part, bounds) = (self.whole_box(), RefCell::default());
        let root = Place { part, parent: None, depth: 0, fresh_from: 0, bounds };
        let mut waiting = vec![(Rc::new(root), vec![true; self.case.any_of.len()])];
        let mut leaves = 0;
        for (number, node) in nodes.iter().enumerate() {
            let fail = |what: String| format!("node {number}: {what}");
            let popped = waiting.pop().ok_or_else(|| fail("is behind the tree".into()));
            let (place, mut open) = popped?;
            if open.contains(&true) && is_left(&place.part) {
                open.fill(false);
            }
            self.close(&place, node, &mut open).map_err(fail)?;
            match self.sides(&place, node, &open).map_err(fail)? {
                Some([first, second]) => {
                    waiting.push((Rc::new(second), open.clone()));
                    waiting.push((Rc::new(first), open));
                }
                None => leaves += 1,
            }
        }
        if waiting.is_empty() { Ok(leaves) } else { Err("the tree is not complete".into()) }
    }
}

/// Whether a case is about a network.
fn check_case<N: Number>(network: &Network<N>, case: &PropertyCase) -> Result<(), String> {
    let outputs = *network.widths.last().ok_or("the network has no layer")?;
    if [&case.lower, &case.upper].iter().any(|side| side.len() != network.inputs) {
        return Err("its inputs do not fit the model".into());
    }
    let rows = case.any_of.iter().flatten();
    let mut terms = rows.flat_map(|row| &row.terms);
    if terms.any(|(output, _)| *output >= outputs) {
        return Err("its rows do not fit the model's outputs".into());
    }
    Ok(())
}

impl<'t> Whole<'t> {
    fn new<N: Number>(
        network: &Network<N>,
        slopes: &[NeuronSlopes],
        bounds: &'t [NeuronBound],
    ) -> Result<Self, String> {
        let hidden = &network.widths[..network.hidden()];
        let mut all: Vec<Vec<_>> = hidden.iter().map(|&width| vec![None; width]).collect();
        let is_there = |(layer, j): (usize, usize)| match hidden.get(layer) {
            Some(width) if j < *width => Ok(()),
            _ => Err(no_neuron(layer, j)),
        };
        bounds.iter().try_for_each(|bound| is_there(bound.neuron))?;
        for entry in slopes {
            is_there(entry.neuron)?;
            let (layer, j) = entry.neuron;
            all[layer][j] = Some([Slopes::parse(&entry.above)?, Slopes::parse(&entry.below)?]);
        }
        Ok(Self { slopes: all, is_sloped: !slopes.is_empty(), bounds })
    }
}

fn no_neuron(layer: usize, j: usize) -> String {
    format!("there is no neuron {j} in hidden layer {layer}")
}

impl<N: Number> Case<'_, N> {
    /// Closes the conjunctions that a node refutes. A leaf leaves none open.
    fn close(
        &self,
        place: &Rc<Place<N>>,
        node: &TreeNode,
        open: &mut [bool],
    ) -> Result<(), String> {
        for combination in &node.refuted {
            let is_open = open.get(combination.of).copied();
            if !is_open.ok_or("there is no such conjunction")? {
                continue;
            }
            let mut refuted = self.is_refuted(place, combination);
            // What was left out may make the bounds of this part better.
            if matches!(refuted, Ok(Err(_))) && self.bound_all_before(place)? {
                refuted = self.is_refuted(place, combination);
            }
            match refuted {
                Ok(Ok(())) => open[combination.of] = false,
                Err(Failure::Empty) => open.fill(false),
                Ok(Err(value)) => {
                    let of = combination.of;
                    return Err(format!("conjunction {of} is not refuted: at most {value:e}"));
                }
                Err(Failure::Wrong(what)) => return Err(what),
            }
        }
        let is_leaf = node.input.is_none() && node.neuron.is_none();
        if let (true, Some(left)) = (is_leaf, open.iter().position(|open| *open)) {
            let is_empty = |region| matches!(region, Err(Failure::Empty));
            if !is_empty(self.region(place)) {
                let again = self.bound_all_before(place)?;
                if !(again && is_empty(self.region(place))) {
                    return Err(format!("conjunction {left} is left open"));
                }
            }
            open.fill(false);
        }
        Ok(())
    }

    /// The two sides of a node's split, if it has one.
    fn sides(
        &self,
        place: &Rc<Place<N>>,
        node: &TreeNode,
        open: &[bool],
    ) -> Result<Option<[Place<N>; 2]>, String> {
        let side = |fresh_from: usize, part: BoxPart<N>| {
            let parent = Some(Rc::clone(place));
            let depth = place.depth + 1;
            Place { part, parent, depth, fresh_from, bounds: RefCell::default() }
        };
        let cuts = self.cuts(place, node, open)?;
        let part = || {
            let BoxPart { lower, upper, signs, .. } = &place.part;
            let (lower, upper, signs) = (lower.clone(), upper.clone(), signs.clone());
            BoxPart { lower, upper, signs, cuts: cuts.clone() }
        };
        match (node.input, node.neuron) {
            (None, None) => Ok(None),
            _ if place.depth >= DEEPEST => Err("is too deep".into()),
            (Some(_), Some(_)) => Err("has two splits".into()),
            (Some((input, at)), None) => {
                let (mut above, mut below) = (part(), part());
                let lower = above.lower.get_mut(input).ok_or("there is no such input")?;
                *lower = lower.max(at);
                below.upper[input] = below.upper[input].min(at);
                Ok(Some([side(0, above), side(0, below)]))
            }
            (None, Some((layer, neuron))) => {
                let hidden = &self.problem.network.widths[..self.problem.network.hidden()];
                if hidden.get(layer).is_none_or(|width| neuron >= *width) {
                    return Err(no_neuron(layer, neuron));
                }
                let [on, off] = [true, false].map(|on| {
                    let mut part = part();
                    part.signs.push(Sign { layer, neuron, on });
                    side(layer + 1, part)
                });
                Ok(Some([on, off]))
            }
        }
    }

    /// A function for each conjunction that is open, if there are functions for all.
    fn cuts(
        &self,
        place: &Rc<Place<N>>,
        node: &TreeNode,
        open: &[bool],
    ) -> Result<Vec<InputLine<N>>, String> {
        let is_cut = |of: usize| node.cuts.iter().any(|cut| cut.of == of);
        let open = (0..open.len()).filter(|&of| open[of]);
        if node.cuts.is_empty() || open.clone().count() == 0 || !open.clone().all(is_cut) {
            return Ok(Vec::new());
        }
        let mut cuts = Vec::new();
        for of in open {
            let cut = node.cuts.iter().find(|cut| cut.of == of);
            match self.line(place, cut.ok_or("has no cut")?) {
                Ok(line) => cuts.push(line),
                // Then its parts are empty, too.
                Err(Failure::Empty) => return Ok(Vec::new()),
                Err(Failure::Wrong(what)) => return Err(what),
            }
        }
        Ok(cuts)
    }

    /// Whether a combination of rows is negative in a part, or not positive if one of them has to be; otherwise its bound.
    fn is_refuted(
        &self,
        place: &Rc<Place<N>>,
        combination: &Combination,
    ) -> Result<Result<(), f64>, Failure> {
        let region = self.region(place)?;
        let (function, constant, has_strict) = self.function(&region, combination)?;
        let function = (self.problem.network.hidden(), function);
        let signs = &place.part.signs;
        let value = region.function_bound(&self.problem, signs, function, &combination.by)?;
        let value = value.add_up(&constant);
        if !value.is_finite() {
            return Err(Failure::Wrong("numbers overflow".into()));
        }
        let is_refuted = value < N::zero() || (has_strict && value <= N::zero());
        Ok(if is_refuted { Ok(()) } else { Err(value.nearest()) })
    }

    /// A function of the inputs that is not below a combination of rows.
    fn line(
        &self,
        place: &Rc<Place<N>>,
        combination: &Combination,
    ) -> Result<InputLine<N>, Failure> {
        let region = self.region(place)?;
        let (function, constant, _) = self.function(&region, combination)?;
        let function = (self.problem.network.hidden(), function);
        let by = (&combination.by.slopes[..], &combination.by.signs[..]);
        let mut line = region.function_line(&self.problem, &place.part.signs, function, by)?;
        line.constant = line.constant.add_up(&constant);
        Ok(line)
    }

    /// Weights of the outputs and a constant: not below a combination of rows. Whether one of them has to be positive.
    fn function(
        &self,
        region: &BoxRegion<N>,
        combination: &Combination,
    ) -> Result<(Vec<N>, N, bool), Failure> {
        let rows = self.case.any_of.get(combination.of);
        let rows = rows.ok_or_else(|| "there is no such conjunction".to_owned())?;
        let first = [(0, 1.0)];
        let weights = if combination.rows.is_empty() { &first[..] } else { &combination.rows[..] };
        check_weights(&weights.iter().map(|(_, weight)| *weight).collect::<Vec<f64>>())?;
        let row = |&(row, weight): &(usize, f64)| Some((rows.get(row)?, weight));
        let weighted: Option<Vec<(&Row, f64)>> = weights.iter().map(row).collect();
        let weighted = weighted.ok_or_else(|| "there is no such row".to_owned())?;
        let has_strict = weighted.iter().any(|(row, weight)| row.strict && *weight > 0.0);
        let (weights, constant) = self.weights(region, &weighted);
        Ok((weights, constant, has_strict))
    }

    /// Weights of the outputs and a constant: not below a sum of rows.
    fn weights(&self, region: &BoxRegion<N>, weighted: &[(&Row, f64)]) -> (Vec<N>, N) {
        let outputs = self.problem.network.widths[self.problem.network.hidden()];
        let (mut weights, mut constant) = (vec![N::zero(); outputs], N::zero());
        let mut sizes = vec![N::zero(); outputs];
        let mut terms = 0;
        for (row, weight) in weighted {
            let weight = N::of(*weight);
            constant = constant.add_up(&weight.mul_up(&N::of(row.constant)));
            for (output, of_output) in &row.terms {
                let product = weight.mul(&N::of(*of_output));
                weights[*output] = weights[*output].add(&product);
                sizes[*output] = sizes[*output].add_up(&product.magnitude());
                terms += 1;
            }
        }
        let is_rounded = !matches!(weighted, [(row, 1.0)] if row.has_no_output_twice());
        if is_rounded {
            let gamma = N::of(N::gamma(2 * terms + 2).min(1e30));
            let tiny = N::of(N::TINY * (terms as f64 + 1.0));
            for (size, largest) in sizes.iter().zip(region.output_magnitudes(&self.problem)) {
                let off = size.mul_up(&gamma).add_up(&tiny);
                constant = constant.add_up(&off.mul_up(&largest));
            }
        }
        (weights, constant)
    }

    /// The bounds of a part, by those of the last part before it that are known; those of the whole box always are.
    fn region(&self, place: &Rc<Place<N>>) -> Result<Rc<BoxRegion<N>>, Failure> {
        if let Some(known) = &*place.bounds.borrow() {
            return Ok(Rc::clone(&known.region));
        }
        let (mut before, mut fresh_from) = (place.parent.as_ref(), place.fresh_from);
        let mut is_best = true;
        let known = loop {
            let Some(parent) = before else { break None };
            let known = parent.bounds.borrow().clone();
            if let Some(known) = known {
                is_best &= known.is_best;
                break Some(known.region);
            }
            if parent.parent.is_none() {
                break Some(self.region(parent)?);
            }
            is_best = false;
            fresh_from = fresh_from.min(parent.fresh_from);
            before = parent.parent.as_ref();
        };
        let region = match &place.parent {
            Some(_) => {
                let known = known.as_deref().map(|known| (known, fresh_from));
                BoxRegion::new(&self.problem, &place.part, known, None)?
            }
            None => self.whole(&place.part)?,
        };
        let region = Rc::new(region);
        let bounds = PlaceBounds { region: Rc::clone(&region), is_best };
        *place.bounds.borrow_mut() = Some(bounds);
        Ok(region)
    }

    /// The bounds of the whole box.
    ///
    /// # Errors
    /// When no point of it has the property, or numbers overflow.
    pub fn whole(&self, part: &BoxPart<N>) -> Result<BoxRegion<N>, Failure> {
        let mut known: Option<BoxRegion<N>> = None;
        for whole in &self.problem.whole {
            let before = known.as_ref().map(|known| (known, 0));
            known = Some(BoxRegion::new(&self.problem, part, before, Some(whole))?);
        }
        known.ok_or_else(|| Failure::Wrong("the whole box is not bounded".into()))
    }

    /// Bounds all parts before one, the outermost first, none left out. Whether that changes anything: then the part's own bounds are forgotten.
    fn bound_all_before(&self, place: &Rc<Place<N>>) -> Result<bool, String> {
        let is_best =
            |place: &Place<N>| place.bounds.borrow().as_ref().is_some_and(|bounds| bounds.is_best);
        let mut behind = Vec::new();
        let mut before = place.parent.as_ref().filter(|parent| !is_best(parent));
        while let Some(parent) = before {
            behind.push(Rc::clone(parent));
            before = parent.parent.as_ref().filter(|parent| !is_best(parent));
        }
        for parent in behind.iter().rev() {
            *parent.bounds.borrow_mut() = None;
            if let Err(Failure::Wrong(what)) = self.region(parent) {
                return Err(what);
            }
        }
        if !behind.is_empty() {
            *place.bounds.borrow_mut() = None;
        }
        Ok(!behind.is_empty())
    }
}

impl Row {
    fn has_no_output_twice(&self) -> bool {
        let twice = |k: usize| self.terms[..k].iter().any(|(output, _)| *output == self.terms[k].0);
        !(0..self.terms.len()).any(twice)
    }
}
