"""What a command says, and where: reports to standard output, progress and warnings to the side.

If standard output is taken by a table (``-o -``), reports go to standard error. Progress is shown
on terminals only.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from heatgraph.cli.options import Report
from heatgraph.errors import HeatgraphWarning

# Stages of work, as users know them.
STAGES = {"search": "trying settings", "fit": "fitting"}


class Voice:
    """Speaks for one command."""

    def __init__(self, report: Report, taken: bool = False) -> None:
        self.as_json, self.quiet = report.as_json, report.quiet
        self.stream: TextIO = sys.stderr if taken else sys.stdout
        self.started = time.perf_counter()
        self._out = Console(file=self.stream, highlight=False, soft_wrap=True, emoji=False)
        self._side = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", HeatgraphWarning)
        warnings.showwarning = self._warn

    @property
    def seconds(self) -> float:
        """Time since the command began."""
        return time.perf_counter() - self.started

    @property
    def speaks(self) -> bool:
        """Whether a report in words is wanted."""
        return not (self.quiet or self.as_json)

    def say(self, text: str = "") -> None:
        """Print a line of a report."""
        if self.speaks:
            self._out.print(text, markup=False)
            self.stream.flush()  # a log is read while a long command runs

    def table(self, rows: Sequence[tuple[str, ...]], title: str = "") -> None:
        """Print rows in aligned columns."""
        if not self.speaks:
            return
        if title:
            self._out.print(title, style="bold", markup=False)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.say("  " + "  ".join(cells).rstrip())

    def json(self, value: Any) -> None:
        """Print a report for machines, if that is wanted."""
        if self.as_json:
            ascii_only = (self.stream.encoding or "").lower().replace("-", "") != "utf8"
            text = json.dumps(_finite(value), indent=2, ensure_ascii=ascii_only)
            print(text, file=self.stream)

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str, int, int], None]]:
        """Show that something is going on; gives a function that takes its progress."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda *_: None
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._side, transient=True) as bars:
            bar = bars.add_task(what, total=None)

            def report(stage: str, done: int, total: int) -> None:
                bars.update(bar, description=STAGES.get(stage, stage), completed=done, total=total)

            yield report

    def _warn(self, message: Warning | str, *_: Any, **__: Any) -> None:
        if not self.quiet:
            self._side.print(f"warning: {message}", style="yellow", markup=False)


def _finite(value: Any) -> Any:
    """The same without numbers that JSON lacks."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
