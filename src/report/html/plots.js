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
  const [low, high] = extent([0, ...margins]);
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

/// Every record as a line from its margin up to its bound, the largest margin first.
function gapPlot(width) {
  const sorted = records.filter((record) => record.margin != null).sort((a, b) => b.margin - a.margin);
  const y = upward(sorted.flatMap((record) => [record.margin, record.upper_bound ?? record.margin]), 9);
  const x = linear(0.5, sorted.length + 0.5, EDGE.left + 6, width - EDGE.right, width > 500 ? 10 : 5, 1);
  const room = (width - EDGE.left - EDGE.right) / Math.max(1, sorted.length);
  const thick = Math.min(8, Math.max(1, 0.55 * room));
  const inside = VERDICTS.map((verdict) => {
    let [gaps, bounds, margins] = ["", "", ""];
    sorted.forEach((record, rank) => {
      if (record.verdict !== verdict) return;
      const [across, margin] = [x.place(rank + 1), at(y.place(record.margin))];
      if (record.upper_bound != null) {
        const bound = at(y.place(record.upper_bound));
        gaps += `M${at(across)} ${margin}V${bound}`;
        bounds += `M${at(across - thick / 2)} ${bound}h${at(thick)}`;
      }
      margins += `M${at(across)} ${margin}h0`;
    });
    return `<path class="gap ${verdict}" stroke-width="${at(thick)}" d="${gaps}"/>` +
      `<path class="bound ${verdict}" d="${bounds}"/>` +
      `<path class="dot ${verdict}" stroke-width="${at(Math.min(7, Math.max(2.5, 0.8 * room)))}" d="${margins}"/>`;
  });
  const label = `Margin found and bound proven of ${plural(sorted.length, "search", "searches")}, by margin`;
  const cursor = `<line class="cursor" y1="${EDGE.top}" y2="${HEIGHT - EDGE.bottom}" hidden/>`;
  const svg = frame(width, label, x, y, "searches, the largest margin first", inside.join("") + cursor);
  const recordAt = (across) => {
    const rank = Math.round(x.low + ((across - EDGE.left - 6) / (width - EDGE.right - EDGE.left - 6)) * (x.high - x.low));
    const record = sorted[rank - 1];
    return record ? { record, across: x.place(rank) } : null;
  };
  return { svg, recordAt };
}

/// How margins grew, a step at each better point.
function timePlot(width) {
  const growing = records.filter((record) => record.curve.length && record.margin != null);
  const times = growing.flatMap((record) => [record.curve[0][0], record.seconds ?? record.curve.at(-1)[0]]);
  const margins = growing.flatMap((record) => record.curve.map(([, margin]) => margin));
  const x = logarithmic(...extent(times.map((time) => Math.max(time, SHORTEST))), EDGE.left, width - EDGE.right);
  const y = upward(margins, 8);
  const faint = Math.min(0.85, Math.max(0.12, 3 / Math.sqrt(growing.length)));
  const inside = growing.map((record) => {
    const [time, margin] = record.curve.at(-1);
    return `<g class="${record.verdict}" opacity="${faint.toFixed(2)}"><path class="curve" d="${steps(record.curve, record.seconds, x, y)}"/>` +
      `<path class="dot" stroke-width="6" d="M${at(x.place(time))} ${at(y.place(margin))}h0"/></g>`;
  });
  const label = `Best margin over time of ${plural(growing.length, "search", "searches")}`;
  return { svg: frame(width, label, x, y, "seconds, from the beginning of the work", inside.join("")) };
}

/// A step at each point, and a line to the end.
function steps(curve, seconds, x, y) {
  const [[begin, first], ...rest] = curve;
  const path = rest.map(([time, value]) => `H${at(x.place(time))}V${at(y.place(value))}`).join("");
  const end = Math.max(seconds ?? 0, curve.at(-1)[0]);
  return `M${at(x.place(begin))} ${at(y.place(first))}${path}H${at(x.place(end))}`;
}

/// How many points are how far away.
function distancePlot(width) {
  const measured = records.filter((record) => record.distance != null);
  const [, farthest] = extent(measured.map((record) => Math.max(record.distance, record.delta ?? 0)));
  const count = width > 500 ? 25 : 12;
  const bins = Array.from({ length: count }, () => ({ adversarial: 0, robust: 0, unknown: 0, all: 0 }));
  for (const record of measured) {
    const bin = bins[Math.min(count - 1, Math.floor((record.distance / farthest) * count))];
    bin[record.verdict]++;
    bin.all++;
  }
  const [, most] = extent(bins.map((bin) => bin.all));
  const y = linear(0, most, HEIGHT - EDGE.bottom, EDGE.top, 5, 1);
  const x = linear(0, farthest, EDGE.left, width - EDGE.right, width > 500 ? 10 : 5);
  const broad = (width - EDGE.left - EDGE.right) / count;
  const inside = bins.map((bin, k) => {
    let below = 0;
    return VERDICTS.map((verdict) => {
      const [low, high] = [y.place(below), y.place((below += bin[verdict]))];
      if (low === high) return "";
      const left = EDGE.left + k * broad + 1;
      return `<rect class="bar ${verdict}" x="${at(left)}" y="${at(high)}" width="${at(broad - 2)}" height="${at(low - high)}"/>`;
    }).join("");
  });
  const label = `Histogram of the distances of ${plural(measured.length, "point")} from their images`;
  return { svg: frame(width, label, x, y, "distance of the best point from the image", inside.join("")) };
}

const PLOTS = [
  ["Margin and bound", gapPlot, () => records.some((record) => record.margin != null),
    "A dot is the largest margin found, the line above it ends at the bound that no input can exceed, proven: the line is the gap. " +
    "A dot above zero is an adversary, a line that ends below zero a proof that there is none."],
  ["Margin over time", timePlot, () => records.some((record) => record.curve.length && record.margin != null),
    "How the best margin of each search grew. The dot is where the best point was found; the time after it went into bounds and searching on."],
  ["Distances", distancePlot, () => records.some((record) => record.distance != null),
    "How much of the budget the best points use."],
];

function showPlots() {
  for (const [title, draw, isPossible, words] of PLOTS) {
    if (!isPossible()) continue;
    const sheet = element("div", { class: "sheet" });
    const hint = element("p", { class: "hint", "aria-hidden": "true" });
    const caption = element("figcaption", {}, element("h3", {}, title), element("p", {}, words));
    byId("plots").append(element("figure", { class: "panel plot" }, caption, legend(), sheet, draw === gapPlot ? hint : null));
    let drawn = null;
    const redraw = () => {
      drawn = draw(Math.max(260, Math.floor(sheet.clientWidth)));
      sheet.innerHTML = drawn.svg;
    };
    new ResizeObserver(redraw).observe(sheet);
    if (draw === gapPlot) pointAt(sheet, hint, () => drawn);
  }
}

function legend() {
  const present = VERDICTS.filter((verdict) => records.some((record) => record.verdict === verdict));
  return element("p", { class: "legend" }, ...present.map(pill));
}

/// The record under the pointer is named, and opened by a click. The table offers the same to the keyboard.
function pointAt(sheet, hint, plot) {
  const found = (event) => plot().recordAt(event.clientX - sheet.getBoundingClientRect().left);
  hint.textContent = "Point at a line to see which image it is, click to open it.";
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
    if (hit) openDetail(hit.record, byMargin());
  });
}

function byMargin() {
  return [...records].sort((a, b) => b.margin - a.margin);
}
