"""The report of a fit, for every task."""

import re
from dataclasses import replace

import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCClassifier, DGCMultilabelClassifier, DGCRegressor, Graph, fit_report
from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.errors import InputError
from heatgraph.report.data_sections import number_assortativity
from heatgraph.report.document import Table, unescaped
from heatgraph.report.fit_report import class_verdict, fit_document
from heatgraph.report.fit_result import Gain, evaluate_fit
from heatgraph.report.held_out import HeldOut
from heatgraph.report.markdown import plain_text, to_markdown
from heatgraph.report.pages import to_html

HOSTILE = "<img src=x onerror=alert(1)>"
N = 150
SPLIT = {"s": Split(np.arange(60), np.arange(60, 100), np.arange(100, N))}
NAMES = np.array(["a*b*c", HOSTILE, "`code` | pipe"], dtype=object)


def named_graph(kind="dense"):
    graph, classes = planted(n=N, kind=kind, noise=2.0)
    ids = np.array([f"<b>{at}</b>" for at in range(N)], dtype=object)
    names = None if graph.features is None else [f"<i>{at}</i>*x*" for at in range(12)]
    features = {} if names is None else {"features": graph.features, "feature_names": names}
    return Graph(graph.adjacency, node_ids=ids, **features), classes


def data_set(task="classification", split=SPLIT, kind="dense"):
    graph, classes = named_graph(kind)
    rng = np.random.default_rng(0)
    labels = NAMES[classes]
    if task == "regression":
        labels = 5.0 * classes + rng.normal(size=N)
    elif task == "multilabel":
        labels = np.empty(N, dtype=object)
        labels[:] = [(NAMES[c],) + ("odd",) * bool(rng.random() < 0.4) for c in classes]
    return Dataset(f"{HOSTILE}.csv", graph, labels, split, task=task)


def fitted(data, **settings):
    kinds = {"regression": DGCRegressor, "multilabel": DGCMultilabelClassifier}
    train, val, _ = data.partition()
    model = kinds.get(data.task, DGCClassifier)(**settings)
    return model.fit(data.graph, data.labels, train, val)


def tables(document):
    """Tables by section and title, as rows of text."""
    return {
        (section.name, unescaped(part.title)): [
            [unescaped(name) for name in part.head],
            *([plain_text(cell) for cell in row] for row in part.rows),
        ]
        for section in document.sections
        for part in section.parts
        if isinstance(part, Table)
    }


@pytest.fixture(scope="module")
def classified():
    data = data_set()
    model = fitted(data, final_fit="train+val")
    result = evaluate_fit(model, data)
    warnings = [f"a warning about {HOSTILE}"]
    document = fit_document(
        model, data, result=result, command=f"heatgraph fit '{HOSTILE}'", warnings=warnings
    )
    return data, model, result, document


def test_sections(classified):
    *_, document = classified
    assert [section.name for section in document.sections] == [
        "result", "classes", "calibration", "features", "nodes", "search", "data", "graph", "run",
    ]  # fmt: skip
    text = to_markdown(document)
    for piece in ("test nodes are labelled correctly (95% interval", "The graph helps: +",
                  "adjusted homophily", "settings were compared by accuracy on 40 validation nodes",
                  "heatgraph fit", "scikit-learn", "connected"):  # fmt: skip
        assert piece in text, piece


def test_metrics_are_those_of_the_evaluation(classified):
    _, model, result, document = classified
    found = tables(document)
    head, own, alone, propagated, largest = found["result", "On 50 test nodes"]
    assert head[1:4] == ["accuracy", "balanced accuracy", "macro-F1"]
    low, high = (100 * bound for bound in result.metrics.accuracy_interval)
    assert own[:2] == ["with the graph", f"{result.metrics.accuracy:.1%} ({low:.1f} to {high:.1f})"]
    assert alone[1].startswith(f"{result.features_alone.accuracy:.1%} (")
    assert propagated[1].startswith(f"{result.labels_alone.accuracy:.1%} (")
    assert largest[1] == f"{result.largest_class:.1%}"
    # Validation nodes, by a model that has not learned from them.
    (_, validated) = found["result", "On 40 validation nodes, which settings were chosen on"]
    assert validated[1].startswith(f"{model.validation_accuracy_:.1%} (")


def test_classes_and_confusion(classified):
    _, model, result, document = classified
    found = tables(document)
    counts = np.array(result.metrics.confusion)
    head, *rows = found["classes", "Confusion matrix: labels in rows, predictions in columns"]
    assert head[1:] == [str(label) for label in model.classes_]
    for row, expected in zip(rows, counts, strict=True):
        assert [int(cell.split(" ")[0]) for cell in row[1:]] == expected.tolist()
    by_class = {row[0]: row for row in found["classes", "Classes"][1:]}
    assert int(by_class[HOSTILE][1]) == counts[model.classes_.tolist().index(HOSTILE)].sum()


def test_nodes_to_look_at(classified):
    data, model, _, document = classified
    found = tables(document)
    rows = found["nodes", "Least certain of the 50 nodes that were not learned from"][1:]
    confidence = model.predict_proba().max(axis=1)
    least = 100 + np.argsort(confidence[100:])[:15]
    assert [row[0] for row in rows] == [f"<b>{node}</b>" for node in least]
    assert rows[0][1] == f"{model.predict()[least[0]]} ({confidence[least[0]]:.1%})"
    mistakes = found["nodes", "The most confident mistakes among nodes that were held out"][1:]
    wrong = np.flatnonzero(model.predict() != data.labels)
    wrong = wrong[wrong >= 100]
    assert {row[0] for row in mistakes} <= {f"<b>{node}</b>" for node in wrong}
    assert len(mistakes) == min(15, len(wrong))


def test_texts_of_users_are_shown_as_they_are(classified):
    *_, document = classified
    page = to_html(document)
    assert page.count("<script") == 1
    assert "<img src=x" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.replace("&#60;", "&lt;").replace(
        "&#62;", "&gt;"
    )
    text = to_markdown(document)
    outside_code = re.sub("`[^`]*`", "", re.sub(r"\\.", "", text))
    assert not re.search(r"<(img|b|i)\b", outside_code)


def test_pages_of_hostile_names_run_nothing(classified, browser, tmp_path):
    *_, document = classified
    (tmp_path / "fit.html").write_text(to_html(document), encoding="utf-8")
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page, alarms = context.new_page(), []
    page.on("dialog", lambda dialog: alarms.append(dialog.message))
    page.on("console", lambda message: alarms.append(message.text))
    page.goto((tmp_path / "fit.html").as_uri())
    assert page.locator("h1").inner_text() == f"Fit of {HOSTILE}.csv"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("img[src='x']").count() == 0
    assert alarms == []
    context.close()


@pytest.mark.parametrize("task", ["regression", "multilabel"])
def test_other_tasks(task, tmp_path):
    data = data_set(task)
    model = fitted(data)
    fit_report(model, data, tmp_path / "fit.md")
    text = (tmp_path / "fit.md").read_text(encoding="utf-8")
    metric = {"regression": "R² is 0.", "multilabel": "Micro-F1 is "}[task]
    assert text.splitlines()[2].startswith(f"**{metric}")
    assert "by the features alone" in text.splitlines()[2]
    for piece in ("| with the graph |", "| features alone |", "The graph helps: ",
                  "## What matters most", "## Nodes to look at", "## Settings"):  # fmt: skip
        assert piece in text, piece
    linked = set(re.findall(r"\(fit-figures/([\w-]+\.png)\)", text))
    assert linked == {path.name for path in (tmp_path / "fit-figures").glob("*.png")} != set()
    assert "<img" not in re.sub(r"\\.", "", text)
    assert to_html(fit_document(model, data)).count("<script") == 1


@pytest.mark.parametrize("task", ["classification", "regression", "multilabel"])
@pytest.mark.parametrize("kind", ["dense", None])
def test_without_a_split_a_search_or_features(task, kind):
    data = data_set(task, split={}, kind=kind)
    document = fit_document(fitted(data, T=2.0, weight_decay=1e-3), data)
    assert "labelled nodes, each by a model that has not learned from it" in document.headline
    text = to_markdown(document)
    assert "All settings were given, so there was no search." in text
    assert ("features" in {section.name for section in document.sections}) == (kind is not None)


def test_nothing_to_evaluate():
    data = data_set(split={})
    labels = np.full(N, None)
    labels[:2] = ["x", "y"]
    data = replace(data, labels=labels)
    document = fit_document(fitted(data, T=2.0, weight_decay=1e-3), data)
    assert document.headline.startswith("How well it predicts is unknown")
    assert "nodes" in {section.name for section in document.sections}


def test_wrong_arguments(tmp_path):
    data = data_set()
    model = fitted(data, T=2.0, weight_decay=1e-3)
    with pytest.raises(InputError, match=r"fit.txt: the name of a report must end in .html or .md"):
        fit_report(model, data, "fit.txt")
    with pytest.raises(InputError, match="has no labels"):
        fit_report(model, replace(data, labels=None), tmp_path / "fit.html")
    with pytest.raises(InputError, match="fitted to another graph"):
        fit_report(model, data_set(), tmp_path / "fit.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "points more than by the features alone: the graph helps."),
        ({"gains": Gain(0.0, 0.01)}, "about as many as by the features alone"),
        ({"gains": Gain(-0.1, 0.01)}, "10.0 points less than by the features alone"),
        ({"kind": "largest class"}, "no better than always predicting the largest class."),
        ({"kind": "one class"}, "but by predicting one class for all of them."),
        ({"T_": 0.0}, "from the features alone: the graph was not found to help."),
        ({"gains": None}, "from the graph and its labels alone."),
    ],
)
def test_verdicts(classified, change, expected):
    _, model, result, _ = classified
    model = fitted(data_set(), T=2.0, weight_decay=1e-3)
    if "gains" in change:
        gains = {"features alone": change["gains"]} if change["gains"] else {}
        result = replace(result, gains=gains)
    if "kind" in change:
        findings = (replace(result.findings[0], kind=change["kind"]),)
        result = replace(result, findings=findings)
    model.T_ = change.get("T_", model.T_)
    assert expected in class_verdict(model, result)


def test_calibration_is_undone():
    scores = np.random.default_rng(0).normal(size=(20, 3))
    powers = np.exp(scores)
    softmax = powers / powers.sum(axis=1, keepdims=True)
    tempered = np.exp(scores / 0.3)
    tempered /= tempered.sum(axis=1, keepdims=True)
    found = HeldOut("test", np.arange(20), tempered, temperature=0.3)
    assert found.uncalibrated == pytest.approx(softmax)


def test_numbers_across_edges():
    graph, _ = planted(n=40)
    numbers = np.random.default_rng(0).normal(size=40)
    numbers[3] = np.nan
    A = graph.adjacency.tocoo()
    pairs = [(numbers[v], numbers[w]) for v, w in zip(A.row, A.col, strict=True) if v != w]
    x, y = np.array([pair for pair in pairs if not np.isnan(pair).any()]).T
    assert number_assortativity(graph, numbers) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert number_assortativity(graph, np.full(40, np.nan)) is None
    assert number_assortativity(graph, np.ones(40)) is None


def test_many_classes_have_pairs_instead_of_a_matrix():
    graph, classes = planted(n=N, classes=20)
    data = Dataset("many", graph, classes, SPLIT)
    found = tables(fit_document(fitted(data, T=2.0, weight_decay=1e-3), data))
    assert ("classes", "Confused most often") in found
    assert not any("Confusion matrix" in title for _, title in found)
