"""What a comparison runs: every method on every split with every seed, each in its own process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from heatgraph._io.hashing import fingerprint
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split, fraction_split, random_split
from heatgraph.errors import InputError
from heatgraph.experiments.compare.contestants import CONTESTANTS, described
from heatgraph.experiments.compare.isolation import RunFailed, isolated
from heatgraph.experiments.compare.measures import Job
from heatgraph.experiments.results import Entry, Records, Results, describe_machine, versions_of
from heatgraph.learning._labels import Labels

# Random splits of data that come without one.
SPLITS = 5
OWN = "own"

# Called with what is at work, its stage, how much of it is done, and how many runs of how many.
Report = Callable[[str, str, float, int, int], None]


@dataclass(frozen=True)
class Comparison:
    """Methods, data and splits by name, seeds, noise; what there is to compare.

    `known_as` is the name that authors may have settings for; a table of one's own has none.
    """

    methods: list[str]
    data: Dataset
    splits: dict[str, Split]
    seeds: int = 5
    noise: float = 0.0
    known_as: str = ""
    threads: int | None = None
    memory: str | None = None

    def seeds_of(self, method: str) -> range:
        """Seeds that matter to a method: one, unless it or the data are random."""
        return range(self.seeds if CONTESTANTS[method].is_random or self.noise else 1)

    def entries(self, method: str) -> list[Entry]:
        """The runs of a method."""
        return [
            self._entry(method, name, split, seed)
            for name, split in self.splits.items()
            for seed in self.seeds_of(method)
        ]

    def _entry(self, method: str, name: str, split: Split, seed: int) -> Entry:
        data = replace(self.data, splits={name: split})
        job = Job(method, data, self.known_as, seed, self.noise, self.threads, self.memory)
        setting = {"method": method, "dataset": self.data.name, "split": name, "noise": self.noise,
                   "seed": seed}  # fmt: skip
        # Times of another machine, and results of another version, do not count here.
        details = {
            "versions": versions_of(("heatgraph", *CONTESTANTS[method].needs)),
            "settings": described(method, self.known_as),
            "machine": describe_machine() | {"threads": self.threads, "memory": self.memory},
            "split": fingerprint(split.train, split.val, split.test),
        }
        return Entry(setting, lambda report: isolated(job, report), details)


@dataclass
class Outcome:
    """How far a comparison came: runs known before, done now, and methods without, with reasons."""

    known: int = 0
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)


def run(
    comparison: Comparison, results: Results, report: Report | None = None, *, again: bool = False
) -> Outcome:
    """Run what is not in the results yet (or all, `again`), and add it to them.

    A method that fails is not tried on other splits and seeds of this comparison; the results
    remember the reason, and a later command tries it again.
    """
    told = report or (lambda *_: None)
    results.check_data(comparison.data.name, comparison.data.digest())
    outcome = Outcome()
    planned = {method: comparison.entries(method) for method in comparison.methods}
    total, finished = sum(map(len, planned.values())), 0
    for method, entries in planned.items():
        for number, entry in enumerate(entries, start=1):
            at = partial(told, f"{CONTESTANTS[method].title}, run {number} of {len(entries)}")
            if entry in results and not again:
                outcome.known += 1
            elif method not in outcome.failed:
                try:
                    _run(entry, results, at, finished, total)
                    outcome.done += 1
                except RunFailed as failure:
                    outcome.failed[method] = str(failure)
                    results.leave_out(entry, str(failure))
                    results.save()
            finished += 1
    return outcome


def _run(
    entry: Entry, results: Results, told: Callable[..., None], finished: int, total: int
) -> None:
    def report(stage: str, done: int, of: int) -> None:
        told(stage, done / max(of, 1), finished, total)

    report("starting", 0, 1)
    result = entry.run(report)
    results.add(entry, result, result["fit_seconds"] + result["predict_seconds"])


def records(comparison: Comparison, results: Results) -> dict[str, Records]:
    """What is known of every method."""
    return {method: results.of(comparison.entries(method)) for method in comparison.methods}


def reason(comparison: Comparison, results: Results, method: str) -> str | None:
    """Why a method has no result, or not all of them."""
    missing = (entry for entry in comparison.entries(method) if entry not in results)
    return next(filter(None, map(results.why_not, missing)), None)


def splits_of(data: Dataset, count: int | None) -> dict[str, Split]:
    """The data's own split, or `count` random ones.

    These have as many nodes in each part as its own: so many of each class to learn from where its
    own has equally many, else the same share of every class. Data without a split are dealt out
    60/20/20.
    """
    if data.labels is None:
        raise InputError("labels are needed to compare methods.")
    own = _own_split(data)
    if count is None and own is not None:
        return {OWN: own}
    if count is None and data.splits:
        raise InputError(
            "the split names no test nodes to judge methods by. Draw random ones: --splits 5."
        )
    make = _dealer(data, own)
    return {f"random {seed}": make(seed) for seed in range(count or SPLITS)}


def _own_split(data: Dataset) -> Split | None:
    train, val, test = data.partition()
    if train is None or test is None:
        return None
    return Split(train, np.empty(0, dtype=np.int64) if val is None else val, test)


def _dealer(data: Dataset, own: Split | None) -> Callable[[int], Split]:
    labels: Any = data.labels
    if own is None:
        return lambda seed: fraction_split(labels, stratify=True, seed=seed)
    read = Labels.read(labels, data.graph.num_nodes)
    known = np.flatnonzero(read.known)
    classes = read.classes(known)
    learned, all_of = (
        np.bincount(read.encode(classes, nodes), minlength=len(classes))
        for nodes in (own.train, known)
    )
    sizes = [len(part) for part in (own.train, own.val, own.test)]
    each = int(learned[0])
    if (learned == each).all() and (all_of >= each).all() and sum(sizes) <= len(known):
        return lambda seed: random_split(labels, each, sizes[1], sizes[2], seed=seed)
    shares = [size / len(known) for size in sizes]
    return lambda seed: fraction_split(labels, shares, stratify=True, seed=seed)
