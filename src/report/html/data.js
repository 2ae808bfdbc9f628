"use strict";

// The records, one object each, out of the page's columns; and small things that everybody needs.

const data = JSON.parse(document.getElementById("data").textContent);

const VERDICTS = ["adversarial", "robust", "unknown"];
const MARKS = { adversarial: "✕", robust: "✓", unknown: "?" };

const records = Array.from({ length: data.count }, (_, k) => {
  const record = { k, curve: pairs(data.curves[k]), bounds: pairs(data.bounds[k]), largest: data.largest[k] };
  for (const [field, column] of Object.entries(data.columns)) {
    record[field] = Array.isArray(column) ? column[k] : column;
  }
  record.misclassified = record.error == null && record.label != null && record.label !== record.predicted;
  return record;
});

function pairs(numbers) {
  return Array.from({ length: numbers.length / 2 }, (_, k) => [numbers[2 * k], numbers[2 * k + 1]]);
}

function has(field) {
  return records.some((record) => record[field] != null);
}

/// A number with a true minus sign; a dash for none.
function number(value, digits = 4) {
  return value == null ? "–" : value.toFixed(digits).replace("-", "−");
}

function percent(count, all) {
  return all ? `${((100 * count) / all).toFixed(1)} %` : "–";
}

function plural(count, one, many = one + "s") {
  return `${count} ${count === 1 ? one : many}`;
}

/// What an adversary does, or would do: `4 → 9`.
function move(record) {
  return `${record.predicted} → ${record.target}`;
}

/// A record in one sentence.
function sentence(record) {
  if (record.error != null) return `Image ${record.image}: no answer: ${record.error}`;
  const outcome = {
    adversarial: `${record.predicted} is taken for ${record.target}`,
    robust: `${record.predicted} is never taken for ${record.target}`,
    unknown: `undecided whether ${record.predicted} can be taken for ${record.target}`,
  }[record.verdict];
  const bound = record.upper_bound == null ? "" : `, bound ${number(record.upper_bound, 2)}`;
  return `Image ${record.image}: ${outcome}, margin ${number(record.margin, 2)}${bound}`;
}

/// An element with attributes, listeners (`onclick`) and children. Text is text: it is never parsed as HTML.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

function pill(verdict) {
  const mark = element("span", { "aria-hidden": "true" }, MARKS[verdict]);
  return element("span", { class: `pill ${verdict}` }, mark, ` ${verdict}`);
}
