"""200,000 nodes with 64 features and a million edges in CSV: reading them, and a fit by command.

Reading ends with the graph: ids matched, features in one matrix, edges sorted and symmetric.
pyarrow stops at two tables. The command is timed as a process of its own, with its peak memory.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import heatgraph as hg
from benchmarks.benchmark import OURS, Benchmark, Figure, Job, Outcome, Task
from benchmarks.memory import run_and_measure
from benchmarks.results import Results
from benchmarks.suite.fit import LONG_LIMIT
from benchmarks.workloads import Workload, tables

READ, FIT = "Read", "Fit by command"
READER, ARROW = "heatgraph, to a graph", "pyarrow.csv"
NODES = 200_000


def read(job: Job, data: Workload) -> Task:
    paths = [data.folder / "nodes.csv", data.folder / "edges.csv"]
    if job.peer == READER:
        return Task(lambda: Outcome(hg.from_tables(*paths)), self_limiting=False)
    import pyarrow.csv

    return Task(
        lambda: Outcome([pyarrow.csv.read_csv(path) for path in paths]), self_limiting=False
    )


def fit_by_command(job: Job, data: Workload) -> Task:
    """``heatgraph fit``, which writes a model and predictions."""
    program = Path(sys.executable).with_name("heatgraph")
    inputs = [data.folder / "nodes.csv", data.folder / "edges.csv"]

    def run() -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            outputs = ["--model", Path(folder, "m.safetensors"), "-o", Path(folder, "p.csv")]
            printed, peak = run_and_measure([program, "fit", *inputs, *outputs])
        for parent in (folder, str(data.folder)):
            printed = printed.replace(parent + os.sep, "")
        return Outcome(None, facts={"peak_memory": peak, "printed": printed.rstrip()})

    return Task(run, self_limiting=False, measures_memory=False)


def jobs(scale: float) -> list[Job]:
    data = tables(NODES * scale)
    return [
        *(Job(READ, read, peer, data, checked=False) for peer in (ARROW, READER)),
        Job(FIT, fit_by_command, OURS, data, limit=LONG_LIMIT, checked=False),
    ]


def figures(results: Results) -> list[Figure]:
    peak = results.value(FIT, OURS, lambda row: row.facts["peak_memory"] / 1e9)
    slowest = results.value(FIT, OURS, lambda row: row.spread[1])
    return [
        Figure("reading / pyarrow.csv", results.ratio(READ, READER, ARROW), "<= 2"),
        Figure("heatgraph fit, seconds (slowest run)", slowest, "<= 60"),
        Figure("heatgraph fit, peak memory in GB", peak, "<= 2"),
    ]


def text(results: Results) -> str:
    titles = [about["title"] for about in results.data.values()]
    times = [
        f"{row.peer:<24}{row.format_time() if row.turns else row.failed}"
        for row in results.rows_of(READ)
    ]
    measured = [
        f"{figure.label:<48}{figure.value:>10.3g}"
        for figure in figures(results)
        if figure.value is not None
    ]
    printed = results.value(FIT, OURS, lambda row: row.facts["printed"]) or ""
    command = "$ heatgraph fit nodes.csv edges.csv ..."
    head = f"{'figure':<48}{'measured':>10}"
    return "\n".join([*titles, "", *times, "", head, *measured, "", command, printed])


TABLES = Benchmark(
    "tables",
    "Tables in, predictions out",
    [],
    jobs,
    figures,
    page="tables-benchmark",
    text=text,
)
