//! Bounds of functions by quadratic relaxations of the neurons below.
//!
//! A function plus non-negative multiples of what is never negative is not below the function. With `v·(z − v)` among that it is quadratic; where
//! its matrix is positive, it is nowhere above its tangent, which is largest at a corner that is read off its signs. Multipliers are
//! proposals. So are the point of the tangent and the factor that shows the matrix to be positive: both are found in f64, and what they are off
//! by is worked out.

use std::rc::Rc;

use crate::boxes::{BoxProblem, BoxRegion};
use crate::function_bound::check_weights;
use crate::number::Number;
use crate::property::Quadratic;
use crate::region::Failure;
use crate::relax::{Interval, State};

/// No more neurons can be listed: a matrix takes the square of this.
const MOST_LISTED: usize = 2000;

/// `inputs · x + neurons · v + constant`, of what inputs are more than their least values, and of outputs of neurons.
struct Collapsed<N> {
    inputs: Vec<N>,
    neurons: Vec<N>,
    constant: N,
}

/// Neurons in terms of inputs and of each other.
pub struct Listed<N> {
    of: Vec<Vec<usize>>,
    /// For each hidden layer and neuron its place in the list.
    place: Vec<Vec<Option<usize>>>,
    neurons: Vec<ListedNeuron<N>>,
    /// How far inputs reach.
    reach: Vec<N>,
}

/// A neuron. Its pre-activation `z` is within `off` of the function.
struct ListedNeuron<N> {
    z: Collapsed<N>,
    off: N,
    /// Its largest output, and the line above: `v ≤ above · (z + lift)`.
    largest: N,
    above: N,
    lift: N,
}

/// Multipliers, at least 0.
struct Multipliers<N> {
    inputs: Vec<N>,
    ranges: Vec<N>,
    products: Vec<N>,
    signs: Vec<N>,
    passes: Vec<N>,
    lines: Vec<N>,
}

/// About the factor of a matrix: by rows, 0 behind the diagonal.
struct Positive {
    lower: Vec<f64>,
    size: usize,
}

impl<N: Number> Multipliers<N> {
    fn new(by: &Quadratic, inputs: usize, neurons: usize) -> Result<Self, Failure> {
        let list = |list: &[f64], many: usize| {
            check_weights(list)?;
            if list.len() > many {
                return Err(Failure::Wrong("a multiplier is of nothing".into()));
            }
            let mut list: Vec<N> = list.iter().map(|&m| N::of(m)).collect();
            list.resize(many, N::zero());
            Ok(list)
        };
        Ok(Self {
            inputs: list(&by.inputs, inputs)?,
            ranges: list(&by.ranges, neurons)?,
            products: list(&by.products, neurons)?,
            signs: list(&by.signs, neurons)?,
            passes: list(&by.passes, neurons)?,
            lines: list(&by.lines, neurons)?,
        })
    }
}

impl<N: Number> BoxRegion<N> {
    /// At least the largest value of a function of a layer's pre-activations, by a quadratic relaxation.
    pub fn quadratic_bound(
        &self,
        problem: &BoxProblem<N>,
        layer: usize,
        row: Vec<N>,
        by: &Quadratic,
    ) -> Result<N, Failure> {
        let known = self.listed.borrow().as_ref().filter(|known| known.of == by.neurons).cloned();
        let listed = match known {
            Some(known) if known.place.len() <= layer => known,
            _ => Rc::new(Listed::new(self, problem, layer, &by.neurons)?),
        };
        *self.listed.borrow_mut() = Some(Rc::clone(&listed));
        let many = listed.neurons.len();
        let function = listed.collapse(self, problem, layer, row).remove(0);
        listed.bound(&function, &Multipliers::new(by, problem.network.inputs, many)?)
    }
}

impl<N: Number> Listed<N> {
    fn new(
        region: &BoxRegion<N>,
        problem: &BoxProblem<N>,
        layer: usize,
        of: &[Vec<usize>],
    ) -> Result<Self, Failure> {
        let network = &problem.network;
        let mut place: Vec<Vec<Option<usize>>> =
            network.widths[..of.len().min(layer)].iter().map(|&width| vec![None; width]).collect();
        let all = of.iter().enumerate().flat_map(|(k, list)| list.iter().map(move |&j| (k, j)));
        let all: Vec<(usize, usize)> = all.collect();
        for (number, &(k, j)) in all.iter().enumerate() {
            let place = place.get_mut(k).and_then(|places| places.get_mut(j));
            let place = place
                .filter(|place| network.has_relu(k, j) && place.is_none() && number < MOST_LISTED);
            *place.ok_or_else(|| format!("no neuron {j} in layer {k} can be listed"))? =
                Some(number);
        }
        let reach = region.lower.iter().zip(&region.upper).map(|(l, u)| u.sub_up(l)).collect();
        let mut listed = Self { of: of.to_vec(), place, neurons: Vec::new(), reach };
        let mut neurons = Vec::with_capacity(all.len());
        for (k, list) in of.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            let width = network.widths[k];
            let mut rows = vec![N::zero(); 2 * list.len() * width];
            for (which, &j) in list.iter().enumerate() {
                rows[2 * which * width + j] = N::of(1.0);
                rows[(2 * which + 1) * width + j] = N::of(-1.0);
            }
            let mut both = listed.collapse_of(region, problem, (k, all.len()), rows).into_iter();
            for &j in list {
                let (Some(z), Some(less)) = (both.next(), both.next()) else { break };
                let is_negated = |a: &[N], b: &[N]| a.iter().zip(b).all(|(a, b)| *a == b.negated());
                if !is_negated(&z.inputs, &less.inputs) || !is_negated(&z.neurons, &less.neurons) {
                    return Err(Failure::Wrong("numbers overflow".into()));
                }
                let (lower, upper) = (less.constant.negated(), z.constant.clone());
                let constant = N::of(0.5 * (lower.nearest() + upper.nearest()));
                let off = upper.sub_up(&constant).larger(&constant.sub_up(&lower));
                let off = off.larger(&N::zero());
                let lines = &region.lines[k];
                neurons.push(ListedNeuron {
                    z: Collapsed { constant, ..z },
                    off,
                    largest: region.intervals[k][j].upper.larger(&N::zero()),
                    above: lines.above[j].clone(),
                    lift: lines.lift[j].clone(),
                });
            }
        }
        listed.neurons = neurons;
        Ok(listed)
    }

    fn collapse(
        &self,
        region: &BoxRegion<N>,
        problem: &BoxProblem<N>,
        layer: usize,
        rows: Vec<N>,
    ) -> Vec<Collapsed<N>> {
        self.collapse_of(region, problem, (layer, self.neurons.len()), rows)
    }

    /// Functions of a layer's pre-activations, one row of coefficients each, as functions of inputs and listed neurons that are not below them.
    fn collapse_of(
        &self,
        region: &BoxRegion<N>,
        problem: &BoxProblem<N>,
        (layer, listed): (usize, usize),
        mut rows: Vec<N>,
    ) -> Vec<Collapsed<N>> {
        let network = &problem.network;
        let many = rows.len() / network.widths[layer];
        let mut constants = vec![N::zero(); many];
        let mut neurons = vec![vec![N::zero(); listed]; many];
        for behind in (1..=layer).rev() {
            rows = network.pull_back(behind, &region.errors[behind], rows, &mut constants);
            let (below, width) = (behind - 1, network.widths[behind - 1]);
            for (function, row) in rows.chunks_mut(width).enumerate() {
                for (j, q) in row.iter_mut().enumerate().filter(|(_, q)| **q != N::zero()) {
                    let interval = &region.intervals[below][j];
                    let place = self.place.get(below).and_then(|places| places[j]);
                    match (place, network.state(below, j, interval)) {
                        (Some(place), _) => neurons[function][place] = q.clone(),
                        (None, State::On) => continue,
                        (None, State::Off) => {}
                        // Anything between 0 and its largest value.
                        (None, State::Unstable) => {
                            let most = q.larger(&N::zero()).mul_up(&interval.upper);
                            constants[function] = constants[function].add_up(&most);
                        }
                    }
                    *q = N::zero();
                }
            }
        }
        let rows = network.pull_back(0, &region.errors[0], rows, &mut constants);
        let all = rows.chunks(network.inputs).zip(neurons).zip(constants);
        all.map(|((row, neurons), mut constant)| {
            let mut inputs = row.to_vec();
            for (j, slope) in inputs.iter_mut().enumerate() {
                constant = constant.add_up(&slope.mul_up(&region.lower[j]));
                if self.reach[j] == N::zero() {
                    *slope = N::zero();
                }
            }
            Collapsed { inputs, neurons, constant }
        })
        .collect()
    }

    /// At least the largest value of a function.
    fn bound(&self, function: &Collapsed<N>, m: &Multipliers<N>) -> Result<N, Failure> {
        let not_positive = || Failure::Wrong("a matrix is not positive".into());
        let inverse = self.inverse(m).ok_or_else(not_positive)?;
        let matrix = self.matrix(m, &inverse);
        let factor = Positive::new(&matrix, self.neurons.len()).ok_or_else(not_positive)?;
        let defects = factor.defects(&matrix);
        let (x, v) = self.point(function, m, &inverse, &factor);
        let mut bound = self.tangent(function, m, (&x, &v));
        for (((neuron, at), defect), k) in self.neurons.iter().zip(&v).zip(defects).zip(0..) {
            let far = at.magnitude().larger(&neuron.largest.sub_up(at).magnitude());
            // What its pre-activation counts for, at most.
            let counts = m.lines[k].mul_up(&neuron.above).add_up(&m.passes[k]);
            let counts = counts.add_up(&m.products[k].mul_up(&neuron.largest));
            bound = bound.add_up(&defect.mul_up(&far.mul_up(&far)));
            bound = bound.add_up(&counts.mul_up(&neuron.off));
        }
        if bound.is_finite() { Ok(bound) } else { Err(Failure::Wrong("numbers overflow".into())) }
    }

    /// At least the inverse of each input's multiplier. `None` if one is 0, and the input is in a product.
    fn inverse(&self, m: &Multipliers<N>) -> Option<Vec<N>> {
        let counts = |j: usize| {
            let mut pairs = self.neurons.iter().zip(&m.products);
            pairs.any(|(of, g)| *g != N::zero() && of.z.inputs[j] != N::zero())
        };
        let inverse = |(j, multiplier): (usize, &N)| match *multiplier == N::zero() {
            false => Some(N::of(1.0).quotient_up(multiplier)),
            true => (!counts(j)).then(N::zero),
        };
        m.inputs.iter().enumerate().map(inverse).collect()
    }

    /// The matrix of the neurons' squares and products once the inputs are at their best.
    fn matrix(&self, m: &Multipliers<N>, inverse: &[N]) -> Vec<Interval<N>> {
        let (many, inputs) = (self.neurons.len(), inverse.len());
        let row = |i: usize| &self.neurons[i].z.inputs;
        let scaled = |i: usize| row(i).iter().zip(inverse).map(|(a, r)| a.mul(r));
        let left: Vec<N> = (0..many).flat_map(scaled).collect();
        let right: Vec<N> =
            (0..inputs).flat_map(|j| (0..many).map(move |i| row(i)[j].clone())).collect();
        let mut sums = vec![N::zero(); many * many];
        N::add_product(&mut sums, &left, &right, inputs, many);
        // A row's magnitudes, and those of its product with itself, which bound those of products with others.
        let plain = |i: usize| row(i).iter().map(N::magnitude).collect::<Vec<N>>();
        let own = |i: usize| {
            let scaled = row(i).iter().zip(inverse).map(|(a, r)| a.magnitude().mul_up(r));
            N::sum_up(&scaled.collect::<Vec<N>>(), &plain(i))
        };
        let of_one = |i: usize| plain(i).iter().fold(N::of(inputs as f64), |sum, a| sum.add_up(a));
        let own: Vec<(N, N)> = (0..many).map(|i| (own(i), of_one(i))).collect();
        let (gamma, tiny) = (N::of(N::gamma(inputs + 2)), N::of(N::TINY));
        let (half, g) = (N::of(-0.5), &m.products);
        let entry = |i: usize, k: usize| {
            let larger = own[i].0.larger(&own[k].0);
            let lost = gamma.mul_up(&larger).add_up(&tiny.mul_up(&own[i].1.add_up(&own[k].1)));
            let sum = Interval::exactly(&sums[i * many + k]).widened(&lost);
            let squares = sum.scaled(&half).scaled(&g[i]).scaled(&half.negated()).scaled(&g[k]);
            let product = |i: usize, k: usize| {
                Interval::exactly(&self.neurons[i].z.neurons[k]).scaled(&g[i]).scaled(&half)
            };
            let entry = squares.plus(&product(i, k)).plus(&product(k, i));
            if i != k {
                return entry;
            }
            entry.plus(&Interval::exactly(&m.ranges[i])).plus(&Interval::exactly(&g[i]))
        };
        (0..many * many).map(|at| entry(at / many, at % many)).collect()
    }

    /// About where the sum is largest: inputs, neurons. Only a proposal.
    fn point(
        &self,
        function: &Collapsed<N>,
        m: &Multipliers<N>,
        inverse: &[N],
        factor: &Positive,
    ) -> (Vec<N>, Vec<N>) {
        let near = |list: &[N]| list.iter().map(N::nearest).collect::<Vec<f64>>();
        let [ranges, products, signs, passes, lines] =
            [&m.ranges, &m.products, &m.signs, &m.passes, &m.lines].map(|list| near(list));
        let (mut of_inputs, mut of_neurons) = (near(&function.inputs), near(&function.neurons));
        let (inverse, reach) = (near(inverse), near(&self.reach));
        let rows: Vec<Vec<f64>> = self.neurons.iter().map(|of| near(&of.z.inputs)).collect();
        let squares = m.inputs.iter().zip(&reach);
        of_inputs.iter_mut().zip(squares).for_each(|(b, (m, reach))| *b += m.nearest() * reach);
        for (i, of) in self.neurons.iter().enumerate() {
            let weight = lines[i] * of.above.nearest() - passes[i];
            of_inputs.iter_mut().zip(&rows[i]).for_each(|(b, a)| *b += weight * a);
            let earlier = of_neurons.iter_mut().zip(&of.z.neurons);
            earlier.for_each(|(b, a)| *b += weight * a.nearest());
            of_neurons[i] += products[i] * of.z.constant.nearest() + signs[i] + passes[i]
                - lines[i]
                + ranges[i] * of.largest.nearest();
        }
        let right = rows.iter().enumerate().map(|(i, row)| {
            let terms = row.iter().zip(&inverse).zip(&of_inputs);
            let sum: f64 = terms.map(|((a, r), b)| a * r * b).sum();
            0.5 * of_neurons[i] + 0.25 * products[i] * sum
        });
        let v = factor.solve(right.collect());
        for ((row, v), product) in rows.iter().zip(&v).zip(&products) {
            of_inputs.iter_mut().zip(row).for_each(|(b, a)| *b += product * v * a);
        }
        let x = of_inputs.iter().zip(&inverse).map(|(b, r)| N::of(0.5 * b * r)).collect();
        (x, v.into_iter().map(N::of).collect())
    }

    /// At least the largest value of the tangent at a point.
    fn tangent(&self, function: &Collapsed<N>, m: &Multipliers<N>, (x, v): (&[N], &[N])) -> N {
        let (two, of) = (N::of(-2.0), Interval::exactly);
        let mut constant = of(&function.constant);
        let mut of_inputs: Vec<Interval<N>> = function.inputs.iter().map(of).collect();
        let mut of_neurons: Vec<Interval<N>> = function.neurons.iter().map(of).collect();
        for (i, ListedNeuron { z, largest, above, lift, .. }) in self.neurons.iter().enumerate() {
            let (g, at) = (&m.products[i], &v[i]);
            // What is linear in z, and that with its part of the tangent.
            let line = of(&m.lines[i]).scaled(above);
            let weight = line.plus(&of(&m.passes[i].negated()));
            let whole = weight.plus(&of(g).scaled(at));
            constant = constant.plus(&weight.scaled(&z.constant)).plus(&line.scaled(lift));
            for (sum, a) in of_inputs.iter_mut().zip(&z.inputs).filter(|(_, a)| **a != N::zero()) {
                *sum = sum.plus(&whole.scaled(a));
            }
            for (sum, a) in of_neurons.iter_mut().zip(&z.neurons).filter(|(_, a)| **a != N::zero())
            {
                *sum = sum.plus(&whole.scaled(a));
            }
            let terms = z.inputs.iter().zip(x).chain(z.neurons.iter().zip(v));
            let there = terms.fold(of(&N::zero()), |sum, (a, y)| sum.plus(&of(a).scaled(y)));
            let square = of(&m.ranges[i]).plus(&of(g));
            let product = there.scaled(at).scaled(&g.negated());
            constant = constant.plus(&square.scaled(at).scaled(at)).plus(&product);
            let own = [
                there.plus(&of(&z.constant)).scaled(g),
                of(&m.signs[i]).plus(&of(&m.passes[i])).plus(&of(&m.lines[i].negated())),
                of(&m.ranges[i]).scaled(largest),
                square.scaled(at).scaled(&two),
            ];
            of_neurons[i] = own.iter().fold(of_neurons[i].clone(), |sum, term| sum.plus(term));
        }
        for (((sum, m), at), reach) in of_inputs.iter_mut().zip(&m.inputs).zip(x).zip(&self.reach) {
            constant = constant.plus(&of(m).scaled(at).scaled(at));
            *sum = sum.plus(&of(m).scaled(reach)).plus(&of(m).scaled(at).scaled(&two));
        }
        let largest = self.neurons.iter().map(|of| &of.largest);
        let terms = of_inputs.iter().zip(&self.reach).chain(of_neurons.iter().zip(largest));
        terms.fold(constant.upper, |sum, (slope, reach)| {
            sum.add_up(&slope.upper.larger(&N::zero()).mul_up(reach))
        })
    }
}

impl Positive {
    /// The factor of a matrix that is about this. `None` if it has none.
    fn new<N: Number>(matrix: &[Interval<N>], size: usize) -> Option<Self> {
        let middle = |of: &Interval<N>| 0.5 * (of.lower.nearest() + of.upper.nearest());
        let mut lower: Vec<f64> = matrix.iter().map(middle).collect();
        for i in 0..size {
            for k in 0..=i {
                let (above, row) = lower.split_at(i * size);
                let other = if k < i { &above[k * size..][..k] } else { &row[..k] };
                let products: f64 = row[..k].iter().zip(other).map(|(a, b)| a * b).sum();
                let rest = row[k] - products;
                lower[i * size + k] = if k < i {
                    rest / lower[k * size + k]
                } else if rest > 0.0 && rest.is_finite() {
                    rest.sqrt()
                } else {
                    return None;
                };
            }
            lower[i * size + i + 1..(i + 1) * size].fill(0.0);
        }
        Some(Self { lower, size })
    }

    /// For each row how far the matrix is from the product of the factors: it is at least minus these numbers, as a diagonal matrix.
    fn defects<N: Number>(&self, matrix: &[Interval<N>]) -> Vec<N> {
        let size = self.size;
        let left: Vec<N> = self.lower.iter().map(|&x| N::of(x)).collect();
        let right: Vec<N> =
            (0..size * size).map(|at| left[at % size * size + at / size].clone()).collect();
        let mut product = vec![N::zero(); size * size];
        N::add_product(&mut product, &left, &right, size, size);
        let own = |row: &[N]| {
            let row: Vec<N> = row.iter().map(N::magnitude).collect();
            N::sum_up(&row, &row)
        };
        let own: Vec<N> = left.chunks(size.max(1)).map(own).collect();
        let (gamma, tiny) = (N::of(N::gamma(size + 1)), N::of(N::TINY * (size as f64 + 1.0)));
        let defect = |i: usize| {
            (0..size).fold(N::zero(), |sum, k| {
                let lost = gamma.mul_up(&own[i].larger(&own[k])).add_up(&tiny);
                let rest = Interval::exactly(&product[i * size + k].negated()).widened(&lost);
                sum.add_up(&matrix[i * size + k].plus(&rest).magnitude())
            })
        };
        (0..size).map(defect).collect()
    }

    /// About the solution of the equations with this matrix.
    fn solve(&self, mut right: Vec<f64>) -> Vec<f64> {
        let (size, lower) = (self.size, &self.lower);
        for i in 0..size {
            let row = lower[i * size..][..i].iter().zip(&right);
            let sum: f64 = row.map(|(a, b)| a * b).sum();
            right[i] = (right[i] - sum) / lower[i * size + i];
        }
        for i in (0..size).rev() {
            let sum: f64 = (i + 1..size).map(|k| lower[k * size + i] * right[k]).sum();
            right[i] = (right[i] - sum) / lower[i * size + i];
        }
        right
    }
}
