"""Results of a benchmark, in memory and as JSON: a row for each peer at each piece of work."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.benchmark import OURS, Figure, Job
from heatgraph._io.formatting import format_seconds


@dataclass
class Row:
    """One peer at one piece of work.

    Parameters
    ----------
    failed : str
        Why there are no turns; empty if there are.
    note : str
        How the seconds were estimated; empty if they were measured.
    turns : list of dict
        Times and memory of each process, one for each round.
    moved : int, optional
        Bytes that products read and write.
    facts : dict
        Whatever else the task reports, such as an accuracy.
    difference : float, optional
        Relative difference to a reference in float64, on sampled rows and columns.
    agreement : float, optional
        With heatgraph's result: the relative difference, or the share of equal predictions.
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
    def for_job(cls, job: Job) -> Row:
        settings = dict(job.settings)
        return cls(job.work, job.peer, job.data, job.threads, job.compared, settings)

    def add_turn(self, answer: dict[str, Any]) -> None:
        """Add what a process answered; a failure discards earlier turns."""
        if "failed" in answer:
            self.failed, self.turns = answer["failed"], []
            return
        seconds = answer["seconds"]
        self.turns.append(
            {
                "median": statistics.median(seconds),
                "fastest": min(seconds),
                "slowest": max(seconds),
                "runs": len(seconds),
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
        """Median over turns of the median within each."""
        values = self._values("median")
        return statistics.median(values) if values else None

    @property
    def setup_seconds(self) -> float | None:
        values = self._values("setup_seconds")
        return statistics.median(values) if values else None

    @property
    def spread(self) -> tuple[float, float]:
        """Medians of the fastest and the slowest turn."""
        medians = self._values("median")
        return min(medians), max(medians)

    def format_time(self) -> str:
        """Median, and the fastest and slowest turn if there are several."""
        low, high = (format_seconds(seconds) for seconds in self.spread)
        spread = f" ({low} to {high})" if len(self.turns) > 1 else ""
        return format_seconds(self.seconds) + spread

    @property
    def memory(self) -> int | None:
        """Peak bytes beyond what the process held before the task ran."""
        return max(self._values("memory"), default=None)

    @property
    def private_memory(self) -> int | None:
        """The same for memory that no file backs."""
        return max(self._values("private_memory"), default=None)

    def _values(self, name: str) -> list[Any]:
        return [turn[name] for turn in self.turns if turn.get(name) is not None]


@dataclass
class Results:
    """The rows of one run of a benchmark; `run` has its command, versions and machine."""

    benchmark: str
    run: dict[str, Any]
    rounds: int
    scale: float
    limit: float
    bandwidth: dict[str, float]
    data: dict[str, dict[str, Any]]
    rows: list[Row]

    @classmethod
    def empty(cls, benchmark: str) -> Results:
        return cls(benchmark, {}, 0, 1.0, 0.0, {}, {}, [])

    @property
    def works(self) -> list[str]:
        return list(dict.fromkeys(row.work for row in self.rows))

    def rows_of(self, work: str) -> list[Row]:
        return [row for row in self.rows if row.work == work]

    def find(self, work: str, peer: str = OURS) -> Row | None:
        return next((row for row in self.rows_of(work) if row.peer == peer), None)

    def value(self, work: str, peer: str, read: Callable[[Row], Any]) -> Any:
        """`read` of a row; None if it was not run."""
        row = self.find(work, peer)
        return None if row is None or not row.turns else read(row)

    def seconds(self, work: str, peer: str) -> float | None:
        return self.value(work, peer, lambda row: row.seconds)

    def ratio(self, work: str, peer: str, base: str = OURS) -> float | None:
        """The seconds of a peer over those of another, by default heatgraph."""
        return divide(self.seconds(work, peer), self.seconds(work, base))

    def ratio_figure(
        self, label: str, work: str, peer: str, base: str = OURS, target: str = ""
    ) -> Figure:
        """A ratio of seconds; its label says if those of the peer are extrapolated."""
        row = self.find(work, peer)
        if row is not None and row.note:
            label = f"{label} ({row.note})"
        return Figure(label, self.ratio(work, peer, base), target)

    def plan_error(self, work: str) -> float | None:
        """Relative error of heatgraph's planned memory."""
        planned = self.value(work, OURS, lambda row: row.planned_memory)
        quotient = divide(planned, self.value(work, OURS, lambda row: row.memory))
        return None if quotient is None else abs(quotient - 1)

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


def divide(numerator: float | None, denominator: float | None) -> float | None:
    """A quotient; None if either is unknown or zero."""
    return numerator / denominator if numerator and denominator else None
