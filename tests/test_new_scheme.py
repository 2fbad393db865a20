"""A scheme that only `heun.py` knows works everywhere, from kernels to the command line."""

import numpy as np
import pytest
from heun import Heun, heun_is_registered  # noqa: F401
from numpy.testing import assert_allclose
from oracles import dense_operator, response_matrix
from strategies import planted

from heatgraph import DGCClassifier, Euler, RungeKutta4, diffuse, load, plan
from heatgraph.errors import InputError
from heatgraph.schemes import SCHEMES, register, scheme_from_record, scheme_record

pytestmark = pytest.mark.usefixtures("heun_is_registered")

GRAPH, LABELS = planted(kind="dense")
TRAIN, VALIDATION = range(45), range(45, 90)


@pytest.mark.parametrize("rows", [None, range(4), range(80)])
@pytest.mark.parametrize("method", ["chebyshev", "steps"])
def test_it_diffuses(method, rows):
    S = dense_operator(GRAPH.adjacency.toarray())
    exact = response_matrix(S, Heun(3.0, 7)) @ GRAPH.features
    result = diffuse(GRAPH, 3.0, 7, "heun", method=method, rows=rows, dtype=np.float64, tol=1e-12)
    assert_allclose(result, exact if rows is None else exact[rows], atol=1e-10)


def test_its_memory_is_planned():
    memory = [
        plan(GRAPH, scheme=kind(3.0, 7), method="steps", n_threads=1).memory
        for kind in (Euler, Heun, RungeKutta4)
    ]
    assert memory == sorted(set(memory))
    assert plan(GRAPH, 3.0, 7, "heun", method="steps").products == 14


def test_a_model_with_it_is_saved_and_loaded(tmp_path):
    model = DGCClassifier(T=2.0, K=5, scheme="heun", weight_decay=1e-3).fit(GRAPH, LABELS, TRAIN)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.scheme_ == model.scheme_ == Heun(2.0, 5)
    assert (loaded.predict(GRAPH) == model.predict(GRAPH)).all()


def test_its_time_is_searched_within_the_stability_limit():
    model = DGCClassifier(T="auto", K=4, scheme="heun", weight_decay=[1e-3, 1e-1])
    model.fit(GRAPH, LABELS, TRAIN, VALIDATION)
    assert isinstance(model.scheme_, Heun)
    times = [record["T"] for record in model.search_]
    assert len(set(times)) > 10
    assert max(times) <= 4 * Heun.stability_limit()


def test_error_messages_list_it():
    with pytest.raises(InputError, match="one of 'heat', 'euler', 'rk4', 'heun', or"):
        diffuse(GRAPH, 1.0, scheme="rk5")
    with pytest.raises(InputError, match="choose scheme='euler' or 'rk4' or 'heun'"):
        diffuse(GRAPH, 1.0, 3, scheme="heat")
    with pytest.raises(InputError, match="scheme='heun' needs a number of steps"):
        diffuse(GRAPH, 1.0, scheme="heun")


def test_it_survives_a_file():
    assert scheme_from_record(scheme_record(Heun(2.0, 5))) == Heun(2.0, 5)


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="there is a scheme 'heun'"):
        register(Heun)
    assert SCHEMES["heun"] is Heun


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A table of nodes and one of edges, in the folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    values = [",".join(f"{value:.4f}" for value in row) for row in GRAPH.features]
    columns = ",".join(f"f{j}" for j in range(GRAPH.num_features))
    nodes = [
        f"{i},{'abc'[label]},{row}"
        for i, (label, row) in enumerate(zip(LABELS, values, strict=True))
    ]
    ends = np.column_stack(GRAPH.adjacency.nonzero())
    (tmp_path / "nodes.csv").write_text("\n".join([f"id,label,{columns}", *nodes, ""]))
    (tmp_path / "edges.csv").write_text(
        "\n".join(["source,target", *(f"{i},{j}" for i, j in ends), ""])
    )
    return ["nodes.csv", "edges.csv"]


class TestCommandLine:
    @pytest.fixture(autouse=True)
    def command(self):
        from heatgraph.cli.app import app

        self.run = lambda *arguments: app(arguments, standalone_mode=False)

    def test_it_can_be_chosen(self, tables, capsys):
        self.run("fit", *tables, "--T", "2", "--K", "5", "--scheme", "heun", "--weight-decay",
                 "0.01", "-m", "model", "-q")  # fmt: skip
        assert load("model").scheme_ == Heun(2.0, 5)

    def test_a_wrong_name_lists_it(self, tables):
        import typer

        with pytest.raises(typer.BadParameter, match="'rk5' is not one of 'heat', .*'heun'"):
            self.run("fit", *tables, "--scheme", "rk5")

    def test_its_steps_are_needed(self, tables):
        import typer

        with pytest.raises(typer.BadParameter, match="--scheme heun needs a number of steps"):
            self.run("fit", *tables, "--scheme", "heun")
