"""Labels and splits of nodes."""

from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pytest

from heatgraph.errors import InputError
from heatgraph.tables.from_tables import from_tables, read_tables
from heatgraph.tables.options import TableOptions

EDGE = {"source": ["a"], "target": ["b"]}
NONE = {"source": [], "target": []}
PAIR = {"id": ["a", "b"]}
LONG, LONGER = "1234567890123456789", "12345678901234567890"


def labels_of(values, **options):
    table = values if isinstance(values, pa.Table) else {"id": ["a", "b"], "label": values}
    return from_tables(table, EDGE, **options).labels


@pytest.mark.parametrize(
    ("texts", "expected"),
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
def test_csv_labels_keep_every_character(write_csv, texts, expected):
    data = from_tables(write_csv(f"id,label\na,{texts[0]}\nb,{texts[1]}\n"), EDGE)
    assert data.labels.tolist() == expected


@pytest.mark.parametrize(
    "values",
    [[True, None], [True, False], [3, None], [int(LONG), None], ["x", None], [1.0, 2.0]],
)
def test_other_types_are_unchanged(values):
    found = labels_of(values).tolist()
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_dictionary_encoded_labels():
    column = pa.array(["x", None]).dictionary_encode()
    assert labels_of(pa.table({"id": ["a", "b"], "label": column})).tolist() == ["x", None]


def test_nested_labels_are_refused():
    with pytest.raises(InputError, match=r"must be strings, numbers or booleans, and column 'la"):
        labels_of([[1], [2]])


def test_measurements_are_refused_with_their_row(write_csv):
    with pytest.raises(InputError, match="row 1 .*'label' has 2.5, where a class is expected"):
        from_tables(PAIR | {"label": [1.0, 2.5]}, EDGE)
    rows = "".join(f"n{at},{at / 7}\n" for at in range(40))
    with pytest.raises(InputError, match=r"line 3: .*0.142.* \(34 such in all\). Bin"):
        from_tables(write_csv("id,label\n" + rows), {"source": ["n1"], "target": ["n2"]})


def test_a_few_fractions_are_classes(write_csv):
    path = write_csv("id,label\na,1.5\nb,2.0\n")
    assert from_tables(path, EDGE).labels.tolist() == ["1.5", "2.0"]
    assert from_tables(PAIR | {"label": [1.0, np.nan]}, EDGE).labels[0] == 1


def test_split_parts(write_csv):
    nodes = write_csv("id,label,split\na,u,train\nb,v,Validation\nc,,test\nd,,\ne,u, TRAIN\n")
    split = from_tables(nodes, NONE).split
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [
        [0, 4],
        [1],
        [2],
    ]


def test_unknown_split_parts_are_refused(write_csv):
    with pytest.raises(InputError, match=r"nodes.csv, line 4: the split is 'tset', where"):
        from_tables(write_csv("id,label,split\na,u,train\n\nb,v,tset\n"), NONE)


@pytest.mark.parametrize("part", ["train", "val"])
@pytest.mark.parametrize("missing", ["", "-1"])
def test_training_and_validation_nodes_need_labels(write_csv, part, missing):
    nodes = write_csv(f"id,label,split\na,1,train\n\nb,{missing},{part}\nc,{missing},{part}\n")
    with pytest.raises(InputError, match=rf"nodes.csv, line 4: the split is '{part}', and "
                       r"there is no label \(2 such nodes in all\). Fill in"):  # fmt: skip
        from_tables(nodes, NONE)


def test_a_split_without_labels():
    nodes = PAIR | {"split": ["train", "test"]}
    assert from_tables(nodes, EDGE).split.train.tolist() == [0]
    assert from_tables(nodes | {"label": [None, 1]}, EDGE, label="").labels is None


class TestUnlabelled:
    NODES = MappingProxyType({"id": ["a", "b", "c", "d"], "label": ["u", "?", "unknown", "u"]})

    def read(self, nodes=NODES, **options):
        edges = {"source": [], "target": []}
        return read_tables(dict(nodes), edges, TableOptions(**options))

    def test_texts(self):
        result = self.read(unlabelled=["?", "unknown", "none"])
        assert result.dataset.labels.tolist() == ["u", None, None, "u"]
        assert result.notes == [
            "nodes: read as no label: ? (1), unknown (1)", "nodes: no label is 'none'"
        ]  # fmt: skip
        assert self.read(unlabelled="?").dataset.labels.tolist() == ["u", None, "unknown", "u"]

    def test_numbers(self):
        nodes = {"id": ["a", "b", "c"], "label": [0, 1, 99]}
        assert self.read(nodes, unlabelled="99").dataset.labels.tolist() == [0, 1, None]

    def test_texts_beside_integers(self):
        nodes = {"id": ["a", "b", "c"], "label": ["0", "1", "?"]}
        assert self.read(nodes, unlabelled="?").dataset.labels.tolist() == [0, 1, None]

    def test_classes_that_look_like_no_label_are_told(self):
        (note,) = self.read().notes
        assert note.startswith("nodes: '?' (1), 'unknown' (1) count as classes; unlabelled")

    @pytest.mark.parametrize("given", [5, [5], {"a": 1}])
    def test_wrong_values(self, given):
        with pytest.raises(InputError, match="unlabelled must be a text or a list of texts"):
            self.read(unlabelled=given)
