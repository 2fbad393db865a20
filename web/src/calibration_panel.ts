// The reliability curve: accuracy over confidence, before and after temperature scaling.

import type { Bin, Data } from "./data";
import { byId, element, fill, grouped, percent, svg } from "./dom";

const SIZE = 300, LEFT = 40, BOTTOM = 36, RIGHT = 12, TOP = 12;

export function showCalibration(data: Data): void {
  const panel = byId("panel-calibration");
  const found = data.values.reliability;
  if (!found) {
    fill(panel, element("p", { class: "soft" }, "No labelled nodes to measure calibration on."));
    return;
  }
  const names: Record<string, string> = {
    test: "test nodes", val: "validation nodes", none: "labelled nodes outside the split",
  };
  const { temperature } = data.values.model;
  const isScaled = temperature !== 1;
  const series: [string, Bin[]][] = isScaled
    ? [["before", found.before], ["after", found.after]]
    : [["after", found.after]];
  const error = (bins: Bin[]) =>
    bins.reduce((sum, bin) => sum + bin.nodes * Math.abs(bin.accuracy - bin.confidence), 0) / found.nodes;
  const sentence = isScaled
    ? `Temperature scaling divides the scores by ${temperature.toFixed(2)}. The calibration error ` +
      `goes from ${percent(error(found.before))} to ${percent(error(found.after))}.`
    : `The model is not calibrated; its calibration error is ${percent(error(found.after))}.`;
  fill(
    panel,
    element("h3", {}, "Reliability"),
    element("p", {}, "Of the nodes that are predicted with 80 % confidence, 80 % should be right. ", sentence),
    curve(series),
    element(
      "p", { class: "keys" },
      ...series.map(([name]) =>
        element("span", { class: `key ${name}` }, isScaled ? `${name} calibration` : "as fitted")),
    ),
    element("p", { class: "soft small" },
      `${grouped(found.nodes)} ${names[found.part]} in ${found.after.length} bins of confidence, ` +
      `at ${data.timeName(data.values.chosen)}; the area of a dot is its number of nodes.`),
  );
}

function curve(series: [string, Bin[]][]): SVGElement {
  const x = (value: number) => LEFT + value * (SIZE - LEFT - RIGHT);
  const y = (value: number) => SIZE - BOTTOM - value * (SIZE - BOTTOM - TOP);
  const picture = svg("svg", {
    viewBox: `0 0 ${SIZE} ${SIZE}`, class: "reliability", role: "img", id: "reliability",
    "aria-label": "Accuracy over confidence",
  });
  for (const value of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(
      svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }, `${100 * value}`),
      svg("text", { class: "tick", x: x(value), y: SIZE - BOTTOM + 14, "text-anchor": "middle" }, `${100 * value}`),
    );
  }
  picture.append(
    svg("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    svg("text", { class: "tick", x: x(0.5), y: SIZE - 4, "text-anchor": "middle" }, "confidence (%)"),
    svg("text", {
      class: "tick", x: 0, y: 0, "text-anchor": "middle", transform: `translate(10 ${y(0.5)}) rotate(-90)`,
    }, "accuracy (%)"),
  );
  for (const [name, bins] of series) {
    const most = Math.max(...bins.map((bin) => bin.nodes));
    const points = bins.map((bin) => `${x(bin.confidence)},${y(bin.accuracy)}`).join(" ");
    picture.append(svg("polyline", { class: `curve ${name}`, points }));
    for (const bin of bins) {
      picture.append(svg("circle", {
        class: `dot ${name}`, cx: x(bin.confidence), cy: y(bin.accuracy),
        r: 2 + 5 * Math.sqrt(bin.nodes / most),
      }, svg("title", {}, `${grouped(bin.nodes)} nodes: confidence ${percent(bin.confidence)}, accuracy ${percent(bin.accuracy)}`)));
    }
  }
  return picture;
}
