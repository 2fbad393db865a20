"""Features from matrices, in files and in memory."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from heatgraph.errors import InputError
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.node_table.matrix_features import is_feature_matrix
from heatgraph.tables.options import TableOptions

NODES = {"id": ["a", "b", "c"], "label": ["u", "v", None], "size": [7, 8, 9]}
EDGES = {"source": ["a", "b"], "target": ["b", "c"]}
X = np.array([[1.0, 0.0, 2.5], [0.0, 0.0, 1.0], [-3.0, 4.0, 0.0]])


def dense(graph):
    return graph.features.toarray() if sp.issparse(graph.features) else graph.features


def read(features, model_features=None):
    options = TableOptions(features=features, model_features=model_features)
    return read_tables(NODES, EDGES, options)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("x.mtx", lambda path: scipy.io.mmwrite(path, sp.coo_array(X))),
        ("x.npz", lambda path: sp.save_npz(path, sp.csr_array(X))),
        ("y.npz", lambda path: np.savez(path, X)),
        ("x.npy", lambda path: np.save(path, X)),
        ("x.svm", lambda path: dump_svmlight_file(X, [0, 0, 1], str(path))),
        ("x.txt", lambda path: dump_svmlight_file(X, [0, 0, 1], str(path))),
        ("x", lambda path: dump_svmlight_file(X, [0, 0, 1], str(path))),
    ],
)
def test_files(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    for given in (path, str(path)):
        graph = from_tables(NODES, EDGES, features=given).graph
        assert_array_equal(dense(graph), X)
        assert graph.feature_names == ["f0", "f1", "f2"]
        assert graph.features.dtype == np.float32


@pytest.mark.parametrize(
    "matrix",
    [X, X.astype(np.float32), sp.csr_array(X), sp.coo_matrix(X), np.asfortranarray(X), X > 0],
)
def test_matrices(matrix):
    found = dense(from_tables(NODES, EDGES, features=matrix).graph)
    assert_array_equal(found, matrix.toarray() if sp.issparse(matrix) else matrix)


def test_what_a_matrix_holds_decides_how_it_is_stored():
    counts, full = np.eye(3, 30), np.random.default_rng(0).normal(size=(3, 30))
    for make in (np.asarray, sp.csr_array):
        assert sp.issparse(from_tables(NODES, EDGES, features=make(counts)).graph.features)
        assert not sp.issparse(from_tables(NODES, EDGES, features=make(full)).graph.features)


def test_a_column_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("size.npy", X)
    nodes = NODES | {"size.npy": [1, 2, 3]}
    assert from_tables(nodes, EDGES, features="size.npy").graph.num_features == 1
    assert from_tables(NODES, EDGES, features="size.npy").graph.num_features == 3


def test_what_is_no_matrix():
    for given in (None, "", "size", "f*", ["size"], np.array(["size"]), {"node": ["a"]}, 5):
        assert not is_feature_matrix(given, ["size"])


def test_svmlight_labels_are_ignored_and_told(tmp_path):
    path = tmp_path / "x.svm"
    path.write_text("1 1:5\n2 3:1\n-1\n")
    result = read(path)
    assert result.dataset.graph.feature_names == ["f1", "f2", "f3"]
    assert dense(result.dataset.graph).tolist() == [[5, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert result.dataset.labels.tolist() == ["u", "v", None]
    assert result.notes == [f"{path}: the labels in it are ignored; those of nodes count"]
    assert result.features_origin == f"{path}, f1 to f3"


def test_a_model_reads_svmlight_by_index(tmp_path):
    path = tmp_path / "x.svm"
    path.write_text("1 1:5 9:1\n2 3:1\n-1\n")
    result = read(path, ["f0", "f1", "f2", "f3", "f4"])
    assert dense(result.dataset.graph)[:2].tolist() == [[0, 5, 0, 0, 0], [0, 0, 0, 1, 0]]
    assert result.notes[-1] == f"{path}: ignored 5 features that the model does not use"


def test_a_model_reads_a_matrix_of_its_width():
    names = ["f0", "f1", "f2"]
    assert_array_equal(dense(read(X, names).dataset.graph), X)
    with pytest.raises(InputError, match=r"features has 3 features, and the model 2. Name"):
        read(X, names[:2])
    with pytest.raises(InputError, match=r"f0 to f2, and lacks .* fitted with: f3. A matrix has"):
        read(X, [*names, "f3"])
    with pytest.raises(InputError, match=r"lacks .* fitted with: age, size."):
        read(X, ["age", "size"])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "features has 2 rows, and nodes has 3. Row i of the features belongs to"),
        (np.ones((3, 0)), "features has 0 columns"),
        (np.ones((3, 2)) * 1j, "must be a matrix of real numbers. Got shape .* complex128"),
        (np.where(X == 4, np.nan, X), r"row 2, column 1 \(counted from 0\) is nan \(1 such"),
        (sp.csr_array(np.where(X == 4, np.inf, X)), r"row 2, column 1 \(counted from 0\) is inf"),
        (X * 1e39, r"row 0, column 0 .* is 1e\+39 \(5 such values in all\). Features must be"),
        (sp.csr_array((3, 2**21)), "has 2,097,152 columns, where 1 to 1,048,576 features are"),
    ],
)
def test_bad_matrices(matrix, message):
    with pytest.raises(InputError, match=message):
        from_tables(NODES, EDGES, features=matrix)


def test_a_missing_file():
    with pytest.raises(InputError, match="nowhere.npy: there is no such file"):
        from_tables(NODES, EDGES, features="nowhere.npy")
