"use strict";
// Buttons in the heads of tables sort their rows. Cells without a number stay last.
const UNITS = { ms: 1e-3, min: 60, h: 3600, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const NUMBER = /^[+\-−]?(\d[\d,]*\.?\d*|\.\d+)(e[+-]?\d+)?/i;

function textOf(cell) {
  const shown = [...cell.childNodes].filter((node) => node.nodeName !== "SMALL");
  return shown.map((node) => node.textContent).join("").trim();
}

function numberOf(text) {
  const found = text.match(NUMBER);
  if (!found) return NaN;
  const unit = text.slice(found[0].length).trim().split(/\s/)[0];
  return Number(found[0].replace(/,/g, "").replace("−", "-")) * (UNITS[unit] ?? 1);
}

function compare(a, b, direction) {
  if (typeof a === "string") return direction * a.localeCompare(b, undefined, { numeric: true });
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return direction * (a - b);
}

function sortBy(table, head, column) {
  const isText = head.classList.contains("text");
  const first = isText ? "ascending" : "descending";
  const second = isText ? "descending" : "ascending";
  const order = head.getAttribute("aria-sort") === first ? second : first;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const keyed = [...table.tBodies[0].rows].map((row) => {
    const text = textOf(row.cells[column]);
    return [isText ? text : numberOf(text), row];
  });
  const direction = order === "ascending" ? 1 : -1;
  keyed.sort(([a], [b]) => compare(a, b, direction));
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sortBy(table, head, column));
  });
}
