// Files that the page saves: pictures as PNG and SVG, and the nodes shown as CSV.

import { nodeRadius, toScreen } from "./camera";
import { colourOf, css } from "./colours";
import { type Data, NO_CLASS, PARTS } from "./data";
import type { GraphView } from "./graph_view";
import { edgeOpacity } from "./renderer";
import type { State } from "./state";

function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(data: Data, suffix: string): string {
  const safe = data.values.title.replace(/[^\w.-]+/g, "-").slice(0, 60) || "graph";
  return `${safe}.${suffix}`;
}

export function savePng(data: Data, view: GraphView): void {
  view.draw();
  const picture = document.createElement("canvas");
  picture.width = view.canvas.width;
  picture.height = view.canvas.height;
  const context = picture.getContext("2d");
  if (!context) return;
  context.drawImage(view.canvas, 0, 0);
  context.drawImage(view.overlay, 0, 0);
  picture.toBlob((content) => content && save(content, fileName(data, "png")));
}

export function saveSvg(data: Data, view: GraphView, state: State): void {
  save(new Blob([toSvg(data, view, state)], { type: "image/svg+xml" }), fileName(data, "svg"));
}

/** Nodes and edges within the view, and nothing that needs escaping: no text. */
export function toSvg(data: Data, view: GraphView, state: State): string {
  const { width, height } = view.view;
  const place = (node: number) =>
    toScreen(data.positions[2 * node], data.positions[2 * node + 1], state.camera, view.view);
  const isInside = ([x, y]: [number, number]) => x > -20 && y > -20 && x < width + 20 && y < height + 20;
  const radius = nodeRadius(state.camera, view.view, data.n);
  const lines: string[] = [];
  data.edges.sources.forEach((i, e) => {
    const a = place(i), b = place(data.edges.targets[e]);
    if (isInside(a) || isInside(b)) {
      lines.push(`M${a[0].toFixed(1)} ${a[1].toFixed(1)}L${b[0].toFixed(1)} ${b[1].toFixed(1)}`);
    }
  });
  const dots: string[] = [];
  for (let node = 0; node < data.n; node++) {
    const [x, y] = place(node);
    if (!isInside([x, y]) || !view.isShown(node, state)) continue;
    const colour = css(colourOf(data, state.mode, node, state.frame, view.theme)).replace(/ /g, ",");
    dots.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius.toFixed(1)}" fill="${colour}"/>`);
  }
  const { background, soft } = view.theme;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">` +
    `<rect width="100%" height="100%" fill="${css(background).replace(/ /g, ",")}"/>` +
    `<path d="${lines.join("")}" stroke="${css(soft).replace(/ /g, ",")}" ` +
    `stroke-opacity="${edgeOpacity(data, state.camera).toFixed(3)}" fill="none"/>` +
    `${dots.join("")}</svg>`
  );
}

export function saveCsv(data: Data, view: GraphView, state: State): void {
  save(new Blob([toCsv(data, view, state)], { type: "text/csv" }), fileName(data, "csv"));
}

/** The nodes that the legend's filter shows. */
export function toCsv(data: Data, view: GraphView, state: State): string {
  const T = data.values.times[state.frame];
  const rows = [["id", "T", "predicted", "confidence", "true", "part", "neighbours"]];
  for (let node = 0; node < data.n; node++) {
    if (!view.isShown(node, state)) continue;
    const truth = data.codes[node];
    rows.push([
      data.id(node),
      T === null ? "" : String(T),
      data.className(data.prediction(node, state.frame)),
      data.confidence(node, state.frame).toFixed(3),
      truth === NO_CLASS ? "" : data.className(truth),
      data.parts[node] ? PARTS[data.parts[node]] : "",
      String(data.degrees[node]),
    ]);
  }
  return rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** Spreadsheets run cells that start like a formula: an apostrophe makes them text. */
export function csvCell(text: string): string {
  const isNumber = text !== "" && Number.isFinite(Number(text)) && /^-?[\d.]/.test(text);
  const guarded = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n']/.test(guarded) ? `"${guarded.replace(/"/g, '""')}"` : guarded;
}
