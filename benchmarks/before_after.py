"""Two checkouts of heatgraph in one interleaved run: ``python -m benchmarks before-after``.

Each measurement is a process of its own that imports heatgraph from one of the checkouts. Tasks use
the public API alone, so that a checkout may arrange its modules in any way.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.jobs import OURS, Job
from benchmarks.rows import Row
from benchmarks.tasks import Outcome, Task

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


def _load(job: Job) -> Any:
    import heatgraph as hg

    return hg.load_dataset(job.settings["dataset"], job.settings["folder"] or None)


def _first_values(X: Any) -> Any:
    return X[:1000, :2].astype(float)


def list_jobs(base: Path, folder: str) -> list[Job]:
    """Every workload with the checkout at `base`, then with this one."""
    from heatgraph.experiments.paper.settings import AUTHORS, TRAINING

    def compare(work: str, task: Callable[..., Task], dataset: str, **settings: Any) -> list[Job]:
        settings |= {"dataset": dataset, "folder": folder}
        kind = f"{__name__}:{task.__name__}"
        checkouts = {f"heatgraph at {base}": base, OURS: ROOT}
        return [
            Job(work, kind, peer, settings=settings, limit=LIMIT, checkout=str(path))
            for peer, path in checkouts.items()
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
    return jobs + compare("Search: Cora", fit, "cora", parameters={}, search=True)


def write_table(rows: list[Row]) -> str:
    """Medians of each workload before and after, and their ratio (below 1: faster now)."""
    head = f"{'':<28}{'before':>28}{'after':>28}{'after / before':>16}  same result"
    lines = [head]
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        cells = [_seconds(row) for row in (before, after)]
        ratio, same = "", ""
        if before.turns and after.turns:
            ratio = f"{after.seconds / before.seconds:.3f}"
            same = _describe_agreement(before)
        lines.append(f"{after.work:<28}{cells[0]:>28}{cells[1]:>28}{ratio:>16}  {same}")
    return "\n".join(lines)


def _seconds(row: Row) -> str:
    if not row.turns:
        return row.failed
    low, high = (1000 * seconds for seconds in row.spread)
    return f"{1000 * row.seconds:.1f} ms ({low:.0f}-{high:.0f})"


def _describe_agreement(row: Row) -> str:
    if row.agreement is None:
        return ""
    if row.work.startswith(("Fit", "Search")):
        return f"{row.agreement:.2%} of predictions"
    return f"to {row.agreement:.0e}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks before-after",
        description="Time this checkout of heatgraph against another, by turns.",
    )
    parser.add_argument("--base", type=Path, required=True, help="folder of the other checkout")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each (5)")
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
    # Not at the top: processes of the other checkout import this module, and its heatgraph may not
    # have the private modules that the harness uses.
    from benchmarks.rounds import run_rounds

    rows = run_rounds(list_jobs(base, folder), options.rounds, {}, {})
    print(write_table(rows))
