// What the page tells of the selected node.

import { css } from "./colours";
import { type Data, NO_CLASS } from "./data";
import { byId, element, fill, grouped, percent, signed } from "./dom";
import { type Explanation, Explainer, largest } from "./explanation";
import type { GraphView } from "./graph_view";
import type { Store } from "./state";

const NUM_SOURCES = 12;
/** Classes whose probabilities are listed. */
const MAX_CLASSES = 10;

export class NodePanel {
  private readonly panel = byId("panel-node");
  private readonly explainer: Explainer;

  constructor(
    private readonly data: Data, private readonly store: Store, private readonly view: GraphView,
  ) {
    this.explainer = new Explainer(data);
    store.subscribe((_, changed) => {
      if (changed.has("node") || changed.has("frame")) this.show(changed.has("node"));
    });
    this.show(true);
  }

  show(isNew: boolean): void {
    const { node } = this.store.state;
    if (node === null) {
      fill(this.panel, hint());
      this.view.showInfluences([]);
      return;
    }
    const code = this.data.prediction(node, this.data.values.chosen);
    if (!isNew && this.panel.dataset.node === String(node)) {
      this.panel.querySelector(".now-line")?.replaceWith(this.now(node));
      return;
    }
    this.panel.dataset.node = String(node);
    const parts: HTMLElement[] = [this.heading(node), this.now(node), this.probabilities(node, code)];
    if (this.explainer.isAble) {
      const explanation = this.explainer.explain(node, code);
      const sources = largest(explanation.shares, NUM_SOURCES);
      this.view.showInfluences(
        sources.map((source) => ({ node: source, share: explanation.shares[source] })),
      );
      parts.push(this.sources(explanation, sources));
    } else {
      this.view.showInfluences([]);
      parts.push(note(
        this.data.values.shown < this.data.values.nodes
          ? "Shares of source nodes need the whole graph, and the page has a sample. " +
            "`heatgraph explain` prints them."
          : "The model reads directions of edges, which this page does not have. " +
            "`heatgraph explain` prints the shares of source nodes.",
      ));
    }
    const features = this.features(node, code);
    if (features) parts.push(features);
    fill(this.panel, ...parts);
  }

  private heading(node: number): HTMLElement {
    const { data } = this;
    const truth = data.codes[node];
    const facts = [
      data.values.parts[data.parts[node]] + (data.parts[node] ? " node" : " of the split"),
      data.degrees[node] === 1 ? "1 neighbour" : `${grouped(data.degrees[node])} neighbours`,
    ];
    return element(
      "div", { class: "node-heading" },
      element("h2", {}, `Node ${data.id(node)}`),
      element("p", { class: "soft" }, facts.join(" · ")),
      element(
        "p", {}, "true label: ",
        truth === NO_CLASS ? element("span", { class: "soft" }, "none that the model knows") : this.label(truth),
      ),
    );
  }

  private now(node: number): HTMLElement {
    const { frame } = this.store.state;
    const code = this.data.prediction(node, frame);
    const truth = this.data.codes[node];
    const verdict = truth === NO_CLASS ? "" : truth === code ? " ✓ right" : " ✗ wrong";
    return element(
      "p", { class: "now-line" },
      `at ${this.data.timeName(frame)}: `, this.label(code),
      ` with ${percent(this.data.confidence(node, frame), 0)}`,
      element("strong", { class: truth === code ? "right" : "wrong" }, verdict),
    );
  }

  private label(code: number): HTMLElement {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = css(this.view.theme.classes[code]);
    return element("span", { class: "class-label" }, swatch, this.data.className(code));
  }

  private probabilities(node: number, code: number): HTMLElement {
    const probabilities = this.data.probabilities(node);
    const order = probabilities.map((_, at) => at).sort((a, b) => probabilities[b] - probabilities[a]);
    const rows = order.slice(0, MAX_CLASSES).map((at) => {
      const bar = element("span", { class: "bar" });
      bar.style.width = `${100 * probabilities[at]}%`;
      bar.style.background = css(this.view.theme.classes[at]);
      const cell = element("td", { class: "number" }, percent(probabilities[at]));
      cell.dataset.value = String(probabilities[at]);
      return element(
        "tr", at === code ? { class: "predicted" } : {},
        element("th", { scope: "row" }, this.label(at)),
        element("td", { class: "bar-cell" }, bar),
        cell,
      );
    });
    const more = order.length - rows.length;
    const chosen = this.data.timeName(this.data.values.chosen);
    return element(
      "section", { "aria-label": "Probabilities" },
      element("h3", {}, `Probabilities of the model (${chosen})`),
      element("table", { class: "bars", id: "probabilities" }, ...rows),
      ...(more > 0 ? [note(`and ${more} classes of less probability`)] : []),
    );
  }

  private sources(explanation: Explanation, sources: number[]): HTMLElement {
    const { shares, score, bias } = explanation;
    const rows: [HTMLElement | string, number][] = sources.map((source) => {
      const isOwn = source === explanation.node;
      const name = isOwn ? `${this.data.id(source)} (itself)` : this.data.id(source);
      const button = element("button", { type: "button", class: "link" }, name);
      button.addEventListener("click", () => {
        this.store.update({ node: source });
        this.view.reveal(source);
      });
      const codes = this.data.codes[source];
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = codes === NO_CLASS ? "transparent" : css(this.view.theme.classes[codes]);
      swatch.title = codes === NO_CLASS ? "no label" : `true label: ${this.data.className(codes)}`;
      return [element("span", {}, swatch, button), shares[source]];
    });
    const listed = sources.reduce((sum, source) => sum + shares[source], 0);
    const total = shares.reduce((sum, share) => sum + share, 0);
    const others = shares.reduce((count, share) => count + (share !== 0 ? 1 : 0), 0) - sources.length;
    if (others > 0) rows.push([`${grouped(others)} other nodes`, total - listed]);
    return this.shareTable(
      "sources", "Where the score comes from", rows, bias, score, explanation.code,
    );
  }

  private features(node: number, code: number): HTMLElement | null {
    const { n, C, features, featureShares, values } = this.data;
    const k = features.length / n;
    if (k === 0) return null;
    const ofClass = (list: ArrayLike<number>) => list[code] - (C === 2 ? list[1 - code] : 0);
    const score = ofClass(this.data.scoresOf(node)), bias = ofClass(values.model.bias);
    const rows: [string, number][] = [];
    let listed = 0;
    for (let at = node * k; at < (node + 1) * k; at++) {
      if (featureShares[at] === 0) continue;
      rows.push([this.data.featureName(features[at]), featureShares[at]]);
      listed += featureShares[at];
    }
    rows.push([values.otherFeatures, score - bias - listed]);
    return this.shareTable("features", "Which features count", rows, bias, score, code);
  }

  private shareTable(
    id: string, title: string, rows: [HTMLElement | string, number][], bias: number, score: number,
    code: number,
  ): HTMLElement {
    const most = Math.max(...rows.map(([, share]) => Math.abs(share)), 1e-12);
    const row = (name: HTMLElement | string, value: number, kind: string) => {
      const bar = element("span", { class: value < 0 ? "share against" : "share" });
      bar.style.width = kind === "share" ? `${(100 * Math.abs(value)) / most}%` : "0";
      const cell = element("td", { class: "number" }, kind === "total" ? value.toFixed(4) : signed(value));
      cell.dataset.value = String(value);
      cell.dataset.kind = kind;
      return element(
        "tr", { class: `row-${kind}` },
        element("th", { scope: "row" }, name), element("td", { class: "bar-cell" }, bar), cell,
      );
    };
    return element(
      "section", { "aria-label": title },
      element("h3", {}, title),
      element("p", { class: "soft small" }, "Exact shares of the score for ", this.label(code),
        "; they add up to it with the bias."),
      element(
        "table", { class: "bars shares", id },
        ...rows.map(([name, share]) => row(name, share, "share")),
        row("bias of the class", bias, "bias"),
        row("score", score, "total"),
      ),
    );
  }
}

function note(text: string): HTMLElement {
  return element("p", { class: "soft small" }, text);
}

function hint(): HTMLElement {
  return element(
    "div", { class: "hint" },
    element("p", {}, "Click a node, or search for its id, to see the nodes and features that its score is made of."),
    element("p", {}, "Move the slider to see what the classifier says at other times: at T = 0 it reads " +
      "the features alone; then they spread along the edges, until so much is smoothed away that nodes " +
      "can hardly be told apart. It was fitted anew at each T."),
    element("p", { class: "soft" }, "Faint nodes are predicted with little confidence. Click a class in the " +
      "legend to hide it."),
  );
}
