"""Features: from numeric columns, list columns and feature tables."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError, TableWarning
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.options import TableOptions

EDGE = {"source": ["a"], "target": ["b"]}
NONE = {"source": [], "target": []}
PAIR = {"id": ["a", "b"]}
NODES = PAIR | {"e": [[1.0, 2.0], [3.0, 4.0]], "x": [5, 6], "y": [7, 8], "n": ["u", "v"]}
LONG = "1234567890123456789"


def features_of(values, **options):
    return from_tables({"id": ["a", "b"], "x": values}, EDGE, **options).graph.features


class TestFeatures:
    @pytest.mark.parametrize(
        "kind", ["int8", "uint64", "float16", "float32", "bool", "decimal128(9, 2)"]
    )
    def test_numeric_types(self, kind):
        kind = pa.decimal128(9, 2) if kind.startswith("dec") else pa.type_for_alias(kind)
        column = pa.array([1, 0]).cast(pa.float64()).cast(kind)
        X = from_tables(pa.table({"id": ["a", "b"], "x": column}), EDGE).graph.features
        assert X.dtype == np.float32
        assert X.tolist() == [[1], [0]]

    def test_integers_beyond_float_precision(self, write_csv):
        data = from_tables(write_csv(f"id,x\na,1\nb,{LONG}\n"), EDGE)
        assert data.graph.features[1, 0] == np.float32(int(LONG))
        assert features_of([[1], [2**60 + 1]])[1, 0] == np.float32(2**60)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("nan", "line 3: column 'x' is nan (1 such in all). Fill it in, drop the row or"),
            ("-inf", "line 3: column 'x' is -inf (1 such"),
            ("3.5e38", "line 3: column 'x' is 3.5e+38 (1 such values in all). Features must be"),
            ("", "line 3: column 'x' is blank (1 such in all). Fill it in, drop the row or"),
            ("oops", "line 3: column 'x' has 'oops' among numbers (1 such in all)"),
            ("NA", "line 3: column 'x' has 'NA' among numbers (1 such in all)"),
        ],
    )
    @pytest.mark.parametrize("features", [None, "x", ["x"]])
    def test_bad_values_are_located(self, write_csv, value, message, features):
        nodes = write_csv(f"id,x\na,1\nb,{value}\nc,2\n")
        with pytest.raises(InputError) as caught:
            from_tables(nodes, EDGE, features=features, missing="error")
        assert message in str(caught.value)

    def test_text_before_numbers(self, write_csv):
        nodes = write_csv("id,x\na,NA\nb,1\nc,2\n")
        with pytest.raises(InputError, match="line 2: column 'x' has 'NA' among numbers"):
            from_tables(nodes, EDGE, missing="error")
        with pytest.warns(TableWarning, match="column 'x' is missing in 1 of 3 nodes"):
            assert from_tables(nodes, EDGE).graph.features.tolist() == [[1.5, 1], [1, 0], [2, 0]]

    def test_numbers_stored_as_strings(self):
        assert features_of(["1", "2.5"]).tolist() == [[1], [2.5]]
        assert features_of(["1", "2.5"], features="x").tolist() == [[1], [2.5]]

    def test_counts_are_stored_sparse_with_the_same_values(self):
        random = np.random.default_rng(0)
        X = random.poisson(0.1, size=(30, 25)).astype(np.float32)
        nodes = {"id": np.arange(30)} | {f"w{at}": X[:, at] for at in range(25)}
        none = {"source": [], "target": []}
        graph = from_tables(nodes, none).graph
        assert sp.issparse(graph.features)
        assert_array_equal(graph.features.toarray(), X)
        result = read_tables(nodes, none, TableOptions())
        assert "zeros: read as words or counts" in result.features_origin
        for dense in (
            nodes | {"w0": -X[:, 0] - 1},
            nodes | {f"v{at}": X[:, 0] + 1 for at in range(9)},
        ):
            assert isinstance(from_tables(dense, none).graph.features, np.ndarray)
        del nodes["w0"], nodes["w1"], nodes["w2"], nodes["w3"], nodes["w4"], nodes["w5"]
        assert isinstance(from_tables(nodes, none).graph.features, np.ndarray)

    def test_dense_and_sparse_side_by_side(self):
        words = np.eye(30, 25)
        nodes = {"id": np.arange(30), "e": [[at, 0.5] for at in range(30)]}
        nodes |= {f"w{at}": words[:, at] for at in range(25)}
        graph = from_tables(nodes, {"source": [], "target": []}).graph
        assert graph.feature_names[-2:] == ["e[0]", "e[1]"]
        expected = np.hstack([words, np.array(nodes["e"])])
        assert_array_equal(graph.features.toarray(), expected)


class TestLists:
    @pytest.mark.parametrize(
        "kind",
        [
            pa.list_(pa.float32()), pa.large_list(pa.int64()), pa.list_(pa.float64(), 2),
            pa.list_view(pa.float32()), pa.list_(pa.decimal128(5, 1)),
        ],
    )  # fmt: skip
    def test_list_types(self, kind):
        nodes = pa.table({"id": ["a", "b"], "e": pa.array([[1, 2], [3, 4]], kind)})
        graph = from_tables(nodes.slice(0), EDGE).graph
        assert graph.features.tolist() == [[1, 2], [3, 4]]
        assert graph.feature_names == ["e[0]", "e[1]"]

    def test_tensors(self):
        kind = pa.fixed_shape_tensor(pa.float32(), [2])
        storage = pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2))
        nodes = pa.table({"id": ["a", "b"], "e": pa.ExtensionArray.from_storage(kind, storage)})
        assert from_tables(nodes, EDGE).graph.features.tolist() == [[1, 2], [3, 4]]

    def test_a_slice_of_lists(self):
        nodes = pa.table({"id": ["z", "a", "b"], "e": [[9.0], [1.0], [2.0]]}).slice(1)
        assert from_tables(nodes, EDGE).graph.features.tolist() == [[1], [2]]

    @pytest.mark.parametrize(
        "text", ["[0.5, -1e3]", "[.5;-1000.]", " [0.5 -1E+3 ] ", "[+0.5\t,\n-1000]"]
    )
    def test_lists_as_text(self, write_csv, text):
        data = from_tables(write_csv(f'id,e\na,"{text}"\nb,"[1,2]"\n'), EDGE)
        assert data.graph.features.tolist() == [[0.5, -1000], [1, 2]]

    @pytest.mark.parametrize("text", ["[1,]", "[1,,2]", "[1,x]", "[[1],[2]]", "word", "1,2"])
    def test_malformed_lists_as_text(self, write_csv, text):
        with pytest.raises(InputError, match=r"line 4: column 'e' has '.*', which is not a list "
                           r"such as \[0.5, 1\] or .* \(1 such in all\)"):  # fmt: skip
            from_tables(write_csv(f'id,e\na,"[1,2]"\n\nb,"{text}"\n'), EDGE)

    def test_blank_lists(self, write_csv):
        with pytest.raises(InputError, match=r"line 3: column 'e' is blank \(1 such"):
            from_tables(write_csv("id,e\na,[1]\nb,\n"), EDGE, missing="error")
        with pytest.raises(InputError, match=r"row 1 .*: column 'x' is blank \(1 such"):
            features_of([[1.0], None], missing="error")
        with pytest.warns(TableWarning, match="'x' is missing in 1 of 2 nodes: filled in"):
            assert features_of([[1.0], None]).tolist() == [[1, 0], [1, 1]]

    def test_bad_numbers_in_lists(self):
        for bad in (None, float("nan"), float("inf"), 1e39):
            with pytest.raises(InputError, match=r"row 1 .*column 'x' is .* \(1 such "):
                features_of([[1.0, 2.0], [bad, 1.0]], missing="error")

    def test_the_first_bad_row_is_reported(self):
        with pytest.raises(InputError, match=r"row 0 .* is inf \(2 such values"):
            features_of([[1.0, np.inf], [-np.inf, 1.0]])

    def test_lists_of_different_lengths(self, write_csv):
        with pytest.raises(
            InputError, match=r"row 1 .*a list of 1 numbers, and the first has 2 \(1 such"
        ):
            features_of([[1.0, 2.0], [1.0]])
        empty = pa.array([[], []], pa.list_(pa.float32()))
        with pytest.raises(InputError, match="cannot be a feature: it is empty lists in every row"):
            features_of(empty, features="x")

    def test_lists_of_other_types(self):
        with pytest.raises(InputError, match=r"row 0 .*'x' has a list of list<.* flatten them"):
            features_of([[[1.0]], [[2.0]]])

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([{"u": 1}, {"u": 2}]),
            pa.array([[("k", 1)], [("k", 2)]], pa.map_(pa.string(), pa.int64())),
            pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
        ],
    )
    def test_other_nested_columns_are_not_used(self, column):
        result = read_tables(pa.table({"id": ["a", "b"], "x": column}), EDGE, TableOptions())
        assert result.dataset.graph.features is None
        assert result.notes == [f"nodes: not used (of type {column.type}): x"]


class TestFeatureTable:
    def table(self, **columns):
        return from_tables(PAIR, EDGE, features=columns).graph

    def test_repeated_values_are_summed(self):
        graph = self.table(node=["b", "a", "b"], feature=["u", "v", "u"], value=[1.5, 2.0, 1.0])
        assert graph.feature_names == ["u", "v"]
        assert graph.features.toarray().tolist() == [[0, 2], [2.5, 0]]
        assert graph.features.dtype == np.float32

    def test_without_values_each_row_counts_one(self):
        graph = self.table(node=["b", "b"], word=[7, 7])
        assert graph.feature_names == ["7"]
        assert graph.features.toarray().tolist() == [[0], [2]]

    def test_from_files(self, write_csv):
        path = write_csv("node,feature,value\na,007,1\nb,7,2\n", "features.csv")
        for path_or_text in (path, str(path)):
            graph = from_tables(PAIR, EDGE, features=path_or_text).graph
            assert graph.feature_names == ["007", "7"]
            assert graph.features.toarray().tolist() == [[1, 0], [0, 2]]

    def test_unknown_nodes(self, write_csv):
        path = write_csv("node,feature\na,u\n\nz,u\n", "features.csv")
        with pytest.raises(InputError, match=r"features.csv, line 4: 'z' in column 'node' is not "
                           "an id of nodes. 1 unknown ids"):  # fmt: skip
            from_tables(PAIR, EDGE, features=path)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"node": ["a"]}, "must have the columns node, feature and value. It has node"),
            ({"node": ["a"], "value": [1]}, "must have the columns node, feature and value"),
            ({"node": ["a"], "feature": [0.5]}, "strings or integers, and column 'feature'"),
            ({"node": ["a"], "feature": [None]}, "'feature' is blank"),
            ({"node": ["a"], "feature": ["u"], "value": [None]}, "'value' is blank"),
            ({"node": ["a"], "feature": ["u"], "value": ["x"]}, "has 'x' among numbers"),
            ({"node": ["a"], "feature": ["u"], "value": [np.inf]}, "'value' is inf"),
            ({"node": [], "feature": [], "value": []}, "has no rows"),
        ],
    )
    def test_bad_tables(self, columns, message):
        with pytest.raises(InputError, match=message):
            self.table(**columns)

    def test_features_of_a_model(self):
        table = {"node": ["a", "b", "b"], "feature": ["u", "v", "new"]}
        options = TableOptions(features=table, model_features=["w", "v", "u"])
        result = read_tables(PAIR, EDGE, options)
        assert result.dataset.graph.features.toarray().tolist() == [[0, 0, 1], [0, 1, 0]]
        assert result.notes == ["features: ignored 1 features that the model does not use"]
        options = TableOptions(features=table, model_features=["w", "x"])
        with pytest.raises(InputError, match="features has none of the features .* such as w, x"):
            read_tables(PAIR, EDGE, options)


class TestModelFeatures:
    @pytest.mark.parametrize(
        ("known", "expected"),
        [
            (["y", "x"], [[7, 5], [8, 6]]),
            (["x", "e[0]", "e[1]"], [[5, 1, 2], [6, 3, 4]]),
            (["e[1]", "x", "e[0]"], [[2, 5, 1], [4, 6, 3]]),
        ],
    )
    def test_order_of_the_model(self, known, expected):
        result = read_tables(NODES, EDGE, TableOptions(label="", model_features=known))
        assert result.dataset.graph.features.tolist() == expected
        assert result.dataset.graph.feature_names == known

    def test_missing_features(self):
        with pytest.raises(InputError, match=r"lacks features .* fitted with: z, v\[0\]. If they"):
            read_tables(NODES, EDGE, TableOptions(model_features=["z", "x", "v[0]"]))

    @pytest.mark.parametrize("known", [["e[0]"], ["e[0]", "e[1]", "e[2]"]])
    def test_lists_of_different_length_than_fitted(self, known):
        with pytest.raises(InputError, match=r"has 2 features and the model [13]: lists must be"):
            read_tables(NODES, EDGE, TableOptions(model_features=known))

    def test_text_features(self):
        with pytest.raises(InputError, match="'n' has 'u' among numbers"):
            read_tables(NODES, EDGE, TableOptions(model_features=["n"]))


def test_a_text_column_may_contain_a_number():
    titles = ["1984", "Brave New World", "Dune"]
    nodes = {"id": ["a", "b", "c"], "title": titles, "x": [1, 2, 3]}
    result = read_tables(nodes, EDGE, TableOptions())
    names = ["x", "title=1984", "title=Brave New World", "title=Dune"]
    assert result.dataset.graph.feature_names == names


def test_feature_names_in_an_array():
    for names in (np.array(["x", "e"]), pd.Index(["x", "e"]), ["x", "e"]):
        graph = from_tables(NODES, EDGE, features=names).graph
        assert graph.feature_names == ["x", "e[0]", "e[1]"]


def test_a_model_refuses_other_features():
    with pytest.raises(InputError, match="features of a model are found by name in nodes"):
        read_tables(NODES, EDGE, TableOptions(features="x", model_features=["x", "y"]))
    result = read_tables(NODES, EDGE, TableOptions(model_features=["x", "y"]))
    assert result.features_origin == "x, y (the model's)"


def test_repeated_entries_are_noted():
    table = {"node": ["a", "a"], "feature": ["u", "u"], "value": [1, 2]}
    result = read_tables(PAIR, EDGE, TableOptions(features=table))
    assert result.notes == ["features: 1 repeated entries were summed"]


def test_patterns_keep_their_order():
    nodes = PAIR | {"word_b": [1, 2], "x": [3, 4], "word_a": [5, 6], "w[0]": [7, 8]}
    names = from_tables(nodes, EDGE, features=["x", "word_*"]).graph.feature_names
    assert names == ["x", "word_b", "word_a"]
    assert from_tables(nodes, EDGE, features="w[0]").graph.feature_names == ["w[0]"]


def test_an_unused_label_is_not_a_feature():
    nodes = PAIR | {"label": [0, 1], "split": [0, 1], "x": [2, 3]}
    result = read_tables(nodes, EDGE, TableOptions(label="", split=""))
    assert result.dataset.graph.feature_names == ["x"]
    assert result.notes == ["nodes: not used (named like a label or a split): label, split"]
    named = from_tables(nodes, EDGE, label="", split="", features=["label", "x"])
    assert named.graph.feature_names == ["label", "x"]


def test_further_columns_named_like_a_label_are_told_in_python():
    nodes = PAIR | {"label": [0, 1], "split": [None, None], "target": [5, 6], "x": [2, 3]}
    with pytest.warns(TableWarning, match="named like a label or a split.: target.$") as told:
        from_tables(nodes, EDGE, label="", split="")
    assert len(told) == 1
    with pytest.warns(TableWarning, match="named like a label or a split.: target.$"):
        from_tables(nodes, EDGE, split="")


def test_unnamed_values_are_told_in_python(write_csv):
    with pytest.warns(TableWarning, match="not used .unnamed.: column_3"):
        from_tables(write_csv("id,x,\na,1,.5\nb,2,.25\nc,0,1\n"), NONE)


@pytest.mark.parametrize(
    ("value", "mark", "number"),
    [
        ("1_000", ".", 1000),
        ("\uff11\uff15", ".", 15),
        ("\u0663", ".", 3),
        ("\u0663\u066b\u0665", ",", 3.5),
        ("1,5", ",", 1.5),
    ],
)
def test_numbers_in_other_writing_are_told_or_read(write_csv, value, mark, number):
    nodes = write_csv(f"id;x\na;{value}\nb;7\nc;{value}0\nd;{value}1\n")
    told = f"nodes.csv: not used .numbers .* to '[{mark}.]'.*: x.$"
    with pytest.warns(TableWarning, match=told):
        assert from_tables(nodes, NONE).graph.features is None
    graph = from_tables(nodes, NONE, decimal=mark).graph
    assert graph.features[:2].tolist() == [[number], [7]]


def test_further_columns_of_a_feature_table_are_told():
    table = {"node": ["a", "b"], "feature": ["u", "v"], "value": [1, 2], "unit": ["m", "s"]}
    with pytest.warns(TableWarning, match="features: not used: unit"):
        from_tables(PAIR, EDGE, features=table)


def test_a_column_named_like_a_label_is_not_a_feature():
    nodes = PAIR | {"class": ["u", "v"], "y": [0, 1], "Target": [0, 1], "x": [2, 3]}
    result = read_tables(nodes, EDGE, TableOptions())
    assert result.columns["label"].name == "class"
    assert result.dataset.graph.feature_names == ["x"]
    assert "y, Target" in result.notes[0]
    assert from_tables(nodes, EDGE, features="y").graph.feature_names == ["y"]


def test_an_index_is_not_a_feature(write_csv):
    frame = pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2, 3]})
    frame.to_csv(path := write_csv("", "index.csv"))
    for nodes in (frame.set_axis([5, 9, 2]), path):
        result = read_tables(nodes, NONE, TableOptions())
        assert result.dataset.graph.feature_names == ["x"]
        assert "not used (unnamed): " in result.notes[0]
    named = from_tables(path, NONE, features=["column_1", "x"]).graph
    assert named.features.tolist() == [[0, 1], [1, 2], [2, 3]]
