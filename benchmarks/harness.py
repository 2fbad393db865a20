"""Run jobs in interleaved rounds: in each round, every peer of every work gets one process.

Slow moments of a shared machine then hit all peers alike, and ratios within a run stay meaningful.
A peer that is not installed, runs out of memory, crashes or exceeds its limit is skipped in later
rounds, and its row says why. A failing peer never ends a benchmark.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.benchmark import LIMIT, Benchmark, Job
from benchmarks.results import Results, Row

ROOT = Path(__file__).parents[1]
# Seconds for the warm-up and the setup of a task.
SETUP_LIMIT = 1200.0
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """How to run a benchmark. `peers` and `data` select by parts of names, separated by commas."""

    rounds: int = 3
    scale: float = 1.0
    limit: float = LIMIT
    peers: str = ""
    data: str = ""

    def command(self, name: str) -> str:
        """The command line that runs a benchmark this way."""
        words = ["python", "-m", "benchmarks", name, "--rounds", str(self.rounds)]
        for option in ("scale", "limit", "peers", "data"):
            value = getattr(self, option)
            if value != getattr(Options, option):
                words += [f"--{option}", value if isinstance(value, str) else f"{value:g}"]
        return shlex.join(words)

    def select(self, jobs: list[Job]) -> list[Job]:
        """The selected jobs, with their limits in proportion to the one given."""

        def matches(name: str, parts: str) -> bool:
            return not parts or any(part in name for part in parts.split(","))

        return [
            replace(job, limit=job.limit * self.limit / LIMIT)
            for job in jobs
            if matches(job.peer, self.peers) and matches(job.data, self.data)
        ]


def run_benchmark(benchmark: Benchmark, options: Options, folder: Path) -> Results:
    """Run a benchmark; workloads are stored in `folder`."""
    from benchmarks.peers import installed_versions
    from benchmarks.workloads import Workload
    from heatgraph.experiments.results import describe_run

    jobs = options.select(benchmark.jobs(options.scale))
    is_timed = any(job.timed for job in jobs)
    rounds = options.rounds if is_timed else 1
    folders, missing = _prepare_workloads(jobs, folder)
    run = describe_run(options.command(benchmark.name))
    run["versions"] |= installed_versions()
    return Results(
        benchmark.name,
        run,
        rounds,
        options.scale,
        options.limit,
        _measure_bandwidth() if is_timed else {},
        {data: Workload(path).about for data, path in folders.items()},
        run_rounds(jobs, rounds, folders, missing),
    )


def run_rounds(
    jobs: list[Job],
    rounds: int,
    folders: dict[str, Path] | None = None,
    missing: dict[str, str] | None = None,
) -> list[Row]:
    """Run every job once per round.

    `folders` are those of workloads, and `missing` says why a workload has none.
    """
    from benchmarks.reference import compare_samples

    folders, missing = folders or {}, missing or {}
    rows = [Row.for_job(job) for job in jobs]
    for row in rows:
        row.failed = missing.get(row.data, "")
    with tempfile.TemporaryDirectory() as name:
        samples = {
            place: Path(name, f"{place}.npy") for place, job in enumerate(jobs) if job.checked
        }
        for number in range(rounds):
            for place, (job, row) in enumerate(zip(jobs, rows, strict=True)):
                if row.failed:
                    continue
                sample = samples.get(place) if number == 0 else None
                row.add_turn(run_job(job, folders.get(job.data), sample))
                _print_progress(f"round {number + 1} of {rounds}", row)
        compare_samples(rows, samples, folders)
    return rows


def run_job(job: Job, folder: Path | None = None, sample: Path | None = None) -> dict[str, Any]:
    """Run a job in a process; return its answer, or why it failed."""
    if job.task is None:
        return _run_command(job)
    return _run_worker(job, str(folder or ""), str(sample or ""))


def _run_worker(job: Job, folder: str, sample: str) -> dict[str, Any]:
    environment = dict(os.environ)
    if job.threads is not None:
        environment |= dict.fromkeys(THREAD_VARIABLES, str(job.threads))
    if job.checkout:
        environment["PYTHONPATH"] = str(Path(job.checkout, "src"))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.worker", job.to_json(), folder, sample],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SETUP_LIMIT + 5 * job.limit if job.timed else None,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"setting up took more than {SETUP_LIMIT:g} s"}
    if done.returncode or not done.stdout:
        return {"failed": _describe_exit(done.returncode, job.limit)}
    return json.loads(done.stdout)


def _run_command(job: Job) -> dict[str, Any]:
    """Time a command from start to end, if requested with an empty cache of compiled kernels.

    Programs are those beside this Python. Their memory is not measured: the system counts the
    memory of this process, from before the child replaced it, into the child's peak.
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
        is_missing = "ModuleNotFoundError" in errors
        reason = "not installed" if is_missing else _describe_exit(process.returncode, job.limit)
        return {"failed": reason}
    return {"seconds": [seconds]}


def _describe_exit(code: int, limit: float) -> str:
    """What the exit code of a failed process means."""
    if code == -getattr(signal, "SIGALRM", 0):
        return f"not done within the limit of {limit:g} s"
    if code == -9:
        return "killed, most likely out of memory"
    if code < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"crashed ({names.get(-code, f'signal {-code}')})"
    return f"ended without a result (exit code {code})"


def _prepare_workloads(jobs: list[Job], folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Folders of workloads, and why others have none."""
    from benchmarks.workloads import MissingFiles, prepare

    folders, missing = {}, {}
    for name in dict.fromkeys(job.data for job in jobs if job.data):
        print(f"preparing {name}", file=sys.stderr, flush=True)
        try:
            folders[name] = prepare(name, folder)
        except MissingFiles as error:
            missing[name] = f"not run: {error}"
    return folders, missing


def _measure_bandwidth() -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.bandwidth"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def _print_progress(prefix: str, row: Row) -> None:
    status = row.failed or f"{row.turns[-1]['median']:.4g} s {row.note}"
    threads = "" if row.threads is None else f", {row.threads} threads"
    print(f"{prefix}: {row.work}: {row.peer}{threads}: {status}", file=sys.stderr, flush=True)
