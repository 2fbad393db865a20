"""200,000 nodes with 64 features and a million edges, in CSV: reading them, and all of it.

Reading ends with the graph: ids found, features in one matrix, edges sorted and symmetric. Arrow's
ends with two tables. The command is timed as a process of its own, with its peak memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow.csv

import heatgraph as hg
from benchmarks.turns import compare, take_turns, write
from heatgraph.tables.writing import write_dataset

NODES, EDGES, FEATURES, CLASSES = 200_000, 1_000_000, 64, 5
LABELLED = 0.1
FIRST_ID = 10**18  # ids of 19 digits


def make_tables(folder: Path) -> tuple[Path, Path]:
    data = hg.make_block_graph(NODES, round(EDGES / 0.995), CLASSES, FEATURES, homophily=0.5)
    random = np.random.default_rng(0)
    graph = data.graph.with_features(data.graph.features.round(4))
    graph.node_ids = FIRST_ID + np.arange(NODES)
    labels = np.where(random.random(NODES) < LABELLED, data.labels, -1)
    write_dataset(replace(data, graph=graph, labels=labels, splits={}), folder)
    return folder / "nodes.csv", folder / "edges.csv"


def run_command(nodes: Path, edges: Path) -> tuple[float, float, str]:
    """Seconds, peak memory in GB, and the report of one `heatgraph fit`."""
    command = Path(sys.executable).with_name("heatgraph")
    outputs = ["--model", nodes.with_name("m.safetensors"), "-o", nodes.with_name("p.csv")]
    start = time.perf_counter()
    with subprocess.Popen(
        [command, "fit", nodes, edges, *outputs], stdout=subprocess.PIPE, text=True
    ) as process:
        report = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(report)
    return time.perf_counter() - start, usage.ru_maxrss * 1024 / 1e9, report


def run(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        nodes, edges = make_tables(Path(name))
        sizes = f"{nodes.stat().st_size / 1e6:.0f} and {edges.stat().st_size / 1e6:.0f} MB"
        times = take_turns(
            {
                "pyarrow.csv": lambda: [pyarrow.csv.read_csv(path) for path in (nodes, edges)],
                "heatgraph, to a graph": lambda: hg.from_tables(nodes, edges),
            },
            rounds,
        )
        runs = [run_command(nodes, edges) for _ in range(rounds)]
    report = runs[0][2].replace(name + os.sep, "")
    slower = times["heatgraph, to a graph"].median / times["pyarrow.csv"].median
    figures = [
        ("reading / pyarrow.csv", slower, "<= 2"),
        ("heatgraph fit, seconds (slowest run)", max(seconds for seconds, _, _ in runs), "<= 60"),
        ("heatgraph fit, peak memory in GB", max(peak for _, peak, _ in runs), "<= 2"),
    ]
    lines = [f"nodes.csv and edges.csv have {sizes}", ""]
    lines += [f"{way:<24}{timing}" for way, timing in times.items()]
    lines += ["", *compare(figures), "", "$ heatgraph fit nodes.csv edges.csv ...", report.rstrip()]
    text = "\n".join(lines)
    print(text)
    write(
        "tables",
        "Tables in, predictions out",
        text,
        {
            "figures": {label: value for label, value, _ in figures},
            "seconds": {way: asdict(timing) for way, timing in times.items()},
        },
    )
