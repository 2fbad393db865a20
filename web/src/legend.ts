// The legend: what colours mean, how many nodes have each, and a filter by it.

import { type Category, categories, categoryOf, css, maxDegree, ramp } from "./colours";
import type { Data } from "./data";
import { byId, element, fill, grouped } from "./dom";
import type { GraphView } from "./graph_view";
import type { State, Store } from "./state";

export class Legend {
  private readonly list = byId("legend");

  constructor(
    private readonly data: Data, private readonly store: Store, private readonly view: GraphView,
  ) {
    store.subscribe((_, changed) => {
      if (changed.has("frame") || changed.has("mode") || changed.has("hidden")) this.show();
    });
    this.show();
  }

  show(): void {
    const { state } = this.store;
    const list = categories(this.data, state.mode, this.view.theme);
    if (!list) {
      fill(this.list, this.scale(state));
      return;
    }
    const counts = countCategories(this.data, state, list.length);
    // Rows are kept, so that the one with the focus does not lose it.
    if (this.list.dataset.mode !== state.mode || this.list.children.length !== list.length) {
      fill(this.list, ...list.map((_, at) => this.row(at)));
    }
    this.list.dataset.mode = state.mode;
    list.forEach((category, at) => this.update(at, category, counts[at]));
  }

  private row(at: number): HTMLElement {
    const button = element(
      "button", { type: "button", class: "legend-row" },
      element("span", { class: "swatch" }),
      element("span", { class: "legend-name" }),
      element("span", { class: "legend-count" }),
    );
    button.addEventListener("click", (event) => this.toggle(at, event.altKey || event.shiftKey));
    button.addEventListener("dblclick", () => this.toggle(at, true));
    return button;
  }

  private update(at: number, category: Category, count: number): void {
    const row = this.list.children[at] as HTMLElement;
    const isHidden = this.store.state.hidden.has(at);
    row.setAttribute("aria-pressed", String(!isHidden));
    row.title = isHidden ? "Show" : "Hide; with Shift or a double click, show this alone";
    (row.children[0] as HTMLElement).style.background = css(category.colour);
    row.children[1].textContent = category.name;
    row.children[2].textContent = grouped(count);
    row.dataset.count = String(count);
  }

  private toggle(at: number, alone: boolean): void {
    const hidden = new Set(this.store.state.hidden);
    if (alone) {
      const others = [...this.list.children].map((_, other) => other).filter((one) => one !== at);
      const isAlone = others.every((other) => hidden.has(other)) && !hidden.has(at);
      this.store.update({ hidden: new Set(isAlone ? [] : others) });
      return;
    }
    if (!hidden.delete(at)) hidden.add(at);
    this.store.update({ hidden });
  }

  private scale(state: State): HTMLElement {
    delete this.list.dataset.mode;
    const stops = [0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => css(ramp(value)));
    const bar = element("div", { class: "ramp" });
    bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const [low, high] =
      state.mode === "confidence" ? ["0 %", "100 %"] : ["0", grouped(maxDegree(this.data))];
    const name = state.mode === "confidence" ? "confidence" : "neighbours, log scale";
    const ends = element(
      "div", { class: "ramp-ends" },
      element("span", {}, low), element("span", {}, name), element("span", {}, high),
    );
    return element("div", { class: "scale" }, bar, ends);
  }
}

export function countCategories(data: Data, state: State, length: number): number[] {
  const counts = new Array<number>(length).fill(0);
  for (let node = 0; node < data.n; node++) {
    counts[categoryOf(data, state.mode, node, state.frame)]++;
  }
  return counts;
}
