// The slider of T, and accuracy over T beside it on the same axis.

import { type Curve, type Data, formatTime } from "./data";
import { byId, element, fill, grouped, percent, svg } from "./dom";
import type { Store } from "./state";

const HEIGHT = 150, TOP = 12, BOTTOM = 22;
/** Half of the slider's thumb: the chart starts and ends where the thumb does. */
const SIDE = 10;
const STEP_MILLISECONDS = 700;
type Part = "val" | "test";

export class TimePanel {
  private readonly slider = byId<HTMLInputElement>("time");
  private readonly button = byId<HTMLButtonElement>("play");
  private readonly chart = byId("chart");
  private readonly marks: SVGElement[] = [];
  private timer = 0;

  constructor(private readonly data: Data, private readonly store: Store) {
    const { note } = data.values;
    byId("time-note").textContent = note;
    if (data.F === 1) {
      byId("time-panel").classList.add("single");
      this.slider.disabled = this.button.disabled = true;
    }
    this.slider.max = String(data.F - 1);
    this.slider.addEventListener("input", () => {
      this.pause();
      store.update({ frame: Number(this.slider.value) });
    });
    this.button.addEventListener("click", () => this.toggle());
    byId("to-chosen").addEventListener("click", () => {
      this.pause();
      store.update({ frame: data.values.chosen });
    });
    this.chart.addEventListener("click", (event) => {
      const box = this.chart.getBoundingClientRect();
      const share = (event.clientX - box.left - SIDE) / (box.width - 2 * SIDE);
      this.pause();
      this.step(Math.round(share * (data.F - 1)) - store.state.frame);
    });
    new ResizeObserver(() => this.drawChart()).observe(this.chart);
    store.subscribe((_, changed) => {
      if (changed.has("frame")) this.show();
    });
    this.drawChart();
  }

  toggle(): void {
    if (this.timer) {
      this.pause();
      return;
    }
    const { frame } = this.store.state;
    if (frame === this.data.F - 1) this.store.update({ frame: 0 });
    this.timer = window.setInterval(() => {
      if (this.store.state.frame === this.data.F - 1) this.pause();
      else this.step(1);
    }, STEP_MILLISECONDS);
    this.setButton();
  }

  pause(): void {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.setButton();
  }

  step(by: number): void {
    const frame = Math.min(Math.max(this.store.state.frame + by, 0), this.data.F - 1);
    this.store.update({ frame });
  }

  private setButton(): void {
    this.button.setAttribute("aria-pressed", String(this.timer !== 0));
    this.button.setAttribute("aria-label", this.timer ? "Pause" : "Play");
    this.button.textContent = this.timer ? "❚❚" : "▶";
  }

  private curves(): [Part, Curve][] {
    const { curves } = this.data.values;
    return (["val", "test"] as Part[]).flatMap((part) =>
      curves[part] ? [[part, curves[part]] as [Part, Curve]] : [],
    );
  }

  private show(): void {
    const { frame } = this.store.state;
    const { chosen, times } = this.data.values;
    const T = times[frame];
    this.slider.value = String(frame);
    const meaning = frame === chosen ? this.data.values.chosenMeaning : T === 0 ? "features alone" : "";
    this.slider.setAttribute("aria-valuetext", `${this.data.timeName(frame)} ${meaning}`);
    fill(
      byId("time-value"),
      element("strong", {}, this.data.timeName(frame)),
      meaning ? ` ${meaning}` : "",
    );
    byId<HTMLButtonElement>("to-chosen").disabled = frame === chosen;
    const list = this.curves().map(([part, curve]) =>
      element(
        "span",
        { class: `accuracy ${part}`, title: `of ${grouped(curve.nodes)} nodes, ± standard error` },
        `${curve.name} `,
        element("strong", {}, percent(curve.accuracy[frame])),
        ` ± ${(100 * curve.error[frame]).toFixed(1)}`,
      ),
    );
    fill(byId("accuracies"), ...list);
    this.markFrame();
  }

  private drawChart(): void {
    const width = this.chart.clientWidth;
    const curves = this.curves();
    this.chart.hidden = curves.length === 0 || this.data.F === 1;
    if (width < 10 || this.chart.hidden) {
      this.show();
      return;
    }
    const { values, F } = this.data;
    const all = curves.flatMap(([, { accuracy, error }]) =>
      accuracy.flatMap((value, at) => [value - error[at], value + error[at]]),
    );
    const step = Math.max(...all) - Math.min(...all) > 0.3 ? 0.2 : 0.1;
    const low = Math.max(0, Math.floor(Math.min(...all) / step) * step);
    const high = Math.min(1, Math.ceil(Math.max(...all) / step - 1e-9) * step);
    const x = (frame: number) => SIDE + (frame / (F - 1)) * (width - 2 * SIDE);
    const y = (value: number) =>
      TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img",
      "aria-label": "Accuracy over T, with standard errors",
    });
    if (values.plateau) {
      const [first, last] = values.plateau;
      const left = x(Math.max(first - 0.5, 0)), right = x(Math.min(last + 0.5, F - 1));
      picture.append(
        svg("rect", {
          class: "plateau", x: left, y: TOP, width: right - left, height: HEIGHT - TOP - BOTTOM,
        }, svg("title", {}, "Plateau: within a standard error of the best validation accuracy")),
      );
    }
    for (let value = low; value <= high + 1e-9; value += step) {
      picture.append(
        svg("line", { class: "grid", x1: SIDE, x2: width - SIDE, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick", x: 2, y: y(value) + 4, "text-anchor": "end" }, percent(value, 0)),
      );
    }
    const every = Math.max(1, Math.ceil((F - 1) / Math.max(2, Math.floor(width / 70))));
    values.times.forEach((T, frame) => {
      const isLast = frame === F - 1;
      if (T === null || (!isLast && (frame % every !== 0 || F - 1 - frame < every))) return;
      const anchor = frame === 0 ? "start" : isLast ? "end" : "middle";
      const at = frame === 0 ? SIDE / 2 : isLast ? width - SIDE / 2 : x(frame);
      const label = frame === 0 ? `T = ${formatTime(T)}` : formatTime(T);
      picture.append(svg("text", { class: "tick", x: at, y: HEIGHT - 6, "text-anchor": anchor }, label));
    });
    const chosen = x(values.chosen);
    picture.append(
      svg("line", { class: "chosen", x1: chosen, x2: chosen, y1: TOP, y2: HEIGHT - BOTTOM }),
      svg("text", {
        class: "tick chosen-name", x: chosen + (chosen > width / 2 ? -4 : 4), y: HEIGHT - BOTTOM - 5,
        "text-anchor": chosen > width / 2 ? "end" : "start",
      }, "model"),
    );
    this.marks.length = 0;
    for (const [part, { accuracy, error }] of curves) {
      const upper = accuracy.map((value, at) => `${x(at)},${y(value + error[at])}`);
      const lower = accuracy.map((value, at) => `${x(at)},${y(value - error[at])}`).reverse();
      picture.append(
        svg("polygon", { class: `band ${part}`, points: [...upper, ...lower].join(" ") }),
        svg("polyline", {
          class: `curve ${part}`, points: accuracy.map((value, at) => `${x(at)},${y(value)}`).join(" "),
        }),
      );
    }
    this.place = { x, y };
    const line = svg("line", { class: "now", y1: TOP, y2: HEIGHT - BOTTOM });
    picture.append(line);
    this.marks.push(line);
    for (const [part] of curves) {
      const dot = svg("circle", { class: `dot ${part}`, r: 4.5 });
      picture.append(dot);
      this.marks.push(dot);
    }
    fill(this.chart, picture);
    this.show();
  }

  private place: { x: (frame: number) => number; y: (value: number) => number } | null = null;

  private markFrame(): void {
    if (!this.place || this.marks.length === 0) return;
    const { frame } = this.store.state;
    const [line, ...dots] = this.marks;
    const x = this.place.x(frame);
    line.setAttribute("x1", String(x));
    line.setAttribute("x2", String(x));
    this.curves().forEach(([, { accuracy }], at) => {
      dots[at].setAttribute("cx", String(x));
      dots[at].setAttribute("cy", String(this.place!.y(accuracy[frame])));
    });
  }
}
