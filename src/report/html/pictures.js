// Originals, adversaries, signed differences and overlays, painted when they are looked at.

const PANELS = [
  ["original", (record) => (record.label == null ? `the image, predicted as ${labelText(record.predicted)}` : `the image, labelled ${labelText(record.label)}`)],
  ["adversary", (record) => (isAdversary(record) ? `taken for ${labelText(record.target)}` : "the closest found")],
  ["change", () => (data.pictures?.channels === 3 ? "the change of each channel, around grey" : "the change: red brighter, blue darker")],
  ["overlay", () => "the change on the image"],
];
/// A card has room for so many.
const CARD_PANELS = 3;

/// How strong the colour of the smallest change is.
const FAINTEST = 0.35;

let pictures = null;
/// On paper there is no dark.
let printing = false;

function isDark() {
  return !printing && matchMedia("(prefers-color-scheme: dark)").matches;
}

function isAdversary(record) {
  return record.verdict === "adversarial" || record.attack_radius != null;
}

/// Unpacks all pictures; resolves to whether there are any.
async function unpackPictures() {
  if (!data.pictures) return false;
  const { width, height, channels, images, valued, exact, bytes } = data.pictures;
  const packed = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const values = width * height * channels;
  const originals = new Map(images.map((image, k) => [image, all.subarray(k * values, (k + 1) * values)]));
  const reader = { all, at: images.length * values };
  const changes = readChanges(reader);
  pictures = { width, height, channels, originals, changes, values: new Map(), witnesses: records.map(() => null) };
  if (exact) readExact(reader, valued, 4 * values);
  return images.length > 0;
}

/// Of each record the changes [place, 255ths], or null where nothing was drawn.
function readChanges(reader) {
  const bytes = reader.all;
  let at = reader.at;
  const next = () => {
    let [value, shift, byte] = [0, 1, 0];
    do {
      byte = bytes[at++];
      value += (byte & 127) * shift;
      shift *= 128;
    } while (byte > 127);
    return value;
  };
  const all = records.map(() => {
    const count = next();
    if (count === 0) return null;
    const changes = new Int32Array(2 * (count - 1));
    let place = -1;
    for (let k = 0; k < changes.length; k += 2) {
      place += next() + 1;
      const zigzag = next();
      changes[k] = place;
      changes[k + 1] = zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
    }
    return changes;
  });
  reader.at = at;
  return all;
}

/// The values of originals that are not those of their bytes, and of adversaries where they were changed.
function readExact(reader, valued, size) {
  const take = (length) => reader.all.slice(reader.at, (reader.at += length));
  for (const image of valued) pictures.values.set(image, new Float32Array(take(size).buffer));
  records.forEach((record, k) => {
    if (take(1)[0] === 0) return;
    const count = pictures.changes[k].length / 2;
    pictures.witnesses[k] = { values: new Float32Array(take(4 * count).buffer), bytes: take(count) };
  });
}

function isDrawn(record) {
  return pictures !== null && pictures.changes[record.k] !== null && pictures.originals.has(record.image);
}

function paint(canvas, record, panel) {
  const { width, height, channels, originals, changes } = pictures;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  if (panel !== "change") {
    const bytes = Uint8ClampedArray.from(originals.get(record.image));
    if (panel === "adversary") eachChange(changes[record.k], (place, level) => (bytes[place] += level));
    for (let pixel = 0; pixel < width * height; pixel++) {
      for (let colour = 0; colour < 3; colour++) {
        image.data[4 * pixel + colour] = bytes[pixel * channels + (channels === 3 ? colour : 0)];
      }
      image.data[4 * pixel + 3] = 255;
    }
  }
  if (panel === "change" || panel === "overlay") paintChange(image.data, changes[record.k], channels, panel === "overlay");
  context.putImageData(image, 0, 0);
}

function eachChange(changes, act) {
  for (let k = 0; k < changes.length; k += 2) act(changes[k], changes[k + 1]);
}

/// Every channel's own change around grey, for pictures with colours.
function paintChannels(pixels, changes) {
  eachChange(changes, (place, level) => {
    const [pixel, channel] = [Math.floor(place / 3), place % 3];
    if (pixels[4 * pixel + 3] === 0) pixels.set([128, 128, 128, 255], 4 * pixel);
    const share = FAINTEST + (1 - FAINTEST) * Math.min(1, Math.abs(level) / 255);
    pixels[4 * pixel + channel] = Math.round(128 + Math.sign(level) * 127 * share);
  });
}

/// The colour of the change, the stronger the larger, on whatever is behind. On a picture with colours the channel that changed most decides.
function paintChange(pixels, changes, channels, solid) {
  if (channels === 3 && !solid) return paintChannels(pixels, changes);
  const [brighter, darker] = isDark() || solid ? [[255, 92, 80], [96, 160, 255]] : [[204, 0, 0], [0, 60, 220]];
  const strongest = new Map();
  eachChange(changes, (place, level) => {
    const pixel = Math.floor(place / channels);
    if (Math.abs(level) > Math.abs(strongest.get(pixel) ?? 0)) strongest.set(pixel, level);
  });
  for (const [pixel, level] of strongest) {
    const share = FAINTEST + (1 - FAINTEST) * Math.min(1, Math.abs(level) / 255);
    const colour = level > 0 ? brighter : darker;
    if (solid) {
      for (let c = 0; c < 3; c++) pixels[4 * pixel + c] += share * (colour[c] - pixels[4 * pixel + c]);
    } else {
      pixels.set([...colour, Math.round(255 * share)], 4 * pixel);
    }
  }
}

/// The panels of a card, not painted yet; a list of the largest changes where there are no pictures.
function panels(record) {
  if (!isDrawn(record)) return element("div", { class: "panels none" }, largestChanges(record));
  const figures = PANELS.slice(0, CARD_PANELS).map(([panel, caption]) => element("figure", {}, canvasOf(record, panel, caption(record))));
  return element("div", { class: "panels" }, ...figures);
}

function canvasOf(record, panel, text) {
  const shape = `aspect-ratio: ${pictures.width} / ${pictures.height}`;
  return element("canvas", { class: panel, style: shape, role: "img", "aria-label": text, "data-panel": panel });
}

/// All panels, each with its words; one that is clicked fills the dialog, and tells the pixel under the pointer.
function largePanels(record) {
  if (!isDrawn(record)) return [element("div", { class: "panels none" }, largestChanges(record))];
  const hint = element("p", { class: "hint", "aria-hidden": "true" });
  const all = element("div", { class: "panels four" });
  for (const [panel, caption] of PANELS) {
    const text = caption(record);
    const canvas = canvasOf(record, panel, text);
    const button = element("button", { type: "button", class: "enlarge", "aria-pressed": "false", "aria-label": `Enlarge ${text}`, title: "Enlarge" }, canvas);
    const figure = element("figure", {}, button, element("figcaption", {}, text));
    button.addEventListener("click", () => enlarge(all, figure, hint));
    canvas.addEventListener("pointermove", (event) => (hint.textContent = pixelText(record, canvas, event)));
    all.append(figure);
  }
  hint.textContent = "Click a picture to enlarge it, point at a pixel to read it.";
  return [all, hint];
}

function enlarge(all, figure) {
  const large = !figure.classList.contains("chosen");
  all.classList.toggle("enlarged", large);
  for (const one of all.children) {
    one.classList.toggle("chosen", large && one === figure);
    one.querySelector("button").setAttribute("aria-pressed", String(large && one === figure));
  }
}

/// `row 12, column 7: 0.000 → 0.784`.
function pixelText(record, canvas, event) {
  const { width, height, channels } = pictures;
  const box = canvas.getBoundingClientRect();
  const place = (at, from, length, count) => Math.min(count - 1, Math.max(0, Math.floor(((at - from) / length) * count)));
  const [row, column] = [place(event.clientY, box.top, box.height, height), place(event.clientX, box.left, box.width, width)];
  const original = pictures.originals.get(record.image);
  const texts = [];
  for (let c = 0; c < channels; c++) {
    const at = (row * width + column) * channels + c;
    const change = changeAt(record, at);
    texts.push(change ? `${number(original[at] / 255, 3)} → ${number(Math.min(255, Math.max(0, original[at] + change)) / 255, 3)}` : number(original[at] / 255, 3));
  }
  return `row ${row}, column ${column}: ${texts.join(", ")}`;
}

function changeAt(record, at) {
  const changes = pictures.changes[record.k];
  for (let k = 0; k < changes.length; k += 2) if (changes[k] === at) return changes[k + 1];
  return 0;
}

function largestChanges(record) {
  if (!record.largest.length) return element("p", { class: "quiet" }, "no picture");
  const rows = record.largest.slice(0, 6).map(([place, from, to]) =>
    element("li", { class: to > from ? "up" : "down" }, `x${place}: ${number(from, 3)} → ${number(to, 3)}`));
  return element("ul", { class: "changes", "aria-label": "largest changes of the input" }, ...rows);
}

function paintAll(container, record) {
  for (const canvas of container.querySelectorAll("canvas")) paint(canvas, record, canvas.dataset.panel);
}
