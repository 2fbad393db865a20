// The shares of source nodes in a score, exactly as heatgraph.learning.explanation computes them.
//
// With the kernel r(S) and the columns Z = X Theta, the share of node u in the score of node v for
// class c is r(S)[v, u] Z[u, c]. The row r(S)[v, :] is a Chebyshev series of S times a unit vector,
// in double precision. Channels have the row of W^hops, the mean over neighbours, in its place.

import type { Data, Edges } from "./data";

interface Matrix {
  starts: Uint32Array;
  indices: Uint32Array;
  values: Float64Array;
}

export interface Explanation {
  node: number;
  code: number;
  score: number;
  bias: number;
  /** The share of each node; they add up to score - bias. */
  shares: Float64Array;
}

export class Explainer {
  private readonly operators = new Map<string, Matrix>();

  constructor(private readonly data: Data) {}

  get isAble(): boolean {
    return this.data.values.terms !== null;
  }

  /** With two classes, the score is that of the class minus that of the other. */
  explain(node: number, code: number): Explanation {
    const { n, C, values } = this.data;
    const shares = new Float64Array(n);
    for (const term of values.terms ?? []) {
      const columns = this.data.array(term.columns);
      const row =
        term.coefficients !== undefined
          ? this.diffusedRow(node, term.coefficients, term.added ?? "")
          : this.meanRow(node, term.hops ?? 0);
      for (let u = 0; u < n; u++) {
        if (row[u] === 0) continue;
        const other = C === 2 ? columns[u * C + 1 - code] : 0;
        shares[u] += row[u] * (columns[u * C + code] - other);
      }
    }
    const ofClass = (list: ArrayLike<number>) => list[code] - (C === 2 ? list[1 - code] : 0);
    return {
      node,
      code,
      score: ofClass(this.data.scoresOf(node)),
      bias: ofClass(values.model.bias),
      shares,
    };
  }

  private diffusedRow(node: number, coefficients: number[], added: string): Float64Array {
    const S = this.operator(added);
    const n = this.data.n;
    let before: Float64Array = new Float64Array(n);
    before[node] = 1;
    const row = new Float64Array(n);
    row[node] = coefficients[0];
    if (coefficients.length === 1) return row;
    let current = multiply(S, before);
    for (let k = 1; ; k++) {
      for (let u = 0; u < n; u++) row[u] += coefficients[k] * current[u];
      if (k === coefficients.length - 1) return row;
      const next = multiply(S, current);
      for (let u = 0; u < n; u++) next[u] = 2 * next[u] - before[u];
      before = current;
      current = next;
    }
  }

  /** The row of W^hops: W spreads what a node has evenly over its neighbours, by weight. */
  private meanRow(node: number, hops: number): Float64Array {
    const n = this.data.n;
    let row = new Float64Array(n);
    row[node] = 1;
    if (hops === 0) return row;
    const A = this.adjacency();
    for (let hop = 0; hop < hops; hop++) {
      const next = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        if (row[i] === 0) continue;
        let degree = 0;
        for (let e = A.starts[i]; e < A.starts[i + 1]; e++) degree += A.values[e];
        for (let e = A.starts[i]; e < A.starts[i + 1]; e++) {
          next[A.indices[e]] += (row[i] * A.values[e]) / degree;
        }
      }
      row = next;
    }
    return row;
  }

  private adjacency(): Matrix {
    let found = this.operators.get("adjacency");
    if (!found) {
      found = symmetricMatrix(this.data.n, [withoutLoops(this.data.edges)]);
      this.operators.set("adjacency", found);
    }
    return found;
  }

  /** S = D^(-1/2) (A + I) D^(-1/2), or without I; A with further edges if there is a name. */
  private operator(added: string): Matrix {
    let S = this.operators.get(`S${added}`);
    if (S) return S;
    const n = this.data.n;
    const edges = [this.data.edges];
    if (added) edges.push(this.data.readEdges(added));
    const degrees = new Float64Array(n);
    const A = symmetricMatrix(n, edges);
    for (let i = 0; i < n; i++) {
      for (let e = A.starts[i]; e < A.starts[i + 1]; e++) degrees[i] += A.values[e];
    }
    const loops = Array.from(degrees, (degree) =>
      this.data.values.model.selfLoops || degree === 0 ? 1 : 0,
    );
    const nodes = Uint32Array.from(loops.keys());
    edges.push({ sources: nodes, targets: nodes, weights: Float32Array.from(loops) });
    S = symmetricMatrix(n, edges);
    const roots = degrees.map((degree, i) => Math.sqrt(degree + loops[i]));
    for (let i = 0; i < n; i++) {
      for (let e = S.starts[i]; e < S.starts[i + 1]; e++) {
        S.values[e] /= roots[i] * roots[S.indices[e]];
      }
    }
    this.operators.set(`S${added}`, S);
    return S;
  }
}

function withoutLoops(edges: Edges): Edges {
  const kept: number[] = [];
  edges.sources.forEach((i, e) => {
    if (i !== edges.targets[e]) kept.push(e);
  });
  const { sources, targets, weights } = edges;
  return {
    sources: Uint32Array.from(kept, (e) => sources[e]),
    targets: Uint32Array.from(kept, (e) => targets[e]),
    weights: weights && Float32Array.from(kept, (e) => weights[e]),
  };
}

/** A sparse matrix by rows from edges i <= j; entries of the same place are not merged. */
function symmetricMatrix(n: number, parts: Edges[]): Matrix {
  const starts = new Uint32Array(n + 1);
  for (const { sources, targets } of parts) {
    sources.forEach((i, e) => {
      starts[i + 1]++;
      if (i !== targets[e]) starts[targets[e] + 1]++;
    });
  }
  for (let i = 0; i < n; i++) starts[i + 1] += starts[i];
  const next = starts.slice(0, n);
  const indices = new Uint32Array(starts[n]);
  const values = new Float64Array(starts[n]);
  const put = (i: number, j: number, value: number) => {
    indices[next[i]] = j;
    values[next[i]++] = value;
  };
  for (const { sources, targets, weights } of parts) {
    sources.forEach((i, e) => {
      const weight = weights ? weights[e] : 1;
      put(i, targets[e], weight);
      if (i !== targets[e]) put(targets[e], i, weight);
    });
  }
  return { starts, indices, values };
}

function multiply(S: Matrix, x: Float64Array): Float64Array {
  const result = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) {
    let sum = 0;
    for (let e = S.starts[i]; e < S.starts[i + 1]; e++) sum += S.values[e] * x[S.indices[e]];
    result[i] = sum;
  }
  return result;
}

/** The `count` largest by magnitude, largest first, without zeros. */
export function largest(values: Float64Array, count: number): number[] {
  const found: number[] = [];
  for (let u = 0; u < values.length; u++) {
    const size = Math.abs(values[u]);
    if (size === 0) continue;
    if (found.length === count && size <= Math.abs(values[found[count - 1]])) continue;
    let at = found.length;
    while (at > 0 && Math.abs(values[found[at - 1]]) < size) at--;
    found.splice(at, 0, u);
    if (found.length > count) found.pop();
  }
  return found;
}
