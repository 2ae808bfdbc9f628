// The adversary as it was stored, from what is in this page: the exact numbers as NumPy's .npy, the 8-bit picture as PNG.

/// What the files in the result directory are called.
function fileName(record) {
  const { image, predicted, target } = record;
  const names = classFileNames();
  return names ? `${image}_${names[predicted]}_to_${names[target]}` : `${image}_c${predicted}_w${target}`;
}

/// Names of classes as names of files have them: see `Classes::file_names`.
function classFileNames() {
  const slug = (name) => name.split(/[^A-Za-z0-9]+/).filter(Boolean).join("-").toLowerCase().slice(0, 40).replace(/-+$/, "");
  const slugs = data.settings.class_names?.map(slug);
  return slugs?.map((name, label) => (/^[0-9]*$/.test(name) || slugs.indexOf(name) !== slugs.lastIndexOf(name) ? String(label) : name));
}

function downloadButtons(record) {
  if (!isAdversary(record)) return null;
  const witness = pictures?.witnesses[record.k];
  const stored = `adversarial/${fileName(record)}.npy`;
  if (!witness || !data.pictures.dims) return element("p", { class: "quiet" }, `The exact point is ${stored} in the result directory.`);
  const button = (text, name, make) => element("button", { type: "button", "data-file": name, onclick: async () => save(name, await make()) }, text);
  return element("p", { class: "downloads" },
    button("Adversary (.npy)", `${fileName(record)}.npy`, () => npyFile(adversaryValues(record))),
    button("Adversary (.png)", `${fileName(record)}.png`, () => pngFile(adversaryBytes(record))),
    button("Image (.npy)", `${record.image}.npy`, () => npyFile(imageValues(record))));
}

function save(name, bytes) {
  const address = URL.createObjectURL(new Blob([bytes]));
  const link = element("a", { download: name });
  link.href = address;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/// The image as the model takes it, in the order of the picture.
function imageValues(record) {
  return pictures.values.get(record.image)?.slice() ?? Float32Array.from(pictures.originals.get(record.image), (byte) => byte / 255);
}

function adversaryValues(record) {
  const values = imageValues(record);
  const { values: changed } = pictures.witnesses[record.k];
  const changes = pictures.changes[record.k];
  changed.forEach((value, k) => (values[changes[2 * k]] = value));
  return values;
}

function adversaryBytes(record) {
  const bytes = Uint8Array.from(pictures.originals.get(record.image));
  const changes = pictures.changes[record.k];
  pictures.witnesses[record.k].bytes.forEach((byte, k) => (bytes[changes[2 * k]] = byte));
  return bytes;
}

/// NumPy's format 1.0: a header in Python's words, filled up to 64 bytes, and the values in the model's order.
function npyFile(values) {
  const { dims, planar } = data.pictures;
  const { channels } = pictures;
  const shape = dims.length === 1 ? `(${dims[0]},)` : `(${dims.join(", ")})`;
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': ${shape}, }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10;
  const file = new Uint8Array(10 + length + 4 * values.length);
  file.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  file.set(new TextEncoder().encode(text.padEnd(length - 1) + "\n"), 10);
  const numbers = new DataView(file.buffer, 10 + length);
  const plane = values.length / channels;
  values.forEach((value, k) => {
    const place = planar ? (k % channels) * plane + Math.floor(k / channels) : k;
    numbers.setFloat32(4 * place, value, true);
  });
  return file;
}

/// A PNG with exactly these bytes, grey or RGB.
async function pngFile(bytes) {
  const { width, height, channels } = pictures;
  const rows = new Uint8Array(height * (1 + width * channels));
  for (let row = 0; row < height; row++) {
    rows.set(bytes.subarray(row * width * channels, (row + 1) * width * channels), row * (1 + width * channels) + 1);
  }
  const stream = new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  head.set([8, channels === 3 ? 2 : 0, 0, 0, 0], 8);
  const parts = [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), chunk("IHDR", head), chunk("IDAT", packed), chunk("IEND", new Uint8Array(0))];
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function chunk(name, contents) {
  const made = new Uint8Array(12 + contents.length);
  const view = new DataView(made.buffer);
  view.setUint32(0, contents.length);
  made.set(new TextEncoder().encode(name), 4);
  made.set(contents, 8);
  view.setUint32(8 + contents.length, checksum(made.subarray(4, 8 + contents.length)));
  return made;
}

/// CRC-32 as PNG wants it.
function checksum(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let k = 0; k < 8; k++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}
