// Plots as SVG, drawn as wide as there is room and again when that changes. Only numbers and our own words go into their text.

const HEIGHT = 264;
/// Seconds where a logarithmic axis begins: what was faster is drawn there.
const SHORTEST = 1e-3;
const EDGE = { left: 46, right: 24, top: 12, bottom: 42 };

/// A map from values to places, with about so many ticks, at least `finest` apart.
function linear(low, high, from, to, wanted, finest = 0) {
  if (!(high > low)) [low, high] = [low - 0.5, low + 0.5];
  const step = Math.max(finest, niceStep((high - low) / wanted));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    ticks.push([k * step, number(k * step + 0, digits).replace(/^−(0\.?0*)$/, "$1")]);
  }
  const place = (value) => from + ((value - low) / (high - low)) * (to - from);
  return { place, ticks, low, high };
}

/// The same for times; ten times the shortest at least.
function logarithmic(low, high, from, to) {
  const [first, last] = [Math.log10(low), Math.max(Math.log10(high), Math.log10(low) + 1)];
  const ticks = [];
  for (let power = Math.ceil(first - 1e-9); power <= last + 1e-9; power++) {
    ticks.push([10 ** power, power < 0 ? (10 ** power).toFixed(-power) : String(10 ** power)]);
  }
  const place = (value) => from + ((Math.log10(Math.max(value, low)) - first) / (last - first)) * (to - from);
  return { place, ticks };
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * (1 - 1e-9));
}

/// The smallest and the largest; a list may be too long to be spread into arguments.
function extent(values) {
  return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
}

/// Zero and all margins, with some air around them.
function upward(margins, wanted) {
  const [low, high] = extent([0].concat(margins));
  const air = 0.03 * (high - low);
  return linear(low - air, high + air, HEIGHT - EDGE.bottom, EDGE.top, wanted);
}

function at(value) {
  return value.toFixed(1);
}

function frame(width, label, x, y, words, inside) {
  const [left, right, top, bottom] = [EDGE.left, width - EDGE.right, EDGE.top, HEIGHT - EDGE.bottom];
  const rows = y.ticks.map(([value, text]) => {
    const line = at(y.place(value));
    const kind = value === 0 ? "grid zero" : "grid";
    return `<line class="${kind}" x1="${left}" x2="${right}" y1="${line}" y2="${line}"/>` +
      `<text class="tick end" x="${left - 7}" y="${line}" dy="0.33em">${text}</text>`;
  });
  const columns = x.ticks.map(([value, text]) => {
    const line = at(x.place(value));
    return `<line class="grid" x1="${line}" x2="${line}" y1="${bottom}" y2="${bottom + 5}"/>` +
      `<text class="tick middle" x="${line}" y="${bottom + 19}">${text}</text>`;
  });
  const axis = `<text class="axis middle" x="${(left + right) / 2}" y="${HEIGHT - 4}">${words}</text>`;
  return `<svg width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${label}">` +
    `${rows.join("")}${columns.join("")}${axis}` +
    `<line class="base" x1="${left}" x2="${left}" y1="${top}" y2="${bottom}"/>${inside}</svg>`;
}

/// A step at each point, and a line to the end.
function steps(curve, seconds, x, y) {
  const [[begin, first], ...rest] = curve;
  const path = rest.map(([time, value]) => `H${at(x.place(time))}V${at(y.place(value))}`).join("");
  const end = Math.max(seconds ?? 0, curve.at(-1)[0]);
  return `M${at(x.place(begin))} ${at(y.place(first))}${path}H${at(x.place(end))}`;
}

/// A figure: a title, words, and a drawing of a given width, drawn again when the width changes and for paper.
const drawings = [];

function addFigure({ title, words, draw, statuses, after }) {
  const sheet = element("div", { class: "sheet" });
  const caption = element("figcaption", {}, element("h3", {}, title), element("p", {}, words));
  const figure = element("figure", { class: "panel plot" }, caption, statuses?.length ? element("p", { class: "legend" }, ...statuses.map(pill)) : null, sheet);
  byId("plots").append(figure);
  const drawing = { drawn: null, width: 0 };
  drawing.redraw = (width) => {
    if (width === drawing.width) return;
    drawing.width = width;
    drawing.drawn = draw(width);
    sheet.innerHTML = drawing.drawn.svg;
  };
  drawing.fit = () => drawing.redraw(Math.max(260, Math.floor(sheet.clientWidth)));
  drawings.push(drawing);
  new ResizeObserver(() => printing || drawing.fit()).observe(sheet);
  if (after) after(figure, sheet, () => drawing.drawn);
}

function presentStatuses() {
  return kind.statuses.filter((status) => records.some((record) => statusOf(record) === status));
}

/// The record under the pointer is named, and opened by a click. The table offers the same to the keyboard.
function pointAt(figure, sheet, plot, among) {
  const hint = element("p", { class: "hint", "aria-hidden": "true" }, "Point at a line to see which image it is, click to open it.");
  figure.append(hint);
  const found = (event) => plot().recordAt(event.clientX - sheet.getBoundingClientRect().left);
  sheet.addEventListener("pointermove", (event) => {
    const hit = found(event);
    const cursor = sheet.querySelector(".cursor");
    cursor.toggleAttribute("hidden", !hit);
    if (!hit) return;
    cursor.setAttribute("x1", at(hit.across));
    cursor.setAttribute("x2", at(hit.across));
    hint.textContent = sentence(hit.record);
  });
  sheet.addEventListener("click", (event) => {
    const hit = found(event);
    if (hit) openDetail(hit.record, among());
  });
}

/// Lines from a low to a high value, one a record, in order; null where there is none.
function ranks(width, sorted, low, high, words, label, tone) {
  const values = sorted.flatMap((record) => [low(record), high(record) ?? low(record)]);
  const y = upward(values, 9);
  const x = linear(0.5, sorted.length + 0.5, EDGE.left + 6, width - EDGE.right, width > 500 ? 10 : 5, 1);
  const room = (width - EDGE.left - EDGE.right) / Math.max(1, sorted.length);
  const thick = Math.min(8, Math.max(1, 0.55 * room));
  const paths = new Map();
  sorted.forEach((record, rank) => {
    const name = tone(record);
    if (!paths.has(name)) paths.set(name, { gaps: [], bounds: [], margins: [] });
    const { gaps, bounds, margins } = paths.get(name);
    const [across, from] = [x.place(rank + 1), at(y.place(low(record)))];
    if (high(record) != null) {
      const to = at(y.place(high(record)));
      gaps.push(`M${at(across)} ${from}V${to}`);
      bounds.push(`M${at(across - thick / 2)} ${to}h${at(thick)}`);
    }
    margins.push(`M${at(across)} ${from}h0`);
  });
  const inside = [...paths].map(([name, { gaps, bounds, margins }]) =>
    `<path class="gap ${name}" stroke-width="${at(thick)}" d="${gaps.join("")}"/>` +
    `<path class="bound ${name}" d="${bounds.join("")}"/>` +
    `<path class="dot ${name}" stroke-width="${at(Math.min(7, Math.max(2.5, 0.8 * room)))}" d="${margins.join("")}"/>`);
  const cursor = `<line class="cursor" y1="${EDGE.top}" y2="${HEIGHT - EDGE.bottom}" hidden/>`;
  const svg = frame(width, label, x, y, words, inside.join("") + cursor);
  const recordAt = (across) => {
    const rank = Math.round(x.low + ((across - EDGE.left - 6) / (width - EDGE.right - EDGE.left - 6)) * (x.high - x.low));
    const record = sorted[rank - 1];
    return record ? { record, across: x.place(rank) } : null;
  };
  return { svg, recordAt };
}
