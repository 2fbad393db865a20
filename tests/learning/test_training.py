"""Which extensions a fit tries, and what it learns in which pass."""

import numpy as np
import pytest

import heatgraph as hg
from heatgraph.learning._search_space import Setting
from heatgraph.learning._training import Training, nodes_digest

DATA = hg.make_block_graph(300, 600, 3, 8, signal=1.5, seed=2)
SPLIT = hg.random_split(DATA.labels, 6, 60, 100, seed=0)


def names_to_try(val=SPLIT.val, graph=DATA.graph, T_chosen=2.0, **parameters):
    model = hg.DGCClassifier(**parameters)
    task, _ = model._task(graph, DATA.labels, SPLIT.train, val)
    space = model._search_space().resolve_scalings("standard")
    setting = Setting(hg.Heat(T_chosen), True, "standard", 0.1, 0.2)
    return Training(model.get_params())._extensions_to_try(task, space, setting)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"similar-edges", "self-training", "class-offsets", "channels"}),
        ({"val": None}, {"similar-edges", "class-offsets"}),
        ({"T_chosen": 0.0}, {"class-offsets", "channels"}),
        ({"graph": DATA.graph.with_features(None)}, {"class-offsets", "channels"}),
        ({"extensions": None}, set()),
        ({"solver": "adam"}, set()),
        ({"T": 2.0}, set()),
        ({"T": 2.0, "extensions": ["similar-edges"]}, {"similar-edges"}),
    ],
)
def test_extensions_to_try(options, expected):
    assert set(names_to_try(**options)) == expected


def test_node_ids_have_a_digest_by_order():
    graph = hg.Graph(DATA.graph.adjacency, node_ids=np.arange(300) + 7)
    turned = hg.Graph(DATA.graph.adjacency, node_ids=(np.arange(300) + 7)[::-1])
    assert nodes_digest(DATA.graph) is None
    assert nodes_digest(graph) != nodes_digest(turned)
    assert nodes_digest(graph) == nodes_digest(graph.with_features(np.ones((300, 1))))
