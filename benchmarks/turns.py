"""Time several ways to do a thing by turns, so that a slow moment of the machine hits them all."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "docs"
TIMED = "Every ratio is of medians in one interleaved run; seconds are of a shared machine.\n"
SHORT = 0.5  # seconds that a turn lasts at least: quick work is repeated


@dataclass(frozen=True)
class Timing:
    median: float
    fastest: float
    slowest: float
    runs: int

    def __str__(self) -> str:
        unit, factor = ("s", 1) if self.median >= 1 else ("ms", 1000)
        low, middle, high = (f"{x * factor:.3g}" for x in (self.fastest, self.median, self.slowest))
        return f"{middle} {unit} ({low} to {high}, {self.runs} runs)"


def take_turns(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Run every way once to warm up, then all of them in turn, `rounds` times."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, work in ways.items():
            if sys.stdout.isatty():
                print(f"\r  round {turn} of {rounds}: {name:<60}", end="\r", flush=True)
            spent: list[float] = []
            while not spent or (turn and sum(spent) < SHORT):
                start = time.perf_counter()
                work()
                spent.append(time.perf_counter() - start)
            if turn:
                seconds[name] += spent
    return {
        name: Timing(statistics.median(s), min(s), max(s), len(s)) for name, s in seconds.items()
    }


def compare(figures: list[tuple[str, float, str]]) -> list[str]:
    """Lines of a table of figures beside what is wanted of them, such as ">= 50"."""
    lines = [f"{'figure':<48}{'measured':>10}   wanted"]
    for label, value, wanted in figures:
        relation, limit = wanted.split() if wanted else (">=", "-inf")
        reached = value >= float(limit) if relation == ">=" else value <= float(limit)
        lines.append(
            f"{label:<48}{value:>10.3g}   {wanted}{'' if reached else '   MISSED'}".rstrip()
        )
    return lines


def write(name: str, title: str, text: str, facts: dict[str, object], timed: bool = True) -> None:
    """Keep the figures as JSON, and the text as a page of the documentation."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")
    packages = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "torch")
    installed = [package for package in packages if find_spec(package.replace("scikit-", "sk"))]
    versions = ", ".join(f"{package} {version(package)}" for package in installed)
    machine = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
    page = DOCS / f"{name}-benchmark.md"
    page.write_text(
        f"# {title}\n\nWritten by `make bench BENCH={name}` on {date.today()}, on {machine} with "
        f"Python {platform.python_version()}, {versions}.\n{TIMED * timed}\n```text\n{text}\n```\n"
    )
    print(f"\nwritten to {page.relative_to(DOCS.parent)}")
