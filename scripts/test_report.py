#!/usr/bin/env python3
"""What scripts/test-report does in the browser. Speaks WebDriver itself: nothing but Python and Chromium is needed.

    test_report.py samples DIR                     images with hostile names, inputs that are no pictures, and stored
                                                   results: one in colour, one of nothing
    test_report.py look DIR [--screenshots DIR]    opens the reports in DIR and tests them
"""

import argparse
import base64
import gzip
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zlib
from pathlib import Path

MNIST_IMAGES = Path(__file__).parent.parent / "data" / "t10k-images-idx3-ubyte.gz"

DESKTOP = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
HOSTILE = ["<img src=x onerror=document.title='broken'>.png", "\"'><script>document.title='broken'<!--.png", "&lt;b&gt;.png"]


class Browser:
    """A Chromium without a window."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [shutil.which("chromedriver"), f"--port={port}"]
        self.driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        options = {"args": arguments, "binary": shutil.which("chromium")}
        logs = {"browser": "ALL", "performance": "ALL"}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": logs}
        for attempt in range(100):
            try:
                answer = self._post("/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except (urllib.error.URLError, ConnectionError):
                if attempt == 99 or self.driver.poll() is not None:
                    raise
                time.sleep(0.1)
        self.base += f"/session/{answer['sessionId']}"

    def _post(self, path, body):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def devtools(self, command, **parameters):
        return self._post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def run(self, script, *arguments):
        return self._post("/execute/sync", {"script": script, "args": list(arguments)})

    def log(self, kind):
        return self._post("/se/log", {"type": kind})

    def look(self, size=None, dark=False):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])
        self.devtools("Emulation.setDeviceMetricsOverride", **(size or DESKTOP))

    def open(self, page, address=""):
        # The same page with another address would not be loaded anew.
        self._post("/url", {"url": "about:blank"})
        self._post("/url", {"url": page.as_uri() + address})
        self.wait("return document.body.dataset.ready === 'yes'")

    def wait(self, condition):
        """Until a condition holds; a page that hangs is an error, a slow machine is not."""
        for _ in range(1200):
            if self.run(condition):
                return
            time.sleep(0.05)
        raise AssertionError(f"never: {condition}")

    def click(self, selector):
        found = self._post("/element", {"using": "css selector", "value": selector})
        self._post(f"/element/{next(iter(found.values()))}/click", {})

    def keys(self, *keys):
        presses = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": presses}]})

    def screenshot(self, path, whole=True):
        if path is None:
            return
        size = self.run("return [innerWidth, arguments[0] ? document.documentElement.scrollHeight : innerHeight]", whole)
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 6000), "scale": 1}
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole, **({"clip": clip} if whole else {}))
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        try:
            urllib.request.urlopen(urllib.request.Request(self.base, method="DELETE"), timeout=30).close()
        finally:
            self.driver.terminate()
            self.driver.wait()


def same(found, expected, what):
    assert found == expected, f"{what}: {found!r} instead of {expected!r}"


def texts(browser, selector):
    return browser.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)


def is_quiet(browser, page):
    """Nothing is loaded but the page itself, and nothing is complained about."""
    complaints = [entry["message"] for entry in browser.log("browser") if entry["level"] == "SEVERE"]
    same(complaints, [], "complaints")
    events = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    own = ("data:", "blob:")
    others = {url for url in asked if url.split("#")[0] != page.as_uri() and not url.startswith(own)}
    same(others, set(), "requests")


IS_PAINTED = """
    return [...document.querySelectorAll(arguments[0])].every((canvas) => {
      if (canvas.width < 2) return false;
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size > 1;
    })"""

OVERLAPS = """
    const shown = (e) => e.getClientRects().length > 0;
    const found = [];
    for (const parent of document.querySelectorAll('header, main, section, .overview, .panel, .toolbar, .card, .card-head, .facts-row, .panels, .counts li, dl, .detail-head, thead tr')) {
      const boxes = [...parent.children].filter(shown).map((e) => [e, e.getBoundingClientRect()]);
      boxes.forEach(([a, x], k) => boxes.slice(k + 1).forEach(([b, y]) => {
        const wide = Math.min(x.right, y.right) - Math.max(x.left, y.left);
        const high = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
        if (wide > 1 && high > 1) found.push(`${a.outerHTML.slice(0, 80)} over ${b.outerHTML.slice(0, 80)}`);
      }));
    }
    for (const e of document.querySelectorAll('.card, .card *, .panel, .panel *, .toolbar *, #detail *')) {
      if (shown(e) && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && !e.matches('select, input, .unseen, svg, svg *')) {
        found.push(`too narrow for its contents: ${e.outerHTML.slice(0, 100)}`);
      }
    }
    if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    return found.slice(0, 10)"""

NAMELESS = """
    const named = (e) => e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length);
    const all = [...document.querySelectorAll('button, select, input, canvas, svg, a')];
    return all.filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 100))"""

# Letters against what is behind them (WCAG 2.1: 4.5 to 1 for small ones).
FAINT = """
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 1;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    const parts = (colour) => {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data];
    };
    const light = (rgb) => {
      const [r, g, b] = rgb.slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (e) => {
      for (let at = e; at; at = at.parentElement) {
        const ground = parts(getComputedStyle(at).backgroundColor);
        if (ground[3] === 255) return ground;
      }
      return [255, 255, 255, 255];
    };
    const found = new Set();
    for (const e of document.querySelectorAll('body *:not(canvas):not(script):not(style):not(option)')) {
      const written = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!written || !e.getClientRects().length || e.closest('.unseen, .skip, :disabled')) continue;
      const style = getComputedStyle(e);
      const [a, b] = [light(parts(e.closest('svg') ? style.fill : style.color)), light(behind(e))].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < 4.5) found.add(`${ratio.toFixed(2)}: ${e.outerHTML.slice(0, 80)}`);
    }
    return [...found].slice(0, 10)"""


def is_tidy(browser, what):
    same(browser.run(OVERLAPS), [], f"overlaps, {what}")
    same(browser.run(NAMELESS), [], f"nameless, {what}")
    same(browser.run(FAINT), [], f"faint, {what}")


def column(browser, title):
    heads = [text.rstrip("▲▼") for text in texts(browser, "#table thead th")]
    cells = texts(browser, f"#table tbody tr > :nth-child({heads.index(title) + 1})")
    return [float(cell.replace("−", "-")) for cell in cells if cell != "–"]


def sorts(browser):
    browser.click("#view button:nth-child(2)")
    for title, field in [("Margin", "margin"), ("Seconds", "seconds"), ("Image", "image")]:
        heading = f"document.querySelector('#table thead [data-sort={field}]')"
        for order in ["ascending", "descending"]:
            if field == "image" and order == "ascending":
                browser.click("#table thead [data-sort=label]")
            browser.click(f"#table thead [data-sort={field}]")
            same(browser.run(f"return {heading}.closest('th').getAttribute('aria-sort')"), order, title)
            assert browser.run(f"return document.activeElement === {heading}"), "the focus stays"
            values = column(browser, title)
            same(values, sorted(values, reverse=order == "descending"), f"{title} {order}")
    same(len(browser.run("return [...document.querySelectorAll('#table thead th')].filter((e) => e.ariaSort !== 'none')")), 1, "sorted columns")
    browser.click("#table thead [data-sort=image]")


def filters(browser):
    total = len(texts(browser, "#table tbody tr"))
    count = 0
    for place, verdict in enumerate(["adversarial", "robust", "unknown"], 2):
        browser.click(f"#verdict-filter button:nth-child({place})")
        found = [text.split()[-1] for text in texts(browser, "#table tbody .pill")]
        same(set(found) - {verdict}, set(), "other verdicts")
        same(browser.run("return document.querySelector('#verdict-filter [aria-pressed=true]').textContent"), f"{verdict}{len(found)}", "pressed")
        count += len(found)
    same(count, total, "rows of all verdicts")
    browser.click("#verdict-filter button:first-child")
    browser.run("const e = document.getElementById('text-filter'); e.value = '7'; e.dispatchEvent(new Event('input'))")
    same(set(texts(browser, "#table tbody th")), {"7"}, "found")
    browser.run("const e = document.getElementById('text-filter'); e.value = 'nowhere'; e.dispatchEvent(new Event('input'))")
    same(browser.run("return document.getElementById('count').textContent"), "Nothing fits these filters.", "nothing")
    browser.run("const e = document.getElementById('text-filter'); e.value = ''; e.dispatchEvent(new Event('input'))")
    browser.run("const e = document.getElementById('label-filter'); e.value = '4'; e.dispatchEvent(new Event('change'))")
    same(set(column(browser, "Label")), {4.0}, "labels")
    browser.run("const e = document.getElementById('label-filter'); e.value = 'all'; e.dispatchEvent(new Event('change'))")
    same(len(texts(browser, "#table tbody tr")), total, "all rows again")


def opens(browser, shots, name):
    browser.click("#view button:first-child")
    browser.wait("return document.querySelectorAll('#gallery canvas').length > 0")
    browser.run("document.getElementById('gallery').scrollIntoView()")
    browser.wait(IS_PAINTED.replace("arguments[0]", "'#gallery > li:first-child canvas'"))
    same(browser.run("return getComputedStyle(document.querySelector('canvas')).imageRendering"), "pixelated", "pixels")
    browser.click("#gallery > li:nth-child(2) .card")
    assert browser.run("return document.getElementById('detail').open"), "a card opens"
    first = texts(browser, "#detail-title")
    same(browser.run(IS_PAINTED, "#detail canvas"), True, "large pictures")
    same(len(texts(browser, "#detail figcaption")), 4, "captions")
    enlarges(browser, shots, name)
    is_tidy(browser, f"{name} dialog")
    browser.screenshot(shots and shots / f"{name}_image.png", whole=False)
    browser.keys("\ue014")
    second = texts(browser, "#detail-title")
    assert first != second, "the arrow leads to the next image"
    browser.keys("\ue012")
    same(texts(browser, "#detail-title"), first, "and back")
    browser.keys("\ue00c")
    browser.wait("return !document.getElementById('detail').open")
    assert browser.run("return document.activeElement.matches('#gallery > li:nth-child(2) .card')"), "the focus comes back"
    # Along the keyboard: the outline is seen, and Enter opens.
    browser.keys("\ue004")
    assert browser.run("return document.activeElement.matches('#gallery > li:nth-child(3) .card')"), "the next card"
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    same(outline, "solid", "outline")
    browser.keys("\ue007")
    browser.wait("return document.getElementById('detail').open")
    browser.click("#close")
    browser.wait("return !document.getElementById('detail').open")


def enlarges(browser, shots, name):
    """A picture that is clicked fills the dialog, and the pixel under the pointer is told."""
    large = "return document.querySelector('#detail figure.chosen canvas')?.clientWidth ?? 0"
    small = browser.run("return document.querySelector('#detail .overlay').clientWidth")
    browser.click("#detail figure:nth-child(4) button")
    assert browser.run(large) > 1.3 * small, "the overlay is enlarged"
    hint = """const canvas = document.querySelector('#detail figure.chosen canvas');
        const box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 1, clientY: box.top + 1 }));
        return document.querySelector('#detail .hint').textContent"""
    same(browser.run(hint), "row 0, column 0: 0.000", "the pixel")
    is_tidy(browser, f"{name} enlarged")
    browser.screenshot(shots and shots / f"{name}_enlarged.png", whole=False)
    browser.click("#detail figure:nth-child(4) button")
    same(browser.run(large), 0, "small again")


def labels(browser):
    """Every search is in the matrix, every image in the table of labels; a cell filters."""
    cells = [[int(part) for part in text.split("/")] for text in texts(browser, ".matrix button")]
    found = browser.run("return [records.filter((r) => r.verdict === 'adversarial').length, records.length]")
    same([sum(column) for column in zip(*cells)], found, "adversaries and searches of all cells")
    rows = [int(text) for text in texts(browser, "#by-class tbody td:nth-child(2)")]
    same(sum(rows), browser.run("return new Set(records.map((r) => r.image)).size"), "images of all labels")
    browser.click("#view button:nth-child(2)")
    pair = browser.run("const b = document.querySelector('.matrix button'); b.click(); return b.getAttribute('aria-label').split(':')[0]")
    shown = set(zip(texts(browser, "#table tbody tr > td:nth-child(3)"), texts(browser, "#table tbody tr > td:nth-child(4)")))
    wanted = {tuple(pair.split(" → "))}
    same({(predicted.removeprefix("✕ "), target) for predicted, target in shown}, wanted, "the searches of a cell")
    browser.click("#pair-filter")
    same(browser.run("return document.getElementById('pair-filter').hidden"), True, "no cell")
    same(browser.run("return listed.length"), found[1], "all searches again")


def heats(browser):
    """The heat map counts every changed pixel of every adversary; labels share it out."""
    same(browser.run(IS_PAINTED, "#heat canvas"), True, "heat map")
    changed = browser.run("return records.filter(isAdversary).reduce((sum, r) => sum + r.changed_pixels, 0)")
    counted = "return heatOf(records.filter((r) => isAdversary(r) && (arguments[0] === 'all' || r.predicted === Number(arguments[0])))).counts.reduce((a, b) => a + b, 0)"
    same(browser.run(counted, "all"), changed, "changed pixels")
    values = browser.run("return [...document.querySelectorAll('#heat-label option')].map((o) => o.value)")
    same(sum(browser.run(counted, value) for value in values if value != "all"), changed, "changed pixels of all labels")
    choose = "const e = document.getElementById('heat-label'); e.value = arguments[0]; e.dispatchEvent(new Event('change')); return document.querySelector('#heat .hint').textContent"
    assert browser.run(choose, values[1]) != browser.run(choose, "all"), "a label has its own map"


def addresses(browser, page):
    """An image has an address; opening and closing it changes the address."""
    title = "return document.getElementById('detail').open && document.getElementById('detail-title').textContent"
    browser.open(page, "#image-4")
    assert browser.run(title).startswith("Image 4: "), "the image of the address"
    browser.click("#close")
    browser.wait("return location.hash === ''")
    browser.open(page, "#image-4711")
    same(browser.run(title), False, "no such image")
    assert "no image 4711" in texts(browser, "#notice")[0], "an address of nothing is told"
    browser.open(page)
    browser.click("#gallery > li:nth-child(2) .card")
    same(browser.run("return location.hash"), "#image-1", "the address of an image")
    browser.click("#close")


def original(image, adversary):
    """A test image as an array file: the header of an adversary's file, and the image's own values."""
    pixels = 28 * 28
    with gzip.open(MNIST_IMAGES) as file:
        file.seek(16 + image * pixels)
        values = [byte / 255 for byte in file.read(pixels)]
    return adversary[: -4 * pixels] + struct.pack(f"<{pixels}f", *values)


def downloads(browser, page):
    """What is saved from the page alone is what lies in the result directory, bit for bit, or for the original in the data."""
    record = browser.run("const r = records.find(isAdversary); openDetail(r, records); return { k: r.k, stem: fileName(r), image: r.image }")
    names = browser.run("return [...document.querySelectorAll('.downloads button')].map((b) => b.dataset.file)")
    stored = page.parent / "adversarial"
    same(names, [f"{record['stem']}.npy", f"{record['stem']}.png", f"{record['image']}.npy"], "downloads")
    with tempfile.TemporaryDirectory() as folder:
        browser.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        for place, name in enumerate(names, 1):
            browser.click(f".downloads button:nth-child({place})")
            saved = wait_for(Path(folder) / name)
            if name.endswith(".png"):
                same(grey(saved), grey((stored / name).read_bytes()), name)
            elif name == f"{record['image']}.npy":
                adversary = (stored / f"{record['stem']}.npy").read_bytes()
                same(saved, original(record["image"], adversary), name)
            else:
                same(saved, (stored / name).read_bytes(), name)
    every = """return Promise.all(records.filter((r) => pictures.witnesses[r.k]).map(async (r) =>
        [fileName(r), btoa(String.fromCharCode(...npyFile(adversaryValues(r)))), btoa(String.fromCharCode(...await pngFile(adversaryBytes(r))))]))"""
    found = browser.run(every)
    same(len(found), browser.run("return records.filter(isAdversary).length"), "adversaries with exact values")
    for stem, npy, png in found:
        same(base64.b64decode(npy), (stored / f"{stem}.npy").read_bytes(), f"{stem}.npy")
        same(grey(base64.b64decode(png)), grey((stored / f"{stem}.png").read_bytes()), f"{stem}.png")
    browser.click("#close")


def wait_for(path):
    for _ in range(400):
        if path.exists() and path.stat().st_size:
            return path.read_bytes()
        time.sleep(0.05)
    raise AssertionError(f"{path.name} was not saved")


def grey(png):
    """Width, height and bytes of an 8-bit grey PNG."""
    same(png[:8], b"\x89PNG\r\n\x1a\n", "PNG")
    at, packed = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        contents = png[at + 8:at + 8 + length]
        same(struct.unpack(">I", png[at + 8 + length:at + 12 + length])[0], zlib.crc32(kind + contents), "checksum")
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", contents[:10])
            same((depth, colour), (8, 0), "8-bit grey")
        packed += contents if kind == b"IDAT" else b""
        at += 12 + length
    raw, rows, above = zlib.decompress(packed), [], bytes(width)
    for y in range(height):
        kind, line = raw[y * (width + 1)], bytearray(raw[y * (width + 1) + 1:(y + 1) * (width + 1)])
        for x in range(width):
            a, b, c = (line[x - 1] if x else 0), above[x], (above[x - 1] if x else 0)
            p = a + b - c
            paeth = a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c) else b if abs(p - b) <= abs(p - c) else c
            line[x] = (line[x] + [0, a, b, (a + b) // 2, paeth][kind]) % 256
        rows.append(bytes(line))
        above = line
    return width, height, b"".join(rows)


def tells_settings(browser):
    """Command, date, version and checksums can be read; names of fields cannot."""
    titles, values = texts(browser, "#settings dt"), texts(browser, "#settings dd")
    told = dict(zip(titles, values))
    assert "--delta 5" in told["command"] and told["begun"].endswith(" UTC"), told
    same({len(told["SHA-256 of the model"]), len(told["SHA-256 of images and labels"])}, {64}, "checksums")
    same([title for title in titles if "_" in title], [], "names of fields")


def prints(browser, page, shots):
    """On paper everything is there: all cards, painted, and the settings; afterwards the page is as before."""
    browser.open(page)
    cards = len(texts(browser, "#gallery > li"))
    browser.run("dispatchEvent(new Event('beforeprint'))")
    same(len(texts(browser, "#gallery > li")), browser.run("return records.length"), "cards on paper")
    same(browser.run(IS_PAINTED, "#gallery canvas"), True, "painted on paper")
    same(browser.run("return document.getElementById('settings').open"), True, "settings on paper")
    browser.run("dispatchEvent(new Event('afterprint'))")
    same(len(texts(browser, "#gallery > li")), cards, "cards on the screen again")
    printed = base64.b64decode(browser.devtools("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)["data"])
    # Two of the three pictures of each card at least are unlike all others.
    pictures = printed.count(b"/Subtype /Image")
    assert pictures >= 2 * browser.run("return records.length"), f"{pictures} pictures on paper"
    if shots:
        (shots / "print.pdf").write_bytes(printed)


def digits(browser, directory, shots):
    page = directory / "digits/report.html"
    browser.look()
    browser.open(page)
    is_quiet(browser, page)
    same(len(texts(browser, "#gallery > li")), 48, "cards of the first page")
    browser.click("#more")
    same(len(texts(browser, "#gallery > li")), 50, "cards")
    same(len(texts(browser, "#plots figure")), 3, "plots")
    same(texts(browser, "#subject"), ["mnist_2x500.onnx"], "the model")
    sorts(browser)
    filters(browser)
    labels(browser)
    heats(browser)
    addresses(browser, page)
    downloads(browser, page)
    tells_settings(browser)
    prints(browser, page, shots)
    for size, name in [(DESKTOP, "desktop"), (PHONE, "phone")]:
        for dark in [False, True]:
            what = f"{name}_{'dark' if dark else 'light'}"
            browser.look(size, dark)
            browser.open(page)
            is_tidy(browser, what)
            opens(browser, shots, what)
            browser.run("scrollTo(0, 0)")
            browser.run("for (const card of document.querySelectorAll('.card')) paintAll(card, records[card.dataset.record])")
            browser.screenshot(shots and shots / f"{what}.png")
            browser.click("#view button:nth-child(2)")
            is_tidy(browser, f"{what}_table")
            browser.run("document.getElementById('results').scrollIntoView()")
            browser.screenshot(shots and shots / f"{what}_table.png", whole=False)
            is_quiet(browser, page)


def others(browser, directory, shots):
    """Several targets an image, names that are markup, inputs that are no pictures."""
    browser.look()
    page = directory / "targets/report.html"
    browser.open(page)
    same(len(texts(browser, "#gallery > li")), 48, "cards of the first page")
    browser.click("#more")
    same(len(texts(browser, "#gallery > li")), 96, "cards of two pages")
    same(texts(browser, "#count"), ["1800 results, the first 96 shown"], "count")
    is_tidy(browser, "targets")
    browser.screenshot(shots and shots / "targets.png")
    is_quiet(browser, page)
    page = directory / "hostile/report.html"
    browser.open(page)
    browser.click("#view button:nth-child(2)")
    same(sorted(texts(browser, "#table tbody td:nth-child(2)")), sorted(HOSTILE), "names")
    same(browser.run("return document.title"), "rw-adv: mnist_2x16.onnx", "title")
    is_quiet(browser, page)
    page = directory / "numbers_out/report.html"
    browser.open(page)
    same(len(texts(browser, "#gallery > li")), 5, "cards")
    assert texts(browser, "#gallery .changes li"), "changes are listed"
    is_tidy(browser, "numbers")
    browser.click("#gallery > li:first-child .card")
    is_quiet(browser, page)
    browser.screenshot(shots and shots / "numbers.png", whole=False)


def kinds(browser, directory, shots):
    """Radii, property files and a maximum."""
    for name, rows, figures in [("radii", 12, 3), ("instances", 3, 1), ("maximum", 0, 0)]:
        page = directory / name / "report.html"
        for size, what in [(DESKTOP, "desktop"), (PHONE, "phone")]:
            browser.look(size)
            browser.open(page)
            is_tidy(browser, f"{name} {what}")
            same(len(texts(browser, "#plots figure")), figures, f"plots of {name}")
            browser.run("for (const card of document.querySelectorAll('.card')) paintAll(card, records[card.dataset.record])")
            browser.screenshot(shots and shots / f"{name}_{what}.png")
        if name == "radii":
            same(len(texts(browser, "#gallery > li")), rows, "images")
            browser.open(page, "#image-3")
            same(browser.run(IS_PAINTED, "#detail canvas"), True, "the nearest adversary")
        if name == "instances":
            same(sorted(text.split()[-1] for text in texts(browser, "#table tbody .pill")), ["error", "sat", "unsat"], "results")
            browser.open(page, "#instance-1")
            same(browser.run("return document.getElementById('detail').open"), True, "an instance of the address")
        if name == "maximum":
            same(len(texts(browser, "#overview .panel")), 3, "value, outputs and point")
        is_quiet(browser, page)


def many(browser, directory):
    """Ten thousand images are looked at soon after the page is opened."""
    browser.look()
    browser.open(directory / "many/report.html")
    seconds = browser.run("return performance.now()") / 1000
    size = (directory / "many/report.html").stat().st_size / 1e6
    print(f"scripts/test-report: 10000 images, {size:.1f} MB: ready after {seconds:.1f} s", file=sys.stderr)
    # Twice the goal, for machines that do something else as well.
    assert seconds < 4, f"ready after {seconds:.1f} s"


def colour(browser, directory, shots):
    """A picture in colour, from a directory without summary: red grows to the right, green downward."""
    page = directory / "colour/report.html"
    browser.look()
    browser.open(page)
    browser.click("#gallery .card")
    pixels = """return [...document.querySelectorAll('#detail canvas')].map((canvas) =>
        arguments[0].map(([x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3)))"""
    original, adversary, change, overlay = browser.run(pixels, [[0, 0], [3, 2], [7, 7]])
    same(original, [[0, 0, 128], [96, 64, 128], [224, 224, 128]], "colours")
    # Blue up at the first pixel, red down to nothing at the last.
    same(adversary, [[0, 0, 255], [96, 64, 128], [0, 224, 128]], "changed colours")
    # The change of each channel around grey.
    same([change[0][:2], change[0][2] > 128, change[1]], [[128, 128], True, [0, 0, 0]], "blue up")
    same([change[2][0] < 128, change[2][1:]], [True, [128, 128]], "red down")
    same([overlay[0][0] > overlay[0][2], overlay[1], overlay[2][2] > overlay[2][0]], [True, original[1], True], "overlay")
    assert "did not come to its end" in texts(browser, "#notice")[0], "a run without summary"
    is_tidy(browser, "colour")
    browser.screenshot(shots and shots / "colour.png", whole=False)
    is_quiet(browser, page)
    page = directory / "empty/report.html"
    browser.open(page)
    same(texts(browser, "#count"), ["Nothing fits these filters."], "nothing at all")
    browser.click("#view button:nth-child(2)")
    is_quiet(browser, page)


def stored(directory, records, sketches):
    directory.mkdir(parents=True)
    for path, lines in [("results.jsonl", records), ("sketches.jsonl", sketches)]:
        (directory / path).write_text("".join(json.dumps(line) + "\n" for line in lines))


def samples(directory):
    """Three grey squares whose names are markup, five inputs of five numbers, and stored results."""
    stored(directory / "empty", [], [])
    picture = bytes(value for y in range(8) for x in range(8) for value in (32 * x, 32 * y, 128))
    # Two values further 127 more, that is 254 in zigzag order; 186 further 224 less, 447.
    changes = base64.b64encode(bytes([2, 0xFE, 1, 0xBA, 1, 0xBF, 3])).decode()
    counts = ["starts", "regions", "lps", "iterations", "nodes", "depth", "open_nodes", "seed"]
    record = {"schema": "rw-adv/1", "image": 0, "predicted": 1, "target": 2, "delta": 2.0, "norm": "l1", "verdict": "adversarial",
              "margin": 0.5, "margin_f32": 0.5, "distance": 1.4, "changed_pixels": 2, "optimal": False,
              **dict.fromkeys(counts, 1), "seconds": 0.3, "seconds_to_best": 0.2, "stop": "no_gain"}
    stored(directory / "colour", [record], [
        {"schema": "rw-adv/sketches/1", "picture": {"width": 8, "height": 8, "channels": 3}},
        {"image": 0, "original": base64.b64encode(picture).decode()},
        {"image": 0, "target": 2, "changes": changes, "curve": [[0.1, -1.0], [0.2, 0.5]]},
    ])
    names = directory / "names"
    names.mkdir()

    def chunk(kind, contents):
        checked = kind + contents
        return struct.pack(">I", len(contents)) + checked + struct.pack(">I", zlib.crc32(checked))

    for shade, name in enumerate(HOSTILE):
        rows = b"".join(b"\0" + bytes((x * y * (shade + 1)) % 256 for x in range(28)) for y in range(28))
        head = struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)
        body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
        (names / name).write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    inputs = "".join(f"(declare-const X_{k} Real)(assert (<= X_{k} 1))(assert (>= X_{k} 0))" for k in range(5))
    for name, least in [("low", -1000), ("high", 1000)]:
        (directory / f"{name}.vnnlib").write_text(
            inputs + "".join(f"(declare-const Y_{k} Real)" for k in range(5)) + f"(assert (>= Y_0 {least}))")
    network = Path("tests/zoo/accepted/acasxu_style.onnx").resolve()
    (directory / "instances.csv").write_text(f"{network},low.vnnlib,10\n{network},high.vnnlib,10\n{network},missing.vnnlib,10\n")
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 5), }".ljust(117) + "\n"
    values = struct.pack("<25f", *[k % 7 / 10 for k in range(25)])
    (directory / "numbers.npy").write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + values)


def look(directory, shots):
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
    browser = Browser()
    try:
        digits(browser, directory, shots)
        others(browser, directory, shots)
        colour(browser, directory, shots)
        kinds(browser, directory, shots)
        many(browser, directory)
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["samples", "look"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--screenshots", type=Path)
    args = parser.parse_args()
    if args.command == "samples":
        samples(args.directory)
        return
    try:
        look(args.directory.resolve(), args.screenshots)
    except AssertionError as error:
        sys.exit(f"scripts/test-report: {error}")


if __name__ == "__main__":
    main()
