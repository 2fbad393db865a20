"""Experiments: the trials of a table, figure or theorem, and the section of the report about them.

An experiment lists *trials*, identified by their settings, so that experiments can share them. Its
section of the report is made from the records of those that have been run, whether or not that is
all of them.
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
from heatgraph.experiments.results import Records, Trial
from heatgraph.report.document import Part, Section

CITATION_GRAPHS = ("cora", "citeseer", "pubmed")
DATASET_TITLES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "reddit": "Reddit"}


@dataclass(frozen=True)
class RunConfig:
    """How much to run: seeds of random trials, a reduced set of trials if `quick`.

    `data` is the folder of data sets that are not bundled.
    """

    seeds: int
    quick: bool = False
    data: Path | None = None

    @property
    def reddit(self) -> str:
        """Reddit if its files exist, else a scaled-down synthetic graph with its statistics."""
        folder = data_folder(self.data)
        if folder is not None and (folder / "reddit").is_dir():
            return "reddit"
        return "reddit-like/50" if self.quick else "reddit-like/10"


class DatasetCache:
    """Loads every data set at most once; one that cannot be loaded fails at once from then on.

    "reddit-like/10" is a synthetic graph like Reddit, at a tenth of its size.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._datasets: dict[str, Dataset] = {}
        self._errors: dict[str, str] = {}
        self._digests: dict[str, str] = {}

    def load(self, name: str, split: str = "public", seed: int = 0) -> Dataset:
        """A data set with one split: its own ("public"), or a random one.

        "random" has 20 training nodes per class; "fractions" is 60/20/20.
        """
        data = self._dataset(name)
        if split == "random":
            return replace(data, splits={split: random_split(data.labels, seed=seed)})
        if split == "fractions":
            return replace(data, splits={split: fraction_split(data.labels, seed=seed)})
        return data

    def digest(self, name: str) -> str:
        """Digest of a data set's graph, labels and splits."""
        if name not in self._digests:
            self._digests[name] = self._dataset(name).digest()
        return self._digests[name]

    def _dataset(self, name: str) -> Dataset:
        if name in self._errors:
            raise DownloadError(self._errors[name])
        if name not in self._datasets:
            kind, _, fraction = name.partition("/")
            try:
                if fraction:
                    self._datasets[name] = reddit_like(scale=1 / int(fraction))
                else:
                    self._datasets[name] = load_dataset(kind, self.folder)
            except (DownloadError, MissingExtraError) as error:
                self._errors[name] = str(error)
                raise
        return self._datasets[name]


@dataclass(frozen=True)
class Experiment:
    """A table, figure or theorem of the paper.

    Attributes
    ----------
    trials
        Lists the trials to run.
    parts
        Makes tables and charts from the records of these trials.
    remarks
        Paragraphs at the start of its section, which hold for any run: protocol and theory. What
        follows from the numbers is made from these, by `parts`, or left out.
    related_trials
        Lists trials of other experiments, which are shown as well if they have been run.
    """

    name: str
    title: str
    trials: Callable[[RunConfig], list[Trial]]
    parts: Callable[[Records], Sequence[Part]]
    remarks: Sequence[str] = field(default_factory=list)
    related_trials: Callable[[RunConfig], list[Trial]] = lambda config: []

    def section(self, records: Records) -> Section:
        """The section of the report."""
        return Section(self.name, self.title, [*self.remarks, *self.parts(records)])
