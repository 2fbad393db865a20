// Reads the data of the page: the inverse of binary_data.py and of page_data.py.

import { unzlibSync } from "fflate";

export interface Curve {
  name: string;
  nodes: number;
  accuracy: number[];
  error: number[];
}

export interface Bin {
  confidence: number;
  accuracy: number;
  nodes: number;
}

/** A term of the scores: diffusion by a Chebyshev series, or a mean over neighbours `hops` away. */
export interface Term {
  columns: string;
  coefficients?: number[];
  added?: string | null;
  hops?: number;
}

export interface Values {
  version: string;
  title: string;
  classes: string[];
  colours: { light: string[]; dark: string[] };
  nodes: number;
  edges: number;
  shown: number;
  ids: string[] | null;
  features: string[] | null;
  model: {
    T: number | null;
    scheme: string;
    scaling: string;
    weightDecay: number;
    temperature: number;
    extensions: string[];
    selfLoops: boolean;
    bias: number[];
  };
  times: (number | null)[];
  /** The frame of the fitted model, and where its T comes from. */
  chosen: number;
  chosenMeaning: string;
  note: string;
  curves: { val?: Curve; test?: Curve };
  plateau: [number, number] | null;
  reliability: { part: string; nodes: number; before: Bin[]; after: Bin[] } | null;
  /** What is left of a score beside the features listed. */
  otherFeatures: string;
  /** Names of PARTS. */
  parts: string[];
  terms: Term[] | null;
}

export interface Edges {
  sources: Uint32Array;
  targets: Uint32Array;
  weights: Float32Array | null;
}

type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array;

const TYPES: Record<string, new (buffer: ArrayBuffer) => Numbers> = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
};

export const NO_CLASS = 255;
export const PARTS = ["none", "train", "val", "test"] as const;

export class Data {
  readonly values: Values;
  /** Number of nodes shown, of classes and of times. */
  readonly n: number;
  readonly C: number;
  readonly F: number;
  /** x and y of each node, in a disk of radius 1. */
  readonly positions: Float32Array;
  readonly predictions: Uint8Array;
  readonly confidences: Uint8Array;
  readonly codes: Uint8Array;
  readonly parts: Uint8Array;
  readonly scores: Float32Array;
  readonly features: Uint16Array | Uint32Array;
  readonly featureShares: Float32Array;
  readonly edges: Edges;
  readonly degrees: Uint32Array;
  private readonly arrays: Map<string, Numbers>;

  constructor(text: string) {
    const { values, arrays } = decode(text);
    this.values = values;
    this.arrays = arrays;
    this.n = values.shown;
    this.C = values.classes.length;
    this.F = values.times.length;
    this.positions = Float32Array.from(this.array("positions"), (x) => (2 * x) / 65535 - 1);
    this.predictions = this.array("predictions") as Uint8Array;
    this.confidences = this.array("confidences") as Uint8Array;
    this.codes = this.array("codes") as Uint8Array;
    this.parts = this.array("parts") as Uint8Array;
    this.scores = this.array("scores") as Float32Array;
    this.features = this.array("features") as Uint16Array;
    this.featureShares = this.array("featureShares") as Float32Array;
    this.edges = this.readEdges("edge");
    this.degrees = new Uint32Array(this.n);
    for (let e = 0; e < this.edges.sources.length; e++) {
      const i = this.edges.sources[e], j = this.edges.targets[e];
      if (i === j) continue;
      this.degrees[i]++;
      this.degrees[j]++;
    }
  }

  array(name: string): Numbers {
    const found = this.arrays.get(name);
    if (!found) throw new Error(`the page lacks its data "${name}"`);
    return found;
  }

  /** Edges i <= j, from the number at each i and the steps between the j. */
  readEdges(name: string): Edges {
    const counts = this.array(`${name}Counts`);
    const targets = Uint32Array.from(this.array(`${name}Steps`));
    const sources = new Uint32Array(targets.length);
    let e = 0;
    for (let i = 0; i < counts.length; i++) {
      let j = i;
      for (const end = e + counts[i]; e < end; e++) {
        sources[e] = i;
        j += targets[e];
        targets[e] = j;
      }
    }
    const weights = (this.arrays.get(`${name}Weights`) as Float32Array | undefined) ?? null;
    return { sources, targets, weights };
  }

  id(node: number): string {
    return this.values.ids ? this.values.ids[node] : String(node);
  }

  prediction(node: number, frame: number): number {
    return this.predictions[frame * this.n + node];
  }

  confidence(node: number, frame: number): number {
    return this.confidences[frame * this.n + node] / 255;
  }

  /** Scores of the fitted model, and its probabilities: softmax(scores / temperature). */
  scoresOf(node: number): number[] {
    return Array.from(this.scores.subarray(node * this.C, (node + 1) * this.C));
  }

  probabilities(node: number): number[] {
    const scaled = this.scoresOf(node).map((score) => score / this.values.model.temperature);
    const largest = Math.max(...scaled);
    const powers = scaled.map((score) => Math.exp(score - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  featureName(feature: number): string {
    return this.values.features ? this.values.features[feature] : `feature ${feature}`;
  }

  className(code: number): string {
    return code === NO_CLASS ? "unknown" : this.values.classes[code];
  }

  timeName(frame: number): string {
    const T = this.values.times[frame];
    return T === null ? "no T" : `T = ${formatTime(T)}`;
  }
}

export function formatTime(T: number): string {
  if (T === 0) return "0";
  return T >= 100 ? T.toFixed(0) : T >= 10 ? T.toFixed(1) : T.toFixed(2);
}

function decode(text: string): { values: Values; arrays: Map<string, Numbers> } {
  const binary = atob(text.trim());
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  const content = unzlibSync(packed);
  const length = new DataView(content.buffer, content.byteOffset).getUint32(0, true);
  let start = 4 + length;
  const header = JSON.parse(new TextDecoder().decode(content.subarray(4, start)));
  const arrays = new Map<string, Numbers>();
  for (const entry of header.arrays as { name: string; type: string; length: number }[]) {
    const make = TYPES[entry.type];
    const size = (make as unknown as { BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT;
    arrays.set(entry.name, new make(unshuffle(content.subarray(start), entry.length, size)));
    start += entry.length * size;
  }
  return { values: header.values as Values, arrays };
}

/** All first bytes, then all second bytes, ...: put those of each number together. */
function unshuffle(bytes: Uint8Array, length: number, size: number): ArrayBuffer {
  const whole = new Uint8Array(length * size);
  for (let plane = 0; plane < size; plane++) {
    const from = plane * length;
    for (let i = 0; i < length; i++) whole[i * size + plane] = bytes[from + i];
  }
  return whole.buffer;
}
