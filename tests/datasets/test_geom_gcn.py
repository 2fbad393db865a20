"""Geom-GCN's text files: what they hold, and what is refused."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from graph_files import (
    GEOM_EDGES,
    GEOM_LABELS,
    GEOM_LINKS,
    GEOM_X,
    geom_edge_lines,
    geom_masks,
    geom_node_lines,
    write_geom_gcn,
    write_lines,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from heatgraph.datasets.geom_gcn import read_geom_gcn
from heatgraph.errors import FileFormatError, InputError, MemoryBudgetError

NODES, EDGES = "out1_node_feature_label.txt", "out1_graph_edges.txt"
ZEROS = "0,0,0,0"


def adjacency(edges, n=8):
    dense = np.zeros((n, n))
    for v, w in edges:
        dense[v, w] = dense[w, v] = 1
    return dense


@pytest.mark.parametrize("indices", [False, True])
def test_files(tmp_path, indices):
    data = read_geom_gcn(write_geom_gcn(tmp_path / "texas", indices))
    assert data.name == "texas"
    assert_array_equal(data.graph.adjacency.toarray(), adjacency(GEOM_EDGES))
    assert data.graph.weights is None
    assert data.graph.num_duplicates == 1
    links = {(v, w) for v, w in zip(*data.graph.directed_adjacency.nonzero(), strict=True)}
    assert links == set(GEOM_LINKS)
    assert sp.issparse(data.graph.features)
    assert_array_equal(data.graph.features.toarray(), GEOM_X)
    assert data.labels.dtype == np.int64
    assert_array_equal(data.labels, GEOM_LABELS)
    assert data.splits == {}
    assert "4 of the 6 edges are links in one direction only" in data.notes
    assert "Pei" in data.citation
    assert data.licence == "not stated by its authors"


@pytest.mark.parametrize("name", ["film", "actor"])
def test_actors_features_are_indices_whatever_the_header(tmp_path, name):
    folder = write_geom_gcn(tmp_path / name, indices=True)
    lines = ["node_id\tfeature\tlabel", *geom_node_lines(indices=True)[1:]]
    write_lines(folder / NODES, lines)
    assert_array_equal(read_geom_gcn(folder).graph.features.toarray(), GEOM_X)


def test_the_header_gives_the_number_of_features(tmp_path):
    """Actor's header has 931, the largest index, for 932 features; an index may be repeated."""
    folder = write_geom_gcn(tmp_path / "film")
    rows = [f"{node}\t92,138,92\t0" for node in range(8)]
    write_lines(folder / NODES, ["node_id\tfeature(feature_amount:931)\tlabel", *rows])
    features = read_geom_gcn(folder).graph.features
    assert features.shape == (8, 932)
    assert_array_equal(features.sum(axis=1), 2)


@pytest.mark.parametrize("end", ["\r\n", "\n\n"])
def test_line_ends(tmp_path, end):
    write_geom_gcn(tmp_path)
    (tmp_path / NODES).write_bytes(end.join(geom_node_lines()).encode("utf-8-sig"))
    (tmp_path / EDGES).write_bytes(end.join(geom_edge_lines()).encode())
    data = read_geom_gcn(tmp_path)
    assert_array_equal(data.graph.adjacency.toarray(), adjacency(GEOM_EDGES))
    assert_array_equal(data.graph.features.toarray(), GEOM_X)


def test_labels_may_be_strings(tmp_path):
    write_geom_gcn(tmp_path)
    lines = [line.removesuffix("0") + "staff" * line.endswith("\t0") for line in geom_node_lines()]
    write_lines(tmp_path / NODES, lines)
    labels = read_geom_gcn(tmp_path).labels
    assert labels.tolist() == [str(y) if y else "staff" for y in GEOM_LABELS]


def test_duplicate_nodes_are_noted(tmp_path):
    write_geom_gcn(tmp_path)
    assert "Platonov" not in read_geom_gcn(tmp_path, "texas").notes
    for name in ("chameleon", "squirrel"):
        assert "accuracies are inflated (Platonov" in read_geom_gcn(tmp_path, name).notes


@pytest.mark.parametrize(
    "place", ["new_data/texas", "new_data/texas/splits", "new_data/splits", "splits"]
)
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_splits(tmp_path, place, dtype):
    folder = write_geom_gcn(tmp_path / "new_data" / "texas")
    (tmp_path / place).mkdir(exist_ok=True)
    for number in (10, 2, 0):
        masks = {name: mask.astype(dtype) for name, mask in geom_masks(number).items()}
        np.savez(tmp_path / place / f"texas_split_0.6_0.2_{number}.npz", **masks)
    np.savez(tmp_path / place / "cornell_split_0.6_0.2_0.npz", train_mask=np.ones(3))
    data = read_geom_gcn(folder)
    assert list(data.splits) == ["geom-gcn 0", "geom-gcn 2", "geom-gcn 10"]
    assert "48, 32 and 20 percent" in data.notes
    for number in (0, 2, 10):
        split = data.splits[f"geom-gcn {number}"]
        for part in ("train", "val", "test"):
            expected = np.flatnonzero(geom_masks(number)[f"{part}_mask"])
            assert_array_equal(getattr(split, part), expected)


@pytest.mark.parametrize("folder", ["actor", "film"])
def test_actors_splits_are_called_film(tmp_path, folder):
    write_geom_gcn(tmp_path / folder, indices=True)
    np.savez(tmp_path / folder / "film_split_0.6_0.2_0.npz", **geom_masks(0))
    assert list(read_geom_gcn(tmp_path / folder, "actor").splits) == ["geom-gcn 0"]


@pytest.mark.parametrize("present", [[], [NODES], [EDGES]])
def test_missing_files(tmp_path, present):
    for name in present:
        (tmp_path / name).touch()
    found = present[0] if present else "none"
    with pytest.raises(InputError, match=f"must hold {NODES} and {EDGES}, .* it has {found}."):
        read_geom_gcn(tmp_path)


def replaced(lines, number, line):
    return [*lines[: number - 1], line, *lines[number:]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", " is empty. Get it again"),
        (b"\n \n", " is empty"),
        (b"node_id\tfeature\tlabel\n", " has a header and no nodes"),
        (geom_node_lines()[1:], ", line 1: expected a header with the names of 3 columns. Got '3"),
        (replaced(geom_node_lines(), 1, "node_id\tfeature"), ", line 1: expected 3 columns .* 2"),
        (replaced(geom_node_lines(), 3, "0 0,1,0,0 1"), ", line 3: expected 3 columns .* Got 1"),
        (replaced(geom_node_lines(), 3, f"0\t{ZEROS}\t1\t"), ", line 3: expected 3 .* Got 4"),
        (replaced(geom_node_lines(), 3, f"x\t{ZEROS}\t1"), ", line 3: node_id must be an int"),
        (replaced(geom_node_lines(), 3, f"-1\t{ZEROS}\t1"), ", line 3: node_id must be .* '-1'"),
        (replaced(geom_node_lines(), 3, f"0.0\t{ZEROS}\t1"), ", line 3: node_id must be .* '0.0'"),
        (replaced(geom_node_lines(), 3, f"{10**12}\t{ZEROS}\t1"), ", line 3: node_id must be an"),
        (replaced(geom_node_lines(), 3, f"{'9' * 6000}\t{ZEROS}\t1"), ", line 3: node_id must be"),
        (replaced(geom_node_lines(), 3, f"8\t{ZEROS}\t1"), r", line 3: the 8 nodes .* Got node 8"),
        (replaced(geom_node_lines(), 3, f"3\t{ZEROS}\t1"), ", line 3: node 3 must have .*, line 2"),
        (replaced(geom_node_lines(), 3, f"0\t{ZEROS}\t"), ", line 3: expected a label. Got noth"),
        (replaced(geom_node_lines(), 4, "1\t0,1,0\t0"), ", line 4: expected 4 features, .* Got 3"),
        (replaced(geom_node_lines(), 4, "1\t0,1,0,0,0\t0"), ", line 4: expected 4 .* Got 5"),
        (replaced(geom_node_lines(), 4, "1\t\t0"), ", line 4: features .* Entry 0 is ''"),
        (replaced(geom_node_lines(), 4, "1\t0,1,2,0\t0"), ", line 4: .* 0 or 1.* Entry 2 is '2'"),
        (replaced(geom_node_lines(), 4, "1\t0,,1,0\t0"), ", line 4: .* Entry 1 is ''"),
        (replaced(geom_node_lines(), 4, "1\t0,1,0,0,\t0"), ", line 4: .* Entry 4 is ''"),
        (replaced(geom_node_lines(), 4, "1\t0;1;0;0\t0"), ", line 4: .* Entry 0 is '0;1;0;0'"),
        (replaced(geom_node_lines(), 4, "1\t0,10,0,0\t0"), ", line 4: .* Entry 1 is '10'"),
        (replaced(geom_node_lines(), 4, "1\t0,é,0,0\t0"), ", line 4: .* Entry 1 is 'é'"),
        (replaced(geom_node_lines(), 4, "1\t0,nan,0,0\t0"), ", line 4: .* Entry 1 is 'nan'"),
        (geom_node_lines(True)[:1] + geom_node_lines()[1:4], r", line 2: the 3 nodes must be"),
        ("\n".join(geom_node_lines()).encode("utf-16"), ", line 1: not UTF-8 text"),
        (b"node_id\tfeature\tlabel\n0\t0,1\t\xe9\n", ", line 2: not UTF-8 text"),
        (b"PK\x03\x04\x14\x00\x00\x00\x08\x00", ", line 1: expected 3 columns"),
    ],
)
def test_invalid_nodes(tmp_path, content, message):
    write_geom_gcn(tmp_path)
    if isinstance(content, bytes):
        (tmp_path / NODES).write_bytes(content)
    else:
        write_lines(tmp_path / NODES, content)
    with pytest.raises(FileFormatError, match=rf"{NODES}{message}"):
        read_geom_gcn(tmp_path)


@pytest.mark.parametrize(
    ("header", "entry", "message"),
    [
        ("feature(feature_amount:3)", "4", r"line 4: a feature index .* 0\.\.3\. Got '4'"),
        ("feature(feature_amount:3)", "-1", "line 4: a feature index"),
        ("feature(feature_amount:3)", "", "line 4: a feature index must be .* Got ''"),
        ("feature(feature_amount:3)", "1.5", "line 4: a feature index"),
        ("feature(feature_amount:3)", "1,,2", "line 4: a feature index must be .* Got ''"),
        ("feature(feature_amount:999999999)", "1", "line 1: feature_amount must be an integer in"),
        ("feature", f"{10**12}", r"line 4: a feature index must be an integer in 0\.\.1048575"),
        ("feature", f"{2**20}", "line 4: a feature index must be"),
        ("feature", "9" * 6000, "line 4: a feature index must be"),
    ],
)
def test_invalid_indices(tmp_path, header, entry, message):
    folder = write_geom_gcn(tmp_path / "film", indices=True)
    lines = replaced(geom_node_lines(True), 1, f"node_id\t{header}\tlabel")
    write_lines(folder / NODES, replaced(lines, 4, f"1\t{entry}\t0"))
    with pytest.raises(FileFormatError, match=f"{NODES}, {message}"):
        read_geom_gcn(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", " is empty"),
        (geom_edge_lines()[1:], ", line 1: expected a header with the names of 2 columns. Got '0"),
        (replaced(geom_edge_lines(), 3, "1"), ", line 3: expected 2 columns .* Got 1"),
        (replaced(geom_edge_lines(), 3, "1 0"), ", line 3: expected 2 columns .* Got 1"),
        (replaced(geom_edge_lines(), 3, "1\t0\t1"), ", line 3: expected 2 columns .* Got 3"),
        (replaced(geom_edge_lines(), 3, "1\t8"), r", line 3: a node .* in 0\.\.7\. Got '8'"),
        (replaced(geom_edge_lines(), 3, "-1\t0"), ", line 3: a node must be .* Got '-1'"),
        (replaced(geom_edge_lines(), 3, "1\tx"), ", line 3: a node must be .* Got 'x'"),
        (replaced(geom_edge_lines(), 3, "1.0\t0"), ", line 3: a node must be .* Got '1.0'"),
        (replaced(geom_edge_lines(), 3, "1\t"), ", line 3: a node must be .* Got ''"),
        (replaced(geom_edge_lines(), 3, f"1\t{10**12}"), ", line 3: a node must be"),
        (b"node_id\tnode_id\n0\t\xff\n", ", line 2: not UTF-8 text"),
    ],
)
def test_invalid_edges(tmp_path, content, message):
    write_geom_gcn(tmp_path)
    if isinstance(content, bytes):
        (tmp_path / EDGES).write_bytes(content)
    else:
        write_lines(tmp_path / EDGES, content)
    with pytest.raises(FileFormatError, match=rf"{EDGES}{message}"):
        read_geom_gcn(tmp_path)


MASKS = geom_masks(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_mask": MASKS["train_mask"][1:]}, r"train_mask .* per node, 8. Got shape \(7,\)"),
        ({"val_mask": np.ones((8, 1))}, r"val_mask .* per node, 8. Got shape \(8, 1\)"),
        ({"val_mask": MASKS["val_mask"].astype(str)}, "val_mask must have one entry per node"),
        ({"val_mask": MASKS["val_mask"] * 2}, r"val_mask must be 0 or 1. Entry .* is 2 \(2 such"),
        ({"val_mask": np.full(8, np.nan)}, r"val_mask must be 0 or 1. Entry 0 is nan \(8 such"),
        ({"val_mask": MASKS["train_mask"]}, "train and val overlap in 4 nodes"),
        ({"val_mask": MASKS["val_mask"].astype(object)}, "'val_mask' holds Python objects"),
        ({"test_mask": None}, "has no array 'test_mask'"),
    ],
)
def test_invalid_splits(tmp_path, changes, message):
    folder = write_geom_gcn(tmp_path / "texas")
    arrays = {name: mask for name, mask in (MASKS | changes).items() if mask is not None}
    np.savez(folder / "texas_split_0.6_0.2_0.npz", **arrays)
    with pytest.raises(FileFormatError, match=rf"texas_split_0\.6_0\.2_0\.npz.*{message}"):
        read_geom_gcn(folder)


def test_an_index_does_not_allocate(tmp_path):
    """A large index costs an entry, not an array of its length."""
    folder = write_geom_gcn(tmp_path / "film", indices=True)
    write_lines(folder / NODES, replaced(geom_node_lines(True), 1, "node_id\tfeature\tlabel"))
    read_geom_gcn(folder)
    write_lines(
        folder / NODES,
        replaced(["node_id\tfeature\tlabel", *geom_node_lines(True)[1:]], 4, f"1\t{2**20 - 1}\t0"),
    )
    tracemalloc.start()
    data = read_geom_gcn(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.graph.num_features == 2**20
    assert peak < 1e6


@given(st.data())
def test_mutated_files_are_refused_or_read(tmp_path_factory, data):
    folder = write_geom_gcn(tmp_path_factory.mktemp("mutation") / "texas")
    np.savez(folder / "texas_split_0.6_0.2_0.npz", **MASKS)
    name = data.draw(st.sampled_from(sorted(path.name for path in folder.iterdir())))
    altered = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
    (folder / name).write_bytes(altered)
    try:
        read = read_geom_gcn(folder)
    except (FileFormatError, InputError, MemoryBudgetError):
        return
    assert read.graph.num_nodes == len(read.labels) == 8
    assert set(np.unique(read.graph.features.toarray())) <= {0, 1}
