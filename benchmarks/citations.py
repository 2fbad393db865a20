"""The citation graphs, and where their files are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from heatgraph import load_dataset, random_split
from heatgraph.datasets.dataset import Dataset

NEAR = Path(__file__).parents[2] / "shared" / "data"


def read(name: str) -> Dataset | None:
    """Load a graph; Cora only from the folder that HEATGRAPH_DATA names, if it is there."""
    folder = Path(os.environ.get("HEATGRAPH_DATA", NEAR))
    if name == "cora" and not (folder / "planetoid" / "ind.cora.graph").exists():
        return None
    return load_dataset(name, folder if folder.is_dir() else None)


def random_splits(data: Dataset, count: int) -> Iterator[Dataset]:
    """The same graph with 20 training nodes per class, 500 to validate and 1,000 to test."""
    for seed in range(count):
        yield replace(data, splits={"random": random_split(data.labels, seed=seed)})
