"""How the authors of each network trained it on the citation graphs, as data.

`hidden` is the width of hidden layers, or of one attention head. Weight decay is L2 regularisation
in the gradient, of the first layer alone if `decays_first_only`, as in the codes of GCN and APPNP.
Early stopping is that of GAT's code: training ends after `patience` epochs in which neither the
accuracy nor the loss on validation nodes improved, and the best weights are restored.

Features are scaled by row, as most authors do. Where a recipe deviates from its source:

    CGNN     its authors binarise features. Scaled by row, validation accuracy is the same on Cora
             and three points higher on Citeseer. They publish settings for Cora alone.
    JKNet    its authors search for the number of layers. Two, read by a third GCN layer instead of
             a linear one, have the best validation accuracy on Cora and Citeseer.
    GCDE     its authors name two learning rates. The larger one takes a third of the epochs for the
             same validation accuracy on Cora.
    SIGN     its authors have no settings for citation graphs. Of two candidates each for steps,
             width, dropout and weight decay, these have the best validation accuracy on Cora and
             Citeseer; here `hidden` is the width of each part of the hidden layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heatgraph._arguments import positive_integer
from heatgraph.errors import InputError

# Options that have to be positive are at least this.
SMALLEST_OPTION = 1e-12


@dataclass(frozen=True)
class Recipe:
    """Settings of one training run; `options` are those that only this network has."""

    source: str
    hidden: int = 16
    layers: int = 2
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    decays_first_only: bool = False
    optimizer: str = "Adam"
    epochs: int = 200
    patience: int = 100
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedRecipes:
    """All that is known of a network without torch; `networks.NETWORKS` defines it.

    Attributes
    ----------
    title : str
        As tables and reports print it.
    default : Recipe
        The types of its options are those that every recipe of the network has.
    by_dataset : dict from a data set's name to Recipe
        Where the authors have other settings.
    has_fixed_layers : bool
        Whether the number of layers is part of the architecture.
    may_be_zero : tuple of str
        Options that may be zero; the others are positive.
    """

    title: str
    default: Recipe
    by_dataset: Mapping[str, Recipe] = field(default_factory=dict)
    has_fixed_layers: bool = False
    may_be_zero: tuple[str, ...] = ()

    def check(self, recipe: Recipe) -> None:
        """Raise InputError unless a recipe's settings are in range for this network."""
        for name in ("hidden", "layers", "epochs", "patience"):
            positive_integer(getattr(recipe, name), name)
        if not _is_number(recipe.dropout) or not 0 <= recipe.dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1. Got {recipe.dropout!r}.")
        rate, decay = recipe.learning_rate, recipe.weight_decay
        if not _is_number(rate) or not _is_number(decay) or not rate > 0 or not decay >= 0:
            raise InputError(
                f"learning_rate must be > 0 and weight_decay >= 0. Got {rate!r} and {decay!r}."
            )
        for name, value in recipe.options.items():
            self._check_option(name, value)

    def _check_option(self, name: str, value: Any) -> None:
        kind = type(self.default.options[name])
        if kind is str:
            if not isinstance(value, str):
                raise InputError(f"option {name} must be a text. Got {value!r}.")
            return
        is_whole = kind is int
        least = 0 if name in self.may_be_zero else SMALLEST_OPTION
        if not _is_number(value) or value < least or (is_whole and int(value) != value):
            raise InputError(
                f"option {name} must be {'an integer' if is_whole else 'a number'} "
                f"{'> 0' if least else '>= 0'}. Got {value!r}."
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))


KIPF = "Kipf and Welling 2017"
GAT = Recipe(
    "Veličković et al. 2018", hidden=8, dropout=0.6, learning_rate=0.005, epochs=1000,
    options={"heads": 8, "out_heads": 1},
)  # fmt: skip
GRAPHSAGE = Recipe("Hamilton, Ying and Leskovec 2017", hidden=64)
JKNET = Recipe("Xu et al. 2018", hidden=32, learning_rate=0.005, epochs=500)
GWNN = Recipe(
    "Xu, Shen, Cao, Qiu and Cheng 2019", decays_first_only=True, epochs=1000,
    options={"time": 1.0, "threshold": 1e-4},
)  # fmt: skip
GRAPHHEAT = Recipe(
    "Xu, Shen, Cao, Cen and Cheng 2019", decays_first_only=True, epochs=1000,
    options={"time": 3.5},
)  # fmt: skip
DGI = Recipe(
    "Veličković et al. 2019", hidden=512, dropout=0.0, weight_decay=0.0, epochs=100,
    options={"encoder_epochs": 1000, "encoder_patience": 20, "encoder_rate": 0.001},
)  # fmt: skip
DGI_RANDOM = replace(DGI, options=DGI.options | {"encoder_epochs": 0})

RECIPES: dict[str, PublishedRecipes] = {
    "gcn": PublishedRecipes("GCN", Recipe(KIPF, decays_first_only=True)),
    "gat": PublishedRecipes(
        "GAT", GAT, {
            "pubmed": replace(
                GAT, learning_rate=0.01, weight_decay=1e-3, options={"heads": 8, "out_heads": 8}
            ),
        },
        has_fixed_layers=True,
    ),
    "graphsage-mean": PublishedRecipes("GraphSAGE (mean)", GRAPHSAGE),
    "graphsage-gcn": PublishedRecipes("GraphSAGE (GCN)", GRAPHSAGE),
    "graphsage-lstm": PublishedRecipes("GraphSAGE (LSTM)", GRAPHSAGE),
    "jknet-max": PublishedRecipes("JKNet (max)", JKNET),
    "jknet-concat": PublishedRecipes("JKNet (concat)", JKNET),
    "jknet-lstm": PublishedRecipes("JKNet (LSTM)", JKNET),
    "appnp": PublishedRecipes(
        "APPNP",
        Recipe(
            "Klicpera, Bojchevski and Günnemann 2019", hidden=64, weight_decay=5e-3,
            decays_first_only=True, epochs=1000, options={"alpha": 0.1, "steps": 10},
        ),
        has_fixed_layers=True,
    ),
    "gwnn": PublishedRecipes(
        "GWNN", GWNN, {
            "citeseer": replace(GWNN, options={"time": 0.7, "threshold": 1e-5}),
            "pubmed": replace(GWNN, options={"time": 0.5, "threshold": 1e-7}),
        },
        may_be_zero=("threshold",),
    ),
    "graphheat": PublishedRecipes(
        "GraphHeat", GRAPHHEAT, {
            "citeseer": replace(GRAPHHEAT, options={"time": 4.5}),
            "pubmed": replace(GRAPHHEAT, options={"time": 3.0}),
        },
    ),
    "cgnn": PublishedRecipes(
        "CGNN",
        Recipe(
            "Xhonneux, Qu and Tang 2020", learning_rate=0.0047, optimizer="RMSprop", epochs=400,
            options={"alpha": 0.918, "own_weight": 0.555, "time": 12.1, "tol": 1e-4},
        ),
        has_fixed_layers=True,
    ),
    "gcde": PublishedRecipes(
        "GCDE",
        Recipe(
            "Poli et al. 2019", hidden=64, dropout=0.4, epochs=1000,
            options={"inner_dropout": 0.9, "method": "rk4"},
        ),
        has_fixed_layers=True,
        may_be_zero=("inner_dropout",),
    ),
    "dgi": PublishedRecipes(
        "DGI", DGI, {"pubmed": replace(DGI, hidden=256)},
        has_fixed_layers=True, may_be_zero=("encoder_epochs",),
    ),
    "dgi-random": PublishedRecipes(
        "DGI, random encoder", DGI_RANDOM, {"pubmed": replace(DGI_RANDOM, hidden=256)},
        has_fixed_layers=True, may_be_zero=("encoder_epochs",),
    ),
    "fastgcn": PublishedRecipes(
        "FastGCN",
        Recipe(
            "Chen, Ma and Xiao 2018", dropout=0.0, decays_first_only=True,
            options={"batch": 256, "samples": 400},
        ),
        has_fixed_layers=True,
    ),
    "sgc": PublishedRecipes(
        "SGC (PyG)",
        Recipe(
            "Wu et al. 2019", dropout=0.0, learning_rate=0.2, weight_decay=1e-5, epochs=100,
            options={"steps": 2},
        ),
        has_fixed_layers=True,
    ),
    "sign-mlp": PublishedRecipes(
        "SIGN, hidden layer",
        Recipe("Rossi et al. 2020", dropout=0.8, options={"steps": 4}),
        has_fixed_layers=True,
    ),
}  # fmt: skip


def recipe_for(network: str, dataset: str | None = None) -> Recipe:
    """The settings of a network's authors, for a data set if they have others for it.

    Examples
    --------
    >>> recipe_for("gat").learning_rate, recipe_for("gat", "pubmed").learning_rate
    (0.005, 0.01)
    """
    published = RECIPES[network]
    return published.by_dataset.get(dataset or "", published.default)
