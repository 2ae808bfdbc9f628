"use strict";

// The records, one object each, out of the page's columns; and small things that everybody needs.

const data = JSON.parse(document.getElementById("data").textContent);

const VERDICTS = ["adversarial", "robust", "unknown"];
const RESULTS = ["sat", "unsat", "unknown", "timeout", "error"];
const MARKS = { adversarial: "✕", robust: "✓", unknown: "?", sat: "✕", unsat: "✓", timeout: "…", error: "!" };
/// The colour of a verdict or result.
const TONES = { adversarial: "adversarial", robust: "robust", sat: "adversarial", unsat: "robust" };

/// As in the table on the terminal: a bound is loose from this multiple of the margin on, or of 1 if that is more.
const LOOSE = 100;

const records = Array.from({ length: data.count }, (_, k) => {
  const record = { k, curve: pairs(data.curves?.[k]), bounds: pairs(data.bounds?.[k]), largest: data.largest?.[k] ?? [] };
  for (const [field, column] of Object.entries(data.columns)) {
    record[field] = Array.isArray(column) ? column[k] : column;
  }
  // A bound that says nothing is told in the details alone: anywhere else it would hide what the others say.
  if (record.gap != null && record.gap > LOOSE * Math.max(1, Math.abs(record.margin))) {
    record.loose_bound = record.upper_bound;
    record.upper_bound = record.gap = null;
    record.bounds = [];
  }
  record.misclassified = record.error == null && record.label != null && record.label !== record.predicted;
  if (record.certified_radius > 0 && record.attack_radius != null) record.ratio = record.attack_radius / record.certified_radius;
  return record;
});

function pairs(numbers = []) {
  return Array.from({ length: numbers.length / 2 }, (_, k) => [numbers[2 * k], numbers[2 * k + 1]]);
}

function has(field) {
  return records.some((record) => record[field] != null);
}

/// What a label is called: the only place where a label becomes text.
function labelText(label) {
  return data.settings.class_names?.[label] ?? String(label);
}

/// What is decided about a record.
function statusOf(record) {
  return record.verdict ?? record.result ?? null;
}

function toneOf(status) {
  return TONES[status] ?? "unknown";
}

/// A number with a true minus sign; a dash for none. The sign is what decides, so a negative number is never shown as 0.
function number(value, digits = 4) {
  if (value == null) return "–";
  const text = value.toFixed(digits);
  return value < 0 && Number(text) === 0 ? "<0" : text.replace("-", "−");
}

function percent(count, all) {
  return all ? `${((100 * count) / all).toFixed(1)} %` : "–";
}

function plural(count, one, many = one + "s") {
  return `${count} ${count === 1 ? one : many}`;
}

/// What an adversary does, or would do: `4 → 9`.
function move(record) {
  return record.target == null ? labelText(record.predicted) : `${labelText(record.predicted)} → ${labelText(record.target)}`;
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

function pill(status) {
  const mark = element("span", { "aria-hidden": "true" }, MARKS[status]);
  return element("span", { class: `pill ${toneOf(status)}` }, mark, ` ${status}`);
}
