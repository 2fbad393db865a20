"""A progress bar for fits, in notebooks and on terminals."""

from __future__ import annotations

import sys
import threading
import time
from html import escape
from typing import Any

from heatgraph.learning.progress import FitProgress, describe_progress

# Seconds between updates, and columns of a line on a terminal.
INTERVAL, LINE_WIDTH = 0.1, 78


class ProgressBar:
    """Shows how far a fit has come: pass one to ``fit(..., progress=ProgressBar())``.

    In a notebook it is a bar, and on a terminal a line, which is on standard error; elsewhere, such
    as in a log, it shows nothing.

    Examples
    --------
    >>> from heatgraph import DGCClassifier, load_dataset
    >>> karate = load_dataset("karate")
    >>> clf = DGCClassifier().fit(karate.graph, karate.labels, progress=ProgressBar())
    """

    def __init__(self) -> None:
        self._show = _NotebookBar() if is_notebook() else _TerminalLine()
        self._lock = threading.Lock()  # a search calls back from several threads
        self._last, self._stage = -INTERVAL, ""

    def __call__(self, fit: FitProgress) -> None:
        """Show a state, unless the last was shown just before."""
        is_over = fit.done >= fit.total
        with self._lock:
            now = time.monotonic()
            if now - self._last < INTERVAL and fit.stage == self._stage and not is_over:
                return
            self._last, self._stage = now, fit.stage
            self._show(fit, is_over)


class _NotebookBar:
    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, fit: FitProgress, is_over: bool) -> None:
        from IPython.display import HTML, display

        share = f'value="{fit.done}" max="{max(fit.total, 1)}"'
        page = HTML(f"<progress {share}></progress> {escape(describe_progress(fit))}")
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)


class _TerminalLine:
    def __call__(self, fit: FitProgress, is_over: bool) -> None:
        if sys.stderr.isatty():
            share = f"{fit.done / max(fit.total, 1):4.0%} "
            line = (share + describe_progress(fit))[:LINE_WIDTH].ljust(LINE_WIDTH)
            sys.stderr.write(f"\r{line}" + "\n" * is_over)
            sys.stderr.flush()


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")
