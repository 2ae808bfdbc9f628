#!/usr/bin/env python3
"""Checks proofs in exact arithmetic: a third opinion, written from docs/proof-format.md with nothing but Python's own library.

    scripts/check_proof.py MODEL PROOF...

For tiny networks: every number is a fraction. Claims about runs in f32 are not checked, only those about the file's function over the real numbers; a
proof about a property is checked for the real numbers. One line for each proof. Exit code 0: all hold; 1: one does not; 2: something cannot be read or is not supported.
"""

import gzip
import hashlib
import json
import struct
import sys
from fractions import Fraction as F

ZERO, ONE = F(0), F(1)


class Wrong(Exception):
    """The proof does not hold."""


class Empty(Exception):
    """A part is empty."""


class Unsupported(Exception):
    """The file cannot be read, or holds what this script does not know."""


# ---- the model ------------------------------------------------------------------------------------------------


def fields(data):
    """The fields of a protobuf message: number and value."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        elif kind == 2:
            size = varint()
            value, at = data[at : at + size], at + size
        elif kind == 5:
            value, at = data[at : at + 4], at + 4
        else:
            raise Unsupported("not an ONNX file")
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def integers(values):
    """Repeated integers, packed or not."""
    for value in values:
        if isinstance(value, int):
            yield signed(value)
        else:
            at = 0
            while at < len(value):
                number = shift = 0
                while True:
                    byte = value[at]
                    at += 1
                    number |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        break
                yield signed(number)


def message(data):
    """The fields of a message by number: lists of values."""
    by_number = {}
    for number, value in fields(data):
        by_number.setdefault(number, []).append(value)
    return by_number


def tensor(data):
    """Name, shape and numbers of a tensor."""
    m = message(data)
    shape = list(integers(m.get(1, [])))
    kind, name = m.get(2, [0])[0], m.get(8, [b""])[0].decode()
    raw = m.get(9, [b""])[0]
    if m.get(13):
        raise Unsupported(f"tensor '{name}' lies in another file")
    if kind == 1:
        raw = raw or b"".join(m.get(4, []))
        numbers = [F(x) for (x,) in struct.iter_unpack("<f", raw)]
    elif kind == 7:
        numbers = [x for (x,) in struct.iter_unpack("<q", raw)] or list(integers(m.get(7, [])))
    else:
        raise Unsupported(f"tensor '{name}' is of type {kind}")
    return name, shape, numbers


def rows_of(shape, numbers):
    return [numbers[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def read_model(path):
    """The layers of a file: lists of steps ("dense", rows), ("scale", factors), ("shift", numbers), with a ReLU between two."""
    stored = open(path, "rb").read()
    data = gzip.decompress(stored) if stored[:2] == b"\x1f\x8b" else stored
    graph = message(message(data)[7][0])
    constants = {name: (shape, numbers) for name, shape, numbers in map(tensor, graph.get(5, []))}
    inputs = [message(value) for value in graph.get(11, [])]
    (entry,) = [value for value in inputs if value[1][0].decode() not in constants]
    dims = message(message(message(entry[2][0])[1][0])[2][0]).get(1, [])
    width = 1
    for dim in dims:
        width *= max(message(dim).get(1, [1])[0], 1)
    layers, data_name, size = [[]], entry[1][0].decode(), width

    def numbers_for(name):
        shape, numbers = constants[name]
        if len(numbers) not in (1, size):
            raise Unsupported(f"'{name}' has to be broadcast")
        return numbers * size if len(numbers) == 1 else numbers

    for node in map(message, graph.get(1, [])):
        names = [name.decode() for name in node.get(1, [])]
        output, op = node[2][0].decode(), node[4][0].decode()
        attributes = {}
        for attribute in map(message, node.get(5, [])):
            attributes[attribute[1][0].decode()] = attribute
        if op == "Constant":
            _, shape, numbers = tensor(attributes["value"][5][0])
            constants[output] = (shape, numbers)
            continue
        if names.count(data_name) != 1:
            raise Unsupported(f"{op}: not a chain")
        first = names[0] == data_name
        steps = layers[-1]
        if op in ("Flatten", "Reshape", "Identity", "Softmax", "LogSoftmax"):
            pass
        elif op == "Relu":
            layers.append([])
        elif op == "Gemm":
            number = lambda name: struct.unpack("<f", attributes[name][2][0])[0] if name in attributes else 1.0
            if number("alpha") != 1.0 or number("beta") != 1.0 or "transA" in attributes and attributes["transA"].get(3, [0])[0]:
                raise Unsupported("Gemm with alpha, beta or transA")
            rows = rows_of(*constants[names[1]])
            if not ("transB" in attributes and attributes["transB"].get(3, [0])[0]):
                rows = transposed(rows)
            steps.append(("dense", rows))
            size = len(rows)
            if len(names) > 2:
                steps.append(("shift", numbers_for(names[2])))
        elif op == "MatMul":
            rows = rows_of(*constants[names[1 if first else 0]])
            steps.append(("dense", transposed(rows) if first else rows))
            size = len(steps[-1][1])
        elif op in ("Add", "Sub", "Mul", "Div"):
            numbers = numbers_for(names[1 if first else 0])
            if op == "Add":
                steps.append(("shift", numbers))
            elif op == "Mul":
                steps.append(("scale", numbers))
            elif op == "Div" and first:
                steps.append(("scale", [1 / x for x in numbers]))
            elif op == "Sub" and first:
                steps.append(("shift", [-x for x in numbers]))
            elif op == "Sub":
                steps += [("scale", [-ONE] * size), ("shift", numbers)]
            else:
                raise Unsupported("division by the input")
        else:
            raise Unsupported(f"operator {op}")
        data_name = output
    return width, layers, hashlib.sha256(stored).hexdigest()


def forward(steps, values):
    for kind, numbers in steps:
        if kind == "dense":
            values = [sum((w * x for w, x in zip(row, values) if w and x), ZERO) for row in numbers]
        elif kind == "scale":
            values = [a * x for a, x in zip(numbers, values)]
        else:
            values = [a + x for a, x in zip(numbers, values)]
    return values


def image_of(steps, intervals):
    """Interval arithmetic."""
    for kind, numbers in steps:
        if kind == "dense":
            image = []
            for row in numbers:
                low = sum((w * i[0 if w > 0 else 1] for w, i in zip(row, intervals) if w), ZERO)
                high = sum((w * i[1 if w > 0 else 0] for w, i in zip(row, intervals) if w), ZERO)
                image.append((low, high))
            intervals = image
        elif kind == "scale":
            intervals = [tuple(sorted((a * i[0], a * i[1]))) for a, i in zip(numbers, intervals)]
        else:
            intervals = [(a + i[0], a + i[1]) for a, i in zip(numbers, intervals)]
    return intervals


def pull_back(steps, row, constant):
    for kind, numbers in reversed(steps):
        if kind == "dense":
            below = [ZERO] * len(numbers[0])
            for q, weights in zip(row, numbers):
                if q:
                    below = [b + q * w for b, w in zip(below, weights)]
            row = below
        elif kind == "scale":
            row = [q * a for q, a in zip(row, numbers)]
        else:
            constant += sum((q * a for q, a in zip(row, numbers) if q), ZERO)
    return row, constant


# ---- sets -----------------------------------------------------------------------------------------------------


class Part:
    """What is taken and what is left to move."""

    def __init__(self, moves, caps, budget, integers=frozenset()):
        self.moves, self.caps, self.budget, self.taken, self.integers = moves, caps, budget, {}, integers

    def side(self, side):
        ((kind, share),) = side.items()
        if kind not in ("at_least", "at_most"):
            raise Wrong("a neuron's sign is no part of the set")
        amount = F(share["amount"])
        whole = share["pixel"] in self.integers
        if whole and (amount.denominator != 1 or not 1 <= amount <= 2**40):
            raise Wrong("an amount of an integer input is not a whole number")
        if not whole and ((amount * 2**20).denominator != 1 or not 0 <= amount <= 2**20):
            raise Wrong("an amount is not a multiple of 2^-20")
        move = (share["pixel"], share["up"])
        if move not in self.moves:
            raise Wrong("a pixel is split that cannot move")
        k = self.moves.index(move)
        part = Part(self.moves, list(self.caps), self.budget, self.integers)
        part.taken = dict(self.taken)
        if kind == "at_most":
            # No point of the set lies between two whole numbers.
            part.caps[k] = min(part.caps[k], amount - 1 if whole else amount)
            return part
        part.taken[k] = part.taken.get(k, ZERO) + amount
        part.caps[k] = max(part.caps[k] - amount, ZERO)
        if part.budget is not None:
            part.budget = max(part.budget - amount, ZERO)
        if (move[0], not move[1]) in self.moves:
            part.caps[self.moves.index((move[0], not move[1]))] = ZERO
        return part

    def left(self):
        """What all moves together can spend, and whether that is less than the sum of all caps."""
        total = sum(self.caps, ZERO)
        return (total, False) if self.budget is None or self.budget >= total else (self.budget, True)

    def support(self, slopes):
        budget, binds = self.left()
        steep = sorted(((v, cap) for v, cap in zip(slopes, self.caps) if v > 0), reverse=True)
        value, rest = ZERO, budget
        for v, cap in steep:
            amount = min(cap, rest) if binds else cap
            value, rest = value + v * amount, rest - amount
        return value


def whole_set(proof):
    """The centre and the whole set of a statement."""
    if "original" in proof:
        centre = [F(struct.unpack("<f", struct.pack("<f", x))[0]) for x in proof["original"]]
        if not all(0 <= x <= 1 for x in centre):
            raise Wrong("the image is not within [0, 1]")
        delta = F(proof["delta"])
        if delta <= 0 or proof["norm"] not in ("l1", "linf"):
            raise Wrong("its set makes no sense")
        reach = delta if proof["norm"] == "linf" else ONE
        budget = None if proof["norm"] == "linf" else delta
        lower, upper, integers = [ZERO] * len(centre), [ONE] * len(centre), frozenset()
    else:
        if proof["constraints"]:
            raise Unsupported("constraints")
        centre, lower, upper = ([F(x) for x in proof[name]] for name in ("centre", "lower", "upper"))
        if not len(centre) == len(lower) == len(upper) or any(not l <= c <= u for l, c, u in zip(lower, centre, upper)):
            raise Wrong("the centre is not within the bounds")
        integers = frozenset(proof.get("integers", ()))
        if any(not 0 <= i < len(centre) or any(x[i].denominator != 1 for x in (centre, lower, upper)) for i in integers):
            raise Wrong("an integer input has another bound or centre")
        reach = budget = None
    moves, caps = [], []
    for i, x in enumerate(centre):
        for up, room in ((True, upper[i] - x), (False, x - lower[i])):
            if room > 0:
                moves.append((i, up))
                caps.append(room if reach is None else min(room, reach))
    return centre, Part(moves, caps, budget, integers)


# ---- bounds ---------------------------------------------------------------------------------------------------


def state(interval):
    return "on" if interval[0] >= 0 else "off" if interval[1] <= 0 else "unstable"


def default_slope(interval):
    return ONE if interval[1] > -interval[0] * F(1.0 - 1e-6) else ZERO


def at(line, taken):
    return line[0] + sum((line[1][k] * amount for k, amount in taken.items()), ZERO)


def narrowed(interval, lower, upper):
    interval = (max(interval[0], lower), min(interval[1], upper))
    if interval[0] > interval[1]:
        raise Empty
    return interval


class Region:
    """Bounds of all neurons over a part. `lines` are those of the part they were made for, `taken` the moves made since."""

    def __init__(self, network, part):
        self.network, self.part, self.taken, self.guide = network, part, {}, None
        self.intervals, self.lines, self.goal = [], [], None

    def copy(self):
        other = Region(self.network, self.part)
        other.taken, other.guide, other.goal = dict(self.taken), self.guide, self.goal
        other.intervals = [list(layer) for layer in self.intervals]
        other.lines = [list(layer) for layer in self.lines]
        return other

    def interval(self, pair):
        above, below = pair
        return (
            -at(below, self.taken) - self.part.support(below[1]),
            at(above, self.taken) + self.part.support(above[1]),
        )

    def unstable(self, layer):
        return [j for j, i in enumerate(self.intervals[layer]) if state(i) == "unstable"]

    @staticmethod
    def bounded(network, part, known, guide):
        self = Region(network, part)
        self.guide = guide
        for layer in range(network.hidden):
            if layer == 0:
                pairs = [network.first_line(j, part.taken) for j in range(network.widths[0])]
                intervals = [self.interval(pair) for pair in pairs]
                if known:
                    intervals = [narrowed(i, *k) for i, k in zip(intervals, known[0])]
                self.lines.append(pairs)
            else:
                relu = [(max(i[0], ZERO), max(i[1], ZERO)) for i in self.intervals[layer - 1]]
                intervals = image_of(network.layers[layer], relu)
                if known:
                    intervals = [narrowed(i, *k) for i, k in zip(intervals, known[layer])]
                self.lines.append([None] * len(intervals))
            self.intervals.append(intervals)
            if layer > 0:
                for j in self.unstable(layer):
                    pair = self.best_pair(layer, j)
                    self.lines[layer][j] = pair
                    self.intervals[layer][j] = narrowed(intervals[j], *self.interval(pair))
        return self

    def best_pair(self, layer, j):
        budget, _ = self.part.left()
        ways = [self.network.hidden] if layer == 1 else [self.network.hidden, 1]
        if budget > F(5, 100) * sum(self.part.caps, ZERO):
            ways.append(0)
        pair = []
        for sign in (ONE, -ONE):
            row = [sign if i == j else ZERO for i in range(self.network.widths[layer])]
            best = None
            for enveloped in ways[:1] if self.guide else ways:
                if self.guide:
                    by = lambda below, i: ("lines", *self.guide[below][i], ZERO)
                else:
                    by = lambda below, i: (
                        "lines", default_slope(self.intervals[below][i]), ONE if below < enveloped else ZERO, ZERO,
                    )
                line = self.push_back(layer, row, by)
                value = line[0] + self.part.support(line[1])
                if best is None or value < best[0]:
                    best = (value, line)
            pair.append(best[1])
        return tuple(pair)

    def push_back(self, layer, row, by):
        """A line above `row · g` of a layer: its constant and its slopes in the moves that are left."""
        constant, slopes = ZERO, [ZERO] * len(self.part.moves)
        for behind in range(layer, 0, -1):
            row, constant = pull_back(self.network.layers[behind], row, constant)
            for j, q in enumerate(row):
                relaxation = by(behind - 1, j)
                if q == 0 and relaxation[0] != "duals":
                    continue
                row[j], more, share, theta = self.relax(behind - 1, j, q, relaxation)
                constant += more
                if share:
                    e, envelope = self.envelope(behind - 1, j, theta)
                    constant += share * e
                    slopes = [s + share * t for s, t in zip(slopes, envelope)]
        for j, q in enumerate(row):
            if q:
                (c, v), _ = self.lines[0][j]
                constant += q * at((c, v), self.taken)
                slopes = [s + q * t for s, t in zip(slopes, v)]
        return constant, slopes

    def relax(self, layer, j, q, relaxation):
        """Slope, constant, and share and θ of the envelope of something above `q · relu(g)`."""
        known = self.intervals[layer][j]
        if self.taken and self.lines[layer][j] and state(known) == "unstable":
            known = narrowed(known, *self.interval(self.lines[layer][j]))
        low, high = known
        now = state(known)
        kind, first, share, theta = relaxation
        has_envelope = self.lines[layer][j] is not None
        if kind == "duals":
            share = share if has_envelope and share > 0 else ZERO
            rest = q - share
            slope = rest + first if now == "on" else first
            if now == "on":
                corner = max((rest - slope) * low, (rest - slope) * high)
            elif now == "off":
                corner = max(-slope * low, -slope * high)
            else:
                corner = max(-slope * low, (rest - slope) * high, ZERO)
            return slope, corner, share, ZERO
        if now != "unstable":
            return (q if now == "on" else ZERO), ZERO, ZERO, ZERO
        if q < 0:
            return q * (default_slope(known) if first is None else first), ZERO, ZERO, ZERO
        if layer == 0 or not self.part.left()[1]:
            theta = ZERO
        share = share * q if has_envelope else ZERO
        rest = q - share
        # Any slope will do: a short one keeps the fractions short.
        chord = F(float(rest * high / (high - low)))
        return chord + theta * share, max(-chord * low, (rest - chord) * high), share, theta

    def envelope(self, layer, j, theta):
        above, below = self.lines[layer][j]
        c, d = (1 - theta) * at(above, self.taken), theta * at(below, self.taken)
        e = max(c, d)
        budget, _ = self.part.left()
        per_unit = (lambda x: x / budget) if budget >= F(1e-9) else (lambda x: ZERO)
        a0, b0 = per_unit(c - e), per_unit(d - e)
        if theta == 0:
            return e, [max(v + a0, b0) for v in above[1]]
        return e, [max((1 - theta) * v + a0, theta * w + b0) for v, w in zip(above[1], below[1])]

    def objective(self, by):
        return self.push_back(self.network.hidden, list(self.network.objective), by)

    def bound(self, by):
        constant, slopes = self.objective(by)
        return constant + self.part.support(slopes)

    def cut(self, goal, line, guide, keeps_lines):
        """The same for points with a value of at least the goal; `line` is above the objective."""
        other = self.copy()
        if not keeps_lines:
            other.guide = guide
        other.goal = goal if self.goal is None else max(goal, self.goal)
        # Moves without room do not count.
        def slope(slopes):
            return max((abs(s) for s, cap in zip(slopes, self.part.caps) if cap > 0), default=ZERO)

        steepest = slope(line[1])

        def beyond(of_neuron):
            values = []
            for i in range(-3, 4):
                if not steepest:
                    break
                mu = F(float(slope(of_neuron[1]) / steepest)) * F(2) ** i / 4
                slopes = [v + mu * s for v, s in zip(of_neuron[1], line[1])]
                values.append(of_neuron[0] + mu * (line[0] - goal) + self.part.support(slopes))
            return values

        def narrow(layer, j, pair):
            low, high = other.intervals[layer][j]
            lower = max([low] + [-x for x in beyond(pair[1])])
            upper = min([high] + beyond(pair[0]))
            other.intervals[layer][j] = narrowed((low, high), lower, upper)

        for j in self.unstable(0):
            narrow(0, j, self.lines[0][j])
        for layer in range(1, self.network.hidden):
            lines = [None] * self.network.widths[layer]
            for j in other.unstable(layer):
                lines[j] = other.best_pair(layer, j)
                other.intervals[layer][j] = narrowed(other.intervals[layer][j], *other.interval(lines[j]))
                narrow(layer, j, lines[j])
            if not keeps_lines:
                other.lines[layer] = lines
        return other

    def within(self, outer, inner):
        other = self.copy()
        other.part = inner
        other.taken = {k: a - outer.taken.get(k, ZERO) for k, a in inner.taken.items()}
        return other

    def with_sign(self, neuron, on):
        other = self.copy()
        layer, j = neuron["layer"], neuron["neuron"]
        low, high = other.intervals[layer][j]
        other.intervals[layer][j] = narrowed((low, high), ZERO if on else low, high if on else ZERO)
        for behind in range(layer + 1, self.network.hidden):
            for j in other.unstable(behind):
                pair = other.best_pair(behind, j)
                other.intervals[behind][j] = narrowed(other.intervals[behind][j], *other.interval(pair))
        return other


class Network:
    def __init__(self, layers, objective, centre, moves):
        self.layers, self.objective = layers, objective
        self.hidden = len(layers) - 1
        self.first = []
        width = len(forward(layers[0], centre))
        values = forward(layers[0], centre)
        for j in range(width):
            row, _ = pull_back(layers[0], [ONE if i == j else ZERO for i in range(width)], ZERO)
            self.first.append((values[j], [row[i] if up else -row[i] for i, up in moves]))
        self.widths = [width]
        for steps in layers[1:]:
            for kind, numbers in steps:
                width = len(numbers)
            self.widths.append(width)

    def first_line(self, j, taken):
        c, v = self.first[j]
        c = at((c, v), taken)
        return (c, v), (-c, [-x for x in v])


# ---- claims ---------------------------------------------------------------------------------------------------


def opposite(side):
    ((kind, what),) = side.items()
    return {{"at_least": "at_most", "at_most": "at_least", "on": "off", "off": "on"}[kind]: what}


def check_cover(leaves):
    rest = [(leaves, 0)]
    while rest:
        group, depth = rest.pop()
        if not group:
            raise Wrong("the leaves do not cover the set")
        if len(group) == 1 and len(group[0]["sides"]) == depth:
            continue
        sides = [leaf["sides"][depth] if depth < len(leaf["sides"]) else None for leaf in group]
        if None in sides:
            raise Wrong("a leaf is split by other leaves")
        other = opposite(sides[0])
        if any(side not in (sides[0], other) for side in sides):
            raise Wrong("leaves are not on the sides of one split")
        for wanted in (sides[0], other):
            rest.append(([leaf for leaf, side in zip(group, sides) if side == wanted], depth + 1))


def natural(*numbers):
    """Indices: Python would take negative ones, too."""
    if not all(isinstance(n, int) and n >= 0 for n in numbers):
        raise Wrong("an index is not a natural number")
    return numbers


def unit(x):
    return min(max(F(x), ZERO), ONE)


def by_lines(network, lists):
    table = [[("lines", None, ZERO, ZERO)] * width for width in network.widths[:-1]]
    for layer, entries in enumerate(lists):
        for j, below, share, theta in entries:
            natural(j)
            table[layer][j] = ("lines", unit(below), unit(share), unit(theta))
    return lambda layer, j: table[layer][j]


def by_multipliers(network, lists):
    table = [[("duals", ZERO, ZERO, ZERO)] * width for width in network.widths[:-1]]
    for layer, entries in enumerate(lists):
        for j, multiplier, envelope in entries:
            natural(j)
            table[layer][j] = ("duals", F(multiplier), F(envelope), ZERO)
    return lambda layer, j: table[layer][j]


def with_signs(region, sides):
    for side in sides:
        ((kind, neuron),) = side.items()
        natural(neuron["layer"], neuron["neuron"])
        region = region.with_sign(neuron, kind == "on")
    return region


class Checker:
    """One claim; parts are bounded when they are needed."""

    def __init__(self, network, whole, claim):
        self.network, self.whole, self.claim, self.regions = network, whole, claim, {}

    def split(self, sides):
        part = self.whole
        for side in sides:
            part = part.side(side)
        return part

    def goal(self, place):
        part = self.claim["parts"][place]
        goals = [F(part["cut"]["goal"])] if part.get("cut") else []
        if part.get("parent") is not None:
            goals += [g for g in [self.goal(part["parent"])] if g is not None]
        return max(goals, default=None)

    def region(self, place):
        """A part's bounds, or None if it is empty."""
        if place not in self.regions:
            try:
                self.regions[place] = self.make(place)
            except Empty:
                self.regions[place] = None
        return self.regions[place]

    def make(self, place):
        part = self.claim["parts"][place]
        parent, sides, cut = part.get("parent"), part["sides"], part.get("cut")
        if parent is None:
            if sides or cut or part.get("guide"):
                raise Wrong("a part has no parent")
            return Region.bounded(self.network, self.whole, None, None)
        outer = self.claim["parts"][parent]["sides"]
        more = sides[len(outer) :]
        by_duals = bool(cut) and "multipliers" in cut
        has_only_signs = all(kind in ("on", "off") for side in more for kind in side)
        if not 0 <= parent < place or sides[: len(outer)] != outer:
            raise Wrong("a part is not in its parent")
        if cut and more and not (by_duals and has_only_signs):
            raise Wrong("a part is not in its parent")
        before = self.region(parent)
        if before is None:
            raise Empty
        guide = None
        if part.get("guide") is not None:
            guide = [[[ZERO, ZERO] for _ in range(width)] for width in self.network.widths[:-1]]
            for layer, lists in enumerate(part["guide"]):
                natural(*lists["on"], *lists["envelope"])
                for j in lists["on"]:
                    guide[layer][j][0] = ONE
                for j in lists["envelope"]:
                    guide[layer][j][1] = ONE
        if cut:
            if by_duals:
                before = with_signs(before, more)
                by = by_multipliers(self.network, cut["multipliers"]["neurons"])
            else:
                by = by_lines(self.network, cut["lines"])
            return before.cut(F(cut["goal"]), before.objective(by), guide, by_duals)
        return Region.bounded(self.network, self.split(sides), before.intervals, guide)

    def leaf(self, leaf):
        """At least the largest value in a leaf; None if it is empty."""
        natural(leaf["part"], leaf["needs"])
        sides = self.claim["parts"][leaf["part"]]["sides"]
        needed = leaf["sides"][: leaf["needs"]]
        if len(needed) < leaf["needs"] or needed[: len(sides)] != sides:
            raise Wrong("a leaf is not in its part")
        region, after = self.region(leaf["part"]), needed[len(sides) :]
        if region is None:
            return None
        kinds = {kind for side in after for kind in side}
        if kinds <= {"on", "off"}:
            region = with_signs(region, after)
        elif kinds <= {"at_least", "at_most"}:
            region = region.within(self.split(sides), self.split(needed))
        else:
            raise Wrong("pixels and neurons are split without new bounds in between")
        if "lines" in leaf:
            return region.bound(by_lines(self.network, leaf["lines"]))
        if "multipliers" in leaf:
            return region.bound(by_multipliers(self.network, leaf["multipliers"]["neurons"]))
        raise Wrong("a leaf is not proven to be empty")

    def bound(self):
        check_cover(self.claim["leaves"])
        bound = None
        for leaf in self.claim["leaves"]:
            try:
                value = self.leaf(leaf)
            except Empty:
                value = None
            values = [x for x in (value, self.goal(leaf["part"]), bound) if x is not None]
            bound = max(values, default=None)
        return bound


# ---- properties -----------------------------------------------------------------------------------------------

RATHER_ON = F(1.0 - 1e-6)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def slope_table(texts):
    """Slopes of the neurons of several layers: numbers, or None for the default slope."""
    digits = {c: F(k / 63) for k, c in enumerate(ALPHABET)}
    digits["."] = None
    if any(c not in digits for text in texts for c in text):
        raise Wrong("a character is not a slope")
    table = [[digits[c] for c in text] for text in texts]

    def slope(layer, j):
        return table[layer][j] if layer < len(table) and j < len(table[layer]) else None

    return slope


class BoxPlace:
    """A part of a box."""

    def __init__(self, parent, lower, upper, signs, cuts, fresh_from):
        self.parent, self.lower, self.upper, self.signs, self.cuts = parent, lower, upper, signs, cuts
        self.region, self.fresh_from = None, fresh_from


class BoxRegion:
    """Bounds of all neurons over a part of a box, for points that have the property."""

    def __init__(self, tree, place, known, whole=None):
        self.layers, self.place = tree.layers, place
        self.intervals = []
        slopes, bounds = whole or (tree.whole[-1][0], [])
        values = list(zip(place.lower, place.upper))
        for layer, steps in enumerate(self.layers[:-1]):
            is_fresh = known is None or layer >= place.fresh_from
            intervals = image_of(steps, values) if is_fresh else list(known.intervals[layer])
            if known:
                intervals = [narrowed(i, *k) for i, k in zip(intervals, known.intervals[layer])]
            for at_layer, j, on in place.signs:
                if at_layer == layer:
                    low, high = intervals[j]
                    intervals[j] = narrowed((low, high), ZERO if on else low, high if on else ZERO)
            if any(low > high for low, high in intervals):
                raise Empty
            self.intervals.append(intervals)
            if layer > 0 and is_fresh and (whole or not slopes):
                self.push_neurons(layer, {})
            if layer > 0 and is_fresh and slopes:
                self.push_neurons(layer, slopes)
            for bound in bounds:
                if bound["neuron"][0] == layer:
                    self.bound_neuron(layer, natural(bound["neuron"][1])[0], bound)
            values = [(max(low, ZERO), max(high, ZERO)) for low, high in self.intervals[layer]]

    def push_neurons(self, layer, slopes):
        width = len(self.intervals[layer])
        for j in [j for j, i in enumerate(self.intervals[layer]) if state(i) == "unstable"]:
            ends = []
            for which, sign in enumerate((ONE, -ONE)):
                row = [sign if i == j else ZERO for i in range(width)]
                by = slopes[(layer, j)][which] if (layer, j) in slopes else lambda layer, j: None
                ends.append(self.largest_at(self.push_back(layer, row, by, None)))
            self.intervals[layer][j] = narrowed(self.intervals[layer][j], -ends[1], ends[0])

    def bound_neuron(self, layer, j, bound):
        low, high = self.intervals[layer][j]
        row = [ZERO] * len(self.intervals[layer])
        row[j] = ONE if bound["above"] else -ONE
        value = self.function_bound(layer, row, bound)
        self.intervals[layer][j] = narrowed((low, high), *((low, value) if bound["above"] else (-value, high)))

    def function_bound(self, layer, row, by):
        """At least the largest value of `row · g` of a layer, in one of three ways."""
        if by.get("quadratic"):
            return Quadratic(self, layer, by["quadratic"]).bound(row)
        signs = list(self.place.signs)
        if not by.get("tree"):
            return self.largest(self.push_back(layer, row, slope_table(by.get("slopes", [])), weights_of(by, "signs")))
        most, waiting = [], [signs]
        for node in by["tree"]:
            here = waiting.pop()
            if node.get("neuron") is not None:
                at_layer, j = natural(*node["neuron"])
                if at_layer >= layer or j >= len(self.intervals[at_layer]):
                    raise Wrong("there is no such neuron to split by")
                waiting += [here + [(at_layer, j, False)], here + [(at_layer, j, True)]]
                continue
            by_leaf = slope_table(node.get("slopes", [])), weights_of(node, "signs")
            most.append(self.largest(self.push_back(layer, row, *by_leaf, here)))
        if waiting:
            raise Wrong("a tree is not complete")
        return max(most)

    def push_back(self, layer, row, slopes, multipliers, signs=None):
        """A function of the inputs above `row · g` of a layer: its constant and its slopes."""
        signs = self.place.signs if signs is None else signs
        constant = ZERO
        for behind in range(layer, 0, -1):
            row, constant = pull_back(self.layers[behind], row, constant)
            before = list(row)
            signed = {j for at_layer, j, _ in signs if at_layer == behind - 1 and multipliers is not None}
            for j, q in enumerate(before):
                low, high = self.intervals[behind - 1][j]
                if j in signed:
                    continue
                now = state((low, high))
                if now != "unstable":
                    row[j] = q if now == "on" else ZERO
                elif q < 0:
                    slope = slopes(behind - 1, j)
                    row[j] = q * (slope if slope is not None else ONE if high > -low * RATHER_ON else ZERO)
                elif q > 0:
                    row[j] = F(float(q * high / (high - low)))
                    constant += max(-row[j] * low, (q - row[j]) * high)
            for k, (at_layer, j, on) in enumerate(signs):
                if at_layer != behind - 1:
                    continue
                if multipliers is None:
                    slope = slopes(behind - 1, j)
                    if slope is not None and before[j] < 0:
                        row[j] = before[j] * slope
                else:
                    multiplier = multipliers[k] if k < len(multipliers) else ZERO
                    row[j] = before[j] + multiplier if on else -multiplier
        return tuple(reversed(pull_back(self.layers[0], row, constant)))

    def largest(self, line):
        constant, slopes = line
        ends = zip(slopes, self.place.lower, self.place.upper)
        return constant + sum((s * (u if s > 0 else l) for s, l, u in ends if s), ZERO)

    def largest_at(self, line):
        own = self.largest(line)
        return max([self.beyond(line, cut, own) for cut in self.place.cuts], default=own)

    def beyond(self, line, cut, own):
        """The same where a cut is not negative; any price will do."""
        v, a = [float(x) for x in line[1]], [float(x) for x in cut[1]]
        lower, upper = [float(x) for x in self.place.lower], [float(x) for x in self.place.upper]

        def rises(price):
            corner = (y * (u if x + price * y > 0 else l) for x, y, l, u in zip(v, a, lower, upper))
            return float(cut[0]) + sum(corner) >= 0

        steepest = max(map(abs, a), default=0.0)
        high = max(map(abs, v), default=0.0) / steepest / 4 if steepest else 0.0
        if rises(0.0) or high <= 0:
            return own
        low = 0.0
        for _ in range(16):
            if rises(high):
                break
            low, high = high, 2 * high
        for _ in range(24):
            middle = (low + high) / 2
            low, high = (low, middle) if rises(middle) else (middle, high)
        price = F(high)
        return min(own, self.largest((line[0] + price * cut[0], [x + price * y for x, y in zip(line[1], cut[1])])))


class Quadratic:
    """A quadratic relaxation of the neurons below a layer."""

    def __init__(self, region, layer, by):
        self.region, self.layer = region, layer
        self.lower, upper = region.place.lower, region.place.upper
        self.reach = [u - l for l, u in zip(self.lower, upper)]
        self.listed = [(k, j) for k, places in enumerate(by["neurons"]) for j in natural(*places)]
        self.place = {neuron: k for k, neuron in enumerate(self.listed)}
        if any(k >= layer or j >= len(region.intervals[k]) for k, j in self.listed):
            raise Wrong("there is no such neuron to list")
        lists = {}
        for name in ("inputs", "ranges", "products", "signs", "passes", "lines"):
            many = len(self.lower) if name == "inputs" else len(self.listed)
            given = weights_of(by, name)
            if len(given) > many:
                raise Wrong("a multiplier is of nothing")
            lists[name] = given + [ZERO] * (many - len(given))
        self.m = lists
        self.neurons = []
        for k, j in self.listed:
            row = [ONE if i == j else ZERO for i in range(len(region.intervals[k]))]
            x, v, high = self.collapse(k, row)
            low = -self.collapse(k, [-q for q in row])[2]
            self.neurons.append((x, v, (low + high) / 2, (high - low) / 2))

    def collapse(self, layer, row):
        """A function above `row · g` of a layer: slopes of what inputs are beyond their least values, slopes of neurons, a constant."""
        constant, of_neurons = ZERO, [ZERO] * len(self.listed)
        for behind in range(layer, 0, -1):
            row, constant = pull_back(self.region.layers[behind], row, constant)
            for j, q in enumerate(row):
                interval = self.region.intervals[behind - 1][j]
                if (behind - 1, j) in self.place:
                    of_neurons[self.place[behind - 1, j]] = q
                elif state(interval) == "on":
                    continue
                elif state(interval) == "unstable":
                    constant += max(q, ZERO) * interval[1]
                row[j] = ZERO
        row, constant = pull_back(self.region.layers[0], row, constant)
        constant += sum((q * l for q, l in zip(row, self.lower)), ZERO)
        return [q if d else ZERO for q, d in zip(row, self.reach)], of_neurons, constant

    def bound(self, row):
        many, m = range(len(self.listed)), self.m
        g, inverse = m["products"], [1 / x if x else ZERO for x in m["inputs"]]
        if any(g[i] and a and not r for i in many for a, r in zip(self.neurons[i][0], inverse)):
            raise Wrong("a matrix is not positive")
        of_inputs, of_neurons, constant = self.collapse(self.layer, row)
        of_inputs = [b + w * d for b, w, d in zip(of_inputs, m["inputs"], self.reach)]
        for i, (x, v, middle, off) in enumerate(self.neurons):
            low, high = self.region.intervals[self.listed[i][0]][self.listed[i][1]]
            above, lift = {"on": (ONE, ZERO), "off": (ZERO, ZERO)}.get(state((low, high))) or (high / (high - low), -low)
            most, line = max(high, ZERO), m["lines"][i] * above
            weight = line - m["passes"][i]
            constant += weight * middle + line * lift + (line + m["passes"][i] + g[i] * most) * off
            of_inputs = [b + weight * a for b, a in zip(of_inputs, x)]
            of_neurons = [b + weight * a for b, a in zip(of_neurons, v)]
            own = m["signs"][i] + m["passes"][i] - m["lines"][i]
            of_neurons[i] += g[i] * middle + own + m["ranges"][i] * most
        # What is left once the inputs with squares are where it is largest: `constant + right·v − v·S·v`.
        constant += sum((b * b * r / 4 for b, r in zip(of_inputs, inverse)), ZERO)
        constant += sum((max(b, ZERO) * d for b, r, d in zip(of_inputs, inverse, self.reach) if not r), ZERO)
        scaled = [[a * r for a, r in zip(x, inverse)] for x, _, _, _ in self.neurons]
        matrix, right = [], []
        for i in many:
            x, v = self.neurons[i][:2]
            entries = [-(g[i] * v[k] + g[k] * self.neurons[k][1][i]) / 2 for k in many]
            for k in many:
                products = sum((a * b for a, b in zip(scaled[i], self.neurons[k][0]) if a and b), ZERO)
                entries[k] -= g[i] * g[k] * products / 4
            entries[i] += m["ranges"][i] + g[i]
            matrix.append(entries)
            right.append(of_neurons[i] + g[i] * sum((a * b for a, b in zip(scaled[i], of_inputs)), ZERO) / 2)
        # Neuron by neuron: where its square is positive, it is at its best.
        for i in many:
            pivot = matrix[i][i]
            if pivot <= 0:
                raise Wrong("a matrix is not positive")
            constant += right[i] * right[i] / pivot / 4
            for k in range(i + 1, len(matrix)):
                share = matrix[k][i] / pivot
                right[k] -= share * right[i]
                matrix[k] = [a - share * b for a, b in zip(matrix[k], matrix[i])]
        return constant


def weights_of(entry, name):
    weights = [F(x) for x in entry.get(name, [])]
    if any(x < 0 for x in weights):
        raise Wrong("a weight is negative")
    return weights


class BoxTree:
    """Why no point of a case's box has its property."""

    def __init__(self, layers, case, tree):
        self.layers, self.case, self.whole = layers, case, []
        for time in [{"slopes": tree.get("slopes", [])}] + tree.get("again", []):
            slopes = {}
            for entry in time.get("slopes", []):
                layer, j = natural(*entry["neuron"])
                slopes[(layer, j)] = (slope_table(entry["above"]), slope_table(entry["below"]))
            self.whole.append((slopes, time.get("bounds", [])))
        lower, upper = ([F(x) for x in case[name]] for name in ("lower", "upper"))
        self.nodes, self.leaves = tree["nodes"], 0
        waiting = [(BoxPlace(None, lower, upper, [], [], 0), set(range(len(case["any_of"]))))]
        for node in self.nodes:
            if not waiting:
                raise Wrong("a node is behind the tree")
            place, still_open = waiting.pop()
            still_open = self.close(place, node, still_open)
            sides = self.sides(place, node, still_open)
            if sides is None:
                self.leaves += 1
                if still_open:
                    raise Wrong("a leaf leaves a conjunction open")
            else:
                waiting += [(side, still_open) for side in reversed(sides)]
        if waiting:
            raise Wrong("the tree is not complete")

    def region(self, place):
        if place.region is None and place.parent:
            place.region = BoxRegion(self, place, self.region(place.parent))
        elif place.region is None:
            region = None
            for whole in self.whole:
                region = BoxRegion(self, place, region, whole)
            place.region = region
        return place.region

    def close(self, place, node, still_open):
        still_open = set(still_open)
        if not still_open:
            return still_open
        try:
            self.region(place)
        except Empty:
            return set()
        for combination in node.get("refuted", []):
            (of,) = natural(combination["of"])
            if of >= len(self.case["any_of"]):
                raise Wrong("there is no such conjunction")
            if of in still_open:
                weights, constant, is_strict = self.weights(combination)
                value = constant + self.region(place).function_bound(len(self.layers) - 1, weights, combination)
                if value > 0 or value == 0 and not is_strict:
                    raise Wrong(f"conjunction {of} is not refuted: at most {float(value)}")
                still_open.remove(of)
        return still_open

    def weights(self, combination):
        rows = self.case["any_of"][natural(combination["of"])[0]]
        weights, constant, is_strict = [ZERO] * self.outputs(), ZERO, False
        for row, weight in combination.get("rows") or [(0, 1)]:
            natural(row)
            weight = F(weight)
            if weight < 0:
                raise Wrong("a weight is negative")
            constant += weight * F(rows[row]["constant"])
            for output, of_output in rows[row]["terms"]:
                natural(output)
                weights[output] += weight * F(of_output)
            is_strict |= weight > 0 and rows[row].get("strict", False)
        return weights, constant, is_strict

    def line(self, place, combination):
        weights, constant, _ = self.weights(combination)
        by = slope_table(combination.get("slopes", [])), weights_of(combination, "signs")
        line = self.region(place).push_back(len(self.layers) - 1, weights, *by)
        return line[0] + constant, line[1]

    def outputs(self):
        return len(image_of(self.layers[-1], [(ZERO, ZERO)] * self.width(len(self.layers) - 1)))

    def width(self, layer):
        kind, numbers = self.layers[layer][0]
        return len(numbers[0]) if kind == "dense" else len(numbers)

    def sides(self, place, node, still_open):
        split_input, neuron = node.get("input"), node.get("neuron")
        if split_input is None and neuron is None:
            return None
        if split_input is not None and neuron is not None:
            raise Wrong("a node has two splits")
        cuts = []
        of_cuts = {cut["of"]: cut for cut in reversed(node.get("cuts", []))}
        if still_open and still_open <= set(of_cuts):
            cuts = [self.line(place, of_cuts[of]) for of in sorted(still_open)]
        sides = []
        for first in (True, False):
            lower, upper, signs = list(place.lower), list(place.upper), list(place.signs)
            if neuron is not None:
                layer, j = natural(*neuron)
                if layer >= len(self.layers) - 1 or j >= self.width(layer + 1):
                    raise Wrong("there is no such neuron")
                signs.append((layer, j, first))
            else:
                (i,) = natural(split_input[0])
                at = F(split_input[1])
                if first:
                    lower[i] = max(lower[i], at)
                else:
                    upper[i] = min(upper[i], at)
            fresh_from = 0 if neuron is None else neuron[0] + 1
            sides.append(BoxPlace(place, lower, upper, signs, cuts, fresh_from))
        return sides


def check_property(model, proof):
    """What a proof about a property shows, over the real numbers."""
    inputs, layers, sha256 = model
    if proof["model_sha256"] != sha256:
        raise Wrong("it is about another model")
    if len(proof["cases"]) != len(proof["trees"]):
        raise Wrong("it does not have one tree for each case")
    shown = []
    for case, tree in zip(proof["cases"], proof["trees"]):
        if tree.get("bottleneck") is not None:
            raise Unsupported("proofs in two halves (bottleneck)")
        if any(l > u for l, u in zip(case["lower"], case["upper"])):
            shown.append("an empty box")
            continue
        if not len(case["lower"]) == len(case["upper"]) == inputs:
            raise Wrong("its inputs do not fit the model")
        shown.append(f"unsat ({BoxTree(layers, case, tree).leaves} leaves)")
    return "; ".join(shown) or "no case"


def check(model, path):
    """What a proof shows."""
    stored = open(path, "rb").read()
    proof = json.loads(gzip.decompress(stored) if stored[:2] == b"\x1f\x8b" else stored)
    if proof.get("schema") == "rw-adv-property-proof/1":
        return check_property(model, proof)
    if proof.get("schema") != "rw-adv-proof/2":
        raise Unsupported(f"{path}: is a {proof.get('schema')!r}")
    inputs, layers, sha256 = model
    if proof["model_sha256"] != sha256:
        raise Wrong("it is about another model")
    centre, whole = whole_set(proof)
    if len(centre) != inputs:
        raise Wrong("its inputs do not fit the model")
    values = centre
    for layer, steps in enumerate(layers):
        values = forward(steps, values)
        if layer < len(layers) - 1:
            values = [max(x, ZERO) for x in values]
    if "original" in proof:
        natural(proof["predicted"], proof["target"])
        if max(proof["predicted"], proof["target"]) >= len(values) or proof["predicted"] == proof["target"]:
            raise Wrong("its labels make no sense")
        if values[proof["predicted"]] < max(values):
            raise Wrong("the model gives the image another label")
        objective = [F(i == proof["target"]) - F(i == proof["predicted"]) for i in range(len(values))]
    else:
        objective = [F(w) for w in proof["weights"]]
        if len(objective) != len(values):
            raise Wrong("its weights do not fit the model")
    network = Network(layers, objective, centre, whole.moves)
    shown = []
    if not proof["claims"]:
        raise Wrong("it claims nothing")
    for claim in proof["claims"]:
        if claim["f32"]:
            shown.append("(a claim about f32 is not checked)")
            continue
        bound = Checker(network, whole, claim).bound()
        if bound is not None and bound > F(claim["bound"]):
            raise Wrong(f"claims {claim['bound']}, but only {float(bound)} is proven")
        value = sum((w * y for w, y in zip(objective, values)), ZERO)
        shown.append(f"{float(value):.6f} at the centre, at most {claim['bound']} ({len(claim['leaves'])} leaves)")
    return "; ".join(shown)


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    code = 0
    try:
        model = read_model(sys.argv[1])
        for path in sys.argv[2:]:
            try:
                print(f"{path}: holds: {check(model, path)}", flush=True)
            except Wrong as wrong:
                print(f"{path}: DOES NOT HOLD: {wrong}", flush=True)
                code = 1
            except (KeyError, IndexError, TypeError, ValueError) as problem:
                print(f"{path}: DOES NOT HOLD: malformed: {type(problem).__name__} {problem}", flush=True)
                code = 1
    except (Unsupported, OSError, KeyError, ValueError, IndexError, EOFError) as problem:
        print(f"check_proof.py: {type(problem).__name__}: {problem}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
