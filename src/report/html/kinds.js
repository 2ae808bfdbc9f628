// What differs between the pages of attacks, radii, a maximum and property files.

const KINDS = {
  attacks: {
    noun: "image", title: "Images", statuses: VERDICTS, plots: () => [gapFigure, timeFigure, heatFigure], gallery: true,
    columns: [
      ["image", "Image", 0], ["name", "File"], ["label", "Label", 0], ["predicted", "Predicted", 0], ["target", "Target", 0],
      ["verdict", "Verdict"], ["margin", "Margin", 4], ["upper_bound", "Bound", 4], ["gap", "Gap", 4],
      ["distance", "Distance", 4], ["changed_pixels", "Pixels", 0], ["starts", "Starts", 0], ["nodes", "Nodes", 0],
      ["seconds", "Seconds", 2], ["stop", "Ended by"], ["error", "Error"],
    ],
    facts: [["margin", "margin", 2], ["upper_bound", "bound", 2], ["gap", "gap", 2], ["distance", "distance", 2], ["changed_pixels", "pixels", 0]],
    sentence: (record) => {
      const [from, to] = [labelText(record.predicted), labelText(record.target)];
      const outcome = {
        adversarial: `${from} is taken for ${to}`,
        robust: `${from} is never taken for ${to}`,
        unknown: `undecided whether ${from} can be taken for ${to}`,
      }[record.verdict];
      const bound = record.upper_bound == null ? "" : `, bound ${number(record.upper_bound, 2)}`;
      return `Image ${record.image}: ${outcome}, margin ${number(record.margin, 2)}${bound}`;
    },
  },
  radii: {
    noun: "image", title: "Images", statuses: [], plots: () => [bracketFigure, radiusFigure, heatFigure], gallery: true,
    columns: [
      ["image", "Image", 0], ["name", "File"], ["label", "Label", 0], ["predicted", "Predicted", 0], ["target", "Target", 0],
      ["certified_radius", "Certified", 5], ["attack_radius", "Attacked", 5], ["ratio", "Ratio", 2],
      ["changed_pixels", "Pixels", 0], ["seconds", "Seconds", 2], ["stop", "Ended by"], ["error", "Error"],
    ],
    facts: [["certified_radius", "certified", 3], ["attack_radius", "attacked", 3], ["ratio", "ratio", 2], ["changed_pixels", "pixels", 0]],
    sentence: (record) => {
      const attacked = record.attack_radius == null ? "no adversary found"
        : `taken for ${labelText(record.target)} at distance ${number(record.attack_radius, 3)}`;
      return `Image ${record.image}: ${labelText(record.predicted)} holds within ${number(record.certified_radius, 3)}, ${attacked}`;
    },
  },
  instances: {
    noun: "instance", title: "Instances", statuses: RESULTS, plots: () => [decidedFigure], gallery: false,
    columns: [
      ["instance", "Instance", 0], ["result", "Result"], ["seconds", "Seconds", 2], ["timeout", "Limit", 0], ["nodes", "Nodes", 0],
      ["upper_bound", "Bound", 4], ["starts", "Starts", 0], ["model", "Network"], ["property", "Property"], ["stop", "Ended by"],
    ],
    facts: [],
    sentence: (record) => `Instance ${record.instance}: ${record.result} after ${number(record.seconds, 2)} s`,
  },
  maximum: { noun: "result", title: "Result", statuses: VERDICTS, plots: () => [], gallery: false, columns: [["value", "Value", 6]], facts: [],
    sentence: (record) => `Value ${number(record.value, 6)}` },
};

const kind = KINDS[data.kind];
/// The number of a record: of its image, or of its instance.
const indexField = data.kind === "instances" ? "instance" : "image";

/// A record in one sentence.
function sentence(record) {
  if (record.error != null && indexField === "image") return `Image ${record.image}: no answer: ${record.error}`;
  return kind.sentence(record);
}
