// The state of the view, which the address after # restores.

import type { Data } from "./data";

export const MODES = ["predicted", "true", "confidence", "error", "split", "degree"] as const;
export type Mode = (typeof MODES)[number];
export const TABS = ["node", "check", "classes", "calibration"] as const;
export type Tab = (typeof TABS)[number];

export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

export interface State {
  frame: number;
  mode: Mode;
  /** Categories of the legend that are hidden: classes, or parts of the split, .... */
  hidden: ReadonlySet<number>;
  node: number | null;
  camera: Camera;
  tab: Tab;
  part: string;
}

export type Change = Partial<State>;
type Listener = (state: State, changed: ReadonlySet<keyof State>) => void;

export const WHOLE: Camera = { x: 0, y: 0, zoom: 1 };
export const MAX_ZOOM = 200;

export class Store {
  private listeners: Listener[] = [];

  constructor(public state: State) {}

  update(change: Change): void {
    const changed = new Set<keyof State>();
    for (const key of Object.keys(change) as (keyof State)[]) {
      if (change[key] !== undefined && change[key] !== this.state[key]) changed.add(key);
    }
    if (changed.size === 0) return;
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener(this.state, changed);
  }

  subscribe(listener: Listener): void {
    this.listeners.push(listener);
  }
}

export function toHash(state: State, data: Data): string {
  const fields = new URLSearchParams();
  const T = data.values.times[state.frame];
  if (T !== null) fields.set("T", String(Number(T.toPrecision(6))));
  fields.set("colour", state.mode);
  if (state.hidden.size) fields.set("hide", [...state.hidden].join(","));
  if (state.node !== null) fields.set("node", data.id(state.node));
  const { x, y, zoom } = state.camera;
  if (x !== 0 || y !== 0 || zoom !== 1) {
    fields.set("view", [x.toFixed(4), y.toFixed(4), zoom.toPrecision(4)].join(","));
  }
  fields.set("tab", state.tab);
  return `#${fields}`;
}

/** What an address says, as far as it makes sense for the data. */
export function fromHash(hash: string, data: Data): Change {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const change: Change = {};
  const T = fields.get("T");
  if (T !== null && Number.isFinite(Number(T))) change.frame = nearestFrame(data, Number(T));
  const mode = MODES.find((name) => name === fields.get("colour"));
  if (mode) change.mode = mode;
  const tab = TABS.find((name) => name === fields.get("tab"));
  if (tab) change.tab = tab;
  const hidden = (fields.get("hide") ?? "").split(",").filter((code) => /^\d{1,3}$/.test(code));
  change.hidden = new Set(hidden.map(Number));
  const id = fields.get("node");
  change.node = id === null ? null : findNode(data, id);
  const [x, y, zoom] = (fields.get("view") ?? "0,0,1").split(",").map(Number);
  if ([x, y, zoom].every(Number.isFinite) && zoom > 0) {
    change.camera = { x, y, zoom: Math.min(zoom, MAX_ZOOM) };
  }
  return change;
}

function nearestFrame(data: Data, T: number): number {
  const distances = data.values.times.map((time) => Math.abs((time ?? 0) - T));
  return distances.indexOf(Math.min(...distances));
}

export function findNode(data: Data, id: string): number | null {
  if (data.values.ids) {
    const found = data.values.ids.indexOf(id);
    return found < 0 ? null : found;
  }
  return /^\d+$/.test(id) && Number(id) < data.n ? Number(id) : null;
}
