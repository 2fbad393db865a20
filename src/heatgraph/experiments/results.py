"""Results in a file, ``results.json``: what was found, with which setting, by which run.

An *entry* is the smallest thing that is run and kept, and a *record* is what it came to.
The file is written anew, whole or not at all, after every entry, so that a run that is killed loses
the entry it was at. It remembers a digest of every data set: results of other data are not mixed.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.memory import memory_budget_bytes
from heatgraph.errors import FileFormatError, InputError
from heatgraph.report.document import Table

FILE = "results.json"
FORMAT = 1
PACKAGES = ("heatgraph", "numpy", "scipy", "numba", "scikit-learn")
# Of extras, where they are installed.
EXTRAS = ("torch", "torch_geometric", "torchdiffeq", "gensim")


@dataclass(frozen=True)
class Entry:
    """The smallest thing that is run and kept.

    `setting` tells it from all others, in plain values, the data set among them; `run` takes what
    there is to work on and gives plain values. `details` are what else the result depends on, such
    as candidates and grids: if they are others than those of a result, that result does not count.
    """

    setting: dict[str, Any]
    run: Callable[[Any], dict[str, Any]]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The setting as one text."""
        return json.dumps(self.setting, sort_keys=True)

    def __str__(self) -> str:
        return ", ".join(str(value) for value in self.setting.values() if value is not None)


@dataclass(frozen=True)
class Record:
    """What an entry came to."""

    setting: dict[str, Any]
    result: dict[str, Any]


class Records(list[Record]):
    """Records of what is done."""

    def where(self, **wanted: Any) -> Records:
        """Those whose settings are as wanted."""
        return Records(
            record
            for record in self
            if all(record.setting.get(key) == value for key, value in wanted.items())
        )

    def values(self, name: str) -> list[float]:
        """One of the results of each."""
        return [record.result[name] for record in self]


class Results:
    """What is known so far, in a folder, of commands of one kind."""

    def __init__(self, folder: Path, kind: str, command: str) -> None:
        self.path = folder / FILE
        self.kind, self.command = kind, command
        self.runs: list[dict[str, Any]] = []
        self.digests: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self._found: dict[str, dict[str, Any]] = {}
        self._now: int | None = None
        if self.path.exists():
            self._read()

    def __contains__(self, entry: Entry) -> bool:
        """Whether an entry is done, with the details that it has now."""
        found = self._found.get(entry.key)
        return found is not None and found["details"] == _plain(entry.details)

    def of(self, entries: list[Entry]) -> Records:
        """Records of those entries that are done."""
        found = [self._found[entry.key] for entry in entries if entry in self]
        return Records(Record(one["setting"], one["result"]) for one in found)

    def runs_of(self, entries: list[Entry]) -> list[dict[str, Any]]:
        """The runs that these entries were found in."""
        numbers = sorted({self._found[entry.key]["run"] for entry in entries if entry in self})
        return [self.runs[number] for number in numbers]

    def check_data(self, name: str, digest: str) -> None:
        """Refuse a data set that is not the one that earlier results are of."""
        if self.digests.setdefault(name, digest) != digest:
            raise InputError(
                f"{self.path} has results of other data by the name of {name}. Name another folder "
                "with --output, or delete the file."
            )

    def add(self, entry: Entry, result: dict[str, Any], seconds: float) -> None:
        """Keep what an entry came to, on disk."""
        if self._now is None:
            self._now = len(self.runs)
            self.runs.append(describe_run(self.command))
        self.reasons.pop(entry.key, None)
        self._found[entry.key] = {
            "setting": entry.setting,
            "details": _plain(entry.details),
            "result": _plain(result),
            "seconds": round(seconds, 3),
            "run": self._now,
        }
        self.save()

    def leave_out(self, entry: Entry, reason: str) -> None:
        """Remember why an entry could not be run."""
        self.reasons[entry.key] = reason

    def why_not(self, entry: Entry) -> str | None:
        """Why an entry could not be run, if that was tried."""
        return self.reasons.get(entry.key)

    def save(self) -> None:
        """Write the file anew."""
        content = {
            f"heatgraph-{self.kind}": FORMAT,
            "runs": self.runs,
            "data": self.digests,
            "not_run": self.reasons,
            "entries": list(self._found.values()),
        }
        with atomic_write(self.path) as file:
            file.write(json.dumps(content, indent=1, allow_nan=False).encode())

    def _read(self) -> None:
        try:
            content = json.loads(self.path.read_bytes())
            form = content[f"heatgraph-{self.kind}"]
            if form != FORMAT:
                raise ValueError(f"its format is {form!r}, not {FORMAT}")
            self.runs, self.digests = list(content["runs"]), dict(content["data"])
            self.reasons = dict(content["not_run"])
            for found in content["entries"]:
                entry = Entry(dict(found["setting"]), lambda _: {})
                for part in ("versions", "machine"):
                    dict(self.runs[found["run"]][part])
                for part in ("details", "result"):
                    dict(found[part])
                self._found[entry.key] = found
        except (LookupError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{self.path} does not hold results of heatgraph {self.kind} ({error!r}). Name "
                "another folder with --output, or delete the file."
            ) from error


def describe_run(command: str) -> dict[str, Any]:
    """When, how, with what and on what something is run."""
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": command,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
            **versions_of(EXTRAS),
        },
        "machine": describe_machine(),
    }


def circumstances(runs: list[dict[str, Any]]) -> Table:
    """When, how and on what these runs were; those that agree in the rest are told once."""
    times: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        machine, versions = run["machine"], run["versions"]
        rest = (
            f"`{run['command']}`",
            f"{machine['processor']}, {machine['cores']} cores, {machine['system']}",
            ", ".join(f"{name} {number}" for name, number in versions.items()),
        )
        times.setdefault(rest, []).append(run["started"][:16].replace("T", " "))
    rows = [
        [began[0] if len(began) == 1 else f"{began[0]}, in {len(began)} goes", *rest]
        for rest, began in times.items()
    ]
    head = ["begun (UTC)", "command", "machine", "versions"]
    return Table("Runs that these numbers are from", head, rows, len(head))


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Versions of those that are installed."""
    return {name: version(name) for name in packages if find_spec(name)}


@cache
def describe_machine() -> dict[str, Any]:
    """What this machine is; nothing that tells whose."""
    memory = memory_budget_bytes(None)
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1) if math.isfinite(memory) else None,
    }


def _processor() -> str:
    """The processor's name, where the system tells it."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """The same as JSON gives it back: lists for tuples."""
    plain: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    return plain
