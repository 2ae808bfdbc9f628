// Gallery and table over the same records: filtered, sorted, a page at a time.

const COLUMNS = kind.columns
  .filter(([field]) => has(field) && (field !== "nodes" || records.some((record) => record.nodes > 0)));

const PAGE = { gallery: 48, table: 200 };

const state = { verdict: "all", label: "all", target: "all", predicted: "all", text: "", sort: indexField, descending: false,
  view: kind.gallery ? "gallery" : "table", shown: 0 };

/// What is shown, in order.
let listed = [];

const painter = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    painter.unobserve(target);
    paintAll(target, records[target.dataset.record]);
  }
}, { rootMargin: "300px" });

function isWanted(record) {
  const text = state.text.trim().toLowerCase();
  return (state.verdict === "all" || statusOf(record) === state.verdict) &&
    (state.predicted === "all" || String(record.predicted) === state.predicted) &&
    (state.label === "all" || String(record.label ?? record.predicted) === state.label) &&
    (state.target === "all" || String(record.target) === state.target) &&
    (text === "" || String(record[indexField]) === text || searched(record).includes(text));
}

function searched(record) {
  return [record.name, record.model, record.property].filter((part) => part).join(" ").toLowerCase();
}

/// What is missing comes last, whichever way.
function inOrder(a, b) {
  const [x, y] = [a[state.sort], b[state.sort]];
  if (x == null || y == null) return (x == null) - (y == null) || a.k - b.k;
  const sign = typeof x === "string" ? x.localeCompare(y) : x - y;
  return (state.descending ? -sign : sign) || a.k - b.k;
}

/// Takes over what was changed, and shows the first page.
function update(changes = {}) {
  Object.assign(state, changes);
  listed = records.filter(isWanted).sort(inOrder);
  state.shown = PAGE[state.view];
  show();
}

function show() {
  const part = listed.slice(0, state.shown);
  byId("gallery").hidden = state.view !== "gallery";
  byId("table").hidden = state.view !== "table";
  byId("gallery").replaceChildren(...(state.view === "gallery" ? part.map(card) : []));
  byId("table").replaceChildren(...(state.view === "table" ? [table(part)] : []));
  byId("more").hidden = part.length === listed.length;
  const all = listed.length === records.length ? "" : ` of ${records.length}`;
  const shown = part.length < listed.length ? `, the first ${part.length} shown` : "";
  byId("count").textContent = listed.length ? `${plural(listed.length, "result")}${all}${shown}` : "Nothing fits these filters.";
  showChoices();
}

function card(record) {
  const facts = kind.facts.filter(([field]) => record[field] != null).map(([field, title, digits]) =>
    element("span", { class: "fact" }, element("span", {}, title === "pixels" && !data.pictures ? "inputs" : title), element("b", {}, number(record[field], digits))));
  const tag = record.error != null ? "error" : record.misclassified ? `a ${labelText(record.label)}` : null;
  const wrong = tag == null ? null : element("span", { class: "tag" }, tag);
  const head = element("span", { class: "card-head" }, element("b", {}, `#${record.image}`),
    element("span", { class: "move" }, move(record)), wrong, statusOf(record) ? pill(statusOf(record)) : null);
  const made = element("button", { type: "button", class: "card", "data-record": record.k, "aria-label": sentence(record),
    onclick: () => openDetail(record, listed) }, head, panels(record), element("span", { class: "facts-row" }, ...facts));
  if (isDrawn(record)) painter.observe(made);
  return element("li", {}, made);
}

function table(part) {
  const head = COLUMNS.map(([field, title, digits]) => {
    const active = state.sort === field;
    const order = !active ? "none" : state.descending ? "descending" : "ascending";
    const arrow = element("span", { class: "arrow", "aria-hidden": "true" }, !active ? "" : state.descending ? "▼" : "▲");
    const button = element("button", { type: "button", "data-sort": field, onclick: () => sortBy(field) }, title, arrow);
    return element("th", { scope: "col", "aria-sort": order, class: digits == null ? "text" : "numeric" }, button);
  });
  const rows = part.map((record) =>
    element("tr", { onclick: () => openDetail(record, listed) }, ...COLUMNS.map((column) => cell(record, column))));
  return element("table", {}, element("caption", { class: "unseen" }, `One row per ${data.kind === "attacks" ? "image and target" : kind.noun}`),
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

function cell(record, [field, , digits]) {
  const value = record[field];
  if (field === indexField) {
    const target = data.kind === "attacks" ? `, target ${labelText(record.target)}` : "";
    const open = element("button", { type: "button", "aria-label": `Open ${kind.noun} ${value}${target}` }, String(value));
    return element("th", { scope: "row", class: "numeric" }, open);
  }
  if (field === "verdict" || field === "result") return element("td", {}, pill(value));
  if (field === "predicted" && record.misclassified) {
    return element("td", { class: "numeric wrong", title: "misclassified" }, `✕ ${labelText(value)}`);
  }
  if (LABELS.includes(field) && value != null) return element("td", { class: "numeric" }, labelText(value));
  if (field === "stop") return element("td", { class: "text" }, fact(field, value));
  return element("td", { class: digits == null ? "text" : "numeric" }, digits == null ? value ?? "–" : number(value, digits));
}

/// The same column again turns the order round; focus stays on its title.
function sortBy(field) {
  update({ sort: field, descending: state.sort === field && !state.descending });
  byId("table").querySelector(`[data-sort="${field}"]`)?.focus();
}

function choose(id, options, key) {
  byId(id).replaceChildren(...options.map(([value, ...label]) =>
    element("button", { type: "button", "aria-pressed": String(state[key] === value), onclick: () => {
      update({ [key]: value });
      byId(id).querySelector('[aria-pressed="true"]').focus();
    } }, ...label)));
}

function showChoices() {
  const count = (status) => records.filter((record) => statusOf(record) === status).length;
  const statuses = presentOrUsual().map((status) => [status, status, element("span", { class: "number" }, String(count(status)))]);
  choose("verdict-filter", [["all", "all", element("span", { class: "number" }, String(records.length))], ...statuses], "verdict");
  if (kind.gallery) choose("view", [["gallery", "Gallery"], ["table", "Table"]], "view");
  byId("sort").value = state.sort;
  byId("direction").textContent = state.descending ? "▼" : "▲";
  byId("direction").setAttribute("aria-label", state.descending ? "descending order, turn round" : "ascending order, turn round");
  byId("pair-filter").hidden = state.predicted === "all";
  byId("pair-filter").textContent = `predicted as ${labelText(state.predicted)} ✕`;
}

/// All verdicts; of results only those that occur.
function presentOrUsual() {
  return data.kind === "instances" ? presentStatuses() : kind.statuses;
}

function fillSelect(id, key, options) {
  const select = byId(id);
  select.closest("label").hidden = options.length <= 1;
  select.replaceChildren(...options.map(([value, label]) => element("option", { value }, label)));
  select.addEventListener("change", () => update({ [key]: select.value }));
}

function listenToResults() {
  const labels = (of) => [...new Set(records.map(of))].filter((label) => label != null).sort((a, b) => a - b)
    .map((label) => [String(label), labelText(label)]);
  fillSelect("label-filter", "label", [["all", "all"], ...labels((record) => record.label ?? record.predicted)]);
  fillSelect("target-filter", "target", [["all", "all"], ...labels((record) => record.target)]);
  fillSelect("sort", "sort", COLUMNS.map(([field, title]) => [field, title.toLowerCase()]));
  byId("verdict-filter").hidden = kind.statuses.length === 0;
  byId("direction").addEventListener("click", () => update({ descending: !state.descending }));
  byId("pair-filter").addEventListener("click", () => {
    byId("target-filter").value = "all";
    update({ predicted: "all", target: "all" });
  });
  byId("text-filter").placeholder = data.kind === "instances" ? "number or file" : "image or file";
  byId("text-filter").addEventListener("input", (event) => update({ text: event.target.value }));
  byId("more").addEventListener("click", () => {
    state.shown += PAGE[state.view];
    show();
  });
}
