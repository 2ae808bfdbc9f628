// Originals, adversaries and signed differences, painted when they are looked at.

const PANELS = [
  ["original", (record) => (record.label == null ? `the image, predicted as ${named(record.predicted)}` : `the image, labelled ${named(record.label)}`)],
  ["adversary", (record) => (record.verdict === "adversarial" ? `taken for ${named(record.target)}` : "the closest found")],
  ["change", () => "the change: red brighter, blue darker"],
];

/// How strong the colour of the smallest change is.
const FAINTEST = 0.35;

let pictures = null;

/// Unpacks all pictures; resolves to whether there are any.
async function unpackPictures() {
  if (!data.pictures) return false;
  const { width, height, channels, images, bytes } = data.pictures;
  const packed = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const values = width * height * channels;
  const originals = new Map(images.map((image, k) => [image, all.subarray(k * values, (k + 1) * values)]));
  pictures = { width, height, channels, originals, changes: readChanges(all, images.length * values) };
  return images.length > 0;
}

/// Of each record the changes [place, 255ths], or null where nothing was drawn.
function readChanges(bytes, at) {
  const next = () => {
    let [value, shift, byte] = [0, 1, 0];
    do {
      byte = bytes[at++];
      value += (byte & 127) * shift;
      shift *= 128;
    } while (byte > 127);
    return value;
  };
  return records.map(() => {
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
  if (panel === "change") {
    paintChange(image.data, changes[record.k], channels);
  } else {
    const bytes = Uint8ClampedArray.from(originals.get(record.image));
    if (panel === "adversary") eachChange(changes[record.k], (place, level) => (bytes[place] += level));
    for (let pixel = 0; pixel < width * height; pixel++) {
      for (let colour = 0; colour < 3; colour++) {
        image.data[4 * pixel + colour] = bytes[pixel * channels + (channels === 3 ? colour : 0)];
      }
      image.data[4 * pixel + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

function eachChange(changes, act) {
  for (let k = 0; k < changes.length; k += 2) act(changes[k], changes[k + 1]);
}

/// Red for brighter and blue for darker, the stronger the larger the change, on whatever is behind the canvas. In a picture with colours every
/// channel shows its own change, around grey.
function paintChange(pixels, changes, channels) {
  if (channels === 3) {
    eachChange(changes, (place, level) => {
      const [pixel, channel] = [Math.floor(place / 3), place % 3];
      if (pixels[4 * pixel + 3] === 0) pixels.set([128, 128, 128, 255], 4 * pixel);
      const share = FAINTEST + (1 - FAINTEST) * Math.min(1, Math.abs(level) / 255);
      pixels[4 * pixel + channel] = Math.round(128 + Math.sign(level) * 127 * share);
    });
    return;
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const [brighter, darker] = dark ? [[255, 92, 80], [96, 160, 255]] : [[204, 0, 0], [0, 60, 220]];
  const strongest = new Map();
  eachChange(changes, (place, level) => {
    const pixel = Math.floor(place / channels);
    if (Math.abs(level) > Math.abs(strongest.get(pixel) ?? 0)) strongest.set(pixel, level);
  });
  for (const [pixel, level] of strongest) {
    const share = FAINTEST + (1 - FAINTEST) * Math.min(1, Math.abs(level) / 255);
    pixels.set([...(level > 0 ? brighter : darker), Math.round(255 * share)], 4 * pixel);
  }
}

/// The three panels of a record, not painted yet; a list of the largest changes where there are no pictures.
function panels(record, captions) {
  if (!isDrawn(record)) return element("div", { class: "panels none" }, largestChanges(record));
  const shape = `aspect-ratio: ${pictures.width} / ${pictures.height}`;
  const figures = PANELS.map(([panel, caption]) => {
    const text = caption(record);
    const canvas = element("canvas", { class: panel, style: shape, role: "img", "aria-label": text, "data-panel": panel });
    return element("figure", {}, canvas, captions ? element("figcaption", {}, text) : null);
  });
  return element("div", { class: "panels" }, ...figures);
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
