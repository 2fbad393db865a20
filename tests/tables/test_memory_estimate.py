"""Memory that reading takes: estimates are above what is measured, and refused beyond a budget."""

import numpy as np
import psutil
import pyarrow as pa
import pytest

from heatgraph._io.memory import peak_memory, reset_peak_memory
from heatgraph.errors import MemoryBudgetError
from heatgraph.tables.formats.files import read_table_file
from heatgraph.tables.from_tables import from_tables
from heatgraph.tables.input_table import as_input_table
from heatgraph.tables.memory_estimate import csv_bytes, edge_table_bytes, node_table_bytes

NONE = {"source": [], "target": []}
WORDS = [f"word{at}" for at in range(1000)]


def titles(row, random):
    return " ".join(random.choice(WORDS, 8))


# Header, rows, and a row of each shape of table.
SHAPES = {
    "ids": ("id", 300_000, lambda row, _: f"{row}"),
    "digits": ("id" + ",x{}" * 30, 30_000, lambda row, _: f"{row}" + f",{row % 10}" * 30),
    "categories": ("id,x,label", 200_000, lambda row, _: f"{row},c{row % 100},{'ab'[row % 2]}"),
    "text": ("id,x", 20_000, lambda row, random: f"{row},{titles(row, random)}"),
    "dates": ("id,x", 100_000, lambda row, _: f"{row},20{10 + row % 13}-0{1 + row % 9}-11"),
    "lists": ("id,x", 50_000, lambda row, _: f'{row},"{list(range(row % 15))}"'),
}


def write_table(path, shape, rows=None):
    header, all_rows, make = SHAPES[shape]
    rows = rows or all_rows
    random = np.random.default_rng(0)
    lines = [make(row, random) for row in range(rows)]
    path.write_text("\n".join([header.format(*range(30)), *lines, ""]))
    return path


def measure(read):
    """Peak of resident memory during a call, above that before, in bytes."""
    before = psutil.Process().memory_info().rss
    if not reset_peak_memory():
        pytest.skip("the peak of memory cannot be measured here")
    read()
    return peak_memory() - before


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore::heatgraph.errors.TableWarning")
def test_nodes_are_read_within_the_estimate(tmp_path, shape):
    # Imports what this shape needs, which takes memory too.
    from_tables(write_table(tmp_path / "first.csv", shape, rows=100), NONE)
    path = write_table(tmp_path / "nodes.csv", shape)
    texts = ["id", "label"]
    table = read_table_file(path, lambda names: [n for n in texts if n in names], 1e9)
    num_values = (table.num_rows + 2) * len(table.column_names)  # a header, and no last line
    parsing = csv_bytes(path.stat().st_size, num_values)
    budget = max(node_table_bytes(table), 2 * parsing)
    del table
    assert measure(lambda: from_tables(path, NONE, memory_budget=budget)) <= budget
    with pytest.raises(MemoryBudgetError, match=r"nodes.csv h.*Raise the budget .memory_budget="):
        from_tables(path, NONE, memory_budget=0.98 * budget)


def test_edges_are_read_within_the_estimate(tmp_path):
    random, n, m = np.random.default_rng(0), 10_000, 300_000
    ends = random.integers(0, n, (m, 2))
    lines = [f"{v},{w}" for v, w in ends.tolist()]
    path = tmp_path / "edges.csv"
    path.write_text("\n".join(["source,target", *lines, ""]))
    nodes = {"id": np.arange(n)}
    table = read_table_file(path, lambda names: names, 1e9)
    needed = max(edge_table_bytes(table), 2 * csv_bytes(path.stat().st_size, 2 * m + 4))
    budget = needed + node_table_bytes(as_input_table(nodes, "nodes"))
    assert measure(lambda: from_tables(nodes, path, memory_budget=budget)) <= budget
    with pytest.raises(MemoryBudgetError, match="edges.csv h"):
        from_tables(nodes, path, memory_budget=0.98 * budget)


def test_the_message_tells_the_size():
    nodes = {"id": list(range(1000)), "x": [0.5] * 1000}
    told = (
        "nodes has 1,000 rows and 2 columns, which take about 310.0 kB to read; the memory budget "
        "leaves 80.0 kB"
    )
    with pytest.raises(MemoryBudgetError, match=told):
        from_tables(nodes, NONE, memory_budget=80_000)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_of_a_dictionary_count_as_often_as_they_occur(kind):
    codes = pa.array([0, 1, None] * 1000, pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 9000, "y" * 1000], kind))
    table = as_input_table(pa.table({"x": column}), "nodes")
    plain = as_input_table({"x": ["x" * 9000, "y" * 1000, None] * 1000}, "nodes")
    assert node_table_bytes(table) == pytest.approx(node_table_bytes(plain), rel=1e-4)
    with pytest.raises(MemoryBudgetError, match="nodes has 3,000 rows and 1 columns"):
        from_tables(table.arrow, NONE, memory_budget="100MB")


def test_columns_that_are_not_used_count_little():
    nodes = {"id": ["a", "b"], "x": [1, 2], "text": ["x" * 10**6] * 2}
    assert from_tables(nodes, NONE, features=["x"], memory_budget="10MB").graph.num_features == 1
    with pytest.raises(MemoryBudgetError):
        from_tables(nodes, NONE, features=["x", "te*"], memory_budget="10MB")
