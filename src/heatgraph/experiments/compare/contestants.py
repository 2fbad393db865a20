"""Methods by name, as `heatgraph compare` takes them.

Linear methods choose what is open on validation nodes (*validated*). Networks have the settings of
their authors (*published*), those for a data set where there are any, and stop early on validation
nodes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from heatgraph.baselines.deepwalk import DeepWalkClassifier
from heatgraph.baselines.gnn.estimator import authors_network
from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.baselines.schemes import features_alone, personalized_pagerank, sgc
from heatgraph.baselines.stacked import PairNormClassifier, SIGNClassifier
from heatgraph.errors import InputError
from heatgraph.learning._serialization import to_json_value
from heatgraph.learning.classifier import DGCClassifier

# Gives an estimator for a data set's name; the rest are its parameters.
Make = Callable[..., Any]
# What an extra brings.
EXTRAS = {"gnn": ("torch", "torch_geometric", "torchdiffeq"), "deepwalk": ("gensim",)}
# What every comparison is against.
REFERENCE = "dgc"


@dataclass(frozen=True)
class Contestant:
    """A method; `is_random` tells whether seeds matter, `extra` what has to be installed."""

    title: str
    make: Make
    protocol: str = "validated"
    is_random: bool = False
    extra: str | None = None
    needs_features: bool = True

    @property
    def needs(self) -> tuple[str, ...]:
        """What its extra brings."""
        return EXTRAS.get(self.extra or "", ())

    @property
    def is_installed(self) -> bool:
        """Whether it can be run here."""
        return all(importlib.util.find_spec(name) for name in self.needs)

    def estimator(self, dataset: str, **given: Any) -> Any:
        """What is fitted; of the parameters that are given, those that it has."""
        model = self.make(dataset)
        known = model.get_params(deep=False)
        return model.set_params(**{name: given[name] for name in given if name in known})


def _network(network: str) -> Make:
    return lambda dataset: authors_network(network, dataset)


LINEAR: dict[str, Contestant] = {
    "dgc": Contestant("DGC", lambda _: DGCClassifier(), needs_features=False),
    "sgc": Contestant("SGC", lambda _: sgc()),
    "pagerank": Contestant("PageRank", lambda _: personalized_pagerank()),
    "features": Contestant("Features alone", lambda _: features_alone()),
    "sign": Contestant("SIGN-linear", lambda _: SIGNClassifier()),
    "pairnorm": Contestant("SGC-PairNorm", lambda _: PairNormClassifier()),
    "label-propagation": Contestant(
        "Label propagation", lambda _: LabelPropagation(), needs_features=False
    ),
    "deepwalk": Contestant(
        "DeepWalk", lambda _: DeepWalkClassifier(), is_random=True, extra="deepwalk",
        needs_features=False,
    ),
}  # fmt: skip
NETWORK_TITLES = {
    f"{name}-pyg" if name in LINEAR else name: published.title
    for name, published in RECIPES.items()
}
CONTESTANTS: dict[str, Contestant] = LINEAR | {
    name: Contestant(
        title, _network(name.removesuffix("-pyg")), "published", is_random=True, extra="gnn"
    )
    for name, title in NETWORK_TITLES.items()
}
GROUPS: dict[str, tuple[str, ...]] = {
    "linear": tuple(LINEAR),
    "gnn": tuple(NETWORK_TITLES),
    "all": tuple(CONTESTANTS),
}
DEFAULT = "dgc,sgc,features,label-propagation,gcn,gat,appnp"


def chosen(names: str) -> list[str]:
    """Methods in a list with commas between, groups among them; DGC is always the first."""
    wanted = [REFERENCE]
    for name in (part.strip().lower() for part in names.split(",")):
        if name not in CONTESTANTS and name not in GROUPS:
            raise InputError(
                f"models are: {', '.join(CONTESTANTS)}; or {', '.join(GROUPS)} for many. "
                f"Got {name!r}."
            )
        wanted += GROUPS.get(name, (name,))
    return list(dict.fromkeys(wanted))


def described(name: str, dataset: str) -> dict[str, Any]:
    """What a method's result depends on beside data and seed, as plain values."""
    if CONTESTANTS[name].extra == "gnn":
        return asdict(recipe_for(name.removesuffix("-pyg"), dataset))
    model = CONTESTANTS[name].make(dataset)
    return {key: to_json_value(value) for key, value in model.get_params(deep=False).items()}
