"""A comparison: every method on every split with every seed, each run in its own subprocess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from heatgraph._io.hashing import fingerprint
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.experiments.compare.measures import Job
from heatgraph.experiments.compare.methods import METHODS, method_settings
from heatgraph.experiments.compare.subprocess_runs import SubprocessRunError, run_in_subprocess
from heatgraph.experiments.results import (
    Records,
    ResultStore,
    Trial,
    describe_machine,
    installed_versions,
)
from heatgraph.learning.progress import FitProgress

# Called with the current run, its stage, the finished share of it, and finished and total runs.
ComparisonProgress = Callable[[str, str, float, int, int], None]


@dataclass(frozen=True)
class Comparison:
    """Methods, data, splits by name, seeds and noise.

    `recipe_dataset` is the data set whose published settings the networks take; "" for tables of
    the user, for which there are none.
    """

    methods: list[str]
    data: Dataset
    splits: dict[str, Split]
    seeds: int = 5
    noise: float = 0.0
    recipe_dataset: str = ""
    threads: int | None = None
    memory: str | None = None

    def seeds_of(self, method: str) -> range:
        """Seeds to run a method with: one, unless the method is random or noise is drawn."""
        return range(self.seeds if METHODS[method].is_random or self.noise else 1)

    def trials(self, method: str) -> list[Trial]:
        """The trials of a method, one for every split and seed."""
        return [
            self._trial(method, name, split, seed)
            for name, split in self.splits.items()
            for seed in self.seeds_of(method)
        ]

    def records(self, results: ResultStore) -> dict[str, Records]:
        """Records by method."""
        return {method: results.records(self.trials(method)) for method in self.methods}

    def failure(self, method: str, results: ResultStore) -> str | None:
        """Why a method lacks some of its results; None if nothing failed."""
        missing = (trial for trial in self.trials(method) if trial not in results)
        return next(filter(None, map(results.skip_reason, missing)), None)

    def _trial(self, method: str, name: str, split: Split, seed: int) -> Trial:
        data = replace(self.data, splits={name: split})
        job = Job(method, data, self.recipe_dataset, seed, self.noise, self.threads, self.memory)
        setting = {"method": method, "dataset": self.data.name, "split": name, "noise": self.noise,
                   "seed": seed}  # fmt: skip
        # Times of another machine and results of another version are stale.
        details = {
            "versions": installed_versions(("heatgraph", *METHODS[method].required_packages)),
            "settings": method_settings(method, self.recipe_dataset),
            "machine": describe_machine() | {"threads": self.threads, "memory": self.memory},
            "split": fingerprint(split.train, split.val, split.test),
        }
        return Trial(setting, lambda report: run_in_subprocess(job, report), details)


@dataclass
class ComparisonStatus:
    """Number of runs stored before and completed now, and the reason of every failed method."""

    stored: int = 0
    completed: int = 0
    failed: dict[str, str] = field(default_factory=dict)


def run_comparison(
    comparison: Comparison,
    results: ResultStore,
    progress: ComparisonProgress | None = None,
    *,
    rerun: bool = False,
) -> ComparisonStatus:
    """Run every trial without a stored result (all of them if `rerun`), and store the results.

    A method that fails is not run on further splits and seeds. The reason is stored, and the next
    call tries the method again.
    """
    report = progress or (lambda *_: None)
    results.check_data(comparison.data.name, comparison.data.digest())
    status = ComparisonStatus()
    planned = {method: comparison.trials(method) for method in comparison.methods}
    total, finished = sum(map(len, planned.values())), 0
    for method, trials in planned.items():
        for number, trial in enumerate(trials, start=1):
            title = f"{METHODS[method].title}, run {number} of {len(trials)}"
            if trial in results and not rerun:
                status.stored += 1
            elif method not in status.failed:
                try:
                    _run_trial(trial, results, partial(report, title), finished, total)
                    status.completed += 1
                except SubprocessRunError as error:
                    status.failed[method] = str(error)
                    results.skip(trial, str(error))
                    results.save()
            finished += 1
    return status


def _run_trial(
    trial: Trial, results: ResultStore, progress: Callable[..., None], finished: int, total: int
) -> None:
    def report(fit: FitProgress) -> None:
        progress(fit.stage, fit.done / max(fit.total, 1), finished, total)

    report(FitProgress("starting", 0, 1))
    result = trial.run(report)
    results.add(trial, result, result["fit_seconds"] + result["predict_seconds"])
