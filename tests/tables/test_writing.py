"""Writing tables, predictions and data sets."""

import errno
import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import adjacencies, directed_adjacencies, seeds

from heatgraph import Graph
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.errors import InputError
from heatgraph.learning._labels import Labels
from heatgraph.tables.formats.files import read_table_file
from heatgraph.tables.from_tables import from_tables
from heatgraph.tables.writing import predictions_table, table_format, write_dataset, write_table

TABLE = pa.table({"id": ["a", "b"], "x": [0.5, 1.0], "label": ["u", None]})
PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])

# Any text without NUL, which CSV cannot hold.
awkward = st.text(
    st.sampled_from(",;\t\"'\r\n a1\ufeff\u00e9\U0001f600\u2028"), min_size=1, max_size=5
)
anything = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8
)
integers = st.integers(-(2**63), 2**63 - 1)
numerals = st.from_regex(r"\A[-+]?[0-9]{1,22}\Z")
names = st.one_of(awkward, anything, numerals)


class TestFormats:
    @pytest.mark.parametrize(
        ("name", "file_format"),
        [
            ("p.csv", (",", False)), ("P.CSV", (",", False)), ("p.txt", (",", False)),
            ("p.tsv", ("\t", False)), ("p.tab", ("\t", False)), ("p.v2.csv.gz", (",", True)),
            ("p.tsv.GZ", ("\t", True)), ("p.pq", ("parquet", False)),
            ("p.parquet", ("parquet", False)),
        ],
    )  # fmt: skip
    def test_the_file_name_decides(self, name, file_format):
        assert table_format(name) == file_format

    @pytest.mark.parametrize(
        "name", ["p", "p.gz", "p.parquet.gz", "p.xlsx", ".csv", "p.csv.zip", "p.tar.gz", "csv"]
    )
    def test_other_file_names_are_refused(self, name, tmp_path):
        with pytest.raises(InputError, match=rf"{name}: the name of a table must end in .csv,"):
            write_table(TABLE, tmp_path / name)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        "name", ["p.csv", "p.tsv", "p.csv.gz", "p.tsv.gz", "p.parquet", "p.pq"]
    )
    def test_every_format_is_read_back(self, name, tmp_path):
        write_table(TABLE, tmp_path / name)
        source = read_table_file(tmp_path / name, lambda names: ["id", "label"], 1e9)
        assert source.arrow.to_pydict() == TABLE.to_pydict()

    def test_quotation_marks_only_where_needed(self, tmp_path):
        write_table(TABLE, tmp_path / "p.csv")
        assert (tmp_path / "p.csv").read_bytes() == b"id,x,label\na,0.5,u\nb,1,\n"
        write_table(pa.table({'say "x"': ["a,b"], "y": [1]}), tmp_path / "p.csv")
        assert (tmp_path / "p.csv").read_bytes() == b'"say ""x""",y\n"a,b",1\n'
        write_table(pa.table({"x,y": ["a,b"]}), tmp_path / "p.tsv")
        assert (tmp_path / "p.tsv").read_bytes() == b'"x,y"\na,b\n'

    def test_the_same_bytes_every_time(self, tmp_path):
        write_table(TABLE, tmp_path / "p.csv.gz")
        write_table(TABLE, tmp_path / "q.csv.gz")
        assert (tmp_path / "p.csv.gz").read_bytes() == (tmp_path / "q.csv.gz").read_bytes()
        assert gzip.decompress((tmp_path / "p.csv.gz").read_bytes()).startswith(b"id,x,label\n")

    def test_standard_output(self, capfdbinary):
        write_table(TABLE, "-")
        assert capfdbinary.readouterr().out == b"id,x,label\na,0.5,u\nb,1,\n"

    @given(st.lists(awkward.filter(lambda t: t.strip() == t), min_size=1, max_size=4, unique=True))
    def test_any_column_names(self, tmp_path_factory, columns):
        path = tmp_path_factory.mktemp("names") / "p.csv"
        write_table(pa.table([pa.array(["x"])] * len(columns), names=columns), path)
        if all(name.replace("1", "").strip() == "" for name in columns):
            return  # numbers or blanks, which are not a header
        assert read_table_file(path, lambda names: [], 1e9).arrow.column_names == columns


class TestAtomicWrites:
    @pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet"])
    def test_a_failing_rename_keeps_the_old_file(self, name, tmp_path, monkeypatch):
        path = tmp_path / name
        path.write_bytes(b"old")

        def fail(*args):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space left"):
            write_table(TABLE, path)
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet"])
    def test_a_failing_write_keeps_the_old_file(self, name, tmp_path):
        resource = pytest.importorskip("resource")
        import signal

        path = tmp_path / name
        path.write_bytes(b"old")
        large = pa.table({"x": np.random.default_rng(0).random(20_000)})
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            for size in (0, 10, 5_000, 60_000):
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
                with pytest.raises(OSError, match="File too large"):
                    write_table(large, path)
                assert path.read_bytes() == b"old"
                assert list(tmp_path.iterdir()) == [path]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)

    def test_no_folder(self, tmp_path):
        with pytest.raises(InputError, match="there is no folder"):
            write_table(TABLE, tmp_path / "no" / "p.csv")


class TestPredictions:
    P = np.array([[0.25, 0.75], [1 - 1e-9, 1e-9]])

    def test_one_row_per_node(self):
        graph = Graph(np.zeros((2, 2)), node_ids=["n", "m"])
        table = predictions_table(graph, "paper", np.array(["u", "v"]), self.P)
        assert table.to_pydict() == {
            "paper": ["n", "m"], "prediction": ["v", "u"], "confidence": [0.75, 1.0],
            "margin": [0.5, 1.0],
            "probability_u": [0.25, 1.0], "probability_v": [0.75, 0.0],
        }  # fmt: skip

    @pytest.mark.parametrize("classes", [[0, 1], [False, True], [2**60, 2**60 + 1]])
    def test_classes_keep_their_type(self, classes):
        graph = Graph(np.zeros((2, 2)))
        table = predictions_table(graph, "id", np.array(classes), self.P)
        assert table["prediction"].to_pylist() == classes[::-1]
        assert table["id"].to_pylist() == [0, 1]

    def test_classes_of_several_types_become_strings(self):
        classes = np.array([7, "x"], dtype=object)
        table = predictions_table(Graph(np.zeros((2, 2))), "id", classes, self.P)
        assert table["prediction"].to_pylist() == ["x", "7"]

    @pytest.mark.parametrize(
        "column", ["prediction", "confidence", "margin", "note", "probability_u"]
    )
    def test_a_reserved_id_column_is_renamed(self, column):
        graph = Graph(np.zeros((2, 2)), node_ids=["n", "m"])
        more = {"note": ["", "no edges"]}
        table = predictions_table(graph, column, np.array(["u", "v"]), self.P, more)
        assert table["id"].to_pylist() == ["n", "m"]
        assert table["note"].to_pylist() == ["", "no edges"]
        assert table.num_columns == 7


@st.composite
def datasets(draw):
    A = draw(adjacencies(8))
    n = len(A)
    kind = draw(st.sampled_from([names, integers]))
    ids = draw(st.lists(kind, min_size=n, max_size=n, unique=True))
    random = np.random.default_rng(draw(seeds))
    X = random.normal(size=(n, 3)).astype(np.float32) * 10.0 ** random.integers(-30, 30, (n, 3))
    X = X.astype(np.float32)
    X[random.random(X.shape) < 0.3] = 0
    storage = draw(st.sampled_from(["dense", "sparse", None]))
    features = {"dense": X, "sparse": sp.csr_array(X), None: None}[storage]
    if storage == "sparse" and features.nnz == 0:
        features = None
    called = None if features is None else ["f,1", 'g"', "h\nh"]
    graph = Graph(sp.csr_array(A), features, ids, feature_names=called)
    texts = names.filter(lambda text: text != "-1")  # which marks a missing label
    classes = draw(st.lists(draw(st.sampled_from([texts, st.integers(0, 2**63 - 1)])), min_size=1))
    labels = np.empty(n, dtype=object)
    labels[:] = [classes[at] for at in random.integers(len(classes), size=n)]
    parts = random.integers(4, size=n)
    labels[(parts >= 2) & (random.random(n) < 0.5)] = None
    split = Split(*(np.flatnonzero(parts == part) for part in (0, 1, 2)))
    return Dataset("any", graph, labels, {"split": split})


@given(datasets())
def test_data_sets_survive_a_round_trip(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("set")
    written = write_dataset(data, folder)
    graph = data.graph
    sparse = sp.issparse(graph.features)
    assert [path.name for path in written] == ["edges.csv", *["features.csv"] * sparse, "nodes.csv"]
    # By name, since a constant column is not detected as a feature.
    given = folder / "features.csv" if sparse else graph.feature_names
    again = from_tables(folder / "nodes.csv", folder / "edges.csv", features=given)
    ids, expected = again.graph.node_ids.tolist(), graph.node_ids.tolist()
    assert list(map(str, ids)) == list(map(str, expected))
    assert isinstance(expected[0], str) or ids == expected
    assert_array_equal(again.graph.adjacency.toarray(), graph.adjacency.toarray())
    assert (again.graph.weights is None) == (graph.weights is None)
    for part in ("train", "val", "test"):
        assert_array_equal(getattr(again.split, part), getattr(data.split, part))
    assert_array_equal(
        Labels.read(again.labels, graph.num_nodes).known, [v is not None for v in data.labels]
    )
    assert list(map(str, again.labels)) == list(map(str, data.labels))
    if graph.features is None:
        assert again.graph.features is None
        return
    X = again.graph.features.toarray() if sparse else again.graph.features
    assert X.dtype == np.float32
    columns = [graph.feature_names.index(name) for name in again.graph.feature_names]
    before = graph.features.toarray() if sparse else graph.features
    assert_array_equal(X, before[:, columns])
    assert not np.delete(before, columns, axis=1).any()  # a feature table has no empty columns


@given(directed_adjacencies(max_nodes=6))
def test_directed_edges_survive_a_round_trip(tmp_path_factory, A):
    folder = tmp_path_factory.mktemp("set")
    write_dataset(Dataset("any", Graph(A, node_ids=np.arange(len(A)), directed=True)), folder)
    again = from_tables(folder / "nodes.csv", folder / "edges.csv", directed="keep").graph
    assert_array_equal(again.directed_adjacency.toarray(), A)


class TestDataSets:
    def write(self, tmp_path, graph, labels=None):
        write_dataset(Dataset("any", graph, labels), tmp_path)
        return (tmp_path / "nodes.csv").read_text().splitlines()

    def test_plain(self, tmp_path):
        lines = self.write(tmp_path, Graph(PATH, np.eye(3)[:, :2]), np.array([1, -1, 2]))
        assert lines == ["id,label,f0,f1", "0,1,1,0", "1,,0,1", "2,2,0,0"]
        assert (tmp_path / "edges.csv").read_text() == "source,target\n0,1\n1,2\n"

    def test_labels_of_several_types(self, tmp_path):
        lines = self.write(tmp_path, Graph(PATH), [7, "x", None])
        assert lines == ["id,label", "0,7", "1,x", "2,"]

    @pytest.mark.parametrize("ids", [[(0, 1), (0, 2), (1, 1)], [10**20, 1, 2], ["a", 1, (2,)]])
    def test_ids_of_any_type(self, tmp_path, ids):
        self.write(tmp_path, Graph(PATH, node_ids=ids))
        again = from_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv")
        assert list(map(str, again.graph.node_ids)) == list(map(str, ids))
        assert_array_equal(again.graph.adjacency.toarray(), PATH)

    def test_features_with_a_reserved_name_are_refused(self, tmp_path):
        graph = Graph(PATH, np.eye(3), feature_names=["x", "label", "z"])
        with pytest.raises(InputError, match="a feature cannot be called 'label'"):
            self.write(tmp_path, graph, [1, 2, 3])
        assert not list(tmp_path.iterdir())
