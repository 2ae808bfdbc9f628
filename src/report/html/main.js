// The head of the page, and everything in its order.

const SETTING_TITLES = {
  model: "model", model_sha256: "SHA-256", widths: "widths", data: "data", images: "images", target: "targets",
  norm: "norm", delta: "budget", method: "method", goal: "goal", patience: "patience", time_limit: "time limit (s)",
  branch: "nodes at most", gap: "gap of an optimum", way_out: "way out of a region", seed: "seed",
};

function baseName(path) {
  return path.split(/[\\/]/).pop();
}

/// 0, 1, 2, 5 as `0–2, 5`.
function ranges(numbers) {
  const found = [];
  for (const n of numbers) {
    const last = found.at(-1);
    if (last && n === last[1] + 1) last[1] = n;
    else found.push([n, n]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}

function showHead() {
  const { settings } = data;
  const images = new Set(records.map((record) => record.image)).size;
  const delta = settings.delta ?? records[0]?.delta;
  const norm = { l1: "L1", linf: "L∞" }[settings.norm ?? records[0]?.norm] ?? "";
  byId("subject").textContent = settings.model ? baseName(settings.model) : "Adversarial inputs";
  const parts = [plural(images, "image"), delta == null ? null : `${norm} budget ${delta}`,
    data.seconds == null ? null : `${data.seconds.toFixed(1)} s`];
  byId("circumstances").textContent = parts.filter((part) => part).join(" · ");
  const coarse = data.pictures && data.pictures.bits < 8 ? ` Pictures have ${data.pictures.bits} bits a value, to keep this file small.` : "";
  byId("version").textContent = `Made by rw-adv ${data.version}. What is shown is rounded; exact points are in adversarial/.${coarse}`;
  document.title = `rw-adv: ${byId("subject").textContent}`;
}

function say(text) {
  const notice = byId("notice");
  notice.hidden = false;
  notice.textContent = [notice.textContent, text].filter((part) => part).join(" ");
}

function showNotices() {
  const asked = data.asked == null ? "" : ` of ${data.asked}`;
  const whole = data.asked == null ? data.interrupted === false : records.length >= data.asked;
  if (data.interrupted) say(`The run was interrupted: ${records.length}${asked} were searched.`);
  else if (!whole) say(`The run did not come to its end: ${records.length}${asked} so far.`);
  const missing = data.pictures ? records.filter((record) => !data.pictures.images.includes(record.image)).length : 0;
  if (missing) say(`To keep this file small, ${missing} of ${records.length} results have no pictures in it.`);
}

function showVerdicts() {
  const counts = VERDICTS.map((verdict) => {
    const count = records.filter((record) => record.verdict === verdict).length;
    const words = { adversarial: "fooled, and replayed", robust: "proven to hold", unknown: "neither" }[verdict];
    return element("li", { role: "listitem" }, element("b", {}, String(count)), pill(verdict), element("span", { class: "quiet" }, words));
  });
  const optimal = records.filter((record) => record.optimal === true).length;
  const title = element("h3", {}, `${plural(records.length, "search", "searches")}`);
  byId("verdicts").append(title, element("ul", { class: "counts", role: "list" }, ...counts));
  if (optimal) byId("verdicts").append(element("p", { class: "quiet" }, `${optimal} with a closed gap: the margin is the optimum.`));
}

function showAccuracy() {
  const { certified, undecided, attacked, misclassified, errors } = data.standings;
  const all = certified + undecided + attacked + misclassified + errors;
  const parts = [["certified", "robust", certified, "certified"], ["undecided", "unknown", undecided, "undecided"],
    ["attacked", "adversarial", attacked, "attacked"], ["misclassified", "misclassified", misclassified, "misclassified"],
    ["errors", "misclassified", errors, errors === 1 ? "error" : "errors"]];
  const present = parts.filter(([, , count]) => count);
  const bar = element("div", { class: "stack", "aria-hidden": "true" },
    ...present.map(([, kind, count]) => element("span", { class: kind, style: `flex-grow: ${count}` })));
  const list = element("ul", { class: "stack-legend" }, ...present.map(([, kind, count, words]) =>
    element("li", {}, element("span", { class: `dot ${kind}`, "aria-hidden": "true" }), `${count} ${words}`)));
  const of = data.labelled ? "Robust accuracy" : "Robust accuracy (predicted labels count as true)";
  const least = element("b", {}, percent(certified, all));
  const most = element("b", {}, percent(certified + undecided, all));
  byId("accuracy").append(element("h3", {}, of),
    element("p", { class: "headline" }, least, " certified, ", most, " at most"),
    bar, list, element("p", { class: "quiet" }, againstWhom()));
}

function againstWhom() {
  return data.settings.target === "all"
    ? "An image is certified when no label can win."
    : "Against the targets that were asked: an image is certified when none of them can win.";
}

function showSettings() {
  const list = byId("settings").querySelector("dl");
  const given = Object.entries(data.settings).filter(([, value]) => value != null);
  byId("settings").hidden = given.length === 0;
  const places = Object.keys(SETTING_TITLES);
  const place = (field) => (places.includes(field) ? places.indexOf(field) : places.length);
  for (const [field, value] of given.sort(([a], [b]) => place(a) - place(b))) {
    list.append(element("div", {}, element("dt", {}, SETTING_TITLES[field] ?? field), element("dd", {}, setting(field, value))));
  }
}

function setting(field, value) {
  if (field === "images" && Array.isArray(value)) return ranges(value);
  if (field === "widths" && Array.isArray(value)) return value.join(" → ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

async function begin() {
  showHead();
  showNotices();
  showAccuracy();
  showVerdicts();
  showSettings();
  showPlots();
  listenToDetail();
  listenToResults();
  try {
    await unpackPictures();
  } catch (error) {
    say("This browser cannot unpack the pictures.");
  }
  update();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  document.body.dataset.ready = "yes";
}

begin();
