// One record in full, in a dialog.

const TITLES = {
  image: "image", name: "file", label: "true label", predicted: "predicted", target: "target", verdict: "verdict", error: "error",
  margin: "margin (f64)", margin_f32: "margin (f32, ONNX file)", margin_png: "margin of the PNG", upper_bound: "bound",
  gap: "gap", optimal: "optimal", bound_method: "bound proven by", claimed_bound: "claimed bound, no proof",
  distance: "distance", changed_pixels: "changed pixels", delta: "budget", norm: "norm", starts: "starts",
  regions: "regions", lps: "LPs", iterations: "simplex iterations", nodes: "nodes", depth: "depth",
  open_nodes: "open nodes", seconds: "seconds", seconds_to_best: "seconds to the best", stop: "ended by",
  npy: "exact point", png: "picture",
};
const FILES = ["npy", "png"];
/// Nothing to tell where the set was not divided.
const OF_TREES = ["nodes", "depth", "open_nodes"];

let opened = { record: null, among: [] };

/// Opens a record; the arrows lead through the others.
function openDetail(record, among) {
  opened = { record, among };
  const dialog = byId("detail");
  const head = element("span", {}, `Image ${record.image}: ${move(record)} `);
  byId("detail-title").replaceChildren(head, pill(record.verdict));
  byId("detail-body").replaceChildren(...detailBody(record));
  paintAll(byId("detail-body"), record);
  const place = among.indexOf(record);
  byId("previous").disabled = place <= 0;
  byId("next").disabled = place < 0 || place >= among.length - 1;
  if (!dialog.open) dialog.showModal();
  const sheet = byId("detail-body").querySelector(".sheet");
  if (sheet) sheet.innerHTML = growth(record, Math.max(260, sheet.clientWidth));
}

function detailBody(record) {
  const wrong = record.error != null ? element("p", { class: "notice" }, `No answer: ${record.error}.`) : record.misclassified
    ? element("p", { class: "notice" }, `Misclassified: labelled ${record.label}, predicted as ${record.predicted}.`)
    : null;
  const known = Object.keys(TITLES).filter((field) => record[field] != null && (record.nodes || !OF_TREES.includes(field)));
  const others = Object.keys(data.columns).filter((field) => !(field in TITLES) && record[field] != null);
  const facts = element("dl", { class: "facts" });
  for (const field of [...known, ...others]) {
    facts.append(element("div", {}, element("dt", {}, TITLES[field] ?? field), element("dd", {}, fact(field, record[field]))));
  }
  const sheet = record.curve.length > 1 ? element("div", { class: "sheet" }) : null;
  return [wrong, panels(record, true), element("p", { class: "lead" }, `${sentence(record)}.`), sheet, facts].filter((part) => part);
}

function fact(field, value) {
  if (FILES.includes(field)) return element("a", { href: "./" + encodeURI(value) }, value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && !Number.isInteger(value)) return number(value, 5);
  return String(value).replace(/^-(?=\d)/, "−");
}

function growth(record, width) {
  const bounds = falling(record);
  const times = [...record.curve, ...bounds].map(([time]) => time).concat(record.seconds ?? []).map((time) => Math.max(time, SHORTEST));
  const y = upward([...record.curve, ...bounds].map(([, value]) => value), 6);
  const x = logarithmic(...extent(times), EDGE.left, width - EDGE.right);
  const curve = `<path class="curve ${record.verdict}" d="${steps(record.curve, record.seconds, x, y)}"/>`;
  const bound = bounds.length ? boundLine(record, bounds, x, y, width) : "";
  return frame(width, "Margin of this search over time, and its bound", x, y, "seconds", curve + bound);
}

/// When which bound was proven; of one that is known at the end only, a line throughout.
function falling(record) {
  if (record.upper_bound == null) return [];
  if (!record.bounds.length) return [[record.curve[0][0], record.upper_bound]];
  return [...record.bounds, [Math.max(record.seconds ?? 0, record.bounds.at(-1)[0]), record.upper_bound]];
}

function boundLine(record, bounds, x, y, width) {
  const height = y.place(record.upper_bound);
  const above = height > EDGE.top + 16 ? -5 : 14;
  return `<path class="proof" d="${steps(bounds, record.seconds, x, y)}"/>` +
    `<text class="tick end" x="${width - EDGE.right - 2}" y="${at(height + above)}">bound</text>`;
}

function step(by) {
  const next = opened.among[opened.among.indexOf(opened.record) + by];
  if (next) openDetail(next, opened.among);
}

function listenToDetail() {
  const dialog = byId("detail");
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
  // A click beside the dialog is on the dialog itself, one within it on something inside.
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}
