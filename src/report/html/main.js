// The head of the page, and everything in its order.

function baseName(path) {
  return path.split(/[\\/]/).pop();
}

function showHead() {
  const { settings } = data;
  const images = new Set(records.map((record) => record[indexField])).size;
  const delta = settings.delta ?? records[0]?.delta;
  const norm = { l1: "L1", linf: "L∞" }[settings.norm ?? records[0]?.norm] ?? "";
  const named = settings.model ?? settings.instances;
  byId("subject").textContent = named ? baseName(named) : "Adversarial inputs";
  const budget = data.kind === "radii" ? `${norm} radii` : delta == null ? null : `${norm} budget ${delta}`;
  const parts = [data.kind === "maximum" ? settings.objective : plural(images, kind.noun), budget,
    data.seconds == null ? null : `${data.seconds.toFixed(1)} s`, data.origin?.begun];
  byId("circumstances").textContent = parts.filter((part) => part).join(" · ");
  const coarse = data.pictures && data.pictures.bits < 8 ? ` Pictures have ${data.pictures.bits} bits a value, to keep this file small.` : "";
  byId("version").textContent = `Made by rw-adv ${data.version}. What is shown is rounded; downloads and the result directory are exact.${coarse}`;
  byId("results-title").textContent = kind.title;
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
  const pictured = new Set(data.pictures?.images);
  const missing = data.pictures ? records.filter((record) => !pictured.has(record.image) && (data.kind === "attacks" || isAdversary(record))).length : 0;
  if (missing) say(`To keep this file small, ${missing} of ${records.length} results have no pictures in it.`);
}

function countPanel(title, words) {
  const counts = kind.statuses.filter((status) => words[status] && (data.kind === "attacks" || records.some((record) => statusOf(record) === status))).map((status) => {
    const count = records.filter((record) => statusOf(record) === status).length;
    return element("li", { role: "listitem" }, element("b", {}, String(count)), pill(status), element("span", { class: "quiet" }, words[status]));
  });
  return element("div", { class: "panel", id: "verdicts" }, element("h3", {}, title), element("ul", { class: "counts", role: "list" }, ...counts));
}

function showOverview() {
  byId("overview").append(...{ attacks: attackOverview, radii: radiusOverview, instances: verifyOverview, maximum: maximumOverview }[data.kind]());
}

function attackOverview() {
  const panel = countPanel(plural(records.length, "search", "searches"), { adversarial: "fooled, and replayed", robust: "proven to hold", unknown: "neither" });
  const optimal = records.filter((record) => record.optimal === true).length;
  if (optimal) panel.append(element("p", { class: "quiet" }, `${optimal} with a closed gap: the margin is the optimum.`));
  return [accuracyPanel(), panel];
}

function accuracyPanel() {
  const { certified, undecided } = data.standings;
  const present = outcomeParts(data.standings);
  const all = present.reduce((sum, [, count]) => sum + count, 0);
  const bar = element("div", { class: "stack", "aria-hidden": "true" },
    ...present.map(([tone, count]) => element("span", { class: tone, style: `flex-grow: ${count}` })));
  const list = element("ul", { class: "stack-legend" }, ...present.map(([tone, count, words]) =>
    element("li", {}, element("span", { class: `dot ${tone}`, "aria-hidden": "true" }), `${count} ${words}`)));
  const of = data.labelled ? "Robust accuracy" : "Robust accuracy (predicted labels count as true)";
  const least = element("b", {}, percent(certified, all));
  const most = element("b", {}, percent(certified + undecided, all));
  const against = data.settings.target === "all" ? "An image is certified when no label can win."
    : "Against the targets that were asked: an image is certified when none of them can win.";
  return element("div", { class: "panel", id: "accuracy" }, element("h3", {}, of),
    element("p", { class: "headline" }, least, " certified, ", most, " at most"), bar, list, element("p", { class: "quiet" }, against));
}

/// Mean and median.
function averages(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
  return [sorted.reduce((sum, value) => sum + value, 0) / sorted.length, median];
}

function radiusOverview() {
  const panel = (title, words, values) => {
    const [mean, median] = averages(values);
    const numbers = values.length ? element("p", { class: "headline" }, element("b", {}, number(median, 3)), " median, ", element("b", {}, number(mean, 3)), " mean") : null;
    return element("div", { class: "panel" }, element("h3", {}, title), numbers, element("p", { class: "quiet" }, words));
  };
  const attacked = records.map((record) => record.attack_radius).filter((radius) => radius != null);
  const without = records.length - attacked.length;
  const wrong = records.filter((record) => record.misclassified).length;
  return [panel("Certified radius", `Proven: no input that near gets another label. ${plural(records.length, "image")}${wrong ? `, ${wrong} of them misclassified` : ""}.`, records.map((record) => record.certified_radius)),
    panel("Nearest adversary", `Found, and replayed in the ONNX file.${without ? ` ${plural(without, "image")} without one.` : ""}`, attacked)];
}

function verifyOverview() {
  const seconds = records.reduce((sum, record) => sum + record.seconds, 0);
  const words = { sat: "with a counterexample, replayed", unsat: "proven", unknown: "neither", timeout: "not within the time", error: "files that cannot be used" };
  const decided = records.filter((record) => record.result === "sat" || record.result === "unsat").length;
  return [element("div", { class: "panel" }, element("h3", {}, "Decided"),
    element("p", { class: "headline" }, element("b", {}, percent(decided, records.length)), ` ${decided} of ${plural(records.length, "instance")}`),
    element("p", { class: "quiet" }, `${seconds.toFixed(1)} s for all of them.`)), countPanel("Results", words)];
}

/// Inputs and outputs that are listed, at most.
const LISTED = 200;

function maximumOverview() {
  const record = records[0];
  if (!record) return [];
  const list = (title, letter, values) => element("div", { class: "panel whole" }, element("h3", {}, title),
    element("dl", { class: "facts numbers" }, ...values.slice(0, LISTED).map((value, k) => element("div", {}, element("dt", {}, `${letter}${k}`), element("dd", {}, number(value, 4))))),
    values.length > LISTED ? element("p", { class: "quiet" }, `The first ${LISTED} of ${values.length}; all are in point.npy.`) : null);
  const bound = record.upper_bound == null ? "no bound" : `at most ${number(record.upper_bound, 6)}, proven`;
  const panel = element("div", { class: "panel whole" }, element("h3", {}, data.settings.objective ?? "Objective"),
    element("p", { class: "headline" }, element("b", {}, number(record.value, 6)), ` found, ${bound}${record.optimal ? ": optimal" : ""} `, record.verdict ? pill(record.verdict) : null),
    factList(record));
  return [panel, list("Outputs", "y", data.outputs), list("Point", "x", data.point)];
}

/// How the run was begun, then what was asked for.
function showSettings() {
  const list = byId("settings").querySelector("dl");
  const origin = data.origin ? [["command", data.origin.command], ["begun", data.origin.begun]] : [];
  const given = [...origin, ["version", `rw-adv ${data.version}`], ...data.setting_texts];
  byId("settings").hidden = data.setting_texts.length === 0;
  for (const [title, text] of given) {
    const long = text.length > 40 ? "long" : null;
    list.append(element("div", { class: long }, element("dt", {}, title), element("dd", { class: /SHA|command/.test(title) ? "code" : null }, text)));
  }
}

async function begin() {
  showHead();
  showNotices();
  showOverview();
  showSettings();
  listenToDetail();
  listenToResults();
  try {
    await unpackPictures();
  } catch (error) {
    say("This browser cannot unpack the pictures.");
  }
  showClasses();
  for (const figure of kind.plots()) figure();
  byId("plots-section").hidden = !byId("plots").childElementCount;
  byId("results").hidden = data.kind === "maximum";
  update();
  listenToPrinter();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    show();
    for (const repaint of repaints) repaint();
  });
  openAddress();
  document.body.dataset.ready = "yes";
}

begin();
