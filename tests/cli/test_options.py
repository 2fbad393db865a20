"""Options that several commands share."""

import re
from dataclasses import fields

import pytest

from heatgraph.cli.options import (
    ColumnOptions,
    LabelOptions,
    parse_candidates,
    parse_extensions,
)
from heatgraph.learning._extensions import EXTENSIONS
from heatgraph.learning.scaling import SCALINGS
from heatgraph.tables.options import TableOptions

FIT = ("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1e-3")


def test_candidates():
    assert parse_candidates(None, "--T") == parse_candidates("auto", "--T") == "auto"
    assert parse_candidates("2", "--T") == 2
    assert parse_candidates("1, 2.5", "--T") == [1, 2.5]


def test_extensions():
    assert parse_extensions("auto") == "auto"
    assert parse_extensions("none") is None
    assert parse_extensions("class-offsets, similar-edges") == ["class-offsets", "similar-edges"]


@pytest.mark.parametrize(("name", "default"), [("fit", "auto"), ("tune", "none")])
def test_the_help_lists_every_extension(run, name, default):
    listed = ",".join(EXTENSIONS)
    assert f"none, or some of {listed}. (default: {default})" in run(name, "--help").words


def test_the_help_lists_every_feature_scaling(run):
    (listed,) = re.findall(r"--feature-scaling NAME (.*?)\. ", run("fit", "--help").words)
    assert listed == f"{', '.join(SCALINGS)}, or auto"


@pytest.mark.parametrize("scaling", ["auto", *SCALINGS])
def test_every_feature_scaling_is_accepted(folder, run, scaling):
    (folder / "nodes.csv").unlink()
    assert run(*FIT, "--feature-scaling", scaling).code == 1  # and not 2, a usage error


def test_every_option_of_the_reader_is_an_option_of_a_command():
    groups = (ColumnOptions, LabelOptions)
    given = {field.name: field.default for group in groups for field in fields(group)}
    options = {field.name: field.default for field in fields(TableOptions)}
    # --memory, what a model reads, and --task of `fit` alone.
    for name in ("memory_budget", "model_features", "model_encoder", "task"):
        del options[name]
    assert given == options


@pytest.mark.parametrize(
    "name", ["fit", "predict", "tune", "explain", "diffuse", "convert", "info", "datasets", "demo"]
)
def test_every_command_has_help(run, name):
    done = run(name, "-h")
    assert done.code == 0
    assert f"Usage: heatgraph {name}" in done.out
    assert "--json" in done.out
    assert "--quiet" in done.out


WRONG_USE = {
    "no edges": (("fit", "nodes.csv"), "For tables, name both: NODES EDGES."),
    "an unknown command": (("fti",), "No such command 'fti'."),
    "an unknown option": (("fit", "nodes.csv", "edges.csv", "--labl", "y"), "--label"),
    "T that is no number": ((*FIT, "--T", "long"), "--T must be a number >= 0"),
    "T that is negative": ((*FIT, "--T", "-1"), "--T must be a number >= 0"),
    "an empty candidate": ((*FIT, "--T", "1,,2"), "--T must be a number >= 0"),
    "weight decay that is NaN": ((*FIT, "--weight-decay", "nan"), "--weight-decay must be"),
    "a negative K": ((*FIT, "--K", "-1"), "--K"),
    "an unknown scheme": ((*FIT, "--scheme", "rk45"), "--scheme"),
    "an unknown scaling": ((*FIT, "--feature-scaling", "zscore"), "--feature-scaling"),
    "an unknown extension": (
        (*FIT, "--extensions", "class-offsets,self-trainin"),
        "Got 'self-trainin'. Did you mean 'self-training'?",
    ),
    "auto among extensions": ((*FIT, "--extensions", "auto,none"), "--extensions must be auto"),
    "an unknown final fit": ((*FIT, "--final-fit", "val"), "--final-fit"),
    "a final fit of tune": (("tune", *FIT[1:3], "--final-fit", "train"), "--final-fit"),
    "a negative seed": ((*FIT, "--seed", "-1"), "--seed"),
    "no threads": ((*FIT, "--threads", "0"), "--threads"),
    "memory that is no size": ((*FIT, "--memory", "lots"), "must be a size such as 4GB"),
    "a model to standard output": ((*FIT, "-m", "-"), "--model must name a file"),
    "predict without output": (("predict", "m", "nodes.csv", "edges.csv"), "--output"),
    "nothing to tune": (("tune", *FIT[1:]), "there is nothing to search"),
    "nothing to plot": (
        ("tune", "nodes.csv", "edges.csv", "--T", "1", "--plot", "p.png"),
        "there is nothing to plot",
    ),
    "a model as a pickle": ((*FIT, "-m", "m.pkl"), "Got 'm.pkl': name it 'm.safetensors'."),
    "reasons without a table": ((*FIT, "--explain-top", "3"), "give --predictions too"),
    "reasons of new nodes": (
        ("predict", "m", *FIT[1:3], "-o", "p.csv", "--new", "--explain-top", "3"),
        "leave out --new",
    ),
    "diffuse without T": (("diffuse", "karate", "-o", "x.npy"), "--T"),
    "a negative time": (("diffuse", "karate", "--T", "-1", "-o", "x.npy"), "--T"),
    "diffuse without output": (("diffuse", "karate", "--T", "1"), "--output is missing"),
    "diffuse to a table": (("diffuse", "karate", "--T", "1", "-o", "x.csv"), "such as x_t.npy"),
    "steps without their number": (
        ("diffuse", "karate", "--T", "1", "--scheme", "rk4", "-o", "x.npy"),
        "needs a number of steps, --K",
    ),
    "an unknown precision": (
        ("diffuse", "karate", "--T", "1", "--dtype", "float16", "-o", "x.npy"),
        "'float16' is not one of 'float32', 'float64'",
    ),
    "a misspelt experiment": (("paper", "tabel2"), "Did you mean 'table2'?"),
    "a misspelt data set": (("compare", "citesser"), "Did you mean 'citeseer'?"),
    "a misspelt data set to load": (("datasets", "citesser"), "Did you mean 'citeseer'?"),
    "a misspelt model": (("compare", "karate", "--models", "sgd"), "Did you mean 'sgc'?"),
    "a misspelt scheme": ((*FIT, "--scheme", "eular"), "Did you mean 'euler'?"),
    "a misspelt option": ((*FIT, "--lable", "y"), "Did you mean --label"),
    "a misspelt command": (("fitt",), "Did you mean 'fit'?"),
    "a table without the other": (("compare", "nodes.csv"), "For tables, name both: NODES EDGES"),
    "export of nothing": (("datasets", "--export", "there"), "--export needs the name"),
}


@pytest.mark.parametrize("case", WRONG_USE)
def test_usage_errors_point_to_the_help(case, folder, run):
    arguments, piece = WRONG_USE[case]
    before = sorted(folder.iterdir())
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("heatgraph: ")
    assert re.search(r"\nTry 'heatgraph( \w+)? --help'\.\n$", done.err)
    assert piece in " ".join(done.err.split())
    assert sorted(folder.iterdir()) == before
