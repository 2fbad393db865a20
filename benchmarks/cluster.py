"""A diffusion on a cluster of local processes beside one process: CPU seconds, wall time, bytes.

    python -m benchmarks.cluster --nodes 1e6 --edges 1e7 --features 128 --T 20

Each measurement is a process of its own, which maps a stored random graph and writes its result to
a file; the results are compared byte by byte. Bytes on the wire are those of the loopback device,
so they count everything that is sent on this machine meanwhile. With `--kills`, a worker is killed
that many times in the middle of a run.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import heatgraph as hg


def write_graph(folder: Path, nodes: int, edges: int, features: int, seed: int = 0) -> None:
    """Store a random graph whose nodes are numbered at random."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes, (2, edges), dtype=np.int64)
    graph = hg.Graph.from_edges(*ends, num_nodes=nodes, symmetrize="max", duplicates="max")
    del ends
    X = np.lib.format.open_memmap(
        folder / "X.npy", mode="w+", dtype=np.float32, shape=(nodes, features)
    )
    for start in range(0, nodes, 1 << 16):
        X[start : start + (1 << 16)] = random.standard_normal(
            X[start : start + (1 << 16)].shape, dtype=np.float32
        )
    X.flush()
    graph.with_features(np.load(folder / "X.npy", mmap_mode="r")).save(folder / "graph.heatgraph")
    (folder / "X.npy").unlink()


def run_alone(options: dict[str, Any], threads: int) -> dict[str, Any]:
    """Diffuse in this process."""
    graph = hg.Graph.load(options["graph"])
    wall, cpu = time.perf_counter(), time.process_time()
    hg.diffuse(graph, options["T"], out=options["out"], n_threads=threads, reorder=False)
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "plan": str(hg.plan(graph, options["T"], out=options["out"], reorder=False)),
    }


def run_on_cluster(
    options: dict[str, Any], mode: str, workers: int, limit: str, kills: int
) -> dict[str, Any]:
    """Diffuse on local worker processes of one thread each; scheduler and client are this one."""
    from distributed import Client, LocalCluster

    from heatgraph.cluster import Cluster

    graph = hg.Graph.load(options["graph"])
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=limit, dashboard_address=":0"
        ) as processes,
        Client(processes) as client,
    ):
        client.run(warm_up)
        killed: list[dict[str, int]] = []
        redone = 0
        panels = Path(options["out"] + ".unfinished")

        def progress(done: int, total: int) -> None:
            nonlocal redone
            files = {file.name: file.stat().st_ino for file in panels.glob("*.safetensors")}
            for before in killed:
                redone += sum(files.get(name, inode) != inode for name, inode in before.items())
            if len(killed) < kills and done >= (len(killed) + 1) * total / (kills + 1):
                killed.append(files)
                pids = list(client.run(os.getpid).values())
                os.kill(pids[len(killed) % len(pids)], signal.SIGKILL)

        cluster = Cluster(client, mode=mode)
        plan = hg.plan(graph, options["T"], cluster=cluster, reorder=False)
        sent = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        wall, cpu, before = time.perf_counter(), time.process_time(), worker_cpu(client)
        hg.diffuse(
            graph, options["T"], out=options["out"], cluster=cluster, reorder=False,
            progress=progress,
        )  # fmt: skip
        return {
            "wall": time.perf_counter() - wall,
            "client cpu": time.process_time() - cpu,
            "worker cpu": worker_cpu(client) - before,
            "peak": max(client.run(peak).values()),
            "wire": psutil.net_io_counters(pernic=True)["lo"].bytes_sent - sent,
            "plan": str(plan),
            "kills": len(killed),
            "redone": redone,
        }


def warm_up() -> None:
    """Compile the kernels of this process before anything is measured."""
    graph = hg.Graph.from_edges([0], [1], features=np.eye(2, dtype=np.float32), symmetrize="max")
    hg.diffuse(graph, 1.0)


def peak() -> int:
    """Peak resident memory of this process, files that it maps included."""
    from heatgraph._io.memory import peak_memory

    return peak_memory() or 0


def worker_cpu(client: Any) -> float:
    """CPU seconds of all workers."""
    return sum(client.run(time.process_time).values())


def main() -> None:
    """Store the graph, measure in turn, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in [("nodes", 1e6), ("edges", 1e7), ("features", 128), ("T", 20.0)]:
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--modes", default="columns,blocks")
    parser.add_argument("--memory-limit", default="auto")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--without-one-machine", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        options = json.loads(arguments.measure)
        if options["mode"] == "alone":
            found = run_alone(options, arguments.workers)
        else:
            found = run_on_cluster(
                options, options["mode"], arguments.workers, arguments.memory_limit,
                arguments.kills,
            )  # fmt: skip
        print(json.dumps(found))
        return
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="heatgraph-cluster-"))
    folder.mkdir(exist_ok=True)
    if not (folder / "graph.heatgraph").exists():
        sizes = [int(getattr(arguments, name)) for name in ("nodes", "edges", "features")]
        write_graph(folder, *sizes)
    modes = ([] if arguments.without_one_machine else ["alone"]) + arguments.modes.split(",")
    for number in range(arguments.rounds):
        for mode in modes:
            options = {
                "graph": str(folder / "graph.heatgraph"), "out": str(folder / f"{mode}.npy"),
                "T": arguments.T, "mode": mode,
            }  # fmt: skip
            command = [sys.executable, "-m", "benchmarks.cluster", *sys.argv[1:]]
            done = subprocess.run(
                [*command, "--measure", json.dumps(options)], stdout=subprocess.PIPE, check=True
            )
            found = json.loads(done.stdout.splitlines()[-1])
            reference = folder / "alone.npy"
            if mode != "alone" and reference.exists():
                same = filecmp.cmp(reference, options["out"], shallow=False)
                found["same bits"] = same
            print(number, mode, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
