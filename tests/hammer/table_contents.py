"""Valid files of nodes, edges and features in every format that tables are read from, as bytes."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp

NUM_NODES = 12
COLUMNS = {
    "id": [f"n{at}" for at in range(NUM_NODES)],
    "label": [["a", "b", None][at % 3] for at in range(NUM_NODES)],
    "size": [at / 4 for at in range(NUM_NODES)],
    "count": [at % 5 for at in range(NUM_NODES)],
    "title": [f"a study of topic {at}" for at in range(NUM_NODES)],
    "day": [f"2024-05-{at + 1:02}" for at in range(NUM_NODES)],
    "words": [["x", "y"][: at % 3] for at in range(NUM_NODES)],
    "vector": [[at / 2, 1.0] for at in range(NUM_NODES)],
    "split": [["train", "val", "test"][at % 3] if at % 3 < 2 else "" for at in range(NUM_NODES)],
}
PAIRS = [(at, (at * 5 + 1) % NUM_NODES) for at in range(NUM_NODES)]


def node_files():
    """Tables of nodes by file name."""
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    csv = _csv([list(COLUMNS), *(row.values() for row in rows)], ",")
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    parquet = io.BytesIO()
    pa.parquet.write_table(pa.table(COLUMNS), parquet)
    ends = [{"source": f"n{v}", "target": f"n{w}", "weight": 0.5} for v, w in PAIRS]
    content = "".join(f"{at} 1 0 {at % 2} {'ab'[at % 2]}\n" for at in range(NUM_NODES))
    return {
        "nodes.csv": csv,
        "nodes.tsv": _csv([list(COLUMNS), *(row.values() for row in rows)], "\t"),
        "nodes.csv.gz": gzip.compress(csv, mtime=0),
        "nodes.jsonl": lines,
        "nodes.json": json.dumps(rows).encode(),
        "graph.json": json.dumps({"nodes": rows, "links": ends}).encode(),
        "nodes.parquet": parquet.getvalue(),
        "nodes.content": content.encode(),
        "nodes.txt": "".join(f"{at} {at % 2}\n" for at in range(NUM_NODES)).encode(),
    }


def edge_files():
    """Edges by file name: tables, lists, and adjacency matrices."""
    names = [(f"n{v}", f"n{w}") for v, w in PAIRS]
    csv = _csv([("source", "target", "weight"), *((*pair, 0.5) for pair in names)], ",")
    parquet = io.BytesIO()
    table = pa.table({"source": [v for v, _ in names], "target": [w for _, w in names]})
    pa.parquet.write_table(table, parquet)
    v, w = np.array(PAIRS).T
    shape = (NUM_NODES, NUM_NODES)
    return {
        "edges.csv": csv,
        "edges.csv.gz": gzip.compress(csv, mtime=0),
        "edges.txt": ("# a comment\n" + "".join(f"{v} {w}\n" for v, w in names)).encode(),
        "edges.edgelist": "".join(f"{v} {w} {{'weight': 2}}\n" for v, w in names).encode(),
        "edges.jsonl": "".join(
            f'{{"source": "{v}", "target": "{w}"}}\n' for v, w in names
        ).encode(),
        "edges.parquet": parquet.getvalue(),
        "edges.mtx": _matrix_market(v, w),
        "edges.npz": _npz(sp.csr_array((np.ones(len(v)), (v, w)), shape=shape)),
    }


def feature_files():
    """Features by file name: a table of node, feature and value, and matrices."""
    rows = [
        ("node", "feature", "value"),
        *((f"n{at}", f"w{at % 4}", 0.5) for at in range(NUM_NODES)),
    ]
    dense = np.arange(2.0 * NUM_NODES).reshape(NUM_NODES, 2)
    npy, npz = io.BytesIO(), io.BytesIO()
    np.save(npy, dense)
    np.savez_compressed(npz, x=dense)
    v, w = np.array(PAIRS).T
    return {
        "features.csv": _csv(rows, ","),
        "features.npy": npy.getvalue(),
        "features.npz": npz.getvalue(),
        "features.mtx": _matrix_market(v, w),
        "features.svm": "".join(f"1 {at % 3}:0.5 7:2\n" for at in range(NUM_NODES)).encode(),
        "sparse.npz": _npz(sp.csr_array(dense)),
    }


def _csv(rows, delimiter):
    def cell(value):
        text = "" if value is None else json.dumps(value) if isinstance(value, list) else str(value)
        return '"' + text.replace('"', '""') + '"' if '"' in text or delimiter in text else text

    return "".join(delimiter.join(map(cell, row)) + "\n" for row in rows).encode()


def _matrix_market(rows, columns):
    lines = "".join(f"{v + 1} {w + 1} 0.5\n" for v, w in zip(rows, columns, strict=True))
    sizes = f"{NUM_NODES} {NUM_NODES} {len(rows)}\n"
    return f"%%MatrixMarket matrix coordinate real general\n{sizes}{lines}".encode()


def _npz(matrix):
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    return file.getvalue()
