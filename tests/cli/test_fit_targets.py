"""``heatgraph fit`` and its companions on columns of numbers and of several labels."""

import csv
import json

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from strategies import planted
from table_files import assert_error, read_rows

import heatgraph as hg

FIXED = ("--T", "2", "--weight-decay", "1e-3")
N = 240
GRAPH, CLASSES = planted(n=N, kind="dense", noise=1.5)
COLOURS = np.array(["red", "green", "blue"])[CLASSES]


def write_tables(folder, labels, has_split=True, seed=1):
    X, edges = GRAPH.features[:, :4], sp.triu(GRAPH.adjacency, format="coo")
    parts = np.random.default_rng(seed).choice(["train", "val", "test", ""], N)
    with open(folder / "nodes.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", *["split"] * has_split, "a", "b", "c", "d"])
        for at in range(N):
            label = labels[at] if parts[at] else ""
            writer.writerow([f"n{at}", label, *[parts[at]] * has_split, *X[at].round(4)])
    with open(folder / "edges.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target"])
        writer.writerows([f"n{v}", f"n{w}"] for v, w in zip(edges.row, edges.col, strict=True))
    return parts


def numbers():
    random = np.random.default_rng(0)
    means = {"red": 0.0, "green": 10.0, "blue": 30.0}
    return [f"{means[colour] + random.normal():.3f}" for colour in COLOURS]


def lists():
    random = np.random.default_rng(0)
    return [json.dumps([str(colour)] + ["odd"] * int(random.random() < 0.4)) for colour in COLOURS]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_numbers_from_end_to_end(here, run):
    parts = write_tables(here, numbers())
    done = run("fit", "nodes.csv", "edges.csv", "-m", "model", "-o", "p.csv")
    assert (done.code, done.err) == (0, "")
    for piece in (
        "read as numbers (regression)",
        "numbers",
        "task             regression",
        "chose among",
        f"On {(parts == 'val').sum()} validation nodes",
        "with the graph  R2 0.",
        "features alone  R2 ",
        f"On {(parts == 'test').sum()} test nodes",
        "mean absolute error",
        "nodes within intervals of 90%",
        "Wrote model to model",
    ):
        assert piece in done.out, piece
    rows = read_rows("p.csv")
    assert list(rows[0]) == ["id", "prediction", "lower", "upper"]
    data = hg.from_tables("nodes.csv", "edges.csv", task="regression")
    model = hg.load("model")
    assert isinstance(model, hg.DGCRegressor)
    found = [[float(row[key]) for key in ("prediction", "lower", "upper")] for row in rows]
    expected = np.column_stack([model.predict(data.graph), model.predict_interval(data.graph)])
    assert_allclose(found, expected, atol=1e-5)
    again = run("predict", "model", "nodes.csv", "edges.csv", "-o", "again.csv")
    assert again.code == 0
    assert read_rows("again.csv") == rows
    evaluated = run("evaluate", "model", "nodes.csv", "edges.csv", "--part", "test", "--json")
    metrics = json.loads(evaluated.out)["metrics"]
    test = np.flatnonzero(parts == "test")
    assert metrics["r2"] == pytest.approx(model.score(data.graph, data.labels, test))
    assert 0.75 < metrics["coverage"] <= 1
    text = run("evaluate", "model", "nodes.csv", "edges.csv").out
    assert "of these are training nodes of the split" in text


def test_labels_from_end_to_end(here, run):
    parts = write_tables(here, lists())
    done = run("fit", "nodes.csv", "edges.csv", "-m", "model", "-o", "p.csv")
    assert (done.code, done.err) == (0, "")
    for piece in (
        "has lists: several labels per node (multilabel)",
        "with the graph  micro-F1 ",
        "features alone  micro-F1 ",
        f"On {(parts == 'test').sum()} test nodes",
        "macro-F1",
        "subset accuracy",
    ):
        assert piece in done.out, piece
    rows = read_rows("p.csv")
    names = ["blue", "green", "odd", "red"]
    assert list(rows[0]) == ["id", "prediction", *(f"probability_{name}" for name in names)]
    data = hg.from_tables("nodes.csv", "edges.csv", task="multilabel")
    model = hg.load("model")
    assert isinstance(model, hg.DGCMultilabelClassifier)
    assert [json.loads(row["prediction"]) for row in rows] == model.predict_labels(data.graph)
    evaluated = run("evaluate", "model", "nodes.csv", "edges.csv", "--part", "test")
    assert "micro-F1" in evaluated.out
    assert "Labels, the most frequent first" in evaluated.out
    found = json.loads(run("evaluate", "model", "nodes.csv", "edges.csv", "--json").out)["metrics"]
    assert [one["label"] for one in found["labels"]] == names


def test_predictions_can_be_learned_from(here, run):
    write_tables(here, lists())
    run("fit", "nodes.csv", "edges.csv", *FIXED, "-o", "p.csv")
    options = ("--label", "prediction", "--features", "probability_odd")
    again = run("fit", "p.csv", "edges.csv", *FIXED, *options, "--json")
    assert json.loads(again.out)["chosen"]["task"] == "multilabel"


def test_explanations(here, run):
    write_tables(here, numbers())
    run("fit", "nodes.csv", "edges.csv", *FIXED, "-m", "model", "--quiet")
    done = run("explain", "model", "nodes.csv", "edges.csv", "--node", "n3", "--json")
    found = json.loads(done.out)
    assert (found["node"], found["label"], found["probability"]) == ("n3", None, None)
    refused = run("explain", "model", "nodes.csv", "edges.csv", "--node", "n3", "--class", "red")
    assert refused.code == 2
    assert "predicts a number, and has no classes" in refused.err
    write_tables(here, lists())
    run("fit", "nodes.csv", "edges.csv", *FIXED, "-m", "model", "--quiet")
    done = run("explain", "model", "nodes.csv", "edges.csv", "--node", "n3", "--class", "odd")
    assert "node n3 as 'odd': score " in done.out


def test_the_report_as_json(here, run):
    write_tables(here, numbers(), has_split=False)
    done = run("fit", "nodes.csv", "edges.csv", *FIXED, "--json")
    report = json.loads(done.out)
    assert report["read"]["task"] == "regression"
    assert report["read"]["numbers"]["distinct"] > 100
    assert report["chosen"]["validated_by"] == "held-out training nodes"
    assert report["chosen"]["test"] is None
    assert report["chosen"]["settings_tried"] == 0
    assert report["wrote"] == {"model": None, "predictions": None, "report": None}


def test_page_views_are_numbers_unless_told(here, run):
    views = [str(at * at) for at in range(N)]
    write_tables(here, views, has_split=False)
    done = run("fit", "nodes.csv", "edges.csv", *FIXED)
    assert "distinct integers from 0 to" in done.words
    assert "`heatgraph fit --task classification` reads them as classes" in done.words
    told = run("fit", "nodes.csv", "edges.csv", *FIXED, "--task", "classification", "--json")
    assert "classes" in json.loads(told.out)["read"]


def test_few_nodes_have_no_intervals(here, run):
    labels = ["" if at >= 6 else f"{at}.5" for at in range(N)]
    write_tables(here, labels, has_split=False, seed=7)
    done = run("fit", "nodes.csv", "edges.csv", *FIXED, "--task", "regression", "-o", "p.csv")
    assert done.code == 0, done.err
    assert {row["lower"] for row in read_rows("p.csv")} == {""}


@pytest.mark.parametrize(
    ("change", "options", "pieces"),
    [
        ({5: "abc"}, (), ("line 7", "'abc' among numbers (1 such in all)")),
        ({5: "inf"}, ("--task", "regression"), ("line 7", "is infinite (1 such in all)")),
        ("3.5", ("--task", "regression"), ("have the same number, 3.5", "--label")),
        ("", ("--task", "regression"), ("'label' of nodes.csv is blank in every row", "--label")),
        ("[]", (), ("have the same labels, ()", "nothing to learn")),
        (None, ("--task", "classification"), ("where a class is expected", "regression")),
    ],
)
def test_columns_that_cannot_be_learned(here, run, change, options, pieces):
    labels = [change] * N if isinstance(change, str) else numbers()
    for row, value in (change if isinstance(change, dict) else {}).items():
        labels[row] = value
    parts = write_tables(here, labels, has_split=False)
    if isinstance(change, dict):
        assert parts[5]
    assert_error(run("fit", "nodes.csv", "edges.csv", *options), *pieces)


def test_a_split_without_training_nodes_is_refused(here, run):
    write_tables(here, numbers(), has_split=False)
    rows = read_rows("nodes.csv")
    with open("nodes.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "split"])
        writer.writeheader()
        writer.writerows(row | {"split": "val" if row["label"] else ""} for row in rows)
    done = run("fit", "nodes.csv", "edges.csv", *FIXED)
    assert_error(done, "no node to train on is left", "Mark some as train")


@pytest.mark.parametrize(
    "option",
    [
        ("--extensions", "none"),
        ("--final-fit", "train"),
        ("--class-weight", "balanced"),
        ("--scoring", "f1_macro"),
        ("--with-graph", "--model", "model"),
    ],
)
def test_options_of_classification_are_refused(here, run, option):
    write_tables(here, numbers())
    done = run("fit", "nodes.csv", "edges.csv", *option)
    assert done.code == 2
    assert f"{option[0]} is an option of classification, and the task is regression" in done.err


def test_new_nodes_need_a_model_of_classes(here, run):
    write_tables(here, numbers())
    run("fit", "nodes.csv", "edges.csv", *FIXED, "-m", "model", "--quiet")
    done = run("predict", "model", "nodes.csv", "edges.csv", "--new", "-o", "p.csv")
    assert done.code == 2
    assert "--new labels new nodes by a model of classes, and this one is of regression" in done.err


@pytest.mark.parametrize(
    ("labels", "found"), [(numbers(), "numbers"), (lists(), "lists of labels")]
)
def test_other_commands_on_such_columns(here, run, labels, found):
    write_tables(here, labels)
    done = run("info", "nodes.csv", "edges.csv")
    assert (done.code, done.err) == (0, "")
    assert "is told for classes alone; `heatgraph fit` compares" in done.words
    assert "homophily" not in done.out
    for command in ("tune", "compare"):
        done = run(command, "nodes.csv", "edges.csv")
        assert_error(done, f"{command}` is for one class per node", f"nodes.csv has {found}", "fit")


def test_a_data_set_of_classes_is_refused(here, run):
    write_tables(here, numbers())
    run("fit", "nodes.csv", "edges.csv", *FIXED, "-m", "model", "--features", "", "--quiet")
    done = run("evaluate", "model", "karate")
    assert_error(done, "the task regression needs other labels than those of karate", "tables")


def test_unknown_labels_are_told(here, run):
    write_tables(here, lists())
    run("fit", "nodes.csv", "edges.csv", *FIXED, "-m", "model", "--quiet")
    write_tables(here, [text.replace("odd", "new") for text in lists()])
    done = run("evaluate", "model", "nodes.csv", "edges.csv")
    assert "Labels that the model does not know count as missed: new (" in done.out


def test_strict_fails_if_the_fit_did_not_converge(here, run, monkeypatch):
    monkeypatch.setattr("heatgraph.learning._target_task.MAX_ITERATIONS", 1)
    write_tables(here, lists())
    done = run("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1e-9", "--strict")
    assert done.code == 3
    assert "the fit did not converge" in done.err


def test_labels_that_are_never_predicted_are_told(here, run):
    rare = {0: "rare", 50: "rare"}
    labels = [json.dumps([str(colour), *filter(None, [rare.get(at)])])
              for at, colour in enumerate(COLOURS)]  # fmt: skip
    write_tables(here, labels, has_split=False)
    done = run("fit", "nodes.csv", "edges.csv", *FIXED)
    assert "Never predicted, as no probability exceeds 1/2: rare. " in done.words
    report = json.loads(run("fit", "nodes.csv", "edges.csv", *FIXED, "--json").out)
    assert report["chosen"]["never_predicted"] == ["rare"]


def test_errors_of_large_numbers_are_written_out(here, run):
    prices = [f"{100_000 * float(number):.0f}" for number in numbers()]
    write_tables(here, prices, has_split=True)
    done = run("fit", "nodes.csv", "edges.csv", *FIXED)
    assert done.code == 0
    assert "e+0" not in done.out
