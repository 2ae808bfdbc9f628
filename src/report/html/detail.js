// One record in full, in a dialog, with an address of its own: #image-4, or #image-4-target-9.

const TITLES = {
  image: "image", instance: "instance", name: "file", label: "true label", predicted: "predicted", target: "target", verdict: "verdict",
  result: "result", error: "what is wrong", value: "value (f64)", value_f32: "value (f32, ONNX file)",
  margin: "margin (f64)", margin_f32: "margin (f32, ONNX file)", margin_png: "margin of the PNG", upper_bound: "bound",
  loose_bound: "bound, too loose to say anything",
  gap: "gap", optimal: "optimal", bound_method: "bound proven by", claimed_bound: "claimed bound, no proof",
  certified_radius: "certified radius", attack_radius: "nearest adversary", ratio: "attacked / certified",
  distance: "distance", changed_pixels: "changed pixels", delta: "budget", norm: "norm", starts: "starts",
  regions: "regions", lps: "LPs", iterations: "simplex iterations", nodes: "nodes", depth: "depth",
  open_nodes: "open nodes", cases: "sets of inputs", conjunctions: "conjunctions", excluded: "conjunctions excluded",
  model: "network", property: "property", timeout: "time limit (s)", seconds: "seconds", seconds_to_best: "seconds to the best", stop: "ended by",
  constraint_count: "constraints", violation: "constraints broken by at most", at_lower: "inputs at their lower bound",
  at_upper: "inputs at their upper bound", integers: "inputs with whole numbers only", witness: "input above the threshold",
};
/// Values of records that are abbreviations, in words.
const WORDS = {
  norm: { l1: "L1", linf: "L∞" },
  stop: {
    no_gain: "no gain for a while", optimal: "margin meets bound", rounded: "margin meets bound, before rounding", first: "first one found",
    robust: "proof", time: "time limit", nodes: "node limit", claimed: "the solver's claim", trouble: "trouble in the solver",
    precision: "radius precise enough", no_adversary: "none up to the largest budget",
  },
};
/// Fields that are labels.
const LABELS = ["label", "predicted", "target"];
/// Nothing to tell where the set was not divided.
const OF_TREES = ["nodes", "depth", "open_nodes"];

let opened = { record: null, among: [] };

/// Opens a record; the arrows lead through the others.
function openDetail(record, among) {
  opened = { record, among };
  const dialog = byId("detail");
  const noun = kind.noun[0].toUpperCase() + kind.noun.slice(1);
  const moved = record.predicted == null ? "" : `: ${move(record)}`;
  const head = element("span", {}, `${noun} ${record[indexField]}${moved} `);
  byId("detail-title").replaceChildren(head, statusOf(record) ? pill(statusOf(record)) : "");
  byId("detail-body").replaceChildren(...detailBody(record));
  if (isDrawn(record)) paintAll(byId("detail-body"), record);
  const place = among.indexOf(record);
  byId("previous").disabled = place <= 0;
  byId("next").disabled = place < 0 || place >= among.length - 1;
  if (!dialog.open) dialog.showModal();
  // What had the focus may be gone with the record before.
  if (!dialog.contains(document.activeElement)) byId("close").focus();
  dialog.scrollTop = 0;
  history.replaceState(null, "", address(record));
  const sheet = byId("detail-body").querySelector(".sheet");
  if (sheet) sheet.innerHTML = growth(record, Math.max(260, sheet.clientWidth));
}

/// The part of the address after the page's own; the target only where an image has several.
function address(record) {
  const several = records[record.k - 1]?.image === record.image || records[record.k + 1]?.image === record.image;
  const target = data.kind === "attacks" && several ? `-target-${record.target}` : "";
  return `#${kind.noun}-${record[indexField]}${target}`;
}

/// Opens what the address names, if it names a record.
function openAddress() {
  const named = /^#(image|instance)-(\d+)(?:-target-(\d+))?$/.exec(location.hash);
  if (!named || named[1] !== kind.noun) return;
  const record = records.find((one) => one[indexField] === Number(named[2]) && (named[3] === undefined || one.target === Number(named[3])));
  if (record) openDetail(record, records);
  else say(`This report has no ${named[1]} ${named[2]}${named[3] === undefined ? "" : ` with target ${named[3]}`}.`);
}

function detailBody(record) {
  const wrong = record.error != null ? element("p", { class: "notice" }, `No answer: ${record.error}.`) : record.misclassified
    ? element("p", { class: "notice" }, `Misclassified: labelled ${labelText(record.label)}, predicted as ${labelText(record.predicted)}.`)
    : null;
  // Of what took no time there is nothing to draw over time.
  const sheet = record.curve.length > 1 && record.seconds > SHORTEST ? element("div", { class: "sheet" }) : null;
  const pictured = kind.gallery ? largePanels(record) : [];
  return [wrong, ...pictured, element("p", { class: "lead" }, `${sentence(record)}.`), downloadButtons(record), sheet, factList(record)].filter((part) => part);
}

function factList(record) {
  const known = Object.keys(TITLES).filter((field) => record[field] != null && (record.nodes || !OF_TREES.includes(field)));
  const others = Object.keys(data.columns).filter((field) => !(field in TITLES) && field !== "misclassified" && record[field] != null);
  const facts = element("dl", { class: "facts" });
  for (const field of [...known, ...others]) {
    const title = TITLES[field] ?? field.replaceAll("_", " ");
    facts.append(element("div", {}, element("dt", {}, title), element("dd", {}, fact(field, record[field]))));
  }
  return facts;
}

function fact(field, value) {
  if (LABELS.includes(field)) return labelText(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && !Number.isInteger(value)) return Math.abs(value) < 1e-4 ? value.toExponential(2).replaceAll("-", "−") : number(value, 5);
  return String(WORDS[field]?.[value] ?? value).replace(/^-(?=\d)/, "−");
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
  dialog.addEventListener("close", () => history.replaceState(null, "", location.href.split("#")[0]));
  addEventListener("hashchange", openAddress);
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
  // A click beside the dialog is on the dialog itself, one within it on something inside.
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}
