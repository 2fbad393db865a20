"""Matrix Market files, against what SciPy writes."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from heatgraph.errors import FileFormatError, MemoryBudgetError
from heatgraph.tables.formats.matrix_market import read_matrix_market

HEAD = "%%MatrixMarket matrix coordinate real general\n"
ARRAY = HEAD.replace("coordinate", "array")


def read_text(tmp_path, text, limit=1e9):
    path = tmp_path / "a.mtx"
    path.write_bytes(text.encode(errors="surrogateescape"))
    found = read_matrix_market(path, limit)
    return found.toarray() if sp.issparse(found) else found


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("make", [np.asarray, sp.coo_array])
@pytest.mark.parametrize("seed", range(3))
def test_what_scipy_writes(tmp_path, make, field, symmetry, seed):
    if field == "pattern" and (make is np.asarray or symmetry == "skew-symmetric"):
        return
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    X = np.where(rng.random((n, n + 2)) < 0.4, rng.normal(size=(n, n + 2)).round(6), 0)
    if symmetry != "general":
        X = X[:, :n] + (X[:, :n].T if symmetry == "symmetric" else -X[:, :n].T)
    X = (X != 0).astype(float) if field == "pattern" else X
    X = np.rint(5 * X).astype(int) if field == "integer" else X
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, make(X), field=field, symmetry=symmetry, comment="some words")
    found = read_matrix_market(path, 1e9)
    assert sp.issparse(found) == (make is sp.coo_array)
    assert_array_equal(found.toarray() if sp.issparse(found) else found, X)


def test_blanks_and_blank_lines(tmp_path):
    text = HEAD.replace("\n", "\r\n") + "% words\r\n\r\n 2\t2 2\r\n\r\n 1  2   1.5 \r\n\t2 1 -3e2"
    assert read_text(tmp_path, text).tolist() == [[0, 1.5], [-300, 0]]
    assert read_text(tmp_path, HEAD.upper() + "2 2 0\n").tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "3 3 3\n1 2 1.5\n2 3 1.25\n", "declares 3 entries in line 2, and has 2. The file"),
        (HEAD + "3 3 1\n1 2 1.5\n2 1 1\n", "declares 1 entries in line 2, and has 2. The file is"),
        (HEAD + "3 3 1\n\n4 2 1.5\n", "line 4: row 4, column 2 is outside the 3 x 3 matrix"),
        (HEAD + "3 3 1\n-1 2 1.5\n", "line 3: row -1, column 2 is outside the 3 x 3 matrix"),
        (HEAD + "3 3 2\n1 1 1\n0 2 1.5\n", r"line 4: row 0, .* counted from 1 \(1 such in all"),
        (HEAD + "3 3 1\n1 b 1.5\n", "line 3: expected row, column, value. Got '1 b 1.5'"),
        (HEAD + "3 3 2\n1 1 1.25\n1 2\n", "line 4: expected row, column, value. Got '1 2'"),
        (HEAD + "3 3 1\n1 2.5 1\n", "line 3: expected row, column, value. Got '1 2.5 1'"),
        (HEAD + "3 3 1\n1 2 \udcff\n", "line 3: expected row, column, value"),
        (HEAD + "3 3 1\n1 2 1\0\n", "line 3: there is a NUL byte"),
        (HEAD + "3 3 1\n1 99999999999999999999 1\n", "line 3: expected row, column, value"),
        (
            HEAD + "% who\n3 3\n",
            "line 3: expected the numbers of rows, columns and entries. Got '3",
        ),
        (HEAD + "3 3 9999999999999 x\n1 2 1\n", "line 2: expected the numbers"),
        (HEAD, "line 2: expected the numbers of rows, columns and entries. Got ''"),
        (HEAD.strip(), "expected the numbers"),
        (HEAD.replace("real", "complex") + "1 1 0\n", "line 1 is .*complex general', where"),
        (HEAD.replace("matrix", "vector", 1) + "1 1 0\n", "line 1 is"),
        ("%%MatrixMarket\n", "line 1 is '%%matrixmarket', where"),
        (ARRAY.replace("real", "pattern") + "1 1\n1\n", "line 1 is"),
        (HEAD + f"3 3 {10**15}\n1 2 1\n", "declares 1,000,000,000,000,000 entries, which take"),
        (ARRAY + "900 900\n1\n2\n", "declares 810,000 entries, which take at least"),
        (ARRAY + "2 2\n1\n2\n3\nx\n", "line 6: expected value. Got 'x'"),
        (ARRAY.replace("general", "symmetric") + "2 3\n1\n", "line 2: a symmetric matrix must be"),
    ],
)
def test_malformed(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=f"a.mtx.*{message}"):
        read_text(tmp_path, text)


def test_huge_sides_allocate_nothing(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text(HEAD + "999999999999 999999999999 1\n5 7 1\n")
    assert read_matrix_market(path, 1e6).shape == (999999999999, 999999999999)


def test_the_memory_budget(tmp_path):
    with pytest.raises(MemoryBudgetError, match="a.mtx holds more than"):
        read_text(tmp_path, HEAD + "20 20 400\n" + "1 1 1\n" * 400, limit=3000)
    with pytest.raises(MemoryBudgetError, match="a.mtx holds more than"):
        read_text(tmp_path, ARRAY + "20 20\n" + "1\n" * 400, limit=1000)
