"""What a process is asked to do, in plain values that fit on a command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

OURS = "heatgraph"
# Seconds that a turn may take before it is cut short or given up.
LIMIT = 120.0


@dataclass(frozen=True)
class Job:
    """One peer's turn at a piece of work.

    Jobs of the same `work` are compared with each other. `kind` is what is done (a function of
    `benchmarks.work`, or "command"), `data` the name of a workload and `settings` are what the work
    depends on. A job that is not `compared` stands in the table for information. `checkout` is the
    folder of another heatgraph, whose sources are imported instead of those beside this package.
    """

    work: str
    kind: str
    peer: str
    data: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    threads: int | None = None
    limit: float = LIMIT
    compared: bool = True
    checked: bool = True
    checkout: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Figure:
    """A number that is promised somewhere, such as ">= 150"; None if it was not measured."""

    label: str
    value: float | None
    wanted: str = ""

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not run"
        if not self.wanted:
            return ""
        relation, limit = self.wanted.split()[:2]
        reached = self.value >= float(limit) if relation == ">=" else self.value <= float(limit)
        return "reached" if reached else "MISSED"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark of the page: its jobs, and what is made of their rows.

    `jobs` takes the scale, `figures`, `charts` and `derived` (rows that follow from others) take
    the results.
    """

    name: str
    title: str
    about: Sequence[str]
    jobs: Callable[[float], list[Job]]
    figures: Callable[[Any], list[Figure]]
    charts: Callable[[Any], list[Any]] = lambda results: []
    derived: Callable[[Any], list[Any]] = lambda results: []
