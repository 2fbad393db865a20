"""What a command prints: its report to standard output, progress and warnings to standard error.

The report is as wide as the terminal, up to `MAX_WIDTH` columns, and 80 columns wide elsewhere.
Warnings are wrapped on a terminal only, so that each is one line of a log. If standard output is
taken by a table (``-o -``), the report goes to standard error. Progress is a bar on a terminal;
elsewhere, long work prints a line now and then.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from heatgraph.cli.options import OutputOptions
from heatgraph.cli.printable import printable, printable_json
from heatgraph.cli.text_layout import table_lines, wrap
from heatgraph.errors import HeatgraphWarning
from heatgraph.learning.progress import FitProgress, describe_progress

if TYPE_CHECKING:
    from heatgraph.report.document import Section

# Seconds between lines of progress where standard error is no terminal.
LINE_INTERVAL = 10.0
# Columns of a report on a wide terminal, and the fewest that a narrow one is taken to have.
MAX_WIDTH, MIN_WIDTH = 100, 40


class Reporter:
    """Prints the report, the progress and the warnings of one command."""

    def __init__(self, output: OutputOptions, stdout_taken: bool = False) -> None:
        self.as_json, self.quiet = output.as_json, output.quiet
        self.stream: TextIO = sys.stderr if stdout_taken else sys.stdout
        self.started = time.perf_counter()
        self.warnings: list[str] = []
        self._report = Console(file=self.stream, highlight=False, soft_wrap=True, emoji=False)
        self._stderr = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", HeatgraphWarning)
        warnings.showwarning = self._warn

    @property
    def seconds(self) -> float:
        """Time since the command began."""
        return time.perf_counter() - self.started

    @property
    def prints_text(self) -> bool:
        """Whether the report is text, neither JSON nor suppressed."""
        return not (self.quiet or self.as_json)

    @property
    def width(self) -> int:
        """Columns of the report."""
        return max(MIN_WIDTH, min(self._report.width, MAX_WIDTH))

    @property
    def prints_unicode(self) -> bool:
        """Whether the report may contain any character."""
        return "utf" in (self.stream.encoding or "").lower()

    def print(self, text: str = "", style: str | None = None) -> None:
        """Print a paragraph of the report, or a blank line."""
        if self.prints_text:
            self.verbatim("\n".join(wrap(text, self.width)), style)

    def verbatim(self, text: str, style: str | None = None) -> None:
        """Print lines of the report as they are."""
        if self.prints_text:
            self._report.print(printable(text), markup=False, style=style)
            self.stream.flush()  # so that a log can be followed while a long command runs

    def table(
        self, rows: Sequence[tuple[str, ...]], title: str = "", *, numbers: bool = False
    ) -> None:
        """Print rows in aligned columns; with `numbers`, all but the first at the right."""
        if title:
            self.print(title, "bold")
        ellipsis = "…" if self.prints_unicode else "..."
        for line in table_lines(rows, self.width, numbers=numbers, ellipsis=ellipsis):
            self.verbatim(line)

    def section_tables(self, section: Section) -> None:
        """Print the tables of a section of a document."""
        from heatgraph.report.document import Table
        from heatgraph.report.markdown import plain_text

        for part in section.parts:
            if isinstance(part, Table):
                self.print()
                rows = [tuple(part.head), *(tuple(map(plain_text, row)) for row in part.rows)]
                self.table(rows, part.title)
                self.print()

    def json(self, value: Any) -> None:
        """Print the report as JSON, with --json."""
        if self.as_json:
            ascii_only = (self.stream.encoding or "").lower().replace("-", "") != "utf8"
            text = json.dumps(_null_if_not_finite(value), indent=2, ensure_ascii=ascii_only)
            print(printable_json(text), file=self.stream)

    @contextmanager
    def progress(self, task: str) -> Iterator[Callable[[str, int, int], None]]:
        """Show a progress bar; yields a callback that takes a text, steps done and steps in all."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda *_: None
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._stderr, transient=True) as bars:
            bar = bars.add_task(printable(task), total=None)
            stage = task

            def update(description: str, done: int, total: int) -> None:
                nonlocal stage
                bars.update(bar, description=printable(description), completed=done, total=total)
                if (now := description.partition(":")[0]) != stage:
                    stage = now
                    bars.refresh()  # a stage may be over before the next regular refresh

            yield update

    @contextmanager
    def long_progress(self, task: str) -> Iterator[Callable[[str, int, int], None]]:
        """Like `progress`, and prints a line now and then where standard error is no terminal."""
        # Not between a JSON report and its reader.
        is_report = self.as_json and self.stream is sys.stderr
        prints_lines = not (self.quiet or is_report or sys.stderr.isatty())
        last = self.seconds
        with self.progress(task) as bar:

            def update(description: str, done: int, total: int) -> None:
                nonlocal last
                bar(description, done, total)
                if prints_lines and self.seconds - last >= LINE_INTERVAL:
                    last = self.seconds
                    self._stderr.print(printable(description), markup=False)

            yield update

    @contextmanager
    def fit_progress(self) -> Iterator[Callable[[FitProgress], None]]:
        """Show how far a fit has come; yields a callback for ``fit(progress=...)``."""
        with self.long_progress("fitting") as update:
            yield lambda fit: update(describe_progress(fit), fit.done, fit.total)

    def _warn(self, message: Warning | str, *_: Any, **__: Any) -> None:
        self.warnings.append(str(message))
        if not self.quiet:
            text = printable(f"warning: {message}")
            if sys.stderr.isatty():
                text = "\n".join(wrap(text, self._stderr.width))
            self._stderr.print(text, style="yellow", markup=False)


def _null_if_not_finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON lacks, by None."""
    if isinstance(value, dict):
        return {key: _null_if_not_finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_null_if_not_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
