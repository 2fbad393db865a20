"""What a task hands to the process that times it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Outcome:
    """What a run returned. `seconds` is set where they are estimated, and `note` says how."""

    value: Any
    seconds: float | None = None
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """What is timed, set up and ready to run, and its known costs.

    `sample` extracts the part of the value that peers have to agree on. A `patient` task stops by
    itself near the time limit, so that its process gets more time than that. A task that does not
    set everything up before it runs has no memory to compare.
    """

    run: Callable[[], Outcome]
    sample: Callable[[Any], np.ndarray] | None = None
    products: int | None = None
    moved: int | None = None
    planned_memory: int | None = None
    patient: bool = True
    sets_up_before: bool = True
