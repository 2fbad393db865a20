"""What a fit reports while it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from heatgraph._io.formatting import format_seconds

# What the stages of a fit are called.
STAGE_NAMES = {"search": "trying settings", "fit": "fitting"}
# Seconds before the time left is estimated.
LEAST_TIMED = 2.0


@dataclass(frozen=True)
class FitProgress:
    """How far a fit has come; ``fit(..., progress=callback)`` calls back with one of these.

    Attributes
    ----------
    stage : str
        "search" and "fit"; baselines have others, such as "training".
    done, total : int
        Steps of the stage. The total of a search is an estimate until its end.
    settings : int
        Settings that a search has tried.
    T, accuracy : float or None
        The T of the most accurate of them, and its accuracy on held-out nodes.
    seconds : float
        Time since the stage began.
    """

    stage: str
    done: int
    total: int
    settings: int = 0
    T: float | None = None
    accuracy: float | None = None
    seconds: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated time until the end of the stage; None before its first step is done."""
        return self.seconds * (self.total - self.done) / self.done if self.done else None


Progress = Callable[[FitProgress], object]


class StageProgress:
    """Reports the steps of one stage to a callback, or to nobody."""

    def __init__(self, progress: Progress | None, stage: str, total: int) -> None:
        self._progress, self._stage, self._total = progress, stage, total
        self._begun = time.perf_counter()
        self.report(0)

    def report(self, done: int) -> None:
        """Report how many steps are done."""
        if self._progress is not None:
            seconds = time.perf_counter() - self._begun
            self._progress(FitProgress(self._stage, done, self._total, seconds=seconds))


def describe_progress(fit: FitProgress) -> str:
    """The stage of a fit; of a search also how much was tried, the best, and the time left."""
    text = STAGE_NAMES.get(fit.stage, fit.stage)
    if fit.settings:
        text += f": {fit.settings:,} tried"
    if fit.accuracy is not None:
        text += f", best {fit.accuracy:.1%}" + ("" if fit.T is None else f" at T = {fit.T:.3g}")
    if fit.seconds >= LEAST_TIMED and fit.seconds_left:
        text += f", about {format_seconds(math.ceil(fit.seconds_left))} left"
    return text
