"""``--rescale-features`` of `predict` and `evaluate`: the other graph's own statistics."""

import json

import numpy as np
import pytest
from table_files import assert_error

import heatgraph as hg

MOVED = ("moved.csv", "edges.csv")


@pytest.fixture
def standardised(folder, run):
    """A model that standardises features, and a table in which they are moved and stretched."""
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    for row in rows[1:]:
        row[2:] = [f"{5 * float(value) + 40:.4f}" for value in row[2:]]
    (folder / "moved.csv").write_text("\n".join(map(",".join, rows)), encoding="utf-8")
    run("fit", "nodes.csv", "edges.csv", "--feature-scaling", "standard", "--model", "standard")
    return hg.load(folder / "standard")


def test_predictions_are_those_of_the_rescaled_model(standardised, folder, run):
    done = run("predict", "standard", *MOVED, "-o", "out.csv", "--rescale-features")
    assert done.code == 0
    assert "standardised by the means and deviations of these 100 nodes" in done.words
    assert "differs from the one" not in done.err
    graph = hg.from_tables(*MOVED).graph
    expected = standardised.with_scaling_of(graph).predict(graph).tolist()
    lines = (folder / "out.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == expected


def test_evaluation_is_that_of_the_rescaled_model(standardised, run):
    plain, rescaled = (
        run("evaluate", "standard", *MOVED, "--json", *more)
        for more in ((), ("--rescale-features",))
    )
    found = json.loads(rescaled.out)
    assert found["rescaled_features"] is True
    assert json.loads(plain.out)["rescaled_features"] is False
    data = hg.from_tables(*MOVED)
    accuracy = standardised.with_scaling_of(data.graph).score(data.graph, data.labels)
    np.testing.assert_allclose(found["metrics"]["accuracy"], accuracy)
    assert "--rescale-features" in " ".join(plain.err.split())
    assert "--rescale-features" not in rescaled.err


@pytest.mark.parametrize("command", [("predict", "-o", "out.csv"), ("evaluate",)])
def test_a_model_that_does_not_standardise_is_refused(command, folder, run):
    run("fit", "nodes.csv", "edges.csv", "--feature-scaling", "none", "--model", "plain")
    name, *more = command
    done = run(name, "plain", "nodes.csv", "edges.csv", "--rescale-features", *more)
    assert_error(done, "feature_scaling='none'")
    assert not (folder / "out.csv").exists()


def test_new_nodes_are_not_rescaled(standardised, run):
    done = run("predict", "standard", *MOVED, "--new", "-o", "out.csv", "--rescale-features")
    assert done.code == 2
    assert "leave out either" in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize("command", [("predict", "-o", "out.csv"), ("evaluate",)])
def test_models_of_numbers_are_refused(command, folder, run):
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    for row in rows[1:]:
        row[1] = row[2]
    (folder / "numbers.csv").write_text("\n".join(map(",".join, rows)), encoding="utf-8")
    tables = ("numbers.csv", "edges.csv")
    fit = run("fit", *tables, "--task", "regression", "--model", "numbers")
    assert fit.code == 0, fit.err
    name, *more = command
    done = run(name, "numbers", *tables, "--rescale-features", *more)
    assert done.code == 2
    assert "this one is of regression" in " ".join(done.err.replace("│", " ").split())
