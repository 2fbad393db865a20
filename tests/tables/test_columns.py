"""Columns: given by name, or detected by common names and positions."""

import pandas as pd
import pytest

from heatgraph.errors import InputError
from heatgraph.tables.columns import ColumnChoice, find_node_columns
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.input_table import as_input_table
from heatgraph.tables.options import TableOptions

EDGE = {"source": ["a"], "target": ["b"]}
PAIR = {"id": ["a", "b"]}


def test_common_names_in_any_order_and_case():
    nodes = {"y": ["u", "v"], "Node_ID": ["a", "b"], "Subset": ["train", "test"], "x": [1, 2]}
    edges = {"W": [2.0], "DST": ["b"], "when": [0], "Src": ["a"]}
    result = read_tables(nodes, edges, TableOptions())
    names = {"id": "Node_ID", "label": "y", "split": "Subset", "source": "Src", "target": "DST",
             "weight": "W"}  # fmt: skip
    assert result.columns == {key: ColumnChoice(name, True) for key, name in names.items()}
    assert result.features_origin == "x (detected)"
    assert result.id_column == "Node_ID"
    assert result.num_edge_rows == 1
    assert result.dataset.graph.adjacency.toarray().tolist() == [[0, 2], [2, 0]]


def test_positions_if_no_name_is_common():
    result = read_tables({"paper": ["a", "b"]}, {"citing": ["a"], "cited": ["b"]}, TableOptions())
    assert result.columns["id"] == ColumnChoice("paper", True)
    assert result.columns["source"] == ColumnChoice("citing", True)
    assert result.columns["target"] == ColumnChoice("cited", True)


def test_given_names():
    nodes = {
        "id": [1, 2],
        "key": ["a", "b"],
        "label": [0, 1],
        "kind": ["u", "v"],
        "s": ["val", ""],
    }
    edges = {"x": ["b"], "y": ["a"], "weight": [3], "strength": [5.0]}
    options = TableOptions(
        id="key", label="kind", split="s", source="x", target="y", weight="strength",
        features=["label"],
    )  # fmt: skip
    result = read_tables(nodes, edges, options)
    assert not any(role.detected for role in result.columns.values())
    data = result.dataset
    assert data.graph.node_ids.tolist() == ["a", "b"]
    assert data.labels.tolist() == ["u", "v"]
    assert data.split.val.tolist() == [0]
    assert data.graph.weights.tolist() == [5, 5]
    assert data.graph.feature_names == ["label"]


def test_no_columns():
    nodes = PAIR | {"label": ["u", "v"], "split": ["train", "x"], "f": [1, 2]}
    data = from_tables(nodes, EDGE | {"weight": [3.0]}, label="", split="", features="", weight="")
    assert data.labels is None
    assert not data.splits
    assert data.graph.features is None
    assert data.graph.weights is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"label": "lable"},
            "nodes has no column 'lable'. Did you mean 'label'. It has id, lab",
        ),
        ({"id": "zzz"}, r"nodes has no column 'zzz'. It has id, label, x."),
        ({"source": "sauce"}, "edges has no column 'sauce'. Did you mean 'source'?"),
        ({"weight": "w"}, "edges has no column 'w'"),
        ({"split": "part"}, "nodes has no column 'part'"),
        ({"features": ["x", "nope*"]}, r"nodes has no column 'nope\*'"),
        ({"features": "xx"}, "nodes has no column 'xx'. Did you mean 'x'?"),
        ({"features": "label"}, "'label' is the id, the label or the split, and cannot be"),
        ({"features": [5]}, "features must be column names, or a table. Got 5 among"),
        ({"features": 5}, "features must be column names, or a table. Got 5 among"),
        ({"features": [{"node": [1]}, "w.csv"]}, "features may name one feature table. Got 2"),
        ({"missing": "zero"}, "missing must be one of 'indicator', 'mean', 'error'. Got 'zero'"),
        ({"decimal": ";"}, "decimal must be one of None, '.', ','. Got ';'"),
        ({"id": ""}, "nodes needs a column of ids, strings or integers. It has id"),
        ({"source": ""}, "edges needs two columns of node ids, and has source, target"),
        ({"target": ""}, "edges needs two columns of node ids"),
        ({"label": "id"}, "column 'id' cannot be both the id and the label"),
        ({"split": "id"}, "column 'id' cannot be both the id and the split"),
        ({"source": "target"}, "'target' cannot be both source and target. .* also source"),
        ({"weight": "source"}, "'source' cannot be both the weight and an end of an edge"),
        ({"directed": "no"}, "directed must be one of 'max', 'sum', 'keep', 'refuse'. Got 'no'"),
        ({"duplicates": "no"}, "duplicates must be one of 'error', 'sum', 'max'. Got 'no'"),
        ({"memory_budget": "lots"}, "memory_budget must be"),
    ],
)
def test_unusable_options(options, message):
    nodes = PAIR | {"label": ["u", "v"], "x": [1, 2]}
    with pytest.raises(InputError, match=message.replace("'label'. It", r"'label'\? It")):
        from_tables(nodes, EDGE, **options)


def test_missing_columns_of_files(write_csv):
    nodes, edges = write_csv("id,x\na,1\nb,2\n"), write_csv("source,target\na,b\n", "edges.csv")
    with pytest.raises(InputError, match=r"nodes.csv has no column 'lable'"):
        from_tables(nodes, edges, label="lable")
    with pytest.raises(InputError, match=r"edges.csv has no column 'to'"):
        from_tables(nodes, edges, target="to")


def test_edges_need_two_columns():
    with pytest.raises(InputError, match="edges needs two columns of node ids, and has source"):
        from_tables(PAIR, {"source": ["a"]})


def test_a_column_serves_one_purpose():
    nodes = {"label": ["a", "b"], "x": [1, 2]}
    assert from_tables(nodes, EDGE, id="label").labels is None
    edges = {"weight": ["a"], "other": ["b"]}
    assert from_tables(PAIR, edges).graph.weights is None


def test_a_label_is_not_detected_as_id():
    with pytest.raises(InputError, match="column of ids, strings or integers. It has label"):
        from_tables({"label": ["a", "b"]}, EDGE)
    data = from_tables({"label": ["u", "v"], "who": ["a", "b"]}, EDGE)
    assert data.graph.names.tolist() == ["a", "b"]


def test_an_index_of_strings_is_the_id():
    frame = pd.DataFrame({"label": ["u", None], "x": [1.0, 2.0]}, index=["a", "b"])
    data = from_tables(frame, EDGE)
    assert data.graph.names.tolist() == ["a", "b"]
    assert data.labels.tolist() == ["u", None]
    assert data.graph.feature_names == ["x"]


def test_an_index_column_of_a_csv_is_the_id(write_csv):
    frame = pd.DataFrame({"x": [1.0, 2]}, index=["a", "b"])
    frame.to_csv(path := write_csv("", "index.csv"))
    assert from_tables(path, EDGE).graph.node_ids.tolist() == ["a", "b"]
    frame.index.name = "id"
    assert from_tables(frame, EDGE).graph.node_ids.tolist() == ["a", "b"]


class TestFeaturesOfAModel:
    def find(self, **options):
        nodes = {"id": ["a", "b"], "label": [1.0, 2.0], "y": ["u", "v"]}
        options = TableOptions(model_features=["label"], **options)
        return find_node_columns(as_input_table(nodes, "nodes"), options)["label"]

    def test_are_not_detected_as_labels(self):
        assert self.find() == ColumnChoice("y", True)

    def test_cannot_be_labels(self):
        with pytest.raises(InputError, match="'label' is a feature of the model, and cannot be"):
            self.find(label="label")

    def test_of_a_table_of_their_own_do_not_matter(self):
        assert self.find(features="words.csv") == ColumnChoice("label", True)
