"""What came of a benchmark: a row for each peer's share of each work, and where it was run."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.jobs import OURS, Job


@dataclass
class Row:
    """One peer at one work. If `failed` says why, there are no turns.

    `note` says that seconds are not plainly measured, and how they were found. `difference` is the
    relative one to a reference in float64, at some rows and columns; `agreement` is with
    heatgraph's result: the relative difference, or the share of equal predictions.
    """

    work: str
    peer: str
    data: str = ""
    threads: int | None = None
    compared: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    failed: str = ""
    note: str = ""
    turns: list[dict[str, Any]] = field(default_factory=list)
    products: int | None = None
    moved: int | None = None
    planned_memory: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    difference: float | None = None
    agreement: float | None = None

    @classmethod
    def of(cls, job: Job) -> Row:
        settings = dict(job.settings)
        return cls(job.work, job.peer, job.data, job.threads, job.compared, settings)

    def add(self, answer: dict[str, Any]) -> None:
        """Take in what a turn came to."""
        if "failed" in answer:
            self.failed, self.turns = answer["failed"], []
            return
        spent = answer["seconds"]
        self.turns.append(
            {
                "median": statistics.median(spent),
                "fastest": min(spent),
                "slowest": max(spent),
                "runs": len(spent),
                **{name: answer.get(name) for name in ("setup_seconds", "memory")},
                "private_memory": answer.get("private_memory"),
            }
        )
        for name in ("products", "moved", "planned_memory"):
            setattr(self, name, answer.get(name))
        self.note = answer.get("note", "")
        self.facts = answer.get("facts", {})

    @property
    def is_ours(self) -> bool:
        return self.peer.split(",")[0] == OURS

    @property
    def seconds(self) -> float | None:
        return self._middle("median")

    @property
    def setup_seconds(self) -> float | None:
        return self._middle("setup_seconds")

    @property
    def spread(self) -> tuple[float, float]:
        """The fastest and the slowest turn."""
        medians = [turn["median"] for turn in self.turns]
        return min(medians), max(medians)

    @property
    def memory(self) -> int | None:
        """The most bytes beyond what was there before the work."""
        return self._most("memory")

    @property
    def private_memory(self) -> int | None:
        return self._most("private_memory")

    def _middle(self, name: str) -> float | None:
        values = [turn[name] for turn in self.turns if turn.get(name) is not None]
        return statistics.median(values) if values else None

    def _most(self, name: str) -> int | None:
        values = [turn[name] for turn in self.turns if turn.get(name) is not None]
        return max(values) if values else None


@dataclass
class Results:
    """The rows of one run of a benchmark, with its circumstances."""

    benchmark: str
    run: dict[str, Any]
    rounds: int
    scale: float
    limit: float
    bandwidth: dict[str, float]
    data: dict[str, dict[str, Any]]
    rows: list[Row]

    @property
    def works(self) -> list[str]:
        return list(dict.fromkeys(row.work for row in self.rows))

    def of(self, work: str) -> list[Row]:
        return [row for row in self.rows if row.work == work]

    def find(self, work: str, peer: str = OURS) -> Row | None:
        return next((row for row in self.of(work) if row.peer == peer), None)

    def value(self, work: str, peer: str, of: Callable[[Row], Any]) -> Any:
        """Something of a row; None if it was not run."""
        row = self.find(work, peer)
        return None if row is None or not row.turns else of(row)

    def ratio(self, work: str, slow: str, fast: str, other: str = "") -> float | None:
        """How many times the seconds of one are those of another (of another work, if named)."""
        one = self.value(work, slow, lambda row: row.seconds)
        two = self.value(other or work, fast, lambda row: row.seconds)
        return one / two if one and two else None

    def save(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.benchmark}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> Results:
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = [Row(**row) for row in content.pop("rows")]
        return cls(**content, rows=rows)
