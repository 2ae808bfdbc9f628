// The figures of each kind of page. Only numbers and our own words go into their text.

/// Every search as a line from its margin up to its bound, the largest margin first.
function gapFigure() {
  const sorted = records.filter((record) => record.margin != null).sort((a, b) => b.margin - a.margin);
  if (!sorted.length) return;
  addFigure({
    title: "Margin and bound", statuses: presentStatuses(),
    words: "A dot is the largest margin found, the line above it ends at the bound that no input can exceed, proven: the line is the gap. " +
      "A dot above zero is an adversary, a line that ends below zero a proof that there is none.",
    draw: (width) => ranks(width, sorted, (record) => record.margin, (record) => record.upper_bound,
      "searches, the largest margin first", `Margin found and bound proven of ${plural(sorted.length, "search", "searches")}, by margin`,
      (record) => record.verdict),
    after: (figure, sheet, plot) => pointAt(figure, sheet, plot, () => sorted),
  });
}

/// How margins grew: bands that hold half and nine tenths of all searches, and the median.
function timeFigure() {
  const rows = data.quantiles ?? [];
  if (!rows.length) return;
  addFigure({
    title: "Margins over time",
    words: "The best margins so far of all searches: the line is their median, the dark band holds half of them, the light band nine tenths.",
    draw: (width) => {
      const x = logarithmic(...extent(rows.map(([time]) => time)), EDGE.left, width - EDGE.right);
      const y = upward(rows.flatMap((row) => row.slice(1)), 8);
      const line = (column, from = rows) => from.map((row) => `${at(x.place(row[0]))} ${at(y.place(row[column]))}`).join("L");
      const band = (low, high) => `<path class="band" d="M${line(low)}L${line(high, [...rows].reverse())}Z"/>`;
      const inside = `${band(1, 5)}${band(2, 4)}<path class="curve median" d="M${line(3)}"/>`;
      return { svg: frame(width, "Quantiles of the best margins over time", x, y, "seconds, from the beginning of the work", inside) };
    },
  });
}

/// The certified radius and the distance of the nearest adversary, image by image.
function bracketFigure() {
  const sorted = [...records].sort((a, b) => a.certified_radius - b.certified_radius || (a.attack_radius ?? Infinity) - (b.attack_radius ?? Infinity));
  if (!sorted.length) return;
  addFigure({
    title: "Where the radius lies",
    words: "The dot is the certified radius: no input that near gets another label. The line ends at the nearest adversary found. The true radius lies between. " +
      "A dot without a line has no adversary up to the largest budget tried.",
    draw: (width) => ranks(width, sorted, (record) => record.certified_radius, (record) => record.attack_radius,
      "images, the smallest certified radius first", `Certified radius and nearest adversary of ${plural(sorted.length, "image")}`, () => "radius"),
    after: (figure, sheet, plot) => pointAt(figure, sheet, plot, () => sorted),
  });
}

/// How many images have which radius, proven and found.
function radiusFigure() {
  const certified = records.map((record) => record.certified_radius);
  const attacked = records.map((record) => record.attack_radius).filter((radius) => radius != null);
  if (!certified.length) return;
  addFigure({
    title: "Radii", words: "How many images are certified up to which radius, and how far away their nearest adversaries are.",
    draw: (width) => histogram(width, [["certified", "robust", certified], ["attacked", "adversarial", attacked]], "radius"),
    after: (figure, sheet) => sheet.before(element("p", { class: "legend" },
      element("span", { class: "pill robust" }, "certified"), element("span", { class: "pill adversarial" }, "attacked"))),
  });
}

function histogram(width, samples, words) {
  const [, farthest] = extent(samples.flatMap(([, , values]) => values).concat(1e-9));
  const count = width > 500 ? 20 : 10;
  const counts = samples.map(([, , values]) => {
    const bins = new Array(count).fill(0);
    for (const value of values) bins[Math.min(count - 1, Math.floor((value / farthest) * count))]++;
    return bins;
  });
  const [, most] = extent(counts.flat());
  const y = linear(0, most, HEIGHT - EDGE.bottom, EDGE.top, 5, 1);
  const x = linear(0, farthest, EDGE.left, width - EDGE.right, width > 500 ? 10 : 5);
  const broad = (width - EDGE.left - EDGE.right) / count;
  const bars = samples.map(([, tone], s) => counts[s].map((height, k) => {
    if (!height) return "";
    const [top, thin] = [y.place(height), (broad - 2) / samples.length];
    return `<rect class="bar ${tone}" x="${at(EDGE.left + k * broad + 1 + s * thin)}" y="${at(top)}" width="${at(thin)}" height="${at(y.place(0) - top)}"/>`;
  }).join(""));
  return { svg: frame(width, `Histogram of ${words}`, x, y, words, bars.join("")) };
}

/// How many instances are decided within how many seconds.
function decidedFigure() {
  const times = (result) => records.filter((record) => record.result === result).map((record) => record.seconds).sort((a, b) => a - b);
  const lines = ["sat", "unsat"].map((result) => [result, times(result)]).filter(([, seconds]) => seconds.length);
  if (!lines.length) return;
  addFigure({
    title: "Decided over time", words: "How many instances are decided within how many seconds each.", statuses: lines.map(([result]) => result),
    draw: (width) => {
      const all = lines.flatMap(([, seconds]) => seconds).map((time) => Math.max(time, SHORTEST));
      const x = logarithmic(...extent(all), EDGE.left, width - EDGE.right);
      const [, most] = extent(lines.map(([, seconds]) => seconds.length));
      const y = linear(0, most, HEIGHT - EDGE.bottom, EDGE.top, 6, 1);
      const [, end] = extent(all);
      const inside = lines.map(([result, seconds]) => {
        const curve = [[SHORTEST, 0], ...seconds.map((time, k) => [time, k + 1])];
        return `<path class="curve ${toneOf(result)}" d="${steps(curve, end, x, y)}"/>`;
      });
      return { svg: frame(width, "Instances decided over time", x, y, "seconds", inside.join("")) };
    },
  });
}

/// Changes that are looked at for the heat map, at most.
const MOST_CHANGES = 3e6;

/// Which pixels are changed most: over all adversaries, or those of one label.
function heatFigure() {
  if (!pictures) return;
  const drawn = records.filter(isDrawn);
  const adversaries = drawn.filter(isAdversary);
  const all = adversaries.length ? adversaries : drawn;
  if (!all.length) return;
  const what = adversaries.length ? "adversaries" : "closest points";
  const canvas = element("canvas", { class: "heat", role: "img", "aria-label": `How often each pixel is changed in the ${what}`,
    style: `aspect-ratio: ${pictures.width} / ${pictures.height}` });
  const labels = [...new Set(all.map((record) => record.predicted))].sort((a, b) => a - b);
  const select = element("select", { id: "heat-label" }, element("option", { value: "all" }, "all"),
    ...labels.map((label) => element("option", { value: label }, labelText(label))));
  const [hint, scale] = [element("p", { class: "hint", "aria-hidden": "true" }), element("p", { class: "heat-scale" })];
  const caption = element("figcaption", {}, element("h3", {}, "Attacked pixels"),
    element("p", {}, `How often each pixel is changed in the ${what}, over the image plane.`));
  byId("plots").append(element("figure", { class: "panel plot", id: "heat" }, caption,
    element("label", { class: "quiet" }, "Predicted label ", select), element("div", { class: "heat-map" }, canvas, scale), hint));
  let heat = null;
  const redraw = () => {
    const chosen = all.filter((record) => select.value === "all" || String(record.predicted) === select.value);
    heat = heatOf(chosen);
    paintHeat(canvas, heat);
    scale.replaceChildren(element("span", {}, "0"), element("span", { class: "ramp", "aria-hidden": "true" }),
      element("span", {}, `${heat.most} of ${heat.count}`));
    hint.textContent = `${plural(heat.pixels, "pixel")} of ${pictures.width * pictures.height} changed in ${heat.count} ${what}. Point at one to read it.`;
  };
  select.addEventListener("change", redraw);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.min(pictures.width - 1, Math.floor(((event.clientX - box.left) / box.width) * pictures.width));
    const row = Math.min(pictures.height - 1, Math.floor(((event.clientY - box.top) / box.height) * pictures.height));
    const pixel = Math.max(0, row * pictures.width + column);
    const mean = heat.counts[pixel] ? `, by ${number(heat.sums[pixel] / heat.counts[pixel] / 255, 2)} on average` : "";
    hint.textContent = `row ${row}, column ${column}: changed in ${heat.counts[pixel]} of ${heat.count}${mean}`;
  });
  redraw();
  repaints.push(redraw);
}

function heatOf(chosen) {
  const { width, height, channels, changes } = pictures;
  const [counts, sums] = [new Uint32Array(width * height), new Float64Array(width * height)];
  let seen = 0;
  const looked = chosen.filter((record) => (seen += changes[record.k].length / 2) <= MOST_CHANGES);
  for (const record of looked) {
    let last = -1;
    eachChange(changes[record.k], (place, level) => {
      const pixel = Math.floor(place / channels);
      if (pixel !== last) counts[pixel]++;
      sums[pixel] += level;
      last = pixel;
    });
  }
  const [, most] = extent(Array.from(counts));
  return { counts, sums, most, count: looked.length, pixels: counts.reduce((sum, count) => sum + (count > 0), 0) };
}

/// From the ground to a strong colour; the rarest change still shows.
function paintHeat(canvas, { counts, most }) {
  canvas.width = pictures.width;
  canvas.height = pictures.height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(pictures.width, pictures.height);
  const colour = isDark() ? [255, 138, 87] : [190, 40, 10];
  counts.forEach((count, pixel) => {
    const share = count ? 0.15 + 0.85 * (count / most) : 0;
    image.data.set([...colour, Math.round(255 * share)], 4 * pixel);
  });
  context.putImageData(image, 0, 0);
}

/// What has to be painted again in other colours.
const repaints = [];
