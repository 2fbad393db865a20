"""Two checkouts of heatgraph in one interleaved run: ``python -m benchmarks before-after``.

With ``--splits``, accuracies of the default fit are compared instead of times.

Each measurement is a process of its own that imports heatgraph from one of the checkouts. Tasks use
the public API alone, so that the other checkout may have other modules. Its processes import this
module, which is why nothing of heatgraph is imported at the top, nor what imports it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.benchmark import OURS, Job, Outcome, Task

if TYPE_CHECKING:
    from benchmarks.results import Row

ROOT = Path(__file__).parents[1]
LIMIT = 600.0


def diffuse(job: Job, data: None) -> Task:
    """One product S X, or a diffusion for a time T in K steps; features are sparse."""
    import heatgraph as hg

    graph, settings = _load(job).graph, dict(job.settings["parameters"])
    if "steps" in settings:
        settings = {"scheme": hg.SGC(settings["steps"])}
    return Task(lambda: Outcome(hg.diffuse(graph, **settings)), _first_values)


def fit(job: Job, data: None) -> Task:
    """Fit a classifier with the given parameters, and predict every node."""
    import heatgraph as hg

    loaded = _load(job)
    graph, labels, split = loaded.graph, loaded.labels, loaded.split
    val = split.val if job.settings["search"] else None

    def run() -> Outcome:
        model = hg.DGCClassifier(**job.settings["parameters"])
        return Outcome(model.fit(graph, labels, split.train, val).predict())

    return Task(run, lambda predicted: predicted)


def accuracies(job: Job, data: None) -> Task:
    """Test accuracies of the default fit in percent, on random splits."""
    import heatgraph as hg

    loaded = _load(job)
    graph, labels = loaded.graph, loaded.labels

    def accuracy(seed: int) -> float:
        split = hg.random_split(labels, seed=seed)
        val = split.val if job.settings["validates"] else None
        model = hg.DGCClassifier().fit(graph, labels, split.train, val)
        return 100 * float(model.score(None, labels, split.test))

    def run() -> Outcome:
        found = [accuracy(seed) for seed in range(job.settings["splits"])]
        return Outcome(None, facts={"accuracies": found})

    return Task(run, self_limiting=False)


def _load(job: Job) -> Any:
    import heatgraph as hg

    return hg.load_dataset(job.settings["dataset"], job.settings["folder"] or None)


def _first_values(X: Any) -> Any:
    return X[:1000, :2].astype(float)


def list_jobs(base: Path, folder: str, splits: int = 0) -> list[Job]:
    """Each work with the checkout at `base`, then with this one; accuracies if there are splits."""
    from heatgraph.experiments.paper.settings import AUTHORS, TRAINING

    def compare(work: str, task: Callable[..., Task], dataset: str, **settings: Any) -> list[Job]:
        settings |= {"dataset": dataset, "folder": folder}
        checkouts = {f"heatgraph at {base}": base, OURS: ROOT}
        return [
            Job(
                work,
                task,
                peer,
                settings=settings,
                limit=LIMIT,
                checkout=str(path),
                timed=task is not accuracies,
            )
            for peer, path in checkouts.items()
        ]

    if splits:
        return [
            job
            for name in AUTHORS
            for validates, nodes in ((True, "validation nodes"), (False, "cross-validation"))
            for job in compare(
                f"{name.capitalize()}, {nodes}",
                accuracies,
                name,
                splits=splits,
                validates=validates,
            )
        ]
    pubmed = AUTHORS["pubmed"]
    jobs = compare("One product: Pubmed", diffuse, "pubmed", parameters={"steps": 1})
    jobs += compare(
        "Diffusion: Pubmed", diffuse, "pubmed", parameters={"T": pubmed.T, "K": pubmed.K}
    )
    for name, setting in AUTHORS.items():
        parameters = TRAINING | {
            "T": setting.T,
            "K": setting.K,
            "learning_rate": setting.learning_rate,
            "weight_decay": setting.weight_decay,
        }
        work = f"Fit and predict: {name.capitalize()}"
        jobs += compare(work, fit, name, parameters=parameters, search=False)
    for name in AUTHORS:
        work = f"Search: {name.capitalize()}"
        jobs += compare(work, fit, name, parameters={}, search=True)
    return jobs


def format_table(rows: list[Row]) -> str:
    """Medians of each work before and after, their ratio, and whether results are the same."""
    lines = [f"{'':<28}{'before':>32}{'after':>32}{'after / before':>16}  same result"]
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        times = [row.format_time() if row.turns else row.failed for row in (before, after)]
        ratio, agreement = "", ""
        if before.turns and after.turns:
            ratio = f"{after.seconds / before.seconds:.3f}"
            agreement = _format_agreement(before)
        lines.append(f"{after.work:<28}{times[0]:>32}{times[1]:>32}{ratio:>16}  {agreement}")
    return "\n".join(lines)


def format_accuracies(rows: list[Row]) -> str:
    """Mean accuracies before and after, their paired difference and its standard error."""
    lines = [f"{'':<28}{'before':>10}{'after':>10}{'after - before':>20}"]
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        if not (before.turns and after.turns):
            lines.append(f"{after.work:<28}{before.failed or after.failed}")
            continue
        pair = [np.array(row.facts["accuracies"]) for row in (before, after)]
        change = pair[1] - pair[0]
        error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
        cells = f"{pair[0].mean():>10.2f}{pair[1].mean():>10.2f}"
        lines.append(f"{after.work:<28}{cells}{f'{change.mean():+.2f} +- {error:.2f}':>20}")
    return "\n".join(lines)


def _format_agreement(row: Row) -> str:
    if row.agreement is None:
        return ""
    if row.work.startswith(("Fit", "Search")):
        return f"{row.agreement:.2%} of predictions"
    return f"to {row.agreement:.0e}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks before-after",
        description="Time this checkout of heatgraph against another, interleaved.",
    )
    parser.add_argument("--base", type=Path, required=True, help="folder of the other checkout")
    parser.add_argument("--rounds", type=int, default=5, help="processes for each row (5)")
    parser.add_argument(
        "--splits",
        type=int,
        default=0,
        help="compare accuracies of the default fit on so many random splits, instead of times",
    )
    parser.add_argument(
        "--data",
        default=os.environ.get("HEATGRAPH_DATA", ""),
        help="folder with Cora's files in planetoid/ (HEATGRAPH_DATA)",
    )
    options = parser.parse_args(arguments)
    base = options.base.resolve()
    if not (base / "src" / "heatgraph").is_dir():
        parser.error(f"--base must be a checkout of heatgraph, with src/heatgraph. Got {base}.")
    folder = str(Path(options.data).resolve()) if options.data else ""
    from benchmarks.harness import run_rounds

    jobs = list_jobs(base, folder, options.splits)
    if options.splits:
        print(format_accuracies(run_rounds(jobs, 1)))
    else:
        print(format_table(run_rounds(jobs, options.rounds)))
