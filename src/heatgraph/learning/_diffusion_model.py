"""The common base of models that are linear in diffused features.

With the kernel r(S) (n, n), features X (n, d) and weights Theta (d, C), a fitted model predicts
from r(S) X Theta. It diffuses the C columns X Theta, which gives the same as diffusing the d
columns X, and is much cheaper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from heatgraph._io.notebook_html import html_table, html_view
from heatgraph.diffusion import diffuse
from heatgraph.errors import FeatureNamesWarning, InputError, ShiftWarning, warn
from heatgraph.graph import Graph, check_graph
from heatgraph.learning._cluster_parameter import ClusterParameter
from heatgraph.learning._node_estimator import NodeEstimator
from heatgraph.learning._search_space import SearchSpace, Setting
from heatgraph.learning._training import nodes_digest
from heatgraph.learning.scaling import Scaling, default_scaling
from heatgraph.schemes import Scheme

if TYPE_CHECKING:
    from heatgraph.encoding.encoder import FeatureEncoder

Array = npt.NDArray[Any]


class DiffusionModel(ClusterParameter, NodeEstimator):
    """Base of estimators with the parameters of a diffusion and, once fitted, a setting of them."""

    tol: float
    dtype: Any
    n_threads: int | None
    memory_budget: int | float | str | None
    coef_: Array
    scheme_: Scheme
    self_loops_: bool
    scaling_: Scaling
    feature_names_in_: list[str]
    feature_encoder_: FeatureEncoder | None
    _nodes_digest: str | None

    def _repr_html_inner(self) -> str:
        """The diagram of scikit-learn and, once fitted, the settings in use."""
        return str(super()._repr_html_inner()) + self._settings_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """The same by type, which notebooks prefer."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._settings_html()
        return bundle

    def _settings_html(self) -> str:
        if not hasattr(self, "scheme_"):
            return ""
        rows = [("T", "-" if self.T_ is None else f"{self.T_:.3g}")]
        rows.append(("weight decay", f"{self.weight_decay_:.3g}"))
        if self.n_features_in_:
            rows.append(("feature scaling", str(self.feature_scaling_)))
        measured = {
            "validation accuracy": ("validation_accuracy_", "{:.1%}"),
            "validation micro-F1": ("validation_f1_", "{:.1%}"),
            "validation R2": ("validation_r2_", "{:.3f}"),
        }
        for name, (attribute, form) in measured.items():
            value = getattr(self, attribute, None)
            if value is not None:
                rows.append((name, form.format(value)))
        return html_view("Fitted", html_table(rows))

    def _set_setting(self, setting: Setting) -> None:
        """Set the fitted attributes of a setting, but for those of one head alone."""
        self.scheme_ = setting.scheme
        self.T_ = getattr(setting.scheme, "T", None)
        self.K_ = getattr(setting.scheme, "K", None)
        self.self_loops_ = setting.self_loops
        self.feature_scaling_ = setting.feature_scaling
        self.weight_decay_ = setting.weight_decay

    def _set_feature_names(self, names: list[str] | None) -> None:
        """Set the attribute of feature names, which exists only if there are some."""
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _undiffused(self, graph: Graph, coef: Array) -> Array:
        """The columns X Theta (n, C)."""
        Theta = np.ascontiguousarray(coef.T)
        return Theta if graph.features is None else self.scaling_.times(graph.features, Theta)

    def _diffused(self, graph: Graph, **options: Any) -> Array:
        engine = self._engine() | options
        return diffuse(graph, scheme=self.scheme_, self_loops=self.self_loops_, **engine)

    def _engine(self) -> dict[str, Any]:
        return {
            "tol": self.tol,
            "dtype": self.dtype,
            "n_threads": self.n_threads,
            "memory_budget": self.memory_budget,
            "cluster": self.cluster,
        }

    def _check_nodes(self, graph: Graph, num_nodes: int, how: str, remedy: str = "") -> None:
        found = f"one of {graph.num_nodes:,} nodes"
        if graph.num_nodes == num_nodes:
            digests = self._nodes_digest, nodes_digest(graph)
            if None in digests or digests[0] == digests[1]:
                return
            found = "as many, but with other ids or in another order"
        raise InputError(
            f"the model was fitted {how}, so it knows nodes by position only: it labels the graph "
            f"of {num_nodes:,} nodes that it was fitted on. Got {found}.{remedy}"
        )

    def _graph_to_label(self, graph: Graph | None) -> Graph:
        """The graph to predict on, after a check of its features or, without any, of its nodes."""
        check_is_fitted(self)
        if graph is not None and graph is not getattr(self, "graph_", None):
            check_graph(graph)
            self._warn_of_other_encoder(graph)
            graph = self._align_features(graph)
        graph = super()._graph_to_label(graph)
        if not self.n_features_in_:
            self._check_nodes(graph, self.coef_.shape[1], "without features")
        return graph

    def _warn_of_other_encoder(self, graph: Graph) -> None:
        """Warn if features were encoded by what another table's training nodes have."""
        own, other = self.feature_encoder_, graph.feature_encoder
        if own is None or other is None or not own.settings.scaled:
            return
        if own.encodings != other.encodings or not other.settings.scaled:
            warn(
                "the features of the graph were encoded by means and words of its own table, not "
                "by those that the model was fitted with. Read the tables by "
                "from_tables(..., model=model).",
                ShiftWarning,
            )

    def _align_features(self, graph: Graph) -> Graph:
        """The graph with the features that the model has, by name and in the model's order."""
        names = getattr(self, "feature_names_in_", None)
        if not graph.feature_names or names == graph.feature_names:
            return graph
        if names is None:
            if graph.num_features == self.n_features_in_:
                warn(
                    "the model was fitted with features without names, so those of the graph are "
                    f"taken in their order: {graph.feature_names[0]!r} for the first. Check that "
                    "it is the same.",
                    FeatureNamesWarning,
                )
            return graph
        own = self.feature_encoder_
        position = {name: at for at, name in enumerate(graph.feature_names)}
        missing = [name for name in names if name not in position]
        if missing:
            raise InputError(
                f"the graph lacks {len(missing):,} of the {len(names):,} features that the model "
                f"was fitted with, the first of them {missing[0]!r}. It has "
                f"{graph.num_features:,}, the first of them {graph.feature_names[0]!r}."
                + " Read tables by from_tables(..., model=model)."
                * (own is not None)
            )
        order = [position[name] for name in names]
        return graph._with_features(graph.features[:, order], names)


def resolve_scalings(space: SearchSpace, graph: Graph, train: Array) -> SearchSpace:
    """Candidates of a search in place of "auto" scaling: none for features scaled by an encoder."""
    encoder = graph.feature_encoder
    if encoder is not None and encoder.settings.scaled:
        scalings = ["none" if name == "auto" else name for name in space.scalings]
        space = replace(space, scalings=tuple(dict.fromkeys(scalings)))
    return space.resolve_scalings(default_scaling(graph.features, train))
