//! What a file computes, number by number, and how its neurons become layers.
//!
//! A *cell* is an input, a constant, a result of an affine operation, or what a neuron gives. Operators that only move numbers make no cells. A
//! neuron takes a cell and has a ReLU, or hands it on. docs/proof-format.md, section 3, defines which neurons each operator makes, and their order.

use std::collections::HashMap;
use std::sync::Arc;

use crate::affine::{Matrix, Step, Uncertain};

/// The place of a cell in the list of all.
pub type Cell = usize;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Input,
    Constant(f64),
    /// A result of an operation.
    Row {
        operation: usize,
        row: usize,
    },
    /// Takes a cell.
    Neuron {
        block: usize,
        takes: Cell,
    },
}

#[derive(Clone, Debug)]
struct Operation {
    step: Arc<Step<Uncertain>>,
    from: Vec<Cell>,
    first: Cell,
    /// Whether it is no operation of the file, which rounds nothing then.
    exact: bool,
}

/// Neurons that one operator makes.
#[derive(Clone, Debug)]
struct Block {
    first: Cell,
    many: usize,
    relu: bool,
}

/// All cells of a file. Each depends on earlier ones only.
#[derive(Clone, Debug)]
pub struct Cells {
    kinds: Vec<Kind>,
    /// The number of layers before a cell is known.
    depths: Vec<usize>,
    operations: Vec<Operation>,
    blocks: Vec<Block>,
    inputs: usize,
    /// Cells that are a constant and a ReLU, or its negative, in exact arithmetic.
    clipped: HashMap<Cell, (f64, f64, Cell)>,
}

/// An operation of a layer. Its inputs are the layer's own, and then results of operations before, counted through.
#[derive(Clone, Debug)]
pub struct LayerOperation {
    pub step: Arc<Step<Uncertain>>,
    pub from: Vec<usize>,
    pub exact: bool,
}

/// A layer: the last operation gives its pre-activations, in order.
#[derive(Clone, Debug)]
pub struct LayerPlan {
    pub inputs: usize,
    pub operations: Vec<LayerOperation>,
    /// Which neurons have a ReLU; the others hand on what they get.
    pub relu: Vec<bool>,
    /// Whether the file multiplies values by 0 that nothing else needs: nobody knows whether these overflow in f32.
    pub loses: bool,
}

/// All layers, the one of the outputs last.
#[derive(Clone, Debug)]
pub struct Plan {
    pub inputs: usize,
    pub layers: Vec<LayerPlan>,
}

impl Cells {
    /// The inputs.
    pub fn new(inputs: usize) -> Self {
        Self {
            kinds: vec![Kind::Input; inputs],
            depths: vec![0; inputs],
            operations: Vec::new(),
            blocks: Vec::new(),
            inputs,
            clipped: HashMap::new(),
        }
    }

    fn add(&mut self, kind: Kind, depth: usize) -> Cell {
        self.kinds.push(kind);
        self.depths.push(depth);
        self.kinds.len() - 1
    }

    pub fn constant(&mut self, value: f64) -> Cell {
        self.add(Kind::Constant(value), 0)
    }

    /// The number of cells.
    pub fn many(&self) -> usize {
        self.kinds.len()
    }

    /// The results of an operation.
    pub fn apply(&mut self, step: Step<Uncertain>, from: Vec<Cell>, exact: bool) -> Vec<Cell> {
        let (operation, first) = (self.operations.len(), self.many());
        let many = step.outputs(from.len());
        for row in 0..many {
            let depth = step.terms(row).map(|at| self.depths[from[at]]).max().unwrap_or(0);
            self.add(Kind::Row { operation, row }, depth);
        }
        self.operations.push(Operation { step: Arc::new(step), from, first, exact });
        (first..first + many).collect()
    }

    /// Sums of cells with weights.
    pub fn combine(&mut self, rows: &[Vec<(Cell, f64)>], exact: bool) -> Vec<Cell> {
        let from: Vec<Cell> = rows.iter().flatten().map(|(cell, _)| *cell).collect();
        let mut places = 0..from.len();
        let mut row = |row: &Vec<(Cell, f64)>| -> Vec<_> {
            row.iter().zip(places.by_ref()).map(|((_, w), at)| (at, Uncertain::exact(*w))).collect()
        };
        let rows: Vec<_> = rows.iter().map(&mut row).collect();
        self.apply(Step::Matrix(Matrix::sparse(from.len(), &rows)), from, exact)
    }

    /// Some cells times a number, or plus a number, in exact arithmetic; where that changes nothing they stay.
    fn exactly(&mut self, cells: &[Cell], by: &[f64], is_factor: bool) -> Vec<Cell> {
        let neutral = if is_factor { 1.0 } else { 0.0 };
        let changed: Vec<usize> = (0..cells.len()).filter(|&k| by[k] != neutral).collect();
        if changed.is_empty() {
            return cells.to_vec();
        }
        let numbers = changed.iter().map(|&k| Uncertain::exact(by[k])).collect();
        let step = if is_factor { Step::Scale(numbers) } else { Step::Shift(numbers) };
        let results = self.apply(step, changed.iter().map(|&k| cells[k]).collect(), true);
        let mut all = cells.to_vec();
        changed.into_iter().zip(results).for_each(|(k, result)| all[k] = result);
        all
    }

    /// New neurons that take these cells. They become known in one layer, the first that knows all of these.
    fn neurons(&mut self, relu: bool, takes: &[Cell]) -> Vec<Cell> {
        let depth = 1 + takes.iter().map(|&cell| self.depths[cell]).max().unwrap_or(0);
        let (first, block) = (self.many(), self.blocks.len());
        takes.iter().for_each(|&takes| {
            self.add(Kind::Neuron { block, takes }, depth);
        });
        self.blocks.push(Block { first, many: takes.len(), relu });
        (first..first + takes.len()).collect()
    }

    /// Whether a cell can be handed on without a neuron of its own.
    fn is_free(&self, cell: Cell) -> bool {
        !matches!(self.kinds[cell], Kind::Row { .. })
    }

    /// The same values, each an input, a constant or a neuron's.
    fn kept(&mut self, cells: &[Cell]) -> Vec<Cell> {
        let bound: Vec<Cell> = cells.iter().copied().filter(|&cell| !self.is_free(cell)).collect();
        let mut kept = self.neurons(false, &bound).into_iter();
        let keep = |&cell: &Cell| if self.is_free(cell) { Some(cell) } else { kept.next() };
        cells.iter().filter_map(keep).collect()
    }

    /// `x` where it is not negative, else `slope · x`. For magnitudes, with slope −1, nothing is rounded.
    pub fn leaky(&mut self, cells: &[Cell], slopes: &[f64], is_magnitude: bool) -> Vec<Cell> {
        let relus = self.neurons(true, cells);
        let kept = self.kept(cells);
        let pairs = || relus.iter().zip(&kept);
        if is_magnitude {
            let rows: Vec<_> = pairs().map(|(&r, &x)| vec![(x, -1.0), (r, 2.0)]).collect();
            return self.combine(&rows, true);
        }
        let rows: Vec<_> = pairs().map(|(&r, &x)| vec![(x, 1.0), (r, -1.0)]).collect();
        let negative = self.combine(&rows, true);
        let slopes = slopes.iter().map(|&slope| Uncertain::exact(slope)).collect();
        let scaled = self.apply(Step::Scale(slopes), negative, false);
        let rows: Vec<_> =
            relus.iter().zip(&scaled).map(|(&r, &s)| vec![(s, 1.0), (r, 1.0)]).collect();
        self.combine(&rows, true)
    }

    /// If a cell is `a + f·r` with a ReLU `r`, in exact arithmetic: `a`, `f`, and the cell that the ReLU takes.
    fn as_clipped(&self, cell: Cell) -> Option<(f64, f64, Cell)> {
        let (base, factor, relu) = *self.clipped.get(&cell).unwrap_or(&(0.0, 1.0, cell));
        match self.kinds[relu] {
            Kind::Neuron { block, takes } if self.blocks[block].relu => Some((base, factor, takes)),
            _ => None,
        }
    }

    /// The larger (`sign` 1) or smaller one (−1) of each cell and a number. With 0 it is the ReLU.
    ///
    /// Clipping what was clipped before needs no deeper layer: with `r = relu(g)` and `d ≥ 0`, `relu(r − d) = relu(g − d)`.
    pub fn clip(&mut self, sign: f64, cells: &[Cell], limits: &[f64]) -> Vec<Cell> {
        // What each ReLU takes: a cell times a factor, plus two numbers. And what the result is: a cell or a number, plus the ReLU times the sign.
        let (mut takes, mut factors, mut shifts) =
            (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        let mut results = Vec::new();
        for (&cell, &limit) in cells.iter().zip(limits) {
            let least = limit * sign;
            if let Kind::Constant(value) = self.kinds[cell] {
                let kept = if value * sign >= least { cell } else { self.constant(limit) };
                results.push((Some(kept), None));
                continue;
            }
            // The ReLU of a ReLU stays a layer of its own, as in the file.
            let is_plain = least == 0.0 && sign == 1.0 && self.is_free(cell);
            let before = self.as_clipped(cell).filter(|_| !is_plain);
            let (base, factor, g) =
                before.map_or((0.0, sign, cell), |(a, f, g)| (a * sign, f * sign, g));
            let rises = factor > 0.0;
            match (before.is_some(), rises, least - base > 0.0) {
                (true, true, false) => results.push((Some(cell), None)),
                (true, false, true) => results.push((Some(self.constant(limit)), None)),
                (true, false, false) => {
                    takes.push(g);
                    factors.push(-factor);
                    shifts[0].push(least);
                    shifts[1].push(-base);
                    results.push((Some(cell), Some(limit)));
                }
                (is_clipped, ..) => {
                    takes.push(g);
                    factors.push(factor);
                    shifts[0].push(-least);
                    shifts[1].push(if is_clipped { base } else { 0.0 });
                    results.push((None, Some(limit)));
                }
            }
        }
        takes = self.exactly(&takes, &factors, true);
        for shift in &shifts {
            takes = self.exactly(&takes, shift, false);
        }
        let mut relus =
            if takes.is_empty() { Vec::new() } else { self.neurons(true, &takes) }.into_iter();
        let mut clipped = Vec::new();
        for (cell, limit) in results {
            clipped.push(match (cell, limit.and_then(|limit| Some((limit, relus.next()?)))) {
                (Some(cell), None) => cell,
                (Some(cell), Some((_, relu))) => {
                    self.combine(&[vec![(cell, 1.0), (relu, sign)]], true)[0]
                }
                (None, Some((limit, relu))) => self.shifted_relu(limit, sign, relu),
                (None, None) => unreachable!("a ReLU for each limit"),
            });
        }
        clipped
    }

    /// `base + sign · relu`.
    fn shifted_relu(&mut self, base: f64, sign: f64, relu: Cell) -> Cell {
        let scaled = self.exactly(&[relu], &[sign], true);
        let cell = self.exactly(&scaled, &[base], false)[0];
        if cell != relu {
            self.clipped.insert(cell, (base, sign, relu));
        }
        cell
    }

    /// The largest (`sign` 1) or smallest cell (−1) of every window; none is empty. Pairs first, then the winners.
    pub fn tournament(&mut self, sign: f64, mut windows: Vec<Vec<Cell>>) -> Vec<Cell> {
        while windows.iter().any(|window| window.len() > 1) {
            windows = self.round(sign, &windows);
        }
        windows.into_iter().map(|window| window[0]).collect()
    }

    /// One round: of two cells that meet one is left, and the last of an odd number waits.
    fn round(&mut self, sign: f64, windows: &[Vec<Cell>]) -> Vec<Vec<Cell>> {
        let pairs = windows.iter().flat_map(|window| window.chunks_exact(2));
        let ordered = pairs.map(|pair| match (self.is_free(pair[0]), self.is_free(pair[1])) {
            (true, false) => (pair[1], pair[0]),
            _ => (pair[0], pair[1]),
        });
        let ordered: Vec<(Cell, Cell)> = ordered.collect();
        let rows: Vec<_> = ordered.iter().map(|&(a, b)| vec![(a, sign), (b, -sign)]).collect();
        let differences = self.combine(&rows, true);
        let relus = self.neurons(true, &differences);
        let carried = self.kept(&ordered.iter().map(|(_, b)| *b).collect::<Vec<_>>());
        let mut winners = Vec::new();
        for (relu, b) in relus.into_iter().zip(carried) {
            winners.push(match self.kinds[b] {
                Kind::Constant(base) => self.shifted_relu(base, sign, relu),
                _ => self.combine(&[vec![(b, 1.0), (relu, sign)]], true)[0],
            });
        }
        let mut winners = winners.into_iter();
        let next = |window: &Vec<Cell>| {
            let mut left: Vec<Cell> = winners.by_ref().take(window.len() / 2).collect();
            left.extend(window.chunks_exact(2).remainder());
            left
        };
        windows.iter().map(next).collect()
    }

    /// The layers that compute some cells, and then some inputs. Of a file for several images only what the first one needs.
    ///
    /// # Errors
    /// When outputs depend on other images.
    pub fn plan(&self, outputs: &[Cell], images: usize, inputs: &[usize]) -> Result<Plan, String> {
        let own = self.inputs / images;
        let mut cells = self.clone_if(outputs.iter().all(|&cell| self.depths[cell] == 0));
        let mut outputs = outputs.to_vec();
        if let Some(cells) = &mut cells {
            // Without a ReLU the hidden layer is the whole network, and the last one hands it on.
            outputs = cells.neurons(false, &outputs);
        }
        let cells = cells.as_ref().unwrap_or(self);
        let last = outputs.iter().map(|&cell| cells.depths[cell]).max().ok_or("has no output")?;
        let until = cells.last_uses(&outputs, last, images == 1);
        if until[own..self.inputs].iter().any(|until| *until > 0) {
            return Err("the first image's logits depend on other images".into());
        }
        let mut at: Vec<Vec<Cell>> = vec![Vec::new(); last + 1];
        at[0] = (0..own).collect();
        let is_own = |cell: &Cell| matches!(cells.kinds[*cell], Kind::Neuron { .. });
        for cell in (0..cells.many()).filter(is_own).filter(|&cell| until[cell] > 0) {
            at[cells.depths[cell]].push(cell);
        }
        for (cell, until) in until.iter().enumerate() {
            if matches!(cells.kinds[cell], Kind::Input | Kind::Neuron { .. }) {
                (cells.depths[cell] + 1..*until).for_each(|depth| at[depth].push(cell));
            }
        }
        let mut layers = Vec::new();
        for depth in 1..=last + 1 {
            let gives = if depth > last { &outputs } else { &at[depth] };
            layers.push(cells.layer(&at[depth - 1], gives, depth, (depth > last, inputs))?);
        }
        Ok(Plan { inputs: own, layers })
    }

    fn clone_if(&self, needed: bool) -> Option<Self> {
        needed.then(|| self.clone())
    }

    /// For each cell the depth of the last layer that needs it, or 0. All of a ReLU operator is needed, if `whole`.
    fn last_uses(&self, outputs: &[Cell], last: usize, whole: bool) -> Vec<usize> {
        let mut until = vec![0; self.many()];
        outputs.iter().for_each(|&cell| until[cell] = last + 1);
        for cell in (0..self.many()).rev() {
            match self.kinds[cell] {
                Kind::Row { operation, row } if until[cell] > 0 => {
                    let Operation { step, from, .. } = &self.operations[operation];
                    step.terms(row)
                        .for_each(|at| until[from[at]] = until[from[at]].max(until[cell]));
                }
                Kind::Neuron { block, takes } => {
                    let Block { first, many, relu } = self.blocks[block];
                    if whole && relu && cell + 1 == first + many {
                        // The block's last cell comes first: whether any of it is needed.
                        let is_kept = until[first..first + many].iter().any(|until| *until > 0);
                        let least = if is_kept { self.depths[cell] } else { 0 };
                        until[first..first + many].iter_mut().for_each(|u| *u = least.max(*u));
                    }
                    if until[cell] > 0 {
                        until[takes] = until[takes].max(self.depths[cell]);
                    }
                }
                _ => {}
            }
        }
        until
    }

    /// The layer that makes cells, or what neurons of this depth among them take, of cells that are known.
    fn layer(
        &self,
        known: &[Cell],
        gives: &[Cell],
        depth: usize,
        (is_last, more): (bool, &[usize]),
    ) -> Result<LayerPlan, String> {
        let own = |&cell: &Cell| match self.kinds[cell] {
            Kind::Neuron { block, takes } if !is_last && self.depths[cell] == depth => {
                (takes, self.blocks[block].relu)
            }
            _ => (cell, false),
        };
        let (wanted, mut relu): (Vec<Cell>, Vec<bool>) = gives.iter().map(own).unzip();
        let behind = if depth == 1 { 0 } else { more.len() };
        let mut layer = LayerBuilder {
            cells: self,
            place: HashMap::new(),
            many: known.len() + behind,
            operations: Vec::new(),
            loses: false,
        };
        layer.place.extend(known.iter().enumerate().map(|(k, &cell)| (cell, k)));
        layer.make(&wanted)?;
        let mut picks = wanted.iter().map(|cell| layer.place[cell]).collect::<Vec<usize>>();
        picks.extend((0..more.len()).map(|k| if depth == 1 { more[k] } else { known.len() + k }));
        relu.resize(picks.len(), false);
        let LayerBuilder { mut operations, many, loses, .. } = layer;
        let is_whole = picks.iter().copied().eq(many - picks.len().min(many)..many)
            && operations
                .last()
                .is_none_or(|last| last.step.outputs(last.from.len()) == picks.len())
            && (!operations.is_empty() || picks.len() == many);
        if !is_whole {
            let rows: Vec<_> = (0..picks.len()).map(|k| vec![(k, Uncertain::exact(1.0))]).collect();
            let step = Arc::new(Step::Matrix(Matrix::sparse(picks.len(), &rows)));
            operations.push(LayerOperation { step, from: picks, exact: true });
        }
        Ok(LayerPlan { inputs: known.len() + behind, operations, relu, loses })
    }
}

/// Puts the operations together that a layer needs.
struct LayerBuilder<'c> {
    cells: &'c Cells,
    /// Where cells are among the layer's inputs and results.
    place: HashMap<Cell, usize>,
    many: usize,
    operations: Vec<LayerOperation>,
    loses: bool,
}

impl LayerBuilder<'_> {
    fn make(&mut self, wanted: &[Cell]) -> Result<(), String> {
        // What is needed beside what is known: rows by operation, and constants.
        let mut needed: HashMap<Cell, bool> = HashMap::new();
        let mut waiting = wanted.to_vec();
        let (mut rows, mut constants) = (HashMap::<usize, Vec<usize>>::new(), Vec::new());
        while let Some(cell) = waiting.pop() {
            if self.place.contains_key(&cell) || needed.insert(cell, true).is_some() {
                continue;
            }
            match self.cells.kinds[cell] {
                Kind::Row { operation, row } => {
                    rows.entry(operation).or_default().push(row);
                    let Operation { step, from, .. } = &self.cells.operations[operation];
                    waiting.extend(step.terms(row).map(|at| from[at]));
                }
                Kind::Constant(value) => constants.push((cell, value)),
                _ => return Err("a value is used in a layer that does not know it".into()),
            }
        }
        constants.sort_by_key(|(cell, _)| *cell);
        self.constants(&constants);
        let mut rows: Vec<(usize, Vec<usize>)> = rows.into_iter().collect();
        rows.sort_unstable();
        for (operation, mut rows) in rows {
            rows.sort_unstable();
            self.push(&self.cells.operations[operation], &rows);
        }
        Ok(())
    }

    fn constants(&mut self, constants: &[(Cell, f64)]) {
        if constants.is_empty() {
            return;
        }
        let nothing = Arc::new(Step::Matrix(Matrix::sparse(1, &vec![Vec::new(); constants.len()])));
        self.operations.push(LayerOperation { step: nothing, from: vec![0], exact: true });
        let zeros = self.many..self.many + constants.len();
        let values = constants.iter().map(|(_, value)| Uncertain::exact(*value)).collect();
        let step = Arc::new(Step::Shift(values));
        self.operations.push(LayerOperation { step, from: zeros.clone().collect(), exact: true });
        self.place
            .extend(constants.iter().enumerate().map(|(k, (cell, _))| (*cell, zeros.end + k)));
        self.many = zeros.end + constants.len();
    }

    /// Some rows of an operation.
    fn push(&mut self, operation: &Operation, rows: &[usize]) {
        let Operation { step, from, first, exact } = operation;
        let places: Vec<Option<usize>> =
            from.iter().map(|cell| self.place.get(cell).copied()).collect();
        let is_known: Vec<bool> = places.iter().map(Option::is_some).collect();
        let is_whole = rows.len() == step.outputs(from.len()) && !is_known.contains(&false);
        let (step, from) = if is_whole {
            (Arc::clone(step), places.into_iter().flatten().collect())
        } else {
            let (part, used) = step.part(rows, &is_known);
            let is_lost = |row: &usize| step.inputs(*row).any(|at| !is_known[at]);
            self.loses |= rows.iter().any(is_lost);
            (Arc::new(part), used.into_iter().filter_map(|at| places[at]).collect())
        };
        self.operations.push(LayerOperation { step, from, exact: *exact });
        self.place.extend(rows.iter().enumerate().map(|(k, row)| (first + row, self.many + k)));
        self.many += rows.len();
    }
}
