"""Every experiment by its name, in the order of the paper."""

from __future__ import annotations

from heatgraph.errors import InputError
from heatgraph.experiments.paper.experiment import Experiment
from heatgraph.experiments.paper.figure1 import FIGURE_1
from heatgraph.experiments.paper.figure2 import FIGURE_2
from heatgraph.experiments.paper.figure3 import FIGURE_3
from heatgraph.experiments.paper.networks import NETWORKS
from heatgraph.experiments.paper.table2 import RANDOM_SPLITS, TABLE_2
from heatgraph.experiments.paper.table3 import TABLE_3
from heatgraph.experiments.paper.table4 import TABLE_4, TABLE_6
from heatgraph.experiments.paper.table8 import TABLE_8
from heatgraph.experiments.paper.theorems import THEOREM_1, THEOREM_2, THEOREM_3
from heatgraph.experiments.paper.times import TABLE_5, TABLE_9, TABLE_10

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        TABLE_2, RANDOM_SPLITS, TABLE_3, NETWORKS, TABLE_4, TABLE_5, TABLE_6, TABLE_8, TABLE_9,
        TABLE_10, FIGURE_1, FIGURE_2, FIGURE_3, THEOREM_1, THEOREM_2, THEOREM_3,
    )
}  # fmt: skip
ALL = "all"
# What takes longer than everything else together is run when it is asked for.
APART = ("networks",)


def experiments(name: str) -> list[Experiment]:
    """The experiment of a name, or all of them but for those apart.

    Examples
    --------
    >>> [experiment.name for experiment in experiments("table2")]
    ['table2']
    """
    if name == ALL:
        return [one for one in EXPERIMENTS.values() if one.name not in APART]
    if name not in EXPERIMENTS:
        known = ", ".join([*EXPERIMENTS, ALL])
        raise InputError(f"there is no experiment {name!r}. There are {known}.")
    return [EXPERIMENTS[name]]
