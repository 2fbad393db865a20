"""Data sets in place of tables."""

from dataclasses import replace

import numpy as np
import pytest

from heatgraph.datasets.catalogue import load_dataset
from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.tables.from_tables import from_tables
from heatgraph.tables.named_data import dataset_result
from heatgraph.tables.options import TableOptions

PATH = Graph.from_edges([0, 1], [1, 2], features=np.arange(6.0).reshape(3, 2), symmetrize="max",
                        feature_names=["p", "q"])  # fmt: skip


def test_karate():
    data = load_dataset("karate")
    result = dataset_result(data, TableOptions())
    assert result.dataset.labels is data.labels
    assert (result.id_column, result.columns, result.num_edge_rows) == ("id", {}, None)
    without = dataset_result(data, TableOptions(label="")).dataset
    assert without.labels is None
    assert not without.splits
    assert not dataset_result(data, TableOptions(split="")).dataset.splits


def test_the_first_of_several_splits_is_told():
    data = load_dataset("karate")
    data = replace(data, splits={"one": data.split, "two": data.split}, notes="Old.")
    notes = dataset_result(data, TableOptions()).notes
    assert notes == ["Old.", "split 'one', the first of 2, is used"]


@pytest.mark.parametrize(
    ("options", "flag"),
    [({"id": "x"}, "--id"), ({"weight": ""}, "--weight"), ({"features": "f*"}, "--features"),
     ({"unlabelled": ["?"]}, "--unlabelled"), ({"unknown_edges": "drop"}, "--unknown-edges"),
     ({"directed": "sum"}, "--directed"), ({"label": "y"}, "--label")],
)  # fmt: skip
def test_options_of_tables_are_refused(options, flag):
    with pytest.raises(
        InputError, match=f"{flag} is about tables, and karate is not read from tables."
    ):
        dataset_result(load_dataset("karate"), TableOptions(**options))


def test_features_of_a_model():
    data = Dataset("path", PATH)
    found = dataset_result(data, TableOptions(model_features=["q", "p"])).dataset.graph
    assert found.features.tolist() == [[1, 0], [3, 2], [5, 4]]
    assert found.feature_names == ["q", "p"]
    assert dataset_result(data, TableOptions(model_features=["p", "q"])).dataset.graph is PATH
    assert dataset_result(data, TableOptions(features="")).dataset.graph.features is None
    with pytest.raises(InputError, match=r"path lacks features .* fitted with: f0, f1\."):
        dataset_result(data, TableOptions(model_features=["f0", "f1"]))
    unnamed = Dataset("path", PATH.with_features(PATH.features))
    found = dataset_result(unnamed, TableOptions(model_features=["f1"])).dataset.graph
    assert found.features.tolist() == [[1], [3], [5]]


def test_the_encoder_of_a_model():
    nodes = {"id": [1, 2, 3], "colour": ["red", "blue", "red"]}
    encoder = from_tables(nodes, {"source": [1], "target": [2]}).graph.feature_encoder
    options = TableOptions(model_features=encoder.names, model_encoder=encoder)
    with pytest.raises(InputError, match="path lacks features .*: colour=blue, colour=red"):
        dataset_result(Dataset("path", PATH), options)


def test_the_task_of_a_model():
    with pytest.raises(InputError, match="regression needs other labels than those of path"):
        dataset_result(Dataset("path", PATH), TableOptions(task="regression"))


def test_directions_may_be_kept():
    graph = Graph.from_edges([0, 1], [1, 2], num_nodes=3, directed=True)
    result = dataset_result(Dataset("path", graph), TableOptions(directed="keep"))
    assert result.dataset.graph is graph
