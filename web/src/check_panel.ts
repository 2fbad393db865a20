// Nodes to look at: those that are wrong, and those that the model is least certain of.

import { css } from "./colours";
import { type Data, NO_CLASS } from "./data";
import { byId, element, fill, grouped, percent } from "./dom";
import type { GraphView } from "./graph_view";
import type { Store } from "./state";

const MAX_ROWS = 50;

export class CheckPanel {
  private readonly panel = byId("panel-check");

  constructor(
    private readonly data: Data, private readonly store: Store, private readonly view: GraphView,
  ) {
    store.subscribe((state, changed) => {
      if (state.tab === "check" && (changed.has("frame") || changed.has("tab"))) this.show();
    });
    this.show();
  }

  show(): void {
    const { data } = this;
    const { frame } = this.store.state;
    const wrong: number[] = [], all: number[] = [];
    for (let node = 0; node < data.n; node++) {
      all.push(node);
      const truth = data.codes[node];
      if (truth !== NO_CLASS && truth !== data.prediction(node, frame)) wrong.push(node);
    }
    const sure = (node: number) => data.confidences[frame * data.n + node];
    wrong.sort((a, b) => sure(b) - sure(a) || a - b);
    all.sort((a, b) => sure(a) - sure(b) || a - b);
    fill(
      this.panel,
      this.table("wrong-nodes", `Wrong at ${data.timeName(frame)}, the most confident first`, wrong),
      this.table("uncertain-nodes", `Least certain at ${data.timeName(frame)}`, all),
    );
  }

  private table(id: string, title: string, nodes: number[]): HTMLElement {
    const { data } = this;
    const { frame } = this.store.state;
    const rows = nodes.slice(0, MAX_ROWS).map((node) => {
      const button = element("button", { type: "button", class: "link" }, data.id(node));
      button.addEventListener("click", () => {
        this.store.update({ node, tab: "node" });
        this.view.reveal(node);
      });
      const truth = data.codes[node];
      return element(
        "tr", {},
        element("th", { scope: "row" }, button),
        element("td", {}, this.label(data.prediction(node, frame))),
        element("td", { class: "number" }, percent(data.confidence(node, frame), 0)),
        element("td", {}, truth === NO_CLASS ? "" : this.label(truth)),
        element("td", { class: "soft" }, data.parts[node] ? data.values.parts[data.parts[node]] : ""),
      );
    });
    const head = ["node", "predicted", "sure", "true", "part"].map((name) =>
      element("th", { scope: "col" }, name),
    );
    const more = nodes.length - rows.length;
    return element(
      "section", {},
      element("h3", {}, title),
      nodes.length
        ? element(
            "div", { class: "scroll" },
            element("table", { class: "list", id }, element("thead", {}, element("tr", {}, ...head)),
              element("tbody", {}, ...rows)),
          )
        : element("p", { class: "soft" }, "none"),
      ...(more > 0 ? [element("p", { class: "soft small" }, `and ${grouped(more)} more`)] : []),
    );
  }

  private label(code: number): HTMLElement {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = css(this.view.theme.classes[code]);
    return element("span", { class: "class-label" }, swatch, this.data.className(code));
  }
}
