// The confusion matrix, precision and recall of the time that the slider shows.

import { css, mix } from "./colours";
import { type Data, NO_CLASS, PARTS } from "./data";
import { byId, element, fill, grouped, percent } from "./dom";
import type { GraphView } from "./graph_view";
import type { Store } from "./state";

export class ClassesPanel {
  private readonly panel = byId("panel-classes");

  constructor(
    private readonly data: Data, private readonly store: Store, private readonly view: GraphView,
  ) {
    store.subscribe((state, changed) => {
      const concerns = changed.has("frame") || changed.has("tab") || changed.has("part");
      if (state.tab === "classes" && concerns) this.show();
    });
    this.show();
  }

  show(): void {
    const { data } = this;
    const { frame, part } = this.store.state;
    const counts = confusion(data, frame, PARTS.indexOf(part as (typeof PARTS)[number]));
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) {
      fill(this.panel, this.partChoice(), element("p", { class: "soft" }, "No labelled nodes."));
      return;
    }
    const right = data.values.classes.reduce((sum, _, c) => sum + counts[c * data.C + c], 0);
    fill(
      this.panel,
      this.partChoice(),
      element("p", {}, element("strong", {}, percent(right / total)),
        ` of ${grouped(total)} nodes are right at ${data.timeName(frame)}.`),
      this.matrix(counts),
      this.perClass(counts),
      ...(data.values.shown < data.values.nodes
        ? [element("p", { class: "soft small" }, "Counted among the nodes shown.")]
        : []),
    );
  }

  private partChoice(): HTMLElement {
    const select = element("select", { id: "part" });
    const has = [0, 1, 2, 3].map((part) =>
      this.data.codes.some((code, node) => code !== NO_CLASS && this.data.parts[node] === part),
    );
    [3, 2, 1, 0].filter((part) => has[part]).forEach((part) => {
      const name = part ? `${this.data.values.parts[part]} nodes` : "labelled nodes in no part";
      select.append(element("option", { value: PARTS[part] }, name));
    });
    select.value = this.store.state.part;
    select.addEventListener("change", () => this.store.update({ part: select.value }));
    return element("label", { class: "choice" }, "Nodes ", select);
  }

  private matrix(counts: number[]): HTMLElement {
    const { C, values } = this.data;
    const head = values.classes.map((name, at) => element("th", { scope: "col" }, this.key(at, name)));
    const rows = values.classes.map((name, row) => {
      const sum = values.classes.reduce((total, _, at) => total + counts[row * C + at], 0) || 1;
      const cells = values.classes.map((_, at) => {
        const count = counts[row * C + at];
        const cell = element("td", {}, grouped(count));
        const strength = count / sum;
        const colour = this.view.theme.classes[at];
        const back = mix(this.view.theme.background, colour, 0.75 * strength);
        cell.style.background = css(back);
        // At this luminance black and white have the same contrast.
        cell.style.color = luminance(back) > 0.179 ? "#000" : "#fff";
        cell.title = `${grouped(count)} of ${name} predicted as ${values.classes[at]}`;
        return cell;
      });
      return element("tr", {}, element("th", { scope: "row" }, this.key(row, name)), ...cells);
    });
    return element(
      "section", {},
      element("h3", {}, "Confusion matrix"),
      element("p", { class: "soft small" }, "Rows are true classes, columns predicted ones."),
      element(
        "div", { class: "scroll" },
        element(
          "table", { class: "matrix", id: "confusion" },
          element("thead", {}, element("tr", {}, element("td", {}), ...head)),
          element("tbody", {}, ...rows),
        ),
      ),
    );
  }

  private key(code: number, name: string): HTMLElement {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = css(this.view.theme.classes[code]);
    return element(
      "span", { class: "class-label", title: name }, swatch, element("span", { class: "class-name" }, name),
    );
  }

  private perClass(counts: number[]): HTMLElement {
    const { C, values } = this.data;
    const rows = values.classes.map((name, c) => {
      const support = values.classes.reduce((sum, _, at) => sum + counts[c * C + at], 0);
      const predicted = values.classes.reduce((sum, _, at) => sum + counts[at * C + c], 0);
      const hit = counts[c * C + c];
      const share = (whole: number) => (whole ? percent(hit / whole) : "–");
      return element(
        "tr", {},
        element("th", { scope: "row" }, this.key(c, name)),
        element("td", { class: "number" }, grouped(support)),
        element("td", { class: "number" }, share(predicted)),
        element("td", { class: "number" }, share(support)),
      );
    });
    const head = ["class", "nodes", "precision", "recall"].map((name, at) =>
      element("th", at ? { scope: "col", class: "number" } : { scope: "col" }, name),
    );
    return element(
      "section", {},
      element("h3", {}, "Precision and recall"),
      element("div", { class: "scroll" },
        element("table", { class: "list", id: "per-class" },
          element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))),
    );
  }
}

/** Numbers of nodes by true class (rows) and predicted class (columns). */
export function confusion(data: Data, frame: number, part: number): number[] {
  const counts = new Array<number>(data.C * data.C).fill(0);
  for (let node = 0; node < data.n; node++) {
    const truth = data.codes[node];
    if (truth === NO_CLASS || data.parts[node] !== part) continue;
    counts[truth * data.C + data.prediction(node, frame)]++;
  }
  return counts;
}

function luminance(colour: [number, number, number]): number {
  const [r, g, b] = colour.map((value) => (value / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
