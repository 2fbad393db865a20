"""The experiments by name, in the order of the paper."""

from __future__ import annotations

from heatgraph.errors import InputError
from heatgraph.experiments.paper.experiment import Experiment
from heatgraph.experiments.paper.figure1 import FIGURE_1
from heatgraph.experiments.paper.figure2 import FIGURE_2
from heatgraph.experiments.paper.figure3 import FIGURE_3
from heatgraph.experiments.paper.networks import NETWORK_BASELINES
from heatgraph.experiments.paper.random_splits import RANDOM_SPLITS
from heatgraph.experiments.paper.table2 import TABLE_2
from heatgraph.experiments.paper.table3 import TABLE_3
from heatgraph.experiments.paper.table4 import TABLE_4
from heatgraph.experiments.paper.table5 import TABLE_5
from heatgraph.experiments.paper.table6 import TABLE_6
from heatgraph.experiments.paper.table8 import TABLE_8
from heatgraph.experiments.paper.table9 import TABLE_9
from heatgraph.experiments.paper.table10 import TABLE_10
from heatgraph.experiments.paper.theorem1 import THEOREM_1
from heatgraph.experiments.paper.theorem2 import THEOREM_2
from heatgraph.experiments.paper.theorem3 import THEOREM_3

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        TABLE_2, RANDOM_SPLITS, TABLE_3, NETWORK_BASELINES, TABLE_4, TABLE_5, TABLE_6, TABLE_8,
        TABLE_9, TABLE_10, FIGURE_1, FIGURE_2, FIGURE_3, THEOREM_1, THEOREM_2, THEOREM_3,
    )
}  # fmt: skip
ALL = "all"
# Takes longer than all others together, so it runs only by its own name.
EXCLUDED_FROM_ALL = ("networks",)


def select_experiments(name: str) -> list[Experiment]:
    """The experiment of that name; for "all", every one but those excluded from it.

    Examples
    --------
    >>> [experiment.name for experiment in select_experiments("table2")]
    ['table2']
    """
    if name == ALL:
        return [one for one in EXPERIMENTS.values() if one.name not in EXCLUDED_FROM_ALL]
    if name not in EXPERIMENTS:
        known = ", ".join([*EXPERIMENTS, ALL])
        raise InputError(f"there is no experiment {name!r}. There are {known}.")
    return [EXPERIMENTS[name]]
