"""Exact decomposition of a node's score into shares of source nodes, features and their pairs.

The score of node v for a class with weights theta and bias b is

    score = b + sum_u sum_j r(S)[v, u] x_uj theta_j,

where x are the scaled features. Each term is the share of a pair of source node u and feature j;
sums over j and over u are the shares of nodes and of features. With the bias, each kind of shares
adds up to the score. One row of the kernel r(S) is needed, the diffusion of one column. If features
diffuse on several graphs, each has a kernel and weights, and the shares are sums over graphs. So
have channels of features (`heatgraph.learning._channels`), with a unit vector or a row of W as the
row of their kernel. Channels of links have a weight theta_u for each node, and the shares
W[v, u] theta_u of nodes alone; those of directed links are told apart by direction.

Without features each node is its own feature, x_uj = [u = j], and there are shares of nodes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._io.notebook_html import html_bars, html_view
from heatgraph.graph import Graph
from heatgraph.learning.scaling import BLOCK_ROWS, Scaling

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Pairs = tuple[Array, Array, Floats]  # source nodes, features, shares

# How a node is linked to those whose shares a channel of directed links gives.
DIRECTIONS = {
    "out-links": "links to",
    "in-links": "links from",
    "two-hop-out-links": "links in two steps to",
    "two-hop-in-links": "links in two steps from",
}
# Entries of dense features per block.
BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, repr=False)
class Explanation:
    """The shares of a node's score for one class.

    Attributes
    ----------
    node, label
        The node and the class or label whose score is explained; of a regressor, the number that
        is explained if there are several, else None.
    score, bias : float
        ``score == bias + node_shares.sum()``, and with features also
        ``score == bias + feature_shares.sum()``, to rounding; plus ``link_shares.sum()`` in the
        latter if there are some.
    probability : float or None
        None for a regressor.
    node_shares : array of shape (n,)
        Those of links included.
    feature_shares : array of shape (d,), or None without features
    link_shares : array of shape (n,), or None
        What it counts to be linked to each node, if the model has channels of links.
    directed_link_shares : dict of arrays of shape (n,)
        The terms of `link_shares` by direction, "links to" and "links from" each node, if the model
        has channels of directed links.
    nodes, features, pairs, links : lists of records
        The largest shares by magnitude, as dictionaries, largest first; ``pandas.DataFrame(...)``
        makes a table of each. `pairs` is empty without features, and `links` without their shares;
        with directed links, its records have a direction.
    """

    node: Any
    label: Any
    score: float
    bias: float
    probability: float | None
    node_shares: Floats
    feature_shares: Floats | None
    nodes: list[dict[str, Any]]
    features: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    link_shares: Floats | None = None
    links: list[dict[str, Any]] = field(default_factory=list)
    directed_link_shares: dict[str, Floats] = field(default_factory=dict)

    def __repr__(self) -> str:
        lines = [f"{self._title()}, bias {self.bias:+.4f}"]
        for title, rows in self._listed().items():
            lines.append(f"  {title}")
            lines += [f"    {share:+.4f}  {what}" for what, share in rows]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        tables = [html_bars(rows, [title, "share"]) for title, rows in self._listed().items()]
        return html_view(f"{self._title()}, bias {self.bias:+.4f}", *tables)

    def _listed(self) -> dict[str, list[tuple[str, float]]]:
        """The largest shares of each kind with what they are of, and the sum of all others."""
        whole = self.score - self.bias
        by_links = 0.0 if self.link_shares is None else float(self.link_shares.sum())
        parts = {
            "source nodes": (self.nodes, whole),
            "features": (self.features, whole - by_links),
            "pairs": (self.pairs, whole - by_links),
            "links": (self.links, by_links),
        }
        listed = {}
        for title, (records, total) in parts.items():
            rows = [(_named(record), record["share"]) for record in records]
            if rows:
                rows.append(("all others", total - sum(share for _, share in rows)))
                listed[title] = rows
        return listed

    def _title(self) -> str:
        if self.probability is not None:
            chance = f"(probability {self.probability:.1%})"
            return f"node {self.node} as {self.label!r}: score {self.score:.4f} {chance}"
        number = "" if self.label is None else f" of number {self.label}"
        return f"node {self.node}: prediction{number} {self.score:.4f}"


def _named(record: dict[str, Any]) -> str:
    """What a record's share is of, such as "node 3, feature size"."""
    what = ", ".join(
        f"{key} {value}" for key, value in record.items() if key not in ("share", "direction")
    )
    return f"{record['direction']} {what}" if "direction" in record else what


def explain(
    graph: Graph,
    scaling: Scaling,
    terms: list[tuple[Floats, Floats]],
    *,
    node: int,
    label: Any,
    score: float,
    bias: float,
    probability: float | None,
    top: int,
    links: Sequence[tuple[str, Floats, Floats]] = (),
) -> Explanation:
    """Decompose a score into shares of the nodes and features of a graph.

    `terms` are the node's row (n,) of r(S) and the weights (d,) of the score, for each graph on
    which features diffuse and each channel of features; `links` likewise with weights (n,), after
    the channel's name.
    """
    names = graph.names
    feature_names = np.array(graph.feature_names or range(graph.num_features), dtype=object)
    if graph.features is None:
        by_node = np.sum([row * theta for row, theta in terms], axis=0)
        by_feature, pairs = None, _no_pairs()
    else:
        by_node, by_feature, pairs = _shares(graph.features, scaling, terms, top)
    by_channel = {name: row * theta for name, row, theta in links}
    by_link, link_records = None, []
    if links:
        by_link = np.sum(list(by_channel.values()), axis=0)
        by_node = by_node + by_link
        link_records = _records(top, by_link, node=names)
    directed = {DIRECTIONS[name]: by_channel[name] for name in by_channel if name in DIRECTIONS}
    if directed:
        link_records = _records(
            top,
            np.concatenate(list(directed.values())),
            direction=np.repeat(np.array(list(directed), dtype=object), len(names)),
            node=np.tile(names, len(directed)),
        )
    return Explanation(
        node=names[node : node + 1].tolist()[0],
        label=label,
        score=score,
        bias=bias,
        probability=probability,
        node_shares=by_node,
        feature_shares=by_feature,
        nodes=_records(top, by_node, node=names),
        features=[] if by_feature is None else _records(top, by_feature, feature=feature_names),
        pairs=_records(top, pairs[2], node=names[pairs[0]], feature=feature_names[pairs[1]]),
        link_shares=by_link,
        links=link_records,
        directed_link_shares=directed,
    )


def _shares(
    X: Any, scaling: Scaling, terms: list[tuple[Floats, Floats]], top: int
) -> tuple[Floats, Floats, Pairs]:
    """Shares of nodes (n,) and features (d,), and the `top` largest shares of pairs."""
    n, d = X.shape
    by_node, by_feature = np.empty(n), np.zeros(d)
    pairs = _no_pairs()
    step = BLOCK_ROWS if sp.issparse(X) else max(1, BLOCK_ENTRIES // d)
    for start in range(0, n, step):
        block = slice(start, start + step)
        rows = sp.coo_array(scaling.apply(X[block], np.dtype(np.float64)))
        u, j = rows.row + start, rows.col
        values = rows.data * sum(row[u] * theta[j] for row, theta in terms)
        by_node[block] = np.bincount(rows.row, weights=values, minlength=rows.shape[0])
        by_feature += np.bincount(j, weights=values, minlength=d)
        block_top = _largest(values, top)
        block_pairs = u[block_top], j[block_top], values[block_top]
        u, j, values = map(np.concatenate, zip(pairs, block_pairs, strict=True))
        largest = _largest(values, top)
        pairs = u[largest], j[largest], values[largest]
    return by_node, by_feature, pairs


def _no_pairs() -> Pairs:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)


def _records(top: int, values: Floats, **names: Array) -> list[dict[str, Any]]:
    """The `top` largest shares as dictionaries, with the given columns of names."""
    largest = _largest(values, top)
    columns = {key: array[largest].tolist() for key, array in names.items()}
    columns["share"] = values[largest].tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _largest(values: Floats, top: int) -> npt.NDArray[np.int64]:
    """Indices of the `top` largest values by magnitude, largest first, without zeros."""
    size = np.abs(values)
    found = np.arange(len(size))
    if top < len(size):
        found = np.argpartition(-size, top - 1)[:top] if top else found[:0]
    found = found[size[found] > 0]
    return found[np.lexsort((found, -size[found]))]
