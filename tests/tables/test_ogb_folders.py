"""Folders of the Open Graph Benchmark."""

import gzip

import numpy as np
import pytest

from heatgraph.errors import FileFormatError, InputError
from heatgraph.tables.graph_folders import find_graph
from heatgraph.tables.options import TableOptions

FILES = {
    "raw/edge.csv.gz": "0,1\n1,2\n3,2\n",
    "raw/node-feat.csv.gz": "0.5,1.0\n-1.5,2\n0,0.25\n3,4\n",
    "raw/node-label.csv.gz": "1\n0\nnan\n1\n",
    "raw/num-node-list.csv.gz": "4\n",
    "split/time/train.csv.gz": "0\n",
    "split/time/valid.csv.gz": "1\n",
    "split/time/test.csv.gz": "3\n",
}


@pytest.fixture
def write(tmp_path):
    def write(changes=None, compressed=True):
        for name, text in (FILES | (changes or {})).items():
            if text is None:
                continue
            path = tmp_path / (name if compressed else name.removesuffix(".gz"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
        return tmp_path

    return write


def read(folder, **options):
    return find_graph(folder).read(TableOptions(**options))


@pytest.mark.parametrize("place", ["", "raw"])
@pytest.mark.parametrize("compressed", [True, False])
def test_a_data_set(write, place, compressed):
    folder = write(compressed=compressed)
    result = read(folder / place)
    data = result.dataset
    path = np.diag([1, 1, 1], 1)
    np.testing.assert_array_equal(data.graph.adjacency.toarray(), path + path.T)
    np.testing.assert_array_equal(data.graph.features, [[0.5, 1], [-1.5, 2], [0, 0.25], [3, 4]])
    assert data.labels.tolist() == [1, 0, None, 1]
    parts = (data.split.train, data.split.val, data.split.test)
    assert [part.tolist() for part in parts] == [[0], [1], [3]]
    assert f"{folder}: the split 'time' is used" in result.notes


def test_the_first_of_several_splits(write):
    result = read(write({"split/random/train.csv.gz": "3\n", "split/random/valid.csv.gz": "0\n",
                         "split/random/test.csv.gz": "1\n"}))  # fmt: skip
    assert result.dataset.split.train.tolist() == [3]
    assert "the split 'random' is used, the first of random, time" in result.notes[0]


def test_without_features_and_split(write):
    changes = {name: None for name in FILES if name.startswith("split") or "feat" in name}
    data = read(write(changes)).dataset
    assert data.graph.features is None
    assert not data.splits
    assert read(write(), features="").dataset.graph.features is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"raw/edge.csv.gz": "0,1\n1,4\n"}, r"edge.csv.gz, line 2: 4 is no node, 0 to 3 \(1 such"),
        ({"raw/edge.csv.gz": "0,1\n1,\n"}, r"edge.csv.gz, line 2: nan is no node"),
        ({"raw/edge.csv.gz": "0,1,2\n"}, r"edge.csv.gz has 3 columns. Expected two"),
        ({"raw/edge.csv.gz": "0,1\n1\n"}, r"edge.csv.gz: expected numbers without a header"),
        ({"raw/edge.csv.gz": "a,b\n0,1\n"}, r"edge.csv.gz: expected numbers without a header"),
        ({"split/time/valid.csv.gz": "-1\n"}, r"valid.csv.gz, line 1: -1 is no node"),
        ({"raw/edge.csv.gz": "0,1\n1,1.5\n"}, r"edge.csv.gz, line 2: 1.5 is no node"),
        ({"split/time/valid.csv.gz": None}, r"time lacks valid.csv.gz. Get it again"),
        ({"raw/node-feat.csv.gz": "1,2\n"}, "has 1 rows"),
    ],
)
def test_damaged_files(write, changes, message):
    with pytest.raises((FileFormatError, InputError), match=message):
        read(write(changes))


def test_several_labels_per_node(write):
    with pytest.raises(InputError, match="node-label.csv.gz has 2 columns, where one of classes"):
        read(write({"raw/node-label.csv.gz": "0,1\n1,0\n1,1\n0,0\n"}))
