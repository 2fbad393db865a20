// The picture of the graph: drawing, moving, zooming, and finding the node under the pointer.

import { nodeRadius, toPlane, toScreen, type Viewport, zoomAt } from "./camera";
import { categories, categoryOf, colourOf, css, readTheme, type Theme } from "./colours";
import type { Data } from "./data";
import { byId } from "./dom";
import { Renderer } from "./renderer";
import { MAX_ZOOM, type State, type Store, WHOLE } from "./state";

/** Pixels by which a pointer may miss a node, and may move within a click. */
const REACH = 14, CLICK = 5;
const KEY_STEP = 0.15;

export interface Influence {
  node: number;
  share: number;
}

export class GraphView {
  theme: Theme;
  readonly canvas = byId<HTMLCanvasElement>("graph");
  readonly overlay = byId<HTMLCanvasElement>("overlay");
  private readonly tip = byId("tip");
  private readonly renderer: Renderer | null;
  private influences: Influence[] = [];
  private hovered: number | null = null;
  private isScheduled = false;
  private readonly pointers = new Map<number, [number, number]>();
  private moved = 0;

  constructor(private readonly data: Data, private readonly store: Store) {
    this.theme = readTheme(data);
    this.renderer = Renderer.create(this.canvas, data, () => this.schedule());
    byId("no-webgl").hidden = this.renderer !== null;
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.listen();
    this.resize();
  }

  get view(): Viewport {
    return { width: this.canvas.clientWidth || 1, height: this.canvas.clientHeight || 1 };
  }

  schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.draw();
    });
  }

  draw(): void {
    if (this.renderer) this.renderer.draw(this.store.state, this.theme, this.view);
    else this.drawWithoutWebGL();
    this.drawOverlay();
  }

  setTheme(): void {
    this.theme = readTheme(this.data);
    this.renderer?.invalidate();
    this.schedule();
  }

  showInfluences(influences: Influence[]): void {
    this.influences = influences;
    this.schedule();
  }

  /** Move the camera to a node, unless it is well in view. */
  reveal(node: number): void {
    const { camera } = this.store.state;
    const [px, py] = this.screen(node);
    const { width, height } = this.view;
    const margin = 40;
    if (px > margin && py > margin && px < width - margin && py < height - margin) return;
    const [x, y] = [this.data.positions[2 * node], this.data.positions[2 * node + 1]];
    this.store.update({ camera: { ...camera, x, y } });
  }

  isShown(node: number, state: State): boolean {
    const list = categories(this.data, state.mode, this.theme);
    return !list || !state.hidden.has(categoryOf(this.data, state.mode, node, state.frame));
  }

  private screen(node: number): [number, number] {
    const { positions } = this.data;
    return toScreen(positions[2 * node], positions[2 * node + 1], this.store.state.camera, this.view);
  }

  private resize(): void {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.max(1, Math.round(this.view.width * ratio));
      canvas.height = Math.max(1, Math.round(this.view.height * ratio));
    }
    this.renderer?.invalidate();
    this.schedule();
  }

  private drawWithoutWebGL(): void {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const { state } = this.store;
    const ratio = this.canvas.width / this.view.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = css(this.theme.background);
    context.fillRect(0, 0, this.view.width, this.view.height);
    const radius = nodeRadius(state.camera, this.view, this.data.n);
    for (let node = 0; node < this.data.n; node++) {
      if (!this.isShown(node, state)) continue;
      const [px, py] = this.screen(node);
      context.fillStyle = css(colourOf(this.data, state.mode, node, state.frame, this.theme));
      context.fillRect(px - radius, py - radius, 2 * radius, 2 * radius);
    }
  }

  /** The selected node, lines to the nodes that its score is made of, and the node pointed at. */
  private drawOverlay(): void {
    const context = this.overlay.getContext("2d");
    if (!context) return;
    const ratio = this.overlay.width / this.view.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.view.width, this.view.height);
    const { state } = this.store;
    const radius = nodeRadius(state.camera, this.view, this.data.n);
    if (state.node !== null) {
      const [x, y] = this.screen(state.node);
      const others = this.influences.filter((one) => one.node !== state.node);
      const most = Math.max(...others.map((one) => Math.abs(one.share)), 1e-12);
      const [favour, against] = [this.theme.ink, this.theme.errors[1]];
      for (const { node, share } of others.reverse()) {
        const [px, py] = this.screen(node);
        const weight = Math.abs(share) / most;
        context.strokeStyle = css(share < 0 ? against : favour, 0.35 + 0.55 * weight);
        context.setLineDash(share < 0 ? [5, 4] : []);
        context.lineWidth = 1 + 3.5 * weight;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(px, py);
        context.stroke();
        context.setLineDash([]);
        this.ring(context, px, py, radius + 1.5, 1.5);
        this.disk(context, node, px, py, radius);
      }
      this.ring(context, x, y, radius + 4, 3);
      this.disk(context, state.node, x, y, radius + 1);
    }
    if (this.hovered !== null) this.ring(context, ...this.screen(this.hovered), radius + 3, 2);
  }

  private ring(
    context: CanvasRenderingContext2D, x: number, y: number, radius: number, width: number,
  ): void {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.lineWidth = width + 2;
    context.strokeStyle = css(this.theme.background);
    context.stroke();
    context.lineWidth = width;
    context.strokeStyle = css(this.theme.ink);
    context.stroke();
  }

  private disk(
    context: CanvasRenderingContext2D, node: number, x: number, y: number, radius: number,
  ): void {
    const { mode, frame } = this.store.state;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = css(colourOf(this.data, mode, node, frame, this.theme));
    context.fill();
  }

  private nearest(px: number, py: number): number | null {
    const { state } = this.store;
    const [x, y] = toPlane(px, py, state.camera, this.view);
    const [edge] = toPlane(px + REACH, py, state.camera, this.view);
    const { positions, n } = this.data;
    let best = (edge - x) ** 2, found: number | null = null;
    for (let node = 0; node < n; node++) {
      const distance = (positions[2 * node] - x) ** 2 + (positions[2 * node + 1] - y) ** 2;
      if (distance < best && this.isShown(node, state)) {
        best = distance;
        found = node;
      }
    }
    return found;
  }

  private listen(): void {
    const { overlay } = this;
    overlay.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 30 : 1;
      this.zoom(event.offsetX, event.offsetY, Math.exp(-event.deltaY * lines * 0.0015));
    }, { passive: false });
    overlay.addEventListener("pointerdown", (event) => {
      overlay.setPointerCapture(event.pointerId);
      if (this.pointers.size === 0) this.moved = 0;
      this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    });
    overlay.addEventListener("pointermove", (event) => this.onMove(event));
    overlay.addEventListener("pointerup", (event) => {
      const isClick = this.pointers.size === 1 && this.moved < CLICK;
      this.pointers.delete(event.pointerId);
      if (isClick) {
        const node = this.nearest(event.offsetX, event.offsetY);
        this.store.update(node === null ? { node } : { node, tab: "node" });
      }
    });
    overlay.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    overlay.addEventListener("pointerleave", () => this.hover(null));
    overlay.addEventListener("dblclick", (event) => this.zoom(event.offsetX, event.offsetY, 2));
    overlay.addEventListener("keydown", (event) => this.onKey(event));
  }

  private onMove(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") this.hover(this.nearest(event.offsetX, event.offsetY), event);
      return;
    }
    this.hover(null);
    const now: [number, number] = [event.offsetX, event.offsetY];
    const { camera } = this.store.state;
    this.moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)![1];
      const distance = (point: [number, number]) =>
        Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      const middle = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
      this.zoom(middle[0], middle[1], distance(now) / distance(before));
    } else if (this.moved >= CLICK) {
      const [x0, y0] = toPlane(...before, camera, this.view);
      const [x1, y1] = toPlane(...now, camera, this.view);
      this.store.update({ camera: { ...camera, x: camera.x + x0 - x1, y: camera.y + y0 - y1 } });
    }
    this.pointers.set(event.pointerId, now);
  }

  zoom(px: number, py: number, factor: number): void {
    const { camera } = this.store.state;
    this.store.update({ camera: zoomAt(camera, this.view, px, py, factor, MAX_ZOOM) });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { camera } = this.store.state;
    const { width, height } = this.view;
    const step = KEY_STEP / camera.zoom;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step],
    };
    if (event.key in moves) {
      const [x, y] = moves[event.key];
      this.store.update({ camera: { ...camera, x: camera.x + x, y: camera.y + y } });
    } else if (event.key === "+" || event.key === "=") this.zoom(width / 2, height / 2, 1.3);
    else if (event.key === "-") this.zoom(width / 2, height / 2, 1 / 1.3);
    else if (event.key === "0") this.store.update({ camera: WHOLE });
    else return;
    event.preventDefault();
  }

  private hover(node: number | null, event?: PointerEvent): void {
    if (node !== this.hovered) {
      this.hovered = node;
      this.overlay.classList.toggle("pointing", node !== null);
      this.schedule();
    }
    this.tip.hidden = node === null;
    if (node === null || !event) return;
    const { frame } = this.store.state;
    const predicted = this.data.className(this.data.prediction(node, frame));
    const sure = Math.round(100 * this.data.confidence(node, frame));
    this.tip.textContent = `${this.data.id(node)}: ${predicted}, ${sure} %`;
    const right = event.offsetX > this.view.width - 200;
    this.tip.style.left = `${event.offsetX + (right ? -12 : 14)}px`;
    this.tip.style.top = `${event.offsetY + 14}px`;
    this.tip.style.transform = right ? "translateX(-100%)" : "";
  }
}
