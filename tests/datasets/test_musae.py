"""MUSAE's CSV and JSON files: what they hold, and what is refused."""

import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from graph_files import (
    FACEBOOK_LABELS,
    FACEBOOK_ROWS,
    MUSAE_FEATURES,
    MUSAE_LINKS,
    MUSAE_X,
    TWITCH_LABELS,
    TWITCH_ROWS,
    write_lines,
    write_musae,
    write_twitch,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from heatgraph.datasets.musae import read_musae
from heatgraph.errors import FileFormatError, InputError

TARGET, EDGES, FEATURES = (
    "musae_facebook_target.csv", "musae_facebook_edges.csv", "musae_facebook_features.json",
)  # fmt: skip


def read_twitch(folder, **options):
    return read_musae(folder, "mature", node_id="new_id", **options)


def expected_adjacency():
    dense = np.zeros((6, 6))
    for v, w in MUSAE_LINKS:
        dense[v, w] = dense[w, v] = 1
    return dense


@pytest.mark.parametrize("header", ["id_1,id_2", "from,to", "node_1,node_2"])
def test_facebook(tmp_path, header):
    data = read_musae(write_musae(tmp_path / "facebook_large", header=header), "page_type")
    assert data.name == "facebook_large"
    assert_array_equal(data.graph.adjacency.toarray(), expected_adjacency())
    assert sp.issparse(data.graph.features)
    assert_array_equal(data.graph.features.toarray(), MUSAE_X)
    assert data.labels.tolist() == FACEBOOK_LABELS
    assert data.splits == {}
    assert data.notes == ""
    assert "Rozemberczki" in data.citation
    assert data.licence.startswith("not stated")


def test_twitch(tmp_path):
    data = read_twitch(write_twitch(tmp_path))
    assert_array_equal(data.graph.adjacency.toarray(), expected_adjacency())
    assert_array_equal(data.graph.features.toarray(), MUSAE_X)
    assert data.labels.tolist() == TWITCH_LABELS
    assert data.notes == "1 rows of the table repeat a node."


def test_number_of_features(tmp_path):
    write_twitch(tmp_path)
    assert read_twitch(tmp_path, num_features=9).graph.num_features == 9
    with pytest.raises(FileFormatError, match=r"node '0': features .* 0\.\.3\. Entry 0 is 4"):
        read_twitch(tmp_path, num_features=4)
    with pytest.raises(InputError, match="num_features"):
        read_twitch(tmp_path, num_features=0)


def test_features_of_other_nodes_and_nodes_without_any(tmp_path):
    features = {"6": [9], "1000000": [2]} | {key: MUSAE_FEATURES[key] for key in "01345"}
    data = read_musae(write_musae(tmp_path, features=features), "page_type")
    assert_array_equal(data.graph.features.toarray(), MUSAE_X)
    assert data.notes == (
        "1 nodes have no entry in the file of features, and no features. Features of 2 nodes that "
        "are not in the table are left out."
    )


def test_quoted_line_breaks_and_line_ends(tmp_path):
    write_musae(tmp_path)
    rows = [*FACEBOOK_ROWS[:4], '3,5,"two\nlines",government', *FACEBOOK_ROWS[5:], ""]
    (tmp_path / TARGET).write_bytes("\r\n".join(rows).encode("utf-8-sig"))
    assert read_musae(tmp_path, "page_type").labels.tolist() == FACEBOOK_LABELS
    rows[6] = "x,1,2,tvshow"
    (tmp_path / TARGET).write_bytes("\r\n".join(rows).encode())
    with pytest.raises(FileFormatError, match="target.csv, line 8: id must be an integer"):
        read_musae(tmp_path, "page_type")


def test_hidden_files_do_not_count(tmp_path):
    write_musae(tmp_path)
    (tmp_path / f"._{TARGET}").write_bytes(b"\x00\x05\x16\x07")
    assert read_musae(tmp_path, "page_type").graph.num_nodes == 6


@pytest.mark.parametrize("name", [TARGET, EDGES, FEATURES])
def test_missing_and_several_files(tmp_path, name):
    write_musae(tmp_path)
    (tmp_path / f"another_{name}").write_text("")
    with pytest.raises(InputError, match=r"must hold one file each .* It has 2 files \*_"):
        read_musae(tmp_path, "page_type")
    (tmp_path / f"another_{name}").unlink()
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=r"must hold one file each .* It has 0 files \*_"):
        read_musae(tmp_path, "page_type")


def replaced(lines, number, line):
    return [*lines[: number - 1], line, *lines[number:]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", " is empty"),
        (b"\n\n", " is empty"),
        (FACEBOOK_ROWS[:1], " has a header and no rows"),
        (FACEBOOK_ROWS[1:], ", line 1: expected a header with one column 'id'. Got '0, "),
        (["id,target", "0,5"], ", line 1: .* 'page_type'. Got 'id, target'. .* no classes"),
        (["id,id,page_type", "0,0,tv"], ", line 1: .* one column 'id'"),
        (TWITCH_ROWS, ", line 1: expected a header with one column 'page_type'"),
        (replaced(FACEBOOK_ROWS, 3, "1,2,ESET"), ", line 3: expected 4 columns, .* Got 3"),
        (replaced(FACEBOOK_ROWS, 3, "1,2,Foo, Inc,tv"), ", line 3: expected 4 .* Got 5"),
        (replaced(FACEBOOK_ROWS, 3, "x,2,ESET,tv"), ", line 3: id must be an integer"),
        (replaced(FACEBOOK_ROWS, 3, ",2,ESET,tv"), ", line 3: id must be an integer .* Got ''"),
        (replaced(FACEBOOK_ROWS, 3, "-1,2,ESET,tv"), ", line 3: id must be an integer"),
        (replaced(FACEBOOK_ROWS, 3, "1.0,2,ESET,tv"), ", line 3: id must be an integer"),
        (replaced(FACEBOOK_ROWS, 3, f"{10**12},2,ESET,tv"), ", line 3: id must be an integer"),
        (replaced(FACEBOOK_ROWS, 3, f"{'1' * 6000},2,ESET,tv"), ", line 3: id must be an"),
        (replaced(FACEBOOK_ROWS, 3, "9,2,ESET,tv"), r", line 3: the 6 .* Got node 9 .* no node 1"),
        (replaced(FACEBOOK_ROWS, 3, "0,2,ESET,tv"), ", line 3: page_type of node 0 is 'tv', and"),
        (replaced(FACEBOOK_ROWS, 3, "0,2,ESET,tvshow"), r", line \d: the 5 nodes must be"),
        (replaced(FACEBOOK_ROWS, 3, "1,2,ESET,"), ", line 3: expected a page_type. Got nothing"),
        (replaced(FACEBOOK_ROWS, 3, '1,2,"ESET,tv'), r", line \d: not a table in CSV"),
        (replaced(FACEBOOK_ROWS, 3, '1,2,"ES"ET,tv'), ", line 3: not a table in CSV"),
        (replaced(FACEBOOK_ROWS, 3, f"1,2,{'x' * 200_000},tv"), ", line 3: not a table in CSV"),
        ("\n".join(FACEBOOK_ROWS).encode("utf-16"), ", line 1: not UTF-8"),
        (b"id,facebook_id,page_name,page_type\n0,1,\xe9,tv\n", ", line 2: not UTF-8"),
    ],
)
def test_invalid_targets(tmp_path, content, message):
    write_musae(tmp_path)
    if isinstance(content, bytes):
        (tmp_path / TARGET).write_bytes(content)
    else:
        write_lines(tmp_path / TARGET, content)
    with pytest.raises(FileFormatError, match=rf"{TARGET}{message}"):
        read_musae(tmp_path, "page_type")


def with_entry(key, value):
    return json.dumps(MUSAE_FEATURES | {key: value}).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": not JSON, or damaged"),
        (b'{"0": [1', ": not JSON, or damaged: .*line 1 column"),
        (b"{0: [1]}", ": not JSON, or damaged"),
        (b'{"0": [1]} {}', ": not JSON, or damaged: Extra data"),
        (b"[[1, 2]]", ": expected an object from node to features. Got list"),
        (b"3", ": expected an object .* Got int"),
        (b"null", ": expected an object"),
        (b"{}", " has no feature of any node"),
        (b'{"0": [], "1": []}', " has no feature of any node"),
        (b'{"0": [1], "0": [2]}', ": two entries of '0'"),
        (b'{"0": [1], "00": [2]}', ", node '00': the node has two entries"),
        (with_entry("x", [1]), ", node 'x': a node must be an integer"),
        (with_entry("-1", [1]), ", node '-1': a node must be"),
        (with_entry("1.0", [1]), ", node '1.0': a node must be"),
        (with_entry("", [1]), ", node '': a node must be"),
        (with_entry("3", 7), ", node '3': expected a list of feature indices. Got int"),
        (with_entry("3", {"a": 1}), ", node '3': expected a list of feature indices. Got dict"),
        (with_entry("3", "12"), ", node '3': expected a list of feature indices. Got str"),
        (with_entry("3", None), ", node '3': expected a list"),
        (with_entry("3", [1, -1]), ", node '3': features must be integers .* Entry 1 is -1"),
        (with_entry("3", [1.5]), ", node '3': features must be integers .* Entry 0 is 1.5"),
        (with_entry("3", ["1"]), ", node '3': features must be integers .* Entry 0 is '1'"),
        (with_entry("3", [True]), ", node '3': features must be integers .* Entry 0 is True"),
        (with_entry("3", [[1]]), ", node '3': features must be integers .* Entry 0 is <class"),
        (with_entry("3", [float("nan")]), ", node '3': features must be integers .* is nan"),
        (with_entry("3", [2**20]), r", node '3': features must be integers in 0\.\.1048575"),
        (with_entry("3", [10**12]), ", node '3': features must be integers .* is 1000000000000"),
        (with_entry(str(10**12), [1]), ", node '1000000000000': a node must be an integer"),
        (b'{"0": [' + b"9" * 6000 + b"]}", ": not JSON, or damaged"),
        (b'{"0": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", ": not JSON, or damaged: .*recursion"),
        (b'{"a": ' * 200_000 + b"1" + b"}" * 200_000, ": not JSON, or damaged: .*recursion"),
        (b'{"0": [1], "\xff": []}', ", line 1: not UTF-8"),
        (json.dumps(MUSAE_FEATURES).encode("utf-16"), ", line 1: not UTF-8"),
    ],
)
def test_invalid_features(tmp_path, content, message):
    write_musae(tmp_path)
    (tmp_path / FEATURES).write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"{FEATURES}{message}"):
        read_musae(tmp_path, "page_type")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", " is empty"),
        (b"0,1\n1,2\n", ", line 1: expected a header with the names of 2 columns"),
        (b"id_1;id_2\n0;1\n", ", line 1: expected 2 columns .* Got 1"),
        (b"id_1,id_2\n0,1,1\n", ", line 2: expected 2 columns .* Got 3"),
        (b"id_1,id_2\n0\n", ", line 2: expected 2 columns .* Got 1"),
        (b"id_1,id_2\n0,6\n", r", line 2: a node must be an integer in 0\.\.5\. Got '6'"),
        (b"id_1,id_2\n0,1\n\n-1,2\n", ", line 4: a node must be .* Got '-1'"),
        (b"id_1,id_2\n0,x\n", ", line 2: a node must be .* Got 'x'"),
        (b"id_1,id_2\n0,1.0\n", ", line 2: a node must be .* Got '1.0'"),
        (b"id_1,id_2\n0,1000000000000\n", ", line 2: a node must be"),
        (b"id_1,id_2\n0,\xff\n", ", line 2: not UTF-8"),
    ],
)
def test_invalid_edges(tmp_path, content, message):
    write_musae(tmp_path)
    (tmp_path / EDGES).write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"{EDGES}{message}"):
        read_musae(tmp_path, "page_type")


def test_an_index_does_not_allocate(tmp_path):
    write_musae(tmp_path, features=MUSAE_FEATURES | {"1": [2**20 - 1], "999999999": [3]})
    tracemalloc.start()
    data = read_musae(tmp_path, "page_type")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.graph.num_features == 2**20
    assert peak < 1e6


@given(st.data())
def test_mutated_files_are_refused_or_read(tmp_path_factory, data):
    folder = write_musae(tmp_path_factory.mktemp("mutation"))
    name = data.draw(st.sampled_from([TARGET, EDGES, FEATURES]))
    altered = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
    (folder / name).write_bytes(altered)
    try:
        read = read_musae(folder, "page_type")
    except (FileFormatError, InputError):
        return
    assert read.graph.num_nodes == len(read.labels) == 6
    assert set(np.unique(read.graph.features.data)) <= {1}
