"""Processes by turns: every peer of every work once in each round, so that all meet slow moments.

A peer that is not installed, runs out of memory, crashes or exceeds its limit in one round is left
out of the next ones, and its row says why. Nothing that a peer does ends a benchmark.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.jobs import LIMIT, Benchmark, Job
from benchmarks.references import check
from benchmarks.rows import Results, Row
from benchmarks.workloads import NoFiles, Workload, prepare
from heatgraph.experiments.results import describe_run

ROOT = Path(__file__).parents[1]
# Seconds for setting up, and for a tiny graph before.
SETUP_LIMIT = 1200.0
PEERS = ("torch", "torch_geometric", "PyGSP", "scikit-network", "sparse_dot_mkl", "mkl")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip


def run_benchmark(
    benchmark: Benchmark,
    jobs: list[Job],
    folder: Path,
    command: str,
    rounds: int,
    scale: float,
    limit: float,
) -> Results:
    """Run jobs for so many rounds; workloads are kept in `folder`."""
    folders, missing = _workloads(jobs, folder)
    bandwidth = run_worker(Job("", "machine", ""), "", "")
    described = describe_run(command)
    described["versions"] |= _versions()
    rows = run_rounds(jobs, rounds, folders, missing)
    results = Results(
        benchmark.name,
        described,
        rounds,
        scale,
        limit,
        bandwidth if "copy" in bandwidth else {},
        {data: Workload(path).about for data, path in folders.items()},
        rows,
    )
    results.rows += benchmark.derived(results)
    return results


def run_rounds(
    jobs: list[Job], rounds: int, folders: dict[str, Path], missing: dict[str, str]
) -> list[Row]:
    """Run every job once in each round; `missing` says why a workload has no folder."""
    rows = [Row.of(job) for job in jobs]
    for row in rows:
        row.failed = missing.get(row.data, "")
    with tempfile.TemporaryDirectory() as name:
        samples = {
            place: Path(name, f"{place}.npy") for place, job in enumerate(jobs) if job.checked
        }
        for turn in range(rounds):
            for place, (job, row) in enumerate(zip(jobs, rows, strict=True)):
                if row.failed:
                    continue
                sample = samples.get(place) if turn == 0 else None
                row.add(take_turn(job, folders.get(job.data), sample))
                _tell(f"round {turn + 1} of {rounds}", row)
        check(rows, samples, folders)
    return rows


def take_turn(job: Job, folder: Path | None, sample: Path | None) -> dict[str, Any]:
    """What a job comes to, by whatever kind of process."""
    if job.kind == "command":
        return run_command(job)
    return run_worker(job, str(folder or ""), "" if sample is None else str(sample))


def run_worker(job: Job, folder: str, sample: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.worker", job.to_json(), folder, sample]
    environment = dict(os.environ)
    if job.threads is not None:
        environment |= dict.fromkeys(THREAD_VARIABLES, str(job.threads))
    if job.checkout:
        environment["PYTHONPATH"] = str(Path(job.checkout, "src"))
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SETUP_LIMIT + 5 * job.limit,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"setting up took more than {SETUP_LIMIT:g} s"}
    if done.returncode or not done.stdout:
        return {"failed": told(done.returncode, job.limit)}
    return json.loads(done.stdout)


def run_command(job: Job) -> dict[str, Any]:
    """Time a command from its start to its end, with an empty folder for compiled code if asked.

    Programs are those beside the Python that runs this. Their memory is not told: what the system
    says of a child that has ended includes this process's own, from before it became another.
    """
    with tempfile.TemporaryDirectory() as empty:
        environment = dict(os.environ)
        if job.settings.get("nothing_compiled"):
            environment["NUMBA_CACHE_DIR"] = empty
        program, *arguments = job.settings["command"]
        start = time.perf_counter()
        with subprocess.Popen(
            [Path(sys.executable).with_name(program), *arguments],
            cwd=empty,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            errors = process.stderr.read().decode(errors="replace")
            process.wait()
        seconds = time.perf_counter() - start
    if process.returncode:
        absent = "ModuleNotFoundError" in errors
        return {"failed": "not installed" if absent else told(process.returncode, job.limit)}
    return {"seconds": [seconds]}


def told(code: int, limit: float) -> str:
    """What the end of a process says."""
    if code == -getattr(signal, "SIGALRM", 0):
        return f"not done within the limit of {limit:g} s"
    if code == -9:
        return "killed, most likely for want of memory"
    if code < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"crashed ({names.get(-code, f'signal {-code}')})"
    return f"ended without a result (exit code {code})"


def _workloads(jobs: list[Job], folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    found, missing = {}, {}
    for name in dict.fromkeys(job.data for job in jobs if job.data):
        print(f"preparing {name}", file=sys.stderr, flush=True)
        try:
            found[name] = prepare(name, folder)
        except NoFiles as error:
            missing[name] = f"not run: {error}"
    return found, missing


def _versions() -> dict[str, str]:
    found = {}
    for name in PEERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def _tell(turn: str, row: Row) -> None:
    what = row.failed or f"{row.turns[-1]['median']:.4g} s {row.note}"
    threads = "" if row.threads is None else f", {row.threads} threads"
    print(f"{turn}: {row.work}: {row.peer}{threads}: {what}", file=sys.stderr, flush=True)


def chosen(jobs: list[Job], peers: str, data: str, limit: float) -> list[Job]:
    """The jobs of some peers on some data, by parts of their names; with another limit."""

    def fits(text: str, wanted: str) -> bool:
        return not wanted or any(part in text for part in wanted.split(","))

    scaled = [replace(job, limit=job.limit * limit / LIMIT) for job in jobs]
    return [job for job in scaled if fits(job.peer, peers) and fits(job.data, data)]
