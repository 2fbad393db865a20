"""Results of experiments, stored in ``results.json`` so that an interrupted run can be resumed.

A *trial* is the unit of work that is run and stored; a *record* is its setting and its result. The
file is replaced by an atomic write after every trial, so that a killed run loses only the trial in
progress. It also holds a digest of every data set, and refuses to mix results of different data.

Several processes may add results to one file: each reads it again, adds its own and writes it,
under a lock. A checksum of the content tells of damage.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.file_lock import FileLock
from heatgraph._io.memory import memory_budget_bytes
from heatgraph._io.regular_files import open_regular_file
from heatgraph.errors import FileFormatError, InputError
from heatgraph.report.document import Table, code

RESULTS_FILE = "results.json"
FORMAT = 3
READABLE_FORMATS = (2, FORMAT)  # 2 had no checksum
# Seconds to wait while another process writes the file.
LOCK_TIMEOUT = 60.0
# Levels of lists and objects in the file; results and settings are nearly flat.
MAX_DEPTH = 20
REQUIRED_PACKAGES = ("heatgraph", "numpy", "scipy", "numba", "scikit-learn")
OPTIONAL_PACKAGES = ("torch", "torch_geometric", "torchdiffeq", "gensim")


@dataclass(frozen=True)
class Trial:
    """The unit of work that is run and stored.

    Attributes
    ----------
    setting
        Identifies the trial, in JSON values; ``"dataset"`` is among the keys.
    run
        Computes the result, a dict of JSON values. Its argument depends on the experiment.
    details
        What else the result depends on, such as search grids and versions. A stored result whose
        details differ is stale and is computed again.
    """

    setting: dict[str, Any]
    run: Callable[[Any], dict[str, Any]]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The setting as canonical JSON."""
        return json.dumps(self.setting, sort_keys=True)

    def __str__(self) -> str:
        return ", ".join(str(value) for value in self.setting.values() if value is not None)


@dataclass(frozen=True)
class Record:
    """Setting and result of a trial that was run."""

    setting: dict[str, Any]
    result: dict[str, Any]


class Records(list[Record]):
    """A list of records that can be filtered by setting."""

    def where(self, **setting: Any) -> Records:
        """Records whose settings have these values."""
        return Records(
            record
            for record in self
            if all(record.setting.get(key) == value for key, value in setting.items())
        )

    def values(self, name: str) -> list[float]:
        """The result `name` of every record."""
        return [record.result[name] for record in self]


class ResultStore:
    """Results of one kind of command ("paper" or "compare") in a folder's ``results.json``."""

    def __init__(self, folder: Path, kind: str, command: str) -> None:
        self.path = folder / RESULTS_FILE
        self.kind, self.command = kind, command
        self.runs: list[dict[str, Any]] = []
        self.digests: dict[str, str] = {}
        self.skip_reasons: dict[str, str] = {}
        self._stored: dict[str, dict[str, Any]] = {}
        # What this process adds to the file when it is next written.
        self._this_run: dict[str, Any] | None = None
        self._new_digests: dict[str, str] = {}
        self._new_skip_reasons: dict[str, str] = {}
        self._read()

    def __contains__(self, trial: Trial) -> bool:
        """Whether the trial has a result for its current details."""
        stored = self._stored.get(trial.key)
        return stored is not None and stored["details"] == _json_values(trial.details)

    def records(self, trials: Iterable[Trial]) -> Records:
        """Records of those of the trials that have results."""
        stored = (self._stored[trial.key] for trial in trials if trial in self)
        return Records(Record(one["setting"], one["result"]) for one in stored)

    def runs_of(self, trials: Iterable[Trial]) -> list[dict[str, Any]]:
        """Descriptions of the runs that computed the results of these trials."""
        numbers = sorted({self._stored[trial.key]["run"] for trial in trials if trial in self})
        return [self.runs[number] for number in numbers]

    def check_data(self, name: str, digest: str) -> None:
        """Refuse a data set that differs from the one of earlier results with the same name."""
        if self.digests.setdefault(name, digest) != digest:
            raise InputError(
                f"{self.path} has results of other data by the name of {name}. Name another folder "
                "with --output, or delete the file."
            )
        self._new_digests[name] = digest

    def add(self, trial: Trial, result: dict[str, Any], seconds: float) -> None:
        """Store the result of a trial, and write the file."""
        entry = {
            "setting": trial.setting,
            "details": _json_values(trial.details),
            "result": _json_values(result),
            "seconds": round(seconds, 3),
        }
        if self._this_run is None:
            self._this_run = describe_run(self.command)
        with self._updating():
            if self._this_run not in self.runs:
                self.runs.append(self._this_run)
            self.skip_reasons.pop(trial.key, None)
            self._stored[trial.key] = {**entry, "run": self.runs.index(self._this_run)}

    def skip(self, trial: Trial, reason: str) -> None:
        """Note why a trial could not be run; `save` writes it."""
        self.skip_reasons[trial.key] = self._new_skip_reasons[trial.key] = reason

    def skip_reason(self, trial: Trial) -> str | None:
        """Why a trial could not be run; None if it was run or never tried."""
        return self.skip_reasons.get(trial.key)

    def save(self) -> None:
        """Write the file, with what other processes have stored in it."""
        with self._updating():
            pass

    @contextlib.contextmanager
    def _updating(self) -> Iterator[None]:
        """Read the file again, let the caller change what it holds, and write it, all locked."""
        lock_file = self.path.with_name(f".{self.path.name}.lock")
        with FileLock(lock_file, self.path, timeout=LOCK_TIMEOUT):
            self._read()
            for name, digest in self._new_digests.items():
                self.check_data(name, digest)
            self.skip_reasons |= self._new_skip_reasons
            yield
            self._write()
        self._new_skip_reasons.clear()

    def _write(self) -> None:
        content = {
            f"heatgraph-{self.kind}": FORMAT,
            "runs": self.runs,
            "data": self.digests,
            "not_run": self.skip_reasons,
            "entries": list(self._stored.values()),
        }
        _check_depth(content)
        content["sha256"] = _checksum(content)
        with atomic_write(self.path) as file:
            file.write(json.dumps(content, indent=1, allow_nan=False).encode())

    def _read(self) -> None:
        """Take over what the file holds, if there is one."""
        if not self.path.exists():
            return
        with open_regular_file(self.path) as file:
            raw = file.read()
        try:
            content = json.loads(raw)
            _check_depth(content)
            self._check_format(content)
            runs, digests = list(content["runs"]), dict(content["data"])
            skip_reasons = dict(content["not_run"])
            entries = {}
            for stored in content["entries"]:
                trial = Trial(dict(stored["setting"]), lambda _: {})
                for part in ("versions", "machine"):
                    dict(runs[stored["run"]][part])
                for part in ("details", "result"):
                    dict(stored[part])
                entries[trial.key] = stored
        except (LookupError, RecursionError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{self.path} does not hold results of heatgraph {self.kind} ({error!r}). Name "
                "another folder with --output, or delete the file."
            ) from error
        self.runs, self.digests, self.skip_reasons = runs, digests, skip_reasons
        self._stored = entries

    def _check_format(self, content: dict[str, Any]) -> None:
        file_format = content[f"heatgraph-{self.kind}"]
        if file_format not in READABLE_FORMATS:
            raise ValueError(f"its format is {file_format!r}, not {FORMAT}")
        expected = content.pop("sha256", None)
        # Computed in any case: it refuses what is no number in JSON, such as NaN.
        if _checksum(content) != expected and (file_format == FORMAT or expected is not None):
            raise ValueError("it is damaged or was altered: its checksum is of other content")


def _checksum(content: dict[str, Any]) -> str:
    """SHA-256 of JSON values, however they are laid out in a file."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_depth(value: Any, levels: int = MAX_DEPTH) -> None:
    if levels == 0:
        raise ValueError(f"it has more than {MAX_DEPTH} levels")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        _check_depth(part, levels - 1)


def describe_run(command: str) -> dict[str, Any]:
    """Time, command, package versions and machine of a run."""
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        "command": command,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in REQUIRED_PACKAGES},
            **installed_versions(OPTIONAL_PACKAGES),
        },
        "machine": describe_machine(),
    }


def runs_table(runs: list[dict[str, Any]]) -> Table:
    """A table of runs; those that differ only in their time share a row."""
    times: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        machine, versions = run["machine"], run["versions"]
        rest = (
            code(run["command"]),
            f"{machine['processor']}, {machine['cores']} cores, {machine['system']}",
            ", ".join(f"{name} {number}" for name, number in versions.items()),
        )
        times.setdefault(rest, []).append(run["started"][:16].replace("T", " "))
    rows = [
        [starts[0] if len(starts) == 1 else f"{starts[0]}, in {len(starts)} runs", *rest]
        for rest, starts in times.items()
    ]
    head = ["begun (UTC)", "command", "machine", "versions"]
    return Table("Runs that these numbers are from", head, rows, len(head))


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of those of the packages that are installed."""
    return {name: version(name) for name in packages if find_spec(name)}


@cache
def describe_machine() -> dict[str, Any]:
    """System, processor, cores and memory; nothing that identifies the owner."""
    memory = memory_budget_bytes(None)
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor_name(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1) if math.isfinite(memory) else None,
    }


def _processor_name() -> str:
    """The processor's name; "unknown" if the system does not report one."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _json_values(value: dict[str, Any]) -> dict[str, Any]:
    """The values after a round trip through JSON, with lists for tuples."""
    plain: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    return plain
