// How each label fares, and which label is taken for which.

function showClasses() {
  if (data.kind !== "attacks" || !records.length) return;
  byId("classes").hidden = false;
  byId("by-class").append(...byClass());
  byId("matrix").append(...matrix());
}

/// The outcomes that occur: colour, count, word.
function outcomeParts({ certified, undecided, attacked, misclassified, errors = 0 }) {
  return [["robust", certified, "certified"], ["unknown", undecided, "undecided"], ["adversarial", attacked, "attacked"],
    ["misclassified", misclassified, "misclassified"], ["misclassified", errors, errors === 1 ? "error" : "errors"]].filter(([, count]) => count);
}

/// Certified, undecided, attacked and misclassified images of each label.
function byClass() {
  const of = data.labelled ? "True label" : "Predicted label";
  const rows = data.classes.map(([label, outcomes]) => {
    const { certified, undecided } = outcomes;
    const parts = outcomeParts(outcomes);
    const all = parts.reduce((sum, [, count]) => sum + count, 0);
    const words = parts.map(([, count, what]) => `${count} ${what}`).join(", ");
    const bar = element("div", { class: "stack", role: "img", "aria-label": words, title: words },
      ...parts.map(([tone, count]) => element("span", { class: tone, style: `flex-grow: ${count}` })));
    return element("tr", {}, element("th", { scope: "row" }, labelText(label)), element("td", { class: "numeric" }, String(all)),
      element("td", { class: "wide" }, bar), element("td", { class: "numeric" }, percent(certified, all)),
      element("td", { class: "numeric" }, percent(certified + undecided, all)));
  });
  const head = [of, "Images", "Outcome", "Certified", "At most"].map((title, k) =>
    element("th", { scope: "col", class: k === 1 || k > 2 ? "numeric" : "text" }, title));
  return [element("h3", {}, "Robust accuracy by label"),
    element("table", { class: "small" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))];
}

/// Searches from each predicted label to each target: how many found an adversary. A cell shows its searches below.
function matrix() {
  const [froms, tos] = ["predicted", "target"].map((field) => [...new Set(records.map((record) => record[field]))].sort((a, b) => a - b));
  const cells = new Map();
  for (const record of records) {
    const key = `${record.predicted} ${record.target}`;
    if (!cells.has(key)) cells.set(key, { all: 0, adversarial: 0, robust: 0, unknown: 0 });
    cells.get(key).all++;
    cells.get(key)[record.verdict]++;
  }
  const head = element("tr", {}, element("td", {}), ...tos.map((label) => element("th", { scope: "col" }, labelText(label))));
  const rows = froms.map((from) => element("tr", {}, element("th", { scope: "row" }, labelText(from)),
    ...tos.map((to) => matrixCell(from, to, cells.get(`${from} ${to}`)))));
  return [element("h3", {}, "Which label is taken for which"),
    element("p", { class: "quiet" }, "Adversaries found of searches, from the predicted label (down) to the target (across). Click a cell to see them."),
    element("div", { class: "scroll" }, element("table", { class: "matrix" }, element("thead", {}, head), element("tbody", {}, ...rows)))];
}

function matrixCell(from, to, cell) {
  if (!cell) return element("td", { class: "none" });
  const words = `${labelText(from)} → ${labelText(to)}: ` + VERDICTS.filter((verdict) => cell[verdict]).map((verdict) => `${cell[verdict]} ${verdict}`).join(", ");
  const share = Math.round(45 * (cell.adversarial / cell.all));
  const ground = `background: color-mix(in srgb, var(--adversarial) ${share}%, var(--panel))`;
  const button = element("button", { type: "button", "aria-label": words, title: words, onclick: () => {
    update({ predicted: String(from), target: String(to) });
    byId("target-filter").value = String(to);
    byId("results").scrollIntoView({ behavior: "smooth" });
  } }, element("b", {}, String(cell.adversarial)), element("span", {}, `/${cell.all}`));
  return element("td", { style: ground }, button);
}
