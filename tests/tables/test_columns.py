import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.tables import columns
from heatgraph.tables.graphs import Options, from_tables, read_tables

EDGE = {"source": ["a"], "target": ["b"]}
PAIR = {"id": ["a", "b"]}
NODES = PAIR | {"e": [[1.0, 2.0], [3.0, 4.0]], "x": [5, 6], "y": [7, 8], "n": ["u", "v"]}
LONG, LONGER = "1234567890123456789", "12345678901234567890"


@pytest.fixture
def csv(tmp_path):
    def write(text, name="nodes.csv"):
        path = tmp_path / name
        path.write_text(text, newline="")
        return path

    return write


def ids_of(nodes, edges=None):
    return from_tables(nodes, edges or {"source": [], "target": []}).graph.node_ids


def labels_of(values, **options):
    table = values if isinstance(values, pa.Table) else {"id": ["a", "b"], "label": values}
    return from_tables(table, EDGE, **options).labels


def features_of(values, **options):
    return from_tables({"id": ["a", "b"], "x": values}, EDGE, **options).graph.features


class TestIds:
    @pytest.mark.parametrize(
        ("texts", "wanted"),
        [
            ([LONG, "1"], [int(LONG), 1]),
            ([str(2**63 - 1), str(-(2**63))], [2**63 - 1, -(2**63)]),
            ([str(2**63), "1"], [str(2**63), "1"]),
            ([LONGER, "1"], [LONGER, "1"]),
            (["007", "7"], ["007", "7"]),
            (["+7", "7"], ["+7", "7"]),
            (["-0", "0"], ["-0", "0"]),
            (["1.0", "1"], ["1.0", "1"]),
            (["1e5", "x"], ["1e5", "x"]),
            (["NA", "null", "nan", "NaN", "None"], ["NA", "null", "nan", "NaN", "None"]),
            ([" 7", "7"], [" 7", "7"]),
            (["true", "1"], ["true", "1"]),
        ],
    )
    def test_csv_keeps_every_letter(self, csv, texts, wanted):
        nodes = csv("id\n" + "\n".join(texts) + "\n")
        edges = csv(f"source,target\n{texts[0]},{texts[1]}\n", "edges.csv")
        data = from_tables(nodes, edges)
        assert data.graph.node_ids.tolist() == wanted
        assert data.graph.adjacency.toarray()[0, 1] == 1

    def test_whole_numbers_of_any_type(self):
        for kind in ("int8", "uint64", "int64"):
            ids = ids_of({"id": np.array([3, 5], dtype=kind)}, {"source": [3], "target": [5]})
            assert ids.dtype == kind

    def test_uint64_beyond_int64(self):
        big = np.array([2**64 - 1, 2**63], dtype=np.uint64)
        assert_array_equal(ids_of({"id": big}, {"source": big[:1], "target": big[1:]}), big)

    def test_numbers_in_one_table_and_texts_in_the_other(self, csv, tmp_path):
        pa.parquet.write_table(pa.table({"id": [int(LONG), 7]}), tmp_path / "n.parquet")
        edges = csv(f"source,target\n{LONG},7\n", "e.csv")
        assert from_tables(tmp_path / "n.parquet", edges).graph.num_edges == 1
        nodes = csv(f"id\n{LONG}\n7\n")
        pa.parquet.write_table(
            pa.table({"source": [int(LONG)], "target": pa.array([7], pa.int8())}),
            tmp_path / "e.parquet",
        )
        assert from_tables(nodes, tmp_path / "e.parquet").graph.num_edges == 1
        with pytest.raises(InputError, match="'07' in column 'source' is no id"):
            from_tables({"id": [7, 8]}, {"source": ["07"], "target": ["8"]})

    @pytest.mark.parametrize(
        "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), "str")]
    )
    def test_kinds_of_texts(self, kind):
        column = pa.chunked_array([pa.array(["a"]), pa.array(["b"])]).cast(kind)
        nodes = pa.table({"id": column, "label": column})
        data = from_tables(nodes, EDGE)
        assert data.graph.node_ids.tolist() == data.labels.tolist() == ["a", "b"]

    def test_wrapped_columns(self):
        runs = pc.run_end_encode(pa.array(["a", "b"]))
        assert ids_of(pa.table({"id": runs})).tolist() == ["a", "b"]
        assert ids_of(pa.table({"id": pa.array(["a", "b"], pa.json_())})).tolist() == ["a", "b"]
        none = pa.table({name: pa.chunked_array([], pa.json_()) for name in EDGE})
        assert from_tables({"id": ["a"]}, none).graph.num_edges == 0

    def test_an_extension_type_is_its_storage(self, tmp_path):
        class Evil(pa.ExtensionType):
            def __init__(self):
                super().__init__(pa.string(), "evil")

            def __arrow_ext_serialize__(self):
                return b"code"

            @classmethod
            def __arrow_ext_deserialize__(cls, storage_type, serialized):
                return cls()

        column = pa.ExtensionArray.from_storage(Evil(), pa.array(["a", "b"]))
        table = pa.table({"id": column})
        pa.parquet.write_table(table, tmp_path / "n.parquet")
        for nodes in (table, tmp_path / "n.parquet"):
            assert ids_of(nodes).tolist() == ["a", "b"]

    @pytest.mark.parametrize(
        "column",
        [
            [1.0, 2.0], [True, False], [b"a", b"b"],
            pa.array([1, 2], pa.decimal128(9)), pa.array([1, 2], pa.date32()),
        ],
    )  # fmt: skip
    def test_other_kinds_are_refused(self, column):
        with pytest.raises(InputError, match="nodes: ids must be texts or whole numbers, and col"):
            ids_of(pa.table({"id": column}))

    def test_blank_ids(self, csv):
        with pytest.raises(InputError, match=r"csv, line 4: column 'id' is blank, where an id is "
                           r"expected \(2 such in all\)"):  # fmt: skip
            ids_of(csv('id,x\na,1\n\n"",2\n,3\n'))
        with pytest.raises(InputError, match=r"nodes, row 1 \(counted from 0\): .*\(1 such"):
            ids_of({"id": [1, None]})
        with pytest.raises(InputError, match=r"row 0 .*\(2 such in all"):
            ids_of({"id": [None, None]})
        with pytest.raises(InputError, match=r"edges, row 1 .*'target' is blank"):
            ids_of({"id": ["a", "b"]}, {"source": ["a", "b"], "target": ["b", ""]})

    def test_repeated_ids(self, csv):
        with pytest.raises(InputError, match=r"line 4: id 'a' was there before \(2 repeated ids "
                           r"in all\). Each node has one row. 'id' was guessed"):  # fmt: skip
            ids_of(csv("id\na\nb\na\nb\n"))
        with pytest.raises(InputError, match="one row.$"):
            from_tables({"id": [1, 1]}, EDGE, id="id")


class TestLabels:
    @pytest.mark.parametrize(
        ("texts", "wanted"),
        [
            ([LONG, ""], [int(LONG), None]),
            ([LONGER, ""], [LONGER, None]),
            (["007", "1"], ["007", "1"]),
            (["-1", "x"], ["-1", "x"]),
            (["-1", "1"], [-1, 1]),
            (["True", "false"], ["True", "false"]),
            (["1.5", "2"], ["1.5", "2"]),
            (["NA", '""'], ["NA", None]),
            (["", ""], [None, None]),
        ],
    )
    def test_csv_keeps_every_letter(self, csv, texts, wanted):
        data = from_tables(csv(f"id,label\na,{texts[0]}\nb,{texts[1]}\n"), EDGE)
        assert data.labels.tolist() == wanted

    @pytest.mark.parametrize(
        "values",
        [[True, None], [True, False], [3, None], [int(LONG), None], ["x", None], [1.0, 2.0]],
    )
    def test_values_of_other_kinds_come_unchanged(self, values):
        found = labels_of(values).tolist()
        assert found == values
        assert [type(value) for value in found] == [type(value) for value in values]

    def test_dictionary(self):
        column = pa.array(["x", None]).dictionary_encode()
        assert labels_of(pa.table({"id": ["a", "b"], "label": column})).tolist() == ["x", None]

    def test_other_kinds_are_refused(self):
        with pytest.raises(InputError, match=r"must be texts, numbers or booleans, and column 'la"):
            labels_of([[1], [2]])


class TestFeatures:
    @pytest.mark.parametrize(
        "kind", ["int8", "uint64", "float16", "float32", "bool", "decimal128(9, 2)"]
    )
    def test_kinds_of_numbers(self, kind):
        kind = pa.decimal128(9, 2) if kind.startswith("dec") else pa.type_for_alias(kind)
        column = pa.array([1, 0]).cast(pa.float64()).cast(kind)
        X = from_tables(pa.table({"id": ["a", "b"], "x": column}), EDGE).graph.features
        assert X.dtype == np.float32
        assert X.tolist() == [[1], [0]]

    def test_whole_numbers_beyond_what_floats_hold(self, csv):
        data = from_tables(csv(f"id,x\na,1\nb,{LONG}\n"), EDGE)
        assert data.graph.features[1, 0] == np.float32(int(LONG))
        assert features_of([[1], [2**60 + 1]])[1, 0] == np.float32(2**60)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("nan", "line 3: column 'x' is nan (1 such values in all)"),
            ("-inf", "line 3: column 'x' is -inf (1 such"),
            ("3.5e38", "line 3: column 'x' is 3.5e+38 (1 such values in all). Features must be"),
            ("", "line 3: column 'x' is blank (1 such in all). Nothing is filled in by itself"),
            ("oops", "line 3: column 'x' has 'oops' among numbers (1 such in all)"),
            ("NA", "line 3: column 'x' has 'NA' among numbers (1 such in all)"),
        ],
    )
    @pytest.mark.parametrize("features", [None, "x", ["x"]])
    def test_bad_values_have_a_place(self, csv, value, message, features):
        nodes = csv(f"id,x\na,1\nb,{value}\nc,2\n")
        with pytest.raises(InputError) as caught:
            from_tables(nodes, EDGE, features=features)
        assert message in str(caught.value)

    def test_numbers_after_a_text(self, csv):
        with pytest.raises(InputError, match="line 2: column 'x' has 'NA' among numbers"):
            from_tables(csv("id,x\na,NA\nb,1\nc,2\n"), EDGE)

    def test_texts_are_not_used_and_said_so(self, csv):
        reading = read_tables(csv("id,title,when,x\na,one,2020-01-01,1\nb,2,,3\n"), EDGE, Options())
        assert reading.data.graph.feature_names == ["x"]
        assert len(reading.remarks) == 1
        assert "not used, being no numbers: title, when" in reading.remarks[0]
        with pytest.raises(InputError, match=r"column 'when' must be numbers, and has date32"):
            from_tables(csv("id,when\na,2020-01-01\nb,2020-01-02\n"), EDGE, features="when")

    def test_numbers_that_are_kept_as_texts(self):
        reading = read_tables(PAIR | {"x": ["1", "2"]}, EDGE, Options())
        assert reading.remarks == ["nodes: not used, being no numbers: x"]
        with pytest.raises(
            InputError, match=r"'x' must be numbers, and has string \(such as '1'\)"
        ):
            features_of(["1", "2"], features="x")

    def test_words_are_kept_sparse_with_the_same_values(self):
        random = np.random.default_rng(0)
        X = random.poisson(0.1, size=(30, 25)).astype(np.float32)
        nodes = {"id": np.arange(30)} | {f"w{at}": X[:, at] for at in range(25)}
        none = {"source": [], "target": []}
        graph = from_tables(nodes, none).graph
        assert sp.issparse(graph.features)
        assert_array_equal(graph.features.toarray(), X)
        reading = read_tables(nodes, none, Options())
        assert "zeros: read as words or counts" in reading.features
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
        wanted = np.hstack([words, np.array(nodes["e"])])
        assert_array_equal(graph.features.toarray(), wanted)


class TestLists:
    @pytest.mark.parametrize(
        "kind",
        [
            pa.list_(pa.float32()), pa.large_list(pa.int64()), pa.list_(pa.float64(), 2),
            pa.list_view(pa.float32()), pa.list_(pa.decimal128(5, 1)),
        ],
    )  # fmt: skip
    def test_kinds_of_lists(self, kind):
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
    def test_lists_that_are_written_out(self, csv, text):
        data = from_tables(csv(f'id,e\na,"{text}"\nb,"[1,2]"\n'), EDGE)
        assert data.graph.features.tolist() == [[0.5, -1000], [1, 2]]

    @pytest.mark.parametrize("text", ["[1,]", "[1,,2]", "[]", "[1,x]", "[[1],[2]]", "word", "1,2"])
    def test_rubbish_that_is_written_out(self, csv, text):
        with pytest.raises(InputError, match=r"line 4: column 'e' is not a list of numbers such "
                           r"as \[0.5, 1\] \(1 such in all\)"):  # fmt: skip
            from_tables(csv(f'id,e\na,"[1,2]"\n\nb,"{text}"\n'), EDGE)

    def test_blank_lists(self, csv):
        with pytest.raises(InputError, match=r"line 3: column 'e' is blank \(1 such"):
            from_tables(csv("id,e\na,[1]\nb,\n"), EDGE)
        with pytest.raises(InputError, match=r"row 1 .*: column 'x' is blank \(1 such"):
            features_of([[1.0], None])

    def test_bad_numbers_in_lists(self):
        for bad in (None, float("nan"), float("inf"), 1e39):
            with pytest.raises(InputError, match=r"row 1 .*column 'x' is .* \(1 such values"):
                features_of([[1.0, 2.0], [bad, 1.0]])

    def test_the_first_bad_row_comes_first(self):
        with pytest.raises(InputError, match=r"row 0 .* is inf \(2 such values"):
            features_of([[1.0, np.inf], [np.nan, 1.0]])

    def test_lists_of_different_lengths(self, csv):
        with pytest.raises(
            InputError, match=r"row 1 .*has 1 numbers, and the first has 2 \(1 such"
        ):
            features_of([[1.0, 2.0], [1.0]])
        with pytest.raises(InputError, match="lists in column 'x' are empty"):
            features_of(pa.array([[], []], pa.list_(pa.float32())))

    def test_lists_of_something_else(self):
        with pytest.raises(InputError, match="lists in column 'x' hold list<"):
            features_of([[[1.0]], [[2.0]]])
        with pytest.raises(InputError, match="lists in column 'x' hold string"):
            features_of([["u"], ["v"]])

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([{"u": 1}, {"u": 2}]),
            pa.array([[("k", 1)], [("k", 2)]], pa.map_(pa.string(), pa.int64())),
            pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
        ],
    )
    def test_other_nested_columns_are_not_used(self, column):
        reading = read_tables(pa.table({"id": ["a", "b"], "x": column}), EDGE, Options())
        assert reading.data.graph.features is None
        assert reading.remarks == ["nodes: not used, being no numbers: x"]


class TestFeatureTable:
    def table(self, **columns):
        return from_tables(PAIR, EDGE, features=columns).graph

    def test_values_add_up(self):
        graph = self.table(node=["b", "a", "b"], feature=["u", "v", "u"], value=[1.5, 2.0, 1.0])
        assert graph.feature_names == ["u", "v"]
        assert graph.features.toarray().tolist() == [[0, 2], [2.5, 0]]
        assert graph.features.dtype == np.float32

    def test_without_values_each_row_counts_one(self):
        graph = self.table(node=["b", "b"], word=[7, 7])
        assert graph.feature_names == ["7"]
        assert graph.features.toarray().tolist() == [[0], [2]]

    def test_from_files(self, csv):
        path = csv("node,feature,value\na,007,1\nb,7,2\n", "features.csv")
        for path_or_text in (path, str(path)):
            graph = from_tables(PAIR, EDGE, features=path_or_text).graph
            assert graph.feature_names == ["007", "7"]
            assert graph.features.toarray().tolist() == [[1, 0], [0, 2]]

    def test_unknown_nodes(self, csv):
        path = csv("node,feature\na,u\n\nz,u\n", "features.csv")
        with pytest.raises(InputError, match=r"features.csv, line 4: 'z' in column 'node' is no id "
                           "of nodes. 1 unknown ids"):  # fmt: skip
            from_tables(PAIR, EDGE, features=path)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"node": ["a"]}, "must have the columns node, feature and value. It has node"),
            ({"node": ["a"], "value": [1]}, "must have the columns node, feature and value"),
            ({"node": ["a"], "feature": [0.5]}, "texts or whole numbers, and column 'feature'"),
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
        options = Options(features=table, known_features=["w", "v", "u"])
        reading = read_tables(PAIR, EDGE, options)
        assert reading.data.graph.features.toarray().tolist() == [[0, 0, 1], [0, 1, 0]]
        assert reading.remarks == ["features: left out 1 features that the model does not know"]


class TestKnownFeatures:
    @pytest.mark.parametrize(
        ("known", "wanted"),
        [
            (["y", "x"], [[7, 5], [8, 6]]),
            (["x", "e[0]", "e[1]"], [[5, 1, 2], [6, 3, 4]]),
            (["e[1]", "x", "e[0]"], [[2, 5, 1], [4, 6, 3]]),
        ],
    )
    def test_they_come_in_the_order_of_the_model(self, known, wanted):
        reading = read_tables(NODES, EDGE, Options(label="", known_features=known))
        assert reading.data.graph.features.tolist() == wanted
        assert reading.data.graph.feature_names == known

    def test_missing_ones(self):
        with pytest.raises(InputError, match=r"lacks features .* fitted with: z, v\[0\]. If they"):
            read_tables(NODES, EDGE, Options(known_features=["z", "x", "v[0]"]))

    @pytest.mark.parametrize("known", [["e[0]"], ["e[0]", "e[1]", "e[2]"]])
    def test_lists_of_another_length(self, known):
        with pytest.raises(InputError, match=r"has 2 features and the model [13]: lists must be"):
            read_tables(NODES, EDGE, Options(known_features=known))

    def test_a_feature_that_is_no_number(self):
        with pytest.raises(InputError, match="'n' has 'u' among numbers"):
            read_tables(NODES, EDGE, Options(known_features=["n"]))


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_whole_numbers_lose_nothing(values):
    texts = pa.chunked_array(
        [[None if value is None else str(value) for value in values]], pa.string()
    )
    assert columns.as_whole_numbers(texts).to_pylist() == values


@pytest.mark.parametrize(
    "text", ["007", "+7", "-0", "00", " 7", "7 ", "1_000", "1e3", "0x1", "0xF", "0XFFFFFFFFF", "٣"]
)
def test_what_is_not_a_number_written_out_stays_a_text(text):
    for others in (["12", "-5"], [None], [], [None, "3"]):
        texts = pa.chunked_array([[*others, text]], pa.string())
        assert columns.as_whole_numbers(texts).to_pylist() == [*others, text]


def test_hexadecimal_texts_stay_texts():
    for texts in (["0xFFFFFFFFF", "0xFFFFFFFFE"], ["0xFFFFFFFFFF", "0xF"]):
        column = pa.chunked_array([texts])
        assert columns.as_whole_numbers(column).to_pylist() == texts


@pytest.mark.parametrize(
    "value", [9, 10, 99, 100, -9, -10, 2**63 - 1, -(2**63), 10**18, 10**18 - 1]
)
def test_the_length_of_a_number(value):
    assert columns._written_length(pa.chunked_array([[value]])).as_py() == len(str(value))


class TestLabelsThatAreMeasurements:
    def test_fractions_are_refused_with_their_place(self, csv):
        with pytest.raises(InputError, match="row 1 .*'label' has 2.5, where a class is expected"):
            from_tables(PAIR | {"label": [1.0, 2.5]}, EDGE)
        rows = "".join(f"n{at},{at / 7}\n" for at in range(40))
        with pytest.raises(InputError, match=r"line 3: .*0.142.* \(34 such in all\). Bin"):
            from_tables(csv("id,label\n" + rows), {"source": ["n1"], "target": ["n2"]})

    def test_a_few_versions_are_classes(self, csv):
        path = csv("id,label\na,1.5\nb,2.0\n")
        assert from_tables(path, EDGE).labels.tolist() == ["1.5", "2.0"]
        assert from_tables(PAIR | {"label": [1.0, np.nan]}, EDGE).labels[0] == 1


def test_a_title_that_is_a_number_is_no_fault():
    titles = ["1984", "Brave New World", "Dune"]
    nodes = {"id": ["a", "b", "c"], "title": titles, "x": [1, 2, 3]}
    reading = read_tables(nodes, EDGE, Options())
    assert reading.data.graph.feature_names == ["x"]
    assert reading.remarks == ["nodes: not used, being no numbers: title"]


@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
def test_categories_of_polars(kind):
    polars = pytest.importorskip("polars")
    wanted = polars.Categorical if kind == "Categorical" else polars.Enum(["a", "b", "u"])
    frame = polars.DataFrame({"id": ["a", "b"], "label": ["u", None]}).cast(wanted)
    data = from_tables(frame, EDGE)
    assert data.graph.names.tolist() == ["a", "b"]
    assert data.labels.tolist() == ["u", None]


def test_names_of_features_in_an_array():
    for names in (np.array(["x", "e"]), pd.Index(["x", "e"]), ["x", "e"]):
        graph = from_tables(NODES, EDGE, features=names).graph
        assert graph.feature_names == ["x", "e[0]", "e[1]"]


def test_a_model_takes_no_other_features():
    with pytest.raises(InputError, match="finds its features in nodes by their names"):
        read_tables(NODES, EDGE, Options(features="x", known_features=["x", "y"]))
    reading = read_tables(NODES, EDGE, Options(known_features=["x", "y"]))
    assert reading.features == "x, y (the model's)"


def test_repeated_entries_of_a_feature_table_are_told():
    table = {"node": ["a", "a"], "feature": ["u", "u"], "value": [1, 2]}
    reading = read_tables(PAIR, EDGE, Options(features=table))
    assert reading.remarks == ["features: 1 repeated entries were added up"]
