import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.tables.graphs import Options, from_tables, read_tables

EDGE = {"source": ["a"], "target": ["b"]}
NONE = {"source": [], "target": []}
PAIR = {"id": ["a", "b"]}


@pytest.fixture
def csv(tmp_path):
    def write(text, name="nodes.csv"):
        path = tmp_path / name
        path.write_text(text, newline="")
        return path

    return write


def weights_of(rows, **options):
    """The dense adjacency on nodes a, b, c of edges such as "ab" with their weights."""
    ends, weights = zip(*rows, strict=True)
    edges = {"source": [e[0] for e in ends], "target": [e[1] for e in ends]}
    if weights[0] is not None:
        edges["weight"] = list(weights)
    return from_tables({"id": ["a", "b", "c"]}, edges, **options).graph.adjacency.toarray()


class TestRoles:
    def test_usual_names_in_any_order_and_case(self):
        nodes = {"y": ["u", "v"], "Node_ID": ["a", "b"], "Subset": ["train", "test"], "x": [1, 2]}
        edges = {"W": [2.0], "DST": ["b"], "when": [0], "Src": ["a"]}
        reading = read_tables(nodes, edges, Options())
        assert {key: str(role) for key, role in reading.roles.items()} == {
            "id": "Node_ID (guessed)", "label": "y (guessed)", "split": "Subset (guessed)",
            "source": "Src (guessed)", "target": "DST (guessed)", "weight": "W (guessed)",
        }  # fmt: skip
        assert reading.features == "x (guessed)"
        assert reading.id_column == "Node_ID"
        assert reading.num_rows == 1
        assert reading.data.graph.adjacency.toarray().tolist() == [[0, 2], [2, 0]]

    def test_places_where_no_name_tells(self):
        reading = read_tables({"paper": ["a", "b"]}, {"citing": ["a"], "cited": ["b"]}, Options())
        assert str(reading.roles["id"]) == "paper (guessed)"
        assert str(reading.roles["source"]) == "citing (guessed)"
        assert str(reading.roles["target"]) == "cited (guessed)"

    def test_names_that_are_given(self):
        nodes = {
            "id": [1, 2],
            "key": ["a", "b"],
            "label": [0, 1],
            "kind": ["u", "v"],
            "s": ["val", ""],
        }
        edges = {"x": ["b"], "y": ["a"], "weight": [3], "strength": [5.0]}
        options = Options(
            id="key", label="kind", split="s", source="x", target="y", weight="strength",
            features=["label"],
        )  # fmt: skip
        reading = read_tables(nodes, edges, options)
        assert not any(role.guessed for role in reading.roles.values())
        data = reading.data
        assert data.graph.node_ids.tolist() == ["a", "b"]
        assert data.labels.tolist() == ["u", "v"]
        assert data.split.val.tolist() == [0]
        assert data.graph.weights.tolist() == [5, 5]
        assert data.graph.feature_names == ["label"]

    def test_none_of_them(self):
        nodes = PAIR | {"label": ["u", "v"], "split": ["train", "x"], "f": [1, 2]}
        data = from_tables(
            nodes, EDGE | {"weight": [3.0]}, label="", split="", features="", weight=""
        )
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
            ({"features": [5]}, "features must be names of columns, or a table. Got 5 among"),
            ({"features": 5}, "features must be a path, a data frame"),
            ({"id": ""}, "nodes needs a column of ids. It has id"),
            ({"source": ""}, "edges needs two columns of node ids, and has source, target"),
            ({"target": ""}, "edges needs two columns of node ids"),
            ({"label": "id"}, "column 'id' cannot be both the id and the label"),
            ({"split": "id"}, "column 'id' cannot be both the id and the split"),
            ({"source": "target"}, "'target' cannot be both source and target. .* also source"),
            ({"weight": "source"}, "'source' cannot be both the weight and an end of an edge"),
            ({"directed": "no"}, "directed must be 'max', 'sum' or 'refuse'. Got 'no'"),
            ({"duplicates": "no"}, "duplicates must be one of 'error', 'sum', 'max'. Got 'no'"),
            ({"memory_budget": "lots"}, "memory_budget must be"),
        ],
    )
    def test_names_that_cannot_be(self, options, message):
        nodes = PAIR | {"label": ["u", "v"], "x": [1, 2]}
        with pytest.raises(InputError, match=message.replace("'label'. It", r"'label'\? It")):
            from_tables(nodes, EDGE, **options)

    def test_wrong_names_in_files(self, csv):
        nodes, edges = csv("id,x\na,1\nb,2\n"), csv("source,target\na,b\n", "edges.csv")
        with pytest.raises(InputError, match=r"nodes.csv has no column 'lable'"):
            from_tables(nodes, edges, label="lable")
        with pytest.raises(InputError, match=r"edges.csv has no column 'to'"):
            from_tables(nodes, edges, target="to")

    def test_one_column_of_edges(self):
        with pytest.raises(InputError, match="edges needs two columns of node ids, and has source"):
            from_tables(PAIR, {"source": ["a"]})

    def test_patterns_in_their_order(self):
        nodes = PAIR | {"word_b": [1, 2], "x": [3, 4], "word_a": [5, 6], "w[0]": [7, 8]}
        names = from_tables(nodes, EDGE, features=["x", "word_*"]).graph.feature_names
        assert names == ["x", "word_b", "word_a"]
        assert from_tables(nodes, EDGE, features="w[0]").graph.feature_names == ["w[0]"]

    def test_a_column_serves_once(self):
        nodes = {"label": ["a", "b"], "x": [1, 2]}
        assert from_tables(nodes, EDGE, id="label").labels is None
        edges = {"weight": ["a"], "other": ["b"]}
        assert from_tables(PAIR, edges).graph.weights is None

    def test_a_label_that_is_left_aside_is_no_feature(self):
        nodes = PAIR | {"label": [0, 1], "split": [0, 1], "x": [2, 3]}
        reading = read_tables(nodes, EDGE, Options(label="", split=""))
        assert reading.data.graph.feature_names == ["x"]
        assert reading.remarks == [
            "nodes: not used, being called like a label or a split: label, split"
        ]
        named = from_tables(nodes, EDGE, label="", split="", features=["label", "x"])
        assert named.graph.feature_names == ["label", "x"]

    def test_what_is_called_like_a_label_is_no_feature(self):
        nodes = PAIR | {"class": ["u", "v"], "y": [0, 1], "Target": [0, 1], "x": [2, 3]}
        reading = read_tables(nodes, EDGE, Options())
        assert reading.roles["label"].column == "class"
        assert reading.data.graph.feature_names == ["x"]
        assert "y, Target" in reading.remarks[0]
        assert from_tables(nodes, EDGE, features="y").graph.feature_names == ["y"]

    def test_a_label_is_no_id(self):
        with pytest.raises(InputError, match="needs a column of ids. It has label"):
            from_tables({"label": ["a", "b"]}, EDGE)
        data = from_tables({"label": ["u", "v"], "who": ["a", "b"]}, EDGE)
        assert data.graph.names.tolist() == ["a", "b"]

    def test_an_index_of_texts_is_the_id(self):
        frame = pd.DataFrame({"label": ["u", None], "x": [1.0, 2.0]}, index=["a", "b"])
        data = from_tables(frame, EDGE)
        assert data.graph.names.tolist() == ["a", "b"]
        assert data.labels.tolist() == ["u", None]
        assert data.graph.feature_names == ["x"]

    @pytest.mark.parametrize("role", ["id", "label", "split", "source", "target", "weight"])
    def test_a_role_is_a_name(self, role):
        with pytest.raises(InputError, match=f"{role} must be the name of a column. Got 3"):
            from_tables(PAIR, EDGE, **{role: 3})

    def test_an_index_is_no_feature(self, csv):
        frame = pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2, 3]})
        frame.to_csv(path := csv("", "index.csv"))
        for nodes in (frame.set_axis([5, 9, 2]), path):
            reading = read_tables(nodes, NONE, Options())
            assert reading.data.graph.feature_names == ["x"]
            assert "not used, having no name: " in reading.remarks[0]
        named = from_tables(path, NONE, features=["column_1", "x"]).graph
        assert named.features.tolist() == [[0, 1], [1, 2], [2, 3]]

    def test_an_index_may_be_the_id(self, csv):
        frame = pd.DataFrame({"x": [1.0, 2]}, index=["a", "b"])
        frame.to_csv(path := csv("", "index.csv"))
        assert from_tables(path, EDGE).graph.node_ids.tolist() == ["a", "b"]
        frame.index.name = "id"
        assert from_tables(frame, EDGE).graph.node_ids.tolist() == ["a", "b"]


class TestEdges:
    def test_unknown_ids(self, csv):
        edges = csv("source,target\na,b\n\na,p\nq,r\ns,p\n", "edges.csv")
        with pytest.raises(InputError) as caught:
            from_tables(PAIR, edges)
        assert str(caught.value).endswith(
            "edges.csv, line 4: 'p' in column 'target' is no id of nodes. 4 unknown ids ('q', 's', "
            "'p', ...) in 3 rows: add these nodes, or drop these rows."
        )

    @pytest.mark.parametrize(("node", "end"), [("a", "a "), (" a", "a"), ("a", "\ta")])
    def test_ids_that_differ_by_blanks(self, node, end):
        with pytest.raises(InputError, match="Some differ by blanks only"):
            from_tables({"id": [node, "b"]}, {"source": [end], "target": ["b"]})

    def test_ids_that_were_looked_for_in_the_wrong_column(self):
        with pytest.raises(
            InputError, match="of nodes, where 'number' was guessed to be the id. 2"
        ):
            from_tables({"number": [1, 2], "paper": ["a", "b"]}, EDGE)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("-2", r"line 3: weight -2 in column 'weight' is not a finite number >= 0 \(1 such"),
            ("nan", "line 3: weight nan in column"),
            ("inf", "line 3: weight inf in column"),
            ("", "line 3: column 'weight' is blank"),
            ("x", "line 3: column 'weight' has 'x' among numbers"),
        ],
    )
    def test_bad_weights(self, csv, text, message):
        edges = csv(f"source,target,weight\na,b,1\na,a,{text}\n", "edges.csv")
        with pytest.raises(InputError, match=message):
            from_tables(PAIR, edges)

    def test_weights(self):
        rows = [("ab", 2.5), ("bc", 0.0), ("cc", 3.0)]
        assert weights_of(rows).tolist() == [[0, 2.5, 0], [2.5, 0, 0], [0, 0, 3]]

    def test_conflicting_duplicates(self, csv):
        edges = csv("source,target,weight\na,b,1\nb,a,5\na,b,2\na,b,2\na,b,1\n", "edges.csv")
        with pytest.raises(InputError, match=r"line 4: edge 'a' -> 'b' has weight 2, and had 1 "
                           r"before \(2 such in all\). Drop one"):  # fmt: skip
            from_tables(PAIR, edges)

    def test_edges_of_weight_zero(self):
        edges = {"source": ["a", "b"], "target": ["b", "a"], "weight": [0.0, 0.0]}
        reading = read_tables(PAIR, edges, Options())
        assert reading.data.graph.num_edges == 0
        assert reading.remarks == ["edges: 2 rows of weight zero are no edges"]

    def test_duplicates(self):
        rows = [("ab", 1.0), ("ab", 2.0), ("ab", 2.0)]
        assert (
            weights_of(rows, duplicates="sum")[0, 1]
            == weights_of(rows, duplicates="sum")[1, 0]
            == 5
        )
        assert weights_of(rows, duplicates="max")[0, 1] == 2
        assert weights_of(rows[1:])[0, 1] == 2
        assert weights_of([("ab", None)] * 3)[0, 1] == 1
        graph = from_tables(PAIR, {"source": ["a"] * 3, "target": ["b"] * 3}).graph
        assert graph.num_duplicates == 2

    def test_two_directions(self):
        rows = [("ab", 1.0), ("ba", 3.0), ("cc", 2.0)]
        assert weights_of(rows)[0, 1] == 3
        assert weights_of(rows, directed="max")[1, 0] == 3
        assert weights_of(rows, directed="sum")[0, 1] == 4
        assert weights_of(rows, directed="sum")[2, 2] == 2
        with pytest.raises(InputError, match=r"edges: edge 'a' -> 'b' has no counterpart of equal "
                           r"weight \(1 such pairs in all\). List both"):  # fmt: skip
            weights_of(rows, directed="refuse")
        with pytest.raises(InputError, match="edge 'b' -> 'c' has no counterpart|'c' -> 'b'"):
            weights_of([("bc", None)], directed="refuse")

    @pytest.mark.parametrize(
        ("rows", "options"),
        [
            ([("ab", 2.0), ("ab", 2.0), ("ba", 2.0)], {}),
            ([("ab", 2.0), ("ab", 1.0), ("ba", 2.0)], {"duplicates": "max"}),
            ([("ab", 1.5), ("ab", 0.5), ("ba", 2.0)], {"duplicates": "sum"}),
        ],
    )
    def test_duplicates_are_merged_before_directions_are_compared(self, rows, options):
        wanted = [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
        assert weights_of(rows, directed="refuse", **options).tolist() == wanted
        plain = [(ends, None) for ends, _ in rows]
        assert weights_of(plain, directed="refuse").tolist() == (np.array(wanted) / 2).tolist()

    def test_no_edges(self, csv):
        for edges in (NONE, csv("source,target\n", "e.csv"), csv("source,target,weight", "f.csv")):
            graph = from_tables(PAIR, edges).graph
            assert (graph.num_nodes, graph.num_edges, graph.num_isolated) == (2, 0, 2)

    def test_one_node(self):
        assert from_tables({"id": [7]}, {"source": [7], "target": [7]}).graph.num_self_loops == 1

    @pytest.mark.parametrize("nodes", [{"id": []}, {}, pl.DataFrame({"id": []})])
    def test_no_nodes(self, nodes):
        with pytest.raises(InputError, match="nodes has no rows. Expected one per node"):
            from_tables(nodes, NONE)

    def test_no_nodes_in_a_file(self, csv):
        with pytest.raises(InputError, match=r"nodes.csv has no rows"):
            from_tables(csv("id,x\n"), NONE)


class OnlyStream:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class OnlyInterchange:
    def __init__(self, table):
        self.table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.table.__dataframe__(nan_as_null, allow_copy)


class TestFrames:
    COLUMNS = pa.table(
        {"id": ["a", "b", "c"], "label": ["u", None, "v"], "x": [0.5, 1, 2], "n": [1, 2, 3]}
    )

    @pytest.mark.parametrize(
        "make",
        [
            lambda table: table,
            lambda table: table.to_pydict(),
            lambda table: table.to_pandas(),
            lambda table: table.to_pandas().convert_dtypes(),
            lambda table: table.to_pandas().astype({table.column_names[1]: "category"}),
            pl.from_arrow,
            OnlyStream,
            OnlyInterchange,
            lambda table: table.to_reader(),
            lambda table: table.to_batches()[0],
            lambda table: {name: np.array(column) for name, column in table.to_pydict().items()},
        ],
    )
    def test_every_kind_is_the_same_table(self, make):
        edges = pa.table({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.5, 2.0]})
        data = from_tables(make(self.COLUMNS), make(edges))
        assert data.graph.node_ids.tolist() == ["a", "b", "c"]
        assert data.labels.tolist() == ["u", None, "v"]
        assert data.graph.feature_names == ["x", "n"]
        assert_array_equal(data.graph.features, np.array([[0.5, 1], [1, 2], [2, 3]]))
        assert data.graph.adjacency.toarray()[0, 1] == 1.5

    def test_blank_features_of_frames(self):
        frame = pd.DataFrame({"id": ["a", "b"], "x": [1, np.nan]})
        with pytest.raises(InputError, match=r"nodes, row 1 .*column 'x' is blank"):
            from_tables(frame, EDGE)

    def test_columns_that_are_called_by_number(self):
        for nodes in ({0: ["a", "b"], 1: [1, 2]}, pd.DataFrame([["a", 1], ["b", 2]])):
            assert from_tables(nodes, EDGE).graph.feature_names == ["1"]

    @pytest.mark.parametrize("thing", [5, None, [1, 2], np.eye(2), pl.LazyFrame(PAIR), object()])
    def test_something_else(self, thing):
        with pytest.raises(InputError, match="nodes must be a path, a data frame .* Got"):
            from_tables(thing, EDGE)
        with pytest.raises(InputError, match="edges must be a path, a data frame .* Got"):
            from_tables(PAIR, thing)

    @pytest.mark.parametrize(
        "nodes",
        [
            {"id": ["a", 1]}, {"id": ["a", "b"], "x": [1]}, {"id": ["a"], "x": 1},
            {"id": ["a", "b"], "x": np.eye(2)}, {"id": [10**20]}, {"id": [1j]},
            pd.DataFrame([["a", 1, 2]], columns=["id", "x", "x"]), pd.DataFrame({"id": ["a", 1]}),
        ],
    )  # fmt: skip
    def test_columns_that_cannot_be(self, nodes):
        with pytest.raises(InputError, match="nodes cannot be read as a table: .* values of one"):
            from_tables(nodes, EDGE)


class TestSplits:
    def test_parts(self, csv):
        nodes = csv("id,label,split\na,u,train\nb,v,Validation\nc,,test\nd,,\ne,u, TRAIN\n")
        split = from_tables(nodes, NONE).split
        assert [part.tolist() for part in (split.train, split.val, split.test)] == [
            [0, 4],
            [1],
            [2],
        ]

    def test_something_else(self, csv):
        with pytest.raises(InputError, match=r"nodes.csv, line 4: the split is 'tset', where"):
            from_tables(csv("id,label,split\na,u,train\n\nb,v,tset\n"), NONE)

    @pytest.mark.parametrize("part", ["train", "val"])
    @pytest.mark.parametrize("missing", ["", "-1"])
    def test_parts_to_learn_from_need_labels(self, csv, part, missing):
        nodes = csv(f"id,label,split\na,1,train\n\nb,{missing},{part}\nc,{missing},{part}\n")
        with pytest.raises(InputError, match=rf"nodes.csv, line 4: the split is '{part}', and "
                           r"there is no label \(2 such nodes in all\). Fill in"):  # fmt: skip
            from_tables(nodes, NONE)

    def test_without_labels_at_all(self):
        nodes = PAIR | {"split": ["train", "test"]}
        assert from_tables(nodes, EDGE).split.train.tolist() == [0]
        assert from_tables(nodes | {"label": [None, 1]}, EDGE, label="").labels is None
