"""Node ids: read exactly, unique, and found among the nodes."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.tables.from_tables import from_tables
from heatgraph.tables.ids import _printed_length, to_integers

EDGE = {"source": ["a"], "target": ["b"]}
PAIR = {"id": ["a", "b"]}
LONG, LONGER = "1234567890123456789", "12345678901234567890"


def ids_of(nodes, edges=None):
    return from_tables(nodes, edges or {"source": [], "target": []}).graph.node_ids


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([LONG, "1"], [int(LONG), 1]),
        ([str(2**63 - 1), str(-(2**63))], [2**63 - 1, -(2**63)]),
        ([str(2**63), "1"], [str(2**63), "1"]),
        ([LONGER, "1"], [LONGER, "1"]),
        (["007", "7"], ["007", "7"]),
        (["+7", "7"], ["+7", "7"]),
        (["-0", "0"], ["-0", "0"]),
        (["1.0", "1"], ["1.0", "1"]),
        (["1e5", "x"], ["1e5", "x"]),
        (["NA", "null", "nan", "NaN", "None"], ["NA", "null", "nan", "NaN", "None"]),
        ([" 7", "7"], [" 7", "7"]),
        (["true", "1"], ["true", "1"]),
    ],
)
def test_csv_ids_keep_every_character(write_csv, texts, expected):
    nodes = write_csv("id\n" + "\n".join(texts) + "\n")
    edges = write_csv(f"source,target\n{texts[0]},{texts[1]}\n", "edges.csv")
    data = from_tables(nodes, edges)
    assert data.graph.node_ids.tolist() == expected
    assert data.graph.adjacency.toarray()[0, 1] == 1


def test_integers_of_any_type():
    for kind in ("int8", "uint64", "int64"):
        ids = ids_of({"id": np.array([3, 5], dtype=kind)}, {"source": [3], "target": [5]})
        assert ids.dtype == kind


def test_uint64_beyond_int64():
    big = np.array([2**64 - 1, 2**63], dtype=np.uint64)
    assert_array_equal(ids_of({"id": big}, {"source": big[:1], "target": big[1:]}), big)


def test_integers_in_one_table_and_strings_in_the_other(write_csv, tmp_path):
    pa.parquet.write_table(pa.table({"id": [int(LONG), 7]}), tmp_path / "n.parquet")
    edges = write_csv(f"source,target\n{LONG},7\n", "e.csv")
    assert from_tables(tmp_path / "n.parquet", edges).graph.num_edges == 1
    nodes = write_csv(f"id\n{LONG}\n7\n")
    pa.parquet.write_table(
        pa.table({"source": [int(LONG)], "target": pa.array([7], pa.int8())}),
        tmp_path / "e.parquet",
    )
    assert from_tables(nodes, tmp_path / "e.parquet").graph.num_edges == 1
    with pytest.raises(InputError, match="'07' in column 'source' is not an id"):
        from_tables({"id": [7, 8]}, {"source": ["07"], "target": ["8"]})


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), "str")]
)
def test_string_types(kind):
    column = pa.chunked_array([pa.array(["a"]), pa.array(["b"])]).cast(kind)
    nodes = pa.table({"id": column, "label": column})
    data = from_tables(nodes, EDGE)
    assert data.graph.node_ids.tolist() == data.labels.tolist() == ["a", "b"]


def test_encoded_and_extension_columns():
    runs = pc.run_end_encode(pa.array(["a", "b"]))
    assert ids_of(pa.table({"id": runs})).tolist() == ["a", "b"]
    assert ids_of(pa.table({"id": pa.array(["a", "b"], pa.json_())})).tolist() == ["a", "b"]
    none = pa.table({name: pa.chunked_array([], pa.json_()) for name in EDGE})
    assert from_tables({"id": ["a"]}, none).graph.num_edges == 0


def test_an_extension_type_is_read_as_its_storage(tmp_path):
    class Evil(pa.ExtensionType):
        def __init__(self):
            super().__init__(pa.string(), "evil")

        def __arrow_ext_serialize__(self):
            return b"code"

        @classmethod
        def __arrow_ext_deserialize__(cls, storage_type, serialized):
            return cls()

    column = pa.ExtensionArray.from_storage(Evil(), pa.array(["a", "b"]))
    table = pa.table({"id": column})
    pa.parquet.write_table(table, tmp_path / "n.parquet")
    for nodes in (table, tmp_path / "n.parquet"):
        assert ids_of(nodes).tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
def test_polars_categories(kind):
    polars = pytest.importorskip("polars")
    expected = polars.Categorical if kind == "Categorical" else polars.Enum(["a", "b", "u"])
    frame = polars.DataFrame({"id": ["a", "b"], "label": ["u", None]}).cast(expected)
    data = from_tables(frame, EDGE)
    assert data.graph.names.tolist() == ["a", "b"]
    assert data.labels.tolist() == ["u", None]


@pytest.mark.parametrize(
    "column",
    [
        [1.0, 2.0], [True, False], [b"a", b"b"],
        pa.array([1, 2], pa.decimal128(9)), pa.array([1, 2], pa.date32()),
    ],
)  # fmt: skip
def test_other_types_are_refused(column):
    with pytest.raises(InputError, match="nodes: ids must be strings or integers, and col"):
        ids_of(pa.table({"id": column}))


def test_blank_ids(write_csv):
    with pytest.raises(InputError, match=r"csv, line 4: column 'id' is blank, where an id is "
                       r"expected \(2 such in all\)"):  # fmt: skip
        ids_of(write_csv('id,x\na,1\n\n"",2\n,3\n'))
    with pytest.raises(InputError, match=r"nodes, row 1 \(counted from 0\): .*\(1 such"):
        ids_of({"id": [1, None]})
    with pytest.raises(InputError, match=r"row 0 .*\(2 such in all"):
        ids_of({"id": [None, None]})
    with pytest.raises(InputError, match=r"edges, row 1 .*'target' is blank"):
        ids_of({"id": ["a", "b"]}, {"source": ["a", "b"], "target": ["b", ""]})


def test_repeated_ids(write_csv):
    with pytest.raises(InputError, match=r"line 4: id 'a' occurs again \(2 repeated ids "
                       r"in all\). Each node has one row. 'id' was detected"):  # fmt: skip
        ids_of(write_csv("id\na\nb\na\nb\n"))
    with pytest.raises(InputError, match="The table of nodes comes before that of edges.$"):
        ids_of(write_csv("from,to\na,b\na,c\n"))
    with pytest.raises(InputError, match="one row.$"):
        from_tables({"id": [1, 1]}, EDGE, id="id")


def test_unknown_ids(write_csv):
    edges = write_csv("source,target\na,b\n\na,p\nq,r\ns,p\n", "edges.csv")
    with pytest.raises(InputError) as caught:
        from_tables(PAIR, edges)
    assert str(caught.value).endswith(
        "edges.csv, line 4: 'p' in column 'target' is not an id of nodes. 4 unknown ids ('q', 's', "
        "'p', ...) in 3 rows: add these nodes, or drop these rows (--unknown-edges drop or add)."
    )


@pytest.mark.parametrize(("node", "end"), [("a", "a "), (" a", "a"), ("a", "\ta")])
def test_ids_that_differ_in_whitespace(node, end):
    with pytest.raises(InputError, match="Some differ in whitespace only"):
        from_tables({"id": [node, "b"]}, {"source": [end], "target": ["b"]})


def test_unknown_ids_after_a_wrong_detection():
    with pytest.raises(
        InputError,
        match="'number' was detected as the id .no column is called id",
    ):
        from_tables({"number": [1, 2], "paper": ["a", "b"]}, EDGE)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_integers_lose_nothing(values):
    texts = pa.chunked_array(
        [[None if value is None else str(value) for value in values]], pa.string()
    )
    assert to_integers(texts).to_pylist() == values


@pytest.mark.parametrize(
    "text", ["007", "+7", "-0", "00", " 7", "7 ", "1_000", "1e3", "0x1", "0xF", "0XFFFFFFFFF", "٣"]
)
def test_other_spellings_stay_strings(text):
    for others in (["12", "-5"], [None], [], [None, "3"]):
        texts = pa.chunked_array([[*others, text]], pa.string())
        assert to_integers(texts).to_pylist() == [*others, text]


def test_hexadecimal_numbers_stay_strings():
    for texts in (["0xFFFFFFFFF", "0xFFFFFFFFE"], ["0xFFFFFFFFFF", "0xF"]):
        column = pa.chunked_array([texts])
        assert to_integers(column).to_pylist() == texts


@pytest.mark.parametrize(
    "value", [9, 10, 99, 100, -9, -10, 2**63 - 1, -(2**63), 10**18, 10**18 - 1]
)
def test_printed_length(value):
    assert _printed_length(pa.chunked_array([[value]])).as_py() == len(str(value))
