"""Features in .npy files, validated as `Graph` validates arrays."""

import numpy as np
import pytest

from heatgraph import Graph
from heatgraph.errors import FileFormatError, InputError
from heatgraph.graph import _feature_files
from heatgraph.graph._feature_files import open_npy, validated_features

X = np.arange(12.0).reshape(6, 2)


def read(stored):
    blocks = b"".join(bytes(block) for block in stored.blocks())
    return np.frombuffer(blocks, stored.dtype).reshape(stored.shape)


@pytest.mark.parametrize("block", [1, 40, 1 << 20])
@pytest.mark.parametrize("dtype", ["f4", "f8", ">f4", "f2", "i1", "i8", "?"])
def test_dtypes(tmp_path, monkeypatch, dtype, block):
    monkeypatch.setattr(_feature_files, "BLOCK_BYTES", block)
    np.save(tmp_path / "X.npy", X.astype(dtype))
    stored = validated_features(open_npy(tmp_path / "X.npy"), 6, tmp_path)
    expected = Graph(np.eye(6), X.astype(dtype)).features
    assert stored.dtype == expected.dtype
    np.testing.assert_array_equal(read(stored), expected)
    assert (stored.path.name == "X.npy") == (np.dtype(dtype) in (np.float32, np.float64))


BAD = {
    "one dimension": np.ones(6),
    "rows": X[:4],
    "columns": X[:, :0],
    "complex": X.astype(complex),
    "dates": X.astype(np.int64).astype("M8[s]"),
    "NaN": np.where(X > 4, np.nan, X),
    "infinity in float16": np.where(X == 5, np.inf, X).astype("f2"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_those_of_graph(tmp_path, monkeypatch, case):
    monkeypatch.setattr(_feature_files, "BLOCK_BYTES", 40)
    np.save(tmp_path / "X.npy", BAD[case])
    with pytest.raises(InputError) as expected:
        Graph(np.eye(6), BAD[case])
    with pytest.raises(InputError) as found:
        validated_features(open_npy(tmp_path / "X.npy"), 6, tmp_path)
    assert str(found.value) == str(expected.value)


def test_files_that_cannot_be_used(tmp_path):
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    with pytest.raises(InputError, match="in Fortran's order"):
        open_npy(tmp_path / "F.npy")
    np.save(tmp_path / "objects.npy", np.array([{}, None]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("1,2")
    (tmp_path / "empty.npy").touch()
    for name in ("objects", "text", "empty"):
        with pytest.raises(FileFormatError, match="is not a NumPy array"):
            open_npy(tmp_path / f"{name}.npy")
    np.savez(tmp_path / "many.npz", X=X)
    with pytest.raises(FileFormatError, match="is an archive"):
        open_npy(tmp_path / "many.npz")
