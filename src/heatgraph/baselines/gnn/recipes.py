"""How the authors of each network trained it on the citation graphs, as data.

`hidden` is the width of hidden layers, or of one head. Weight decay is part of the gradient, of the
first layer alone where `decays_first_only` says so, as the codes of GCN and APPNP do. Training
stops after `patience` epochs in which neither accuracy nor loss on validation nodes got better, as
in GAT's code, and keeps the weights that were best.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """A network's settings; `options` are those that only this network has."""

    source: str
    hidden: int = 16
    layers: int = 2
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    decays_first_only: bool = False
    epochs: int = 200
    patience: int = 100
    options: dict[str, Any] = field(default_factory=dict)


KIPF = "Kipf and Welling 2017"
HAMILTON = "Hamilton, Ying and Leskovec 2017"
XU = "Xu et al. 2018"
GAT = Recipe(
    "Veličković et al. 2018", hidden=8, dropout=0.6, learning_rate=0.005, epochs=1000,
    options={"heads": 8, "out_heads": 1},
)  # fmt: skip
JUMPING = Recipe(XU, hidden=32, layers=3, learning_rate=0.005, epochs=500)

RECIPES: dict[str, Recipe] = {
    "gcn": Recipe(KIPF, decays_first_only=True),
    "gat": GAT,
    "graphsage-mean": Recipe(HAMILTON, hidden=64),
    "graphsage-gcn": Recipe(HAMILTON, hidden=64),
    "graphsage-lstm": Recipe(HAMILTON, hidden=64),
    "jknet-max": JUMPING,
    "jknet-concat": JUMPING,
    "jknet-lstm": JUMPING,
    "appnp": Recipe(
        "Klicpera, Bojchevski and Günnemann 2019", hidden=64, weight_decay=5e-3,
        decays_first_only=True, epochs=1000, options={"alpha": 0.1, "steps": 10},
    ),
    "sgc": Recipe(
        "Wu et al. 2019", dropout=0.0, learning_rate=0.2, weight_decay=1e-5, epochs=100,
        options={"steps": 2},
    ),
}  # fmt: skip

# Where authors have other settings for a data set.
SPECIAL: dict[tuple[str, str], Recipe] = {
    ("gat", "pubmed"): replace(
        GAT, learning_rate=0.01, weight_decay=1e-3, options={"heads": 8, "out_heads": 8}
    ),
}


def recipe_for(network: str, dataset: str | None = None) -> Recipe:
    """The settings of a network's authors, for a data set if they have others for it.

    Examples
    --------
    >>> recipe_for("gat").learning_rate, recipe_for("gat", "pubmed").learning_rate
    (0.005, 0.01)
    """
    return SPECIAL.get((network, dataset or ""), RECIPES[network])
