"""What is run for a table, a figure or a theorem of the paper, and what is made of it.

An *experiment* lists *entries*, the smallest things that are run and kept; each is told from all
others by its setting, so that experiments can share them. From the records of those that are done
it makes a section of the report, whether or not all are done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from heatgraph.datasets.catalogue import data_folder, load_dataset
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import fraction_split, random_split
from heatgraph.datasets.synthetic import reddit_like
from heatgraph.errors import DownloadError, MissingExtraError
from heatgraph.experiments.results import Entry, Records
from heatgraph.report.document import Part, Section

CITATIONS = ("cora", "citeseer", "pubmed")
NAMES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "reddit": "Reddit"}


@dataclass(frozen=True)
class Scope:
    """How much is run: runs of whatever is random, less of everything if `quick`."""

    seeds: int
    quick: bool = False
    data: Path | None = None

    @property
    def reddit(self) -> str:
        """Reddit where its files are, else a synthetic graph with its statistics, made smaller."""
        folder = data_folder(self.data)
        if folder is not None and (folder / "reddit").is_dir():
            return "reddit"
        return "reddit-like/50" if self.quick else "reddit-like/10"


class Materials:
    """Data sets and splits of them, each read, made or found missing once."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._read: dict[str, Dataset] = {}
        self._absent: dict[str, str] = {}
        self._digests: dict[str, str] = {}

    def data(self, name: str, split: str = "public", seed: int = 0) -> Dataset:
        """A data set with one split: its own, or by "random" or "fractions" a random one.

        "random" takes 20 nodes per class to learn from; "fractions" is 60/20/20.
        """
        data = self._dataset(name)
        if split == "random":
            return replace(data, splits={split: random_split(data.labels, seed=seed)})
        if split == "fractions":
            return replace(data, splits={split: fraction_split(data.labels, seed=seed)})
        return data

    def digest(self, name: str) -> str:
        """What tells whether a data set is the same as another time."""
        if name not in self._digests:
            self._digests[name] = self._dataset(name).digest()
        return self._digests[name]

    def _dataset(self, name: str) -> Dataset:
        if name in self._absent:
            raise DownloadError(self._absent[name])
        if name not in self._read:
            kind, _, part = name.partition("/")
            try:
                if part:
                    self._read[name] = reddit_like(scale=1 / int(part))
                else:
                    self._read[name] = load_dataset(kind, self.folder)
            except (DownloadError, MissingExtraError) as error:
                self._absent[name] = str(error)
                raise
        return self._read[name]


@dataclass(frozen=True)
class Experiment:
    """A table, figure or theorem of the paper.

    `remarks` stand at the head of its section; `parts` makes the rest of it out of the records.
    `beside` are entries of others, which it does not run, but shows where they are done.
    """

    name: str
    title: str
    entries: Callable[[Scope], list[Entry]]
    parts: Callable[[Records], Sequence[Part]]
    remarks: Sequence[str] = field(default_factory=list)
    beside: Callable[[Scope], list[Entry]] = lambda scope: []

    def section(self, records: Records) -> Section:
        """What the report says of it."""
        return Section(self.name, self.title, [*self.remarks, *self.parts(records)])
