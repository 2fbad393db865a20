"""Matrices in files: what they hold, and what is refused."""

import gzip
import io
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from heatgraph.errors import FileFormatError, MemoryBudgetError
from heatgraph.tables.formats.file_formats import detect_format, read_start
from heatgraph.tables.formats.matrix_files import read_matrix

DENSE = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]])
HEAD = "%%MatrixMarket matrix coordinate real general\n"


def read(path, limit=1e9):
    matrix = read_matrix(path, detect_format(path, read_start(path)), limit)
    return matrix.toarray() if sp.issparse(matrix) else matrix


def write_npz(path, **arrays):
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("x.mtx", lambda path: scipy.io.mmwrite(path, sp.coo_array(DENSE))),
        ("y.mtx", lambda path: scipy.io.mmwrite(path, DENSE)),
        ("x.npz", lambda path: sp.save_npz(path, sp.csr_array(DENSE))),
        ("y.npz", lambda path: sp.save_npz(path, sp.coo_array(DENSE))),
        ("z.npz", lambda path: np.savez_compressed(path, X=DENSE)),
        ("x.npy", lambda path: np.save(path, DENSE)),
        ("y.npy", lambda path: np.save(path, np.asfortranarray(DENSE.astype(">f4")))),
        ("x.svm", lambda path: dump_svmlight_file(DENSE, [1, 2], str(path))),
        ("x", lambda path: dump_svmlight_file(DENSE, [1, 2], str(path), comment="some words")),
    ],
)
def test_the_same_matrix(tmp_path, name, write):
    write(tmp_path / name)
    found = read(tmp_path / name)
    assert found.tolist() == DENSE[:, : found.shape[1]].tolist()
    assert found.shape[1] == 3 or ".svm" in name or name == "x"


@pytest.mark.parametrize("name", ["x.mtx.gz", "x.svm.gz"])
def test_compressed(tmp_path, name):
    buffer = io.BytesIO()
    if "mtx" in name:
        scipy.io.mmwrite(buffer, sp.coo_array(DENSE))
    else:
        dump_svmlight_file(DENSE, [1, 2], buffer)
    (tmp_path / name).write_bytes(gzip.compress(buffer.getvalue()))
    assert read(tmp_path / name)[1, 0] == 2


def test_several_labels(tmp_path):
    (tmp_path / "x.svm").write_text("1,2 1:1.5\n3 2:1\n")
    assert read(tmp_path / "x.svm").tolist() == [[0, 1.5, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n1 -1:2\n", "line 2: '-1:2' is not an index, a colon and a number"),
        ("1 1:2\n# words\n1 3:1 2:1\n", "line 3: index 2 comes after 3"),
        ("1 1:2\nspam 1:1\n", "line 2: the label 'spam' is not a number"),
        ("1 1:2\n1 2:\n", "line 2: '2:' is not an index"),
        ("1 1:2\n1 2\n", "line 2: '2' is not an index"),
        ("1 1:2\n1 99999999999:1\n", "line 2: index 99999999999 is not below 1,048,576"),
        ("1 1:2\n1 1:1 1:2\n", "line 2: index 1 comes after 1"),
        ("1 1:2\n1 1:\udcff\n", "line 2: '1:.' is not an index"),
        ("", "a.svm is empty"),
        ("# words\n", "a.svm is empty"),
    ],
)
def test_malformed_svmlight(tmp_path, text, message):
    path = tmp_path / "a.svm"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FileFormatError, match=message):
        read(path)


def test_python_objects_are_refused(tmp_path):
    objects = np.array([[{}, 1]], dtype=object)
    np.save(tmp_path / "a.npy", objects)
    np.savez(tmp_path / "a.npz", X=objects)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(FileFormatError, match=f"{name}.* holds Python objects"):
            read(tmp_path / name)


def test_truncated_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((50, 50)))
    np.savez(tmp_path / "a.npz", X=np.ones((50, 50)))
    for name in ("a.npy", "a.npz"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:-500])
        with pytest.raises(FileFormatError, match=f"{name} is incomplete or damaged"):
            read(path)


@pytest.mark.parametrize(
    "shape", ["(999999999999, 10)", "(4294967296, 4294967296)", "(-1, 2)", "oops"]
)
def test_headers_that_declare_too_much(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    content = (tmp_path / "a.npy").read_bytes()
    header = content[:128].replace(b"(2, 2), }", f"({shape[1:-1]}), }}".encode())
    header = header.rstrip()[:127].ljust(127) + b"\n"
    (tmp_path / "a.npy").write_bytes(header + content[128:])
    with pytest.raises(FileFormatError, match="a.npy"):
        read(tmp_path / "a.npy")


def test_arrays_of_other_shapes(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(5))
    with pytest.raises(FileFormatError, match=r"must hold a matrix .* shape \(5,\)"):
        read(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", X=DENSE, y=DENSE)
    with pytest.raises(FileFormatError, match=r"save_npz wrote, or one array. It has X, y\."):
        read(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=np.array([["a"]]))
    with pytest.raises(FileFormatError, match="real numbers"):
        read(tmp_path / "b.npz")


def test_an_archive_without_arrays(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "words")
    with pytest.raises(FileFormatError, match="It has none"):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.mtx", "b.mtx", "c.mtx", "a.npz", "a.npy", "a.svm"])
def test_the_memory_budget(tmp_path, name):
    X = np.ones((20, 20))
    path = tmp_path / name
    limit = 500.0
    if name == "a.mtx":
        scipy.io.mmwrite(path, sp.coo_array(X))
    elif name == "b.mtx":  # 400 entries take more than their text
        path.write_text(HEAD + "20 20 400\n" + "1 1 1\n" * 400)
        limit = 3000.0
    elif name == "c.mtx":
        path.write_text("%%MatrixMarket matrix array real general\n20 20\n" + "1\n" * 400)
        limit = 1000.0
    elif name == "a.npz":
        np.savez(path, X=X)
    elif name == "a.npy":
        np.save(path, X)
    else:
        dump_svmlight_file(X, np.ones(20), str(path))
    with pytest.raises(MemoryBudgetError, match="holds more than"):
        read(path, limit)


def test_a_header_that_is_code_is_told_without_addresses(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content.replace(b"False", b"f(1) "))
    with pytest.raises(FileFormatError, match="a.npy is incomplete or damaged: ") as error:
        read(tmp_path / "a.npy")
    assert " at 0x" not in str(error.value)
