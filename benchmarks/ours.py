"""The work as heatgraph does it: the only module here that has to follow a change of its engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import heatgraph as hg
from heatgraph.experiments.paper.published import published_number

# Reddit's T in the paper, with self-loops; its K is not printed.
_NUMBER = published_number(source="Table 6", dataset="reddit", setting="I - S", measure="T")
REDDIT_T = float(_NUMBER.value)
REDDIT_K, REDDIT_TOL = 100, 1e-4
PRODUCT = hg.SGC(1)  # r(s) = s


def one_product(graph: hg.Graph, out: np.ndarray, threads: int | None = None) -> np.ndarray:
    """S X for the features X of the graph."""
    return hg.diffuse(graph, scheme=PRODUCT, n_threads=threads, out=out)


def product_plan(graph: hg.Graph, out: np.ndarray) -> hg.Plan:
    return hg.plan(graph, scheme=PRODUCT, out=out)


def diffuse_to_file(graph: hg.Graph, path: Path, budget: str, **settings: Any) -> np.ndarray:
    """Diffuse into a file, within a budget of memory: features may be a memory map."""
    return hg.diffuse(graph, memory_budget=budget, out=path, **settings)


def grid(T: float) -> list[hg.Heat]:
    """Fifty times up to twice T."""
    return [hg.Heat(t) for t in np.linspace(0, 2 * T, 51)[1:]]


def published_classifier(name: str) -> hg.DGCClassifier:
    """The classifier with its authors' setting for a citation graph."""
    from heatgraph.experiments.paper.settings import AUTHORS

    return AUTHORS[name].classifier()


def inductive_classifier(protocol: str) -> hg.DGCClassifier:
    """The classifier for a graph like Reddit: T as published, validated among a few, or "auto"."""
    from heatgraph.experiments.paper.table4 import NO_DECAY, TIMES

    if protocol == "auto":
        return hg.DGCClassifier()
    T = REDDIT_T if protocol == "published" else TIMES
    return hg.DGCClassifier(T=T, weight_decay=NO_DECAY, feature_scaling="standard", calibrate=False)
