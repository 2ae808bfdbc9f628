// Paper cannot be scrolled: before printing all that is listed is there and painted, plots are as wide as the sheet, settings are open.

/// Records on paper, at most.
const PRINTED = { gallery: 500, table: 5000 };
/// Width of a plot on paper, in CSS pixels.
const PAPER = 660;

function listenToPrinter() {
  let before = null;
  addEventListener("beforeprint", () => {
    before = { shown: state.shown, open: byId("settings").open };
    printing = true;
    byId("settings").open = true;
    state.shown = Math.max(state.shown, PRINTED[state.view]);
    show();
    for (const card of document.querySelectorAll(".card")) {
      const record = records[card.dataset.record];
      if (isDrawn(record)) paintAll(card, record);
    }
    for (const drawing of drawings) drawing.redraw(PAPER);
    for (const repaint of repaints) repaint();
  });
  addEventListener("afterprint", () => {
    printing = false;
    byId("settings").open = before.open;
    state.shown = before.shown;
    show();
    for (const drawing of drawings) drawing.fit();
    for (const repaint of repaints) repaint();
  });
}
