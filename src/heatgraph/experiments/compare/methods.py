"""Methods by name, as `heatgraph compare --models` takes them.

Linear methods tune their settings on validation nodes (the *validated* protocol), and so do tuned
networks. The other networks have their authors' settings (*published*), those for the data set if
there are any, and use validation nodes for early stopping only. A method that learns from the
labels of validation nodes once its settings are chosen (*validated, then refitted*) has more labels
than the others, and is not tested against them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from heatgraph.baselines.deepwalk import DeepWalkClassifier
from heatgraph.baselines.gnn.estimator import authors_network
from heatgraph.baselines.gnn.grid_search import GRIDS, TunedGNNClassifier
from heatgraph.baselines.gnn.recipes import RECIPES, recipe_for
from heatgraph.baselines.label_propagation import LabelPropagation
from heatgraph.baselines.schemes import features_alone, personalized_pagerank, sgc
from heatgraph.baselines.stacked import PairNormClassifier, SIGNClassifier
from heatgraph.errors import InputError
from heatgraph.learning._serialization import result_parameters
from heatgraph.learning.classifier import DGCClassifier
from heatgraph.tables.columns import did_you_mean

# From a data set's name to an unfitted estimator.
EstimatorFactory = Callable[[str], Any]
# Packages that an extra installs.
EXTRA_PACKAGES = {"gnn": ("torch", "torch_geometric", "torchdiffeq"), "deepwalk": ("gensim",)}
# Every other method is compared with this one, the paper's DGC.
REFERENCE = "dgc"
VALIDATED, PUBLISHED, REFITTED = "validated", "published", "validated, then refitted"


@dataclass(frozen=True)
class Method:
    """A method of node classification.

    Attributes
    ----------
    title
        Its name in tables.
    make
        Makes an unfitted estimator, given the name of the data set.
    protocol
        VALIDATED, PUBLISHED or REFITTED.
    is_random
        Whether the result depends on the seed.
    extra
        The extra of heatgraph that it needs, if any.
    needs_features
        Whether it cannot run on a graph without features.
    """

    title: str
    make: EstimatorFactory
    protocol: str = VALIDATED
    is_random: bool = False
    extra: str | None = None
    needs_features: bool = True

    @property
    def is_comparable(self) -> bool:
        """Whether it learns from the labels of training nodes alone, as the reference does."""
        return self.protocol != REFITTED

    @property
    def required_packages(self) -> tuple[str, ...]:
        """Packages that its extra installs."""
        return EXTRA_PACKAGES.get(self.extra or "", ())

    @property
    def is_installed(self) -> bool:
        """Whether all packages that it needs are installed."""
        return all(importlib.util.find_spec(name) for name in self.required_packages)

    def estimator(self, dataset: str, **parameters: Any) -> Any:
        """An unfitted estimator; parameters that it does not have are ignored."""
        model = self.make(dataset)
        known = model.get_params(deep=False)
        return model.set_params(**{k: value for k, value in parameters.items() if k in known})


def _network_factory(network: str) -> EstimatorFactory:
    return lambda dataset: authors_network(network, dataset)


def _tuned_factory(network: str) -> EstimatorFactory:
    return lambda _: TunedGNNClassifier(network)


LINEAR_METHODS: dict[str, Method] = {
    "dgc": Method("DGC", lambda _: DGCClassifier(extensions=None), needs_features=False),
    "dgc-extended": Method("DGC, extended", lambda _: DGCClassifier(), needs_features=False),
    "sgc": Method("SGC", lambda _: sgc()),
    "pagerank": Method("PageRank", lambda _: personalized_pagerank()),
    "features": Method("Features alone", lambda _: features_alone()),
    "sign": Method("SIGN-linear", lambda _: SIGNClassifier()),
    "pairnorm": Method("SGC-PairNorm", lambda _: PairNormClassifier()),
    "label-propagation": Method(
        "Label propagation", lambda _: LabelPropagation(), needs_features=False
    ),
    "deepwalk": Method(
        "DeepWalk", lambda _: DeepWalkClassifier(), is_random=True, extra="deepwalk",
        needs_features=False,
    ),
}  # fmt: skip
REFITTED_METHODS: dict[str, Method] = {
    "dgc-refit": Method(
        "DGC, learned from validation nodes too",
        lambda _: DGCClassifier(final_fit="train+val"),
        REFITTED,
        needs_features=False,
    ),
}
# PyTorch Geometric's SGC is not the linear method of that name.
NETWORK_TITLES = {
    f"{name}-pyg" if name in LINEAR_METHODS else name: published.title
    for name, published in RECIPES.items()
}
NETWORK_METHODS: dict[str, Method] = {
    name: Method(
        title, _network_factory(name.removesuffix("-pyg")), PUBLISHED, is_random=True, extra="gnn"
    )
    for name, title in NETWORK_TITLES.items()
}
TUNED_NETWORKS = {f"{network}-tuned": network for network in GRIDS}
TUNED_METHODS: dict[str, Method] = {
    name: Method(
        f"{RECIPES[network].title}, tuned", _tuned_factory(network), is_random=True, extra="gnn"
    )
    for name, network in TUNED_NETWORKS.items()
}
METHODS: dict[str, Method] = LINEAR_METHODS | REFITTED_METHODS | NETWORK_METHODS | TUNED_METHODS
GROUPS: dict[str, tuple[str, ...]] = {
    "linear": tuple(LINEAR_METHODS),
    "gnn": (*NETWORK_METHODS, *TUNED_METHODS),
    "tuned": tuple(TUNED_METHODS),
    "all": tuple(METHODS),
}
DEFAULT_METHODS = "dgc,dgc-extended,sgc,features,label-propagation,gcn,gat,appnp"


def parse_methods(names: str) -> list[str]:
    """Read a comma-separated list of methods and groups; the reference comes first.

    Examples
    --------
    >>> parse_methods("gcn, SGC")
    ['dgc', 'gcn', 'sgc']
    """
    methods = [REFERENCE]
    for name in (part.strip().lower() for part in names.split(",")):
        if name not in METHODS and name not in GROUPS:
            raise InputError(
                f"there is no model {name!r}.{did_you_mean(name, [*METHODS, *GROUPS])} There are "
                f"{', '.join(METHODS)}; or {', '.join(GROUPS)} for many."
            )
        methods += GROUPS.get(name, (name,))
    return list(dict.fromkeys(methods))


def method_settings(name: str, dataset: str) -> dict[str, Any]:
    """What a method's result depends on beside data and seed, as JSON values."""
    if name in NETWORK_METHODS:
        return asdict(recipe_for(name.removesuffix("-pyg"), dataset))
    model = METHODS[name].make(dataset)
    settings = result_parameters(model)
    if isinstance(model, TunedGNNClassifier):
        settings["recipes"] = [asdict(recipe) for recipe in model.recipes()]
    return settings
