"""The citation graphs, where their files are, and the settings that the paper's authors print."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from heatgraph import DGCClassifier, load_dataset, random_split
from heatgraph.datasets.dataset import Dataset

NEAR = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Published:
    T: float
    K: int
    learning_rate: float
    weight_decay: float
    accuracy: float

    def classifier(self, seed: int | None = None) -> DGCClassifier:
        return DGCClassifier(
            T=self.T,
            K=self.K,
            feature_scaling="rows",
            solver="adam",
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            random_state=seed,
        )


PUBLISHED = {
    "cora": Published(5.27, 250, 0.156, 3.544e-5, 83.3),
    "citeseer": Published(3.78, 300, 1.39, 2e-4, 73.3),
    "pubmed": Published(6.0498, 900, 0.627, 9.38e-6, 80.3),
}


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
