"""What a benchmark is made of: jobs, the tasks that they time, and figures of their results.

A *job* is one peer doing one piece of work on one workload. Its *task* is set up in a process of
its own and hands back what to time. A *benchmark* lists jobs, and computes figures and charts from
their results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.results import Results
    from heatgraph.report.document import Chart

OURS = "heatgraph"
# Seconds that one run may take before it is extrapolated or stopped.
LIMIT = 120.0
# The page that benchmarks share unless they have one of their own.
PERFORMANCE = "performance"


@dataclass
class Outcome:
    """The result of one run of a task.

    `seconds` replaces the measured time where it is an estimate, and `note` says how it was made.
    """

    value: Any
    seconds: float | None = None
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A function to time, with its setup done, and its known costs.

    Parameters
    ----------
    run : callable
        What is timed.
    sample : callable, optional
        Extracts from the value of a run what is compared between peers.
    products, moved, planned_memory : int, optional
        Sparse products, bytes that they read and write, and bytes of memory that a plan predicts.
    self_limiting : bool
        The task stops near the limit and extrapolates, so its process is stopped much later.
    measures_memory : bool
        False for a task that loads its input while it runs: its peak is not comparable.
    """

    run: Callable[[], Outcome]
    sample: Callable[[Any], np.ndarray] | None = None
    products: int | None = None
    moved: int | None = None
    planned_memory: int | None = None
    self_limiting: bool = True
    measures_memory: bool = True


@dataclass(frozen=True)
class Job:
    """One peer at one piece of work.

    Parameters
    ----------
    work : str
        What is done, such as "Diffusion: Pubmed". Jobs of the same work are rows of one table.
    task : callable, optional
        A module-level function of the job and its workload that returns a `Task`. Without one,
        ``settings["command"]`` is timed as a process, from its start to its end.
    data : str
        Name of a workload; empty for a task that loads its own data.
    settings : mapping
        Parameters of the task, as JSON has them.
    compared : bool
        False for a row that is listed for information and does something else than the others.
    checked : bool
        Whether a sample of the value is compared with a reference and with heatgraph's.
    timed : bool
        False for a task that runs once, without warm-up and limit: its facts are the result.
    checkout : str
        Folder of another heatgraph to import instead of the one that this package lies in.
    """

    work: str
    task: Callable[[Job, Any], Task] | None
    peer: str
    data: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    threads: int | None = None
    limit: float = LIMIT
    compared: bool = True
    checked: bool = True
    timed: bool = True
    checkout: str = ""

    def to_json(self) -> str:
        """The job as text that fits on a command line."""
        task = self.task and f"{self.task.__module__}:{self.task.__name__}"
        return json.dumps(asdict(self) | {"task": task})

    @classmethod
    def from_json(cls, text: str) -> Job:
        content = json.loads(text)
        if content["task"]:
            module, _, name = content["task"].partition(":")
            content["task"] = getattr(import_module(module), name)
        return cls(**content)


@dataclass(frozen=True)
class Figure:
    """A number computed from results, None if it was not measured, and a target such as ">= 150".

    Pages show the number; the target is checked on the terminal only.
    """

    label: str
    value: float | None
    target: str = ""

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not run"
        if not self.target:
            return ""
        relation, bound = self.target.split()
        met = self.value >= float(bound) if relation == ">=" else self.value <= float(bound)
        return "met" if met else "MISSED"


@dataclass(frozen=True)
class Benchmark:
    """Jobs to run, and what is computed and written from their results.

    Parameters
    ----------
    name, title : str
        On the command line, and as a heading.
    description : sequence of str
        Paragraphs for the reader of the page.
    jobs : callable
        Lists the jobs; its argument scales the sizes of synthetic graphs.
    figures, charts : callable
        Compute figures, and draw charts.
    page : str
        Stem of the page's file name.
    text : callable, optional
        Writes the results of a benchmark with a page of its own as preformatted text.
    """

    name: str
    title: str
    description: Sequence[str]
    jobs: Callable[[float], list[Job]]
    figures: Callable[[Results], list[Figure]] = lambda results: []
    charts: Callable[[Results], list[Chart]] = lambda results: []
    page: str = PERFORMANCE
    text: Callable[[Results], str] | None = None
