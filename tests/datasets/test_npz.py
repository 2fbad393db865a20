import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from heatgraph._io import memory
from heatgraph.datasets.npz import NpzArchive, read_npz, read_sparse_npz
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError

RANDOM = np.random.default_rng(0)
ARRAYS = {
    "matrix": RANDOM.standard_normal((7, 5)),
    "by_column": np.asfortranarray(RANDOM.standard_normal((3, 4, 2)).astype(np.float32)),
    "half": np.float16([1.5, np.nan, -0.0]),
    "whole": np.arange(300, dtype=np.uint8),
    "big_endian": np.array([[1, -2], [3, 2**40]], dtype=">i8"),
    "flags": np.array([True, False, True]),
    "one": np.array(2**63, dtype=np.uint64),
    "nothing": np.empty((0, 3), dtype=np.int16),
    "text": np.array(["Übung", "b"]),
    "raw": np.array([b"abc", b"d"]),
}
SAVE = {"stored": np.savez, "deflated": np.savez_compressed}


@pytest.fixture(params=SAVE)
def path(request, tmp_path):
    SAVE[request.param](tmp_path / "arrays.npz", **ARRAYS)
    return tmp_path / "arrays.npz"


def npy(descr="'<i8'", shape="(3,)", content=bytes(24), order="False", version=b"\x01\x00"):
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    width = "<H" if version == b"\x01\x00" else "<I"
    return b"\x93NUMPY" + version + struct.pack(width, len(header)) + header + content


def write_zip(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_arrays_are_those_that_numpy_reads(path):
    arrays = read_npz(path)
    assert list(arrays) == list(ARRAYS)
    with np.load(path) as expected:
        for name, array in arrays.items():
            assert array.dtype == expected[name].dtype
            assert array.shape == expected[name].shape
            assert array.tobytes("A") == expected[name].tobytes("A")
            assert array.flags.f_contiguous == expected[name].flags.f_contiguous


def test_reading_some_arrays_or_one_at_a_time(path):
    assert list(read_npz(path, ["text", "one"])) == ["text", "one"]
    with NpzArchive(path) as archive:
        assert archive.names == list(ARRAYS)
        assert_array_equal(archive.read("whole"), ARRAYS["whole"])
        assert_array_equal(archive.read("whole"), ARRAYS["whole"])


@pytest.mark.parametrize(
    "content",
    [
        npy(version=b"\x02\x00"),
        npy(shape="(3L,)"),
        npy(shape="( 3 , )"),
        npy(descr='"<i8"'),
        npy(shape="(3, 1)", order="True"),
    ],
)
def test_headers_of_other_writers(tmp_path, content):
    write_zip(tmp_path / "x.npz", {"x.npy": content})
    assert_array_equal(read_npz(tmp_path / "x.npz")["x"].ravel(), [0, 0, 0])


def test_members_that_are_no_arrays_are_ignored(tmp_path):
    write_zip(tmp_path / "x.npz", {"x.npy": npy(), "READ ME": b"!", "folder/": b""})
    assert list(read_npz(tmp_path / "x.npz")) == ["x"]


def test_peak_memory_is_that_of_the_array(tmp_path):
    X = RANDOM.integers(0, 50, (1_000_000, 4))
    np.savez_compressed(tmp_path / "x.npz", x=X)
    tracemalloc.start()
    assert_array_equal(read_npz(tmp_path / "x.npz")["x"][-1], X[-1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * X.nbytes


class Evil:
    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize("descr", ["'|O'", "'O'", "'|O8'"])
def test_code_in_a_pickle_never_runs(tmp_path, monkeypatch, descr):
    monkeypatch.chdir(tmp_path)
    np.savez("evil.npz", x=np.array([Evil()], dtype=object))
    with pytest.raises(FileFormatError, match="'x' holds Python objects. Reading them would run"):
        read_npz("evil.npz")
    write_zip("evil.npz", {"x.npy": npy(descr)})
    with pytest.raises(FileFormatError, match="holds Python objects"):
        read_npz("evil.npz")
    assert not (tmp_path / "ran").exists()
    np.load("evil.npz")  # opens, but reads nothing


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not in NumPy's format"),
        (b"PK\x03\x04" * 9, "not in NumPy's format, version 1.0 or 2.0"),
        (npy().replace(b"NUMPY", b"NUMPX"), "not in NumPy's format"),
        (npy(version=b"\x03\x00"), "version 1.0 or 2.0"),
        (npy(version=b"\x09\x00"), "version 1.0 or 2.0"),
        (npy("'<c16'", "(1,)", bytes(16)), "dtype '<c16', where plain numbers"),
        (npy("'<M8[s]'"), "dtype '<M8\\[s\\]'"),
        (npy("'|V8'"), r"dtype '\|V8'"),
        (npy("'<i3'"), "dtype '<i3'"),
        (npy("'|b8'"), r"dtype '\|b8'"),
        (npy("'<U0'"), "dtype '<U0'"),
        (npy("[('a', '<i8')]"), "not an array of plain numbers"),
        (npy("__import__('os').system('touch ran')"), "not an array of plain numbers"),
        (npy(shape="(-3,)"), "not an array of plain numbers"),
        (npy(shape="(3.0,)"), "not an array of plain numbers"),
        (npy(shape="(" + "1" * 9000), "not an array of plain numbers"),
        (npy(shape="True"), "fits no array"),
        (npy(order="(3,)"), "fits no array"),
        (npy(shape="(" + "1, " * 33 + ")", content=bytes(8)), "fits no array"),
        (npy(shape="(0, 4000000000000000000, 9)", content=b""), "fits no array"),
        (npy(shape="(4294967296, 4294967296)", content=b""), "fits no array"),
        (npy(shape="(2305843009213693952,)", content=b""), "fits no array"),
        (npy(shape="(1000000000000,)"), "takes 8,000,000,000,000 bytes, and its member has"),
        (npy(shape="(2,)"), "takes 16 bytes"),
        (npy(shape="(4,)"), "takes 32 bytes"),
        (npy()[:20], "not an array of plain numbers"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 99, "header of 4,294,967,295 bytes"),
        (npy("'|b1'", "(1,)", b"\x02"), "neither True nor False"),
    ],
)
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_invalid_arrays(tmp_path, content, message, method):
    write_zip(tmp_path / "x.npz", {"x.npy": content}, method)
    with pytest.raises(FileFormatError, match=message):
        read_npz(tmp_path / "x.npz")


@pytest.mark.parametrize(
    "name", ["../x.npy", "/x.npy", "a/../../x.npy", "a\\..\\x.npy", "C:x.npy", "..", "x\0.npy"]
)
def test_path_traversal(tmp_path, name):
    stand_in = "#" * len(name)
    write_zip(tmp_path / "x.npz", {stand_in: npy()})
    raw = (tmp_path / "x.npz").read_bytes().replace(stand_in.encode(), name.encode())
    (tmp_path / "x.npz").write_bytes(raw)
    with pytest.raises(FileFormatError, match="points out of the archive"):
        read_npz(tmp_path / "x.npz")


def test_duplicate_names(tmp_path):
    write_zip(tmp_path / "x.npz", {"x.npy": npy(), "y.npy": npy()})
    raw = (tmp_path / "x.npz").read_bytes().replace(b"y.npy", b"x.npy")
    (tmp_path / "x.npz").write_bytes(raw)
    with pytest.raises(FileFormatError, match="two arrays 'x'"):
        read_npz(tmp_path / "x.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unsupported_compression(tmp_path, method):
    write_zip(tmp_path / "x.npz", {"x.npy": npy()}, method)
    with pytest.raises(FileFormatError, match=rf"method {method}, and only 0 \(stored\)"):
        read_npz(tmp_path / "x.npz")


def alter_entry(path, field, value):
    """Change a 4-byte field of the first member in the central directory."""
    offset = {"flags": 8, "compressed": 20, "declared": 24}[field]
    raw = bytearray(path.read_bytes())
    struct.pack_into("<I", raw, raw.index(b"PK\x01\x02") + offset, value)
    path.write_bytes(raw)


def test_encrypted_member(tmp_path):
    write_zip(tmp_path / "x.npz", {"x.npy": npy()})
    alter_entry(tmp_path / "x.npz", "flags", 1)
    with pytest.raises(FileFormatError, match="is encrypted. Save it with numpy.savez"):
        read_npz(tmp_path / "x.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_declared_size_beyond_the_ratio_of_deflate(tmp_path, method):
    content = npy(shape="(400000000,)", content=b"")
    write_zip(tmp_path / "x.npz", {"x.npy": content}, method)
    alter_entry(tmp_path / "x.npz", "declared", len(content) + 3_200_000_000)
    with pytest.raises(FileFormatError, match="claims 3,200,000,.* bytes, and its .* hold at most"):
        read_npz(tmp_path / "x.npz")


def test_declared_size_beyond_the_file(tmp_path):
    write_zip(tmp_path / "x.npz", {"x.npy": npy()}, zipfile.ZIP_DEFLATED)
    alter_entry(tmp_path / "x.npz", "compressed", 10**9)
    with pytest.raises(FileFormatError, match="members claim 1,000,000,000 bytes of the file's"):
        NpzArchive(tmp_path / "x.npz")


def test_declared_size_beyond_the_content(tmp_path):
    content = npy(shape="(1000,)", content=bytes(80))
    write_zip(tmp_path / "x.npz", {"x.npy": content}, zipfile.ZIP_DEFLATED)
    alter_entry(tmp_path / "x.npz", "declared", len(content) - 80 + 8000)
    with pytest.raises(FileFormatError, match="incomplete or damaged"):
        read_npz(tmp_path / "x.npz")


def test_highly_compressible_arrays_are_no_zip_bombs(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(2_000_000))
    assert not read_npz(tmp_path / "x.npz")["x"].any()


def test_arrays_beyond_memory(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(1000), y=np.zeros(1000))
    sp.save_npz(tmp_path / "m.npz", sp.eye_array(900, format="coo"))
    monkeypatch.setattr(memory, "memory_budget_bytes", lambda _: 9000.0)
    read_npz(tmp_path / "x.npz", ["y"])
    with pytest.raises(MemoryBudgetError, match=r"its arrays needs 16.\d kB, .* has 9.0 kB"):
        read_npz(tmp_path / "x.npz")
    with pytest.raises(MemoryBudgetError, match="its matrix needs"):
        read_sparse_npz(tmp_path / "m.npz")
    monkeypatch.setattr(memory, "memory_budget_bytes", lambda _: 8000.0)
    with NpzArchive(tmp_path / "x.npz") as archive, pytest.raises(MemoryBudgetError, match="'x'"):
        archive.read("x")


def test_missing_array(path):
    with pytest.raises(FileFormatError, match="has no array 'feats'. It has: matrix, by_column"):
        read_npz(path, ["feats"])


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "x.npz")


def test_truncated_files(path):
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 61), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="incomplete or damaged.*Get it again"):
            read_npz(path)


def test_flipped_bits(path):
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("matrix.npy")
    for position in range(50 + 128, info.compress_size, 17):
        altered = bytearray(whole)
        altered[info.header_offset + position] ^= 4
        path.write_bytes(altered)
        with pytest.raises(FileFormatError, match="incomplete or damaged"):
            read_npz(path, ["matrix"])


def saved(save, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


WHOLE = [saved(save, a=np.arange(40), b=np.eye(3)) for save in SAVE.values()]


@given(st.data(), st.sampled_from(WHOLE))
def test_mutated_files_are_refused_or_read_correctly(tmp_path_factory, data, whole):
    altered = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(altered) - 1))
        altered[position] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("mutation") / "x.npz"
    path.write_bytes(altered)
    try:
        arrays = read_npz(path)
    except (FileFormatError, MemoryBudgetError):
        return
    for name, expected in (("a", np.arange(40)), ("b", np.eye(3))):
        if name in arrays:  # else it is called otherwise
            assert_array_equal(arrays[name], expected)


@given(st.binary(max_size=200))
def test_random_bytes(tmp_path_factory, noise):
    path = tmp_path_factory.mktemp("noise") / "noise"
    path.write_bytes(noise)
    with pytest.raises(FileFormatError):
        read_npz(path)


DENSE = np.random.default_rng(1).random((30, 20))
MATRIX = sp.coo_array(np.where(DENSE < 0.2, DENSE, 0))


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("form", [sp.coo_array, sp.coo_matrix])
def test_sparse_matrices(tmp_path, kind, compressed, form):
    expected = form(MATRIX).asformat(kind)
    sp.save_npz(tmp_path / "m.npz", expected, compressed=compressed)
    matrix = read_sparse_npz(tmp_path / "m.npz")
    assert matrix.format == kind
    assert matrix.dtype == expected.dtype
    assert_array_equal(matrix.toarray(), expected.toarray())


def test_matrices_of_ones_are_int8(tmp_path):
    expected = sp.coo_array((np.ones(3), ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    sp.save_npz(tmp_path / "m.npz", expected)
    matrix = read_sparse_npz(tmp_path / "m.npz")
    assert matrix.dtype == np.int8
    assert matrix.nnz == 3
    assert_array_equal(matrix.toarray(), expected.toarray())


def sparse_parts(kind):
    matrix = MATRIX.asformat(kind)
    parts = {"format": kind.encode(), "shape": matrix.shape, "data": matrix.data}
    if kind == "coo":
        return parts | {"row": matrix.row.copy(), "col": matrix.col.copy()}
    return parts | {"indices": matrix.indices.copy(), "indptr": matrix.indptr.copy()}


@pytest.mark.parametrize("kind", ["csr", "coo"])
def test_big_endian_matrices(tmp_path, kind):
    parts = {name: np.asarray(part) for name, part in sparse_parts(kind).items()}
    swapped = {
        name: part.astype(part.dtype.newbyteorder(">")) if part.dtype.kind in "if" else part
        for name, part in parts.items()
    }
    np.savez(tmp_path / "m.npz", **swapped)
    matrix = read_sparse_npz(tmp_path / "m.npz")
    assert matrix.dtype.isnative
    assert_array_equal(matrix.tocsr().toarray(), MATRIX.toarray())


def put(array, position, value):
    array[position] = value
    return array


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("csr", lambda p: {"format": b"bsr"}, "csr, csc or coo matrix. Got format 'bsr'"),
        ("csr", lambda p: {"format": 7}, "Got format ''"),
        ("csr", lambda p: {"format": [b"csr"]}, "Got format ''"),
        ("csr", lambda p: {"shape": [30]}, "'shape' must be two integers"),
        ("csr", lambda p: {"shape": [30.0, 20.0]}, "'shape' must be two integers"),
        ("csr", lambda p: {"shape": [-30, 20]}, "'shape' must be two integers"),
        ("coo", lambda p: {"shape": np.uint64([2**63, 20])}, "'shape' must be two integers"),
        ("csr", lambda p: {"data": p["data"][None]}, "'data' must be a list of numbers"),
        ("csr", lambda p: {"data": p["data"].astype("U4")}, "'data' must be a list of numbers"),
        ("csr", lambda p: {"indices": p["indices"] / 1}, "'indices' must be a list of integers"),
        ("coo", lambda p: {"row": p["row"][None]}, "'row' must be a list of integers"),
        ("coo", lambda p: {"row": p["row"][1:]}, "'row', 'col' and 'data' must be equally long"),
        ("coo", lambda p: {"data": p["data"][1:]}, "'row', 'col' and 'data' must be equally long"),
        ("coo", lambda p: {"row": put(p["row"], 3, 30)}, r"'row' entry 3: 30 is outside 0..29 \(1"),
        ("coo", lambda p: {"col": put(p["col"], 5, -1)}, "'col' entry 5: -1 is outside 0..19"),
        ("csr", lambda p: {"indptr": p["indptr"][1:]}, "'indptr' must have 31 entries. Got 30"),
        ("csc", lambda p: {"indptr": p["indptr"][1:]}, "'indptr' must have 21 entries. Got 20"),
        ("csr", lambda p: {"indptr": put(p["indptr"], 0, 1)}, "start at 0 and never fall. Got 1"),
        ("csr", lambda p: {"indptr": put(p["indptr"], 9, 0)}, "never fall. Got 0 at position 9"),
        ("csr", lambda p: {"indptr": put(p["indptr"], -1, 999)}, "'indptr' must end at the number"),
        ("csr", lambda p: {"data": p["data"][1:]}, "'indptr' must end at the number of entries"),
        ("csr", lambda p: {"indices": put(p["indices"], 2, 20)}, "'indices' entry 2: 20 is out"),
        ("csc", lambda p: {"indices": put(p["indices"], 2, 30)}, "'indices' entry 2: 30 is out"),
    ],
)  # fmt: skip
def test_invalid_matrices(tmp_path, kind, change, message):
    parts = sparse_parts(kind)
    np.savez(tmp_path / "m.npz", **(parts | change(parts)))
    with pytest.raises(FileFormatError, match=message) as caught:
        read_sparse_npz(tmp_path / "m.npz")
    assert not isinstance(caught.value, InputError)
    assert "m.npz" in str(caught.value)


@pytest.mark.parametrize("missing", ["format", "shape", "data", "indices", "indptr"])
def test_matrices_with_missing_arrays(tmp_path, missing):
    parts = sparse_parts("csr")
    del parts[missing]
    np.savez(tmp_path / "m.npz", **parts)
    with pytest.raises(FileFormatError, match=f"has no array '{missing}'"):
        read_sparse_npz(tmp_path / "m.npz")
