"""`from_tables` as a whole."""

import inspect
import subprocess
import sys
import textwrap
from dataclasses import fields

import polars as pl
import pytest
from numpy.testing import assert_array_equal

from heatgraph.errors import InputError
from heatgraph.learning.regressor import DGCRegressor
from heatgraph.tables.from_tables import from_tables
from heatgraph.tables.options import TableOptions

NONE = {"source": [], "target": []}


def test_every_option_of_the_reader_is_a_parameter():
    parameters = inspect.signature(from_tables).parameters.values()
    keywords = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    options = {option.name: option.default for option in fields(TableOptions)}
    del options["model_features"], options["model_encoder"]  # `model` has both
    assert keywords == options | {"model": None}


def test_one_node():
    assert from_tables({"id": [7]}, {"source": [7], "target": [7]}).graph.num_self_loops == 1


@pytest.mark.parametrize("nodes", [{"id": []}, {}, pl.DataFrame({"id": []})])
def test_no_nodes(nodes):
    with pytest.raises(InputError, match="nodes has no rows. Expected one per node"):
        from_tables(nodes, NONE)


def test_no_nodes_in_a_file(write_csv):
    with pytest.raises(InputError, match=r"nodes.csv has no rows"):
        from_tables(write_csv("id,x\n"), NONE)


def test_no_data_frame_library_is_needed(tmp_path):
    """Arrow itself looks for pandas, and does without."""
    (tmp_path / "nodes.csv").write_bytes(b"id,x\na,1\nb,2\n")
    (tmp_path / "edges.csv").write_bytes(b"source,target\na,b\n")
    code = """
        import sys

        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("pandas", "polars", "torch"):
                    raise ModuleNotFoundError(name)

        sys.meta_path.insert(0, Absent())
        from heatgraph.tables.from_tables import from_tables
        from_tables("nodes.csv", "edges.csv")
        assert "networkx" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, check=True)


def test_the_task_is_that_of_the_model():
    nodes = {"id": range(4), "label": [0.5, 1.5, 2.5, None], "x": [1.0, 2.0, 3.5, 4.0]}
    edges = {"source": [0, 1, 2], "target": [1, 2, 3]}
    data = from_tables(nodes, edges, task="regression")
    model = DGCRegressor(T=1.0, weight_decay=0.1).fit(data.graph, data.labels)
    again = from_tables(nodes, edges, model=model)
    assert again.task == "regression"
    assert_array_equal(again.labels, data.labels)
