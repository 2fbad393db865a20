"""``heatgraph evaluate``: metrics of a model on tables with labels."""

import json
import re

import numpy as np
import pytest
from table_files import add_split, assert_error, shuffle_table

import heatgraph as hg

TABLES = ("nodes.csv", "edges.csv")


def replace_labels(folder, name):
    """Write the nodes again with labels `name(row, label)`."""
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    for at, row in enumerate(rows[1:]):
        row[1] = name(at, row[1])
    (folder / "nodes.csv").write_text("\n".join(map(",".join, rows)), encoding="utf-8")


def test_the_report(model, folder, run):
    done = run("evaluate", "model", *TABLES)
    assert (done.code, done.err) == (0, "")
    data = hg.from_tables(*TABLES)
    known = np.array([label is not None for label in data.labels])
    accuracy = hg.load(model).score(data.graph, data.labels)
    text = re.sub(" +", " ", done.out)
    assert f"Evaluated {known.sum()} labelled nodes\n" in text
    assert f" accuracy {accuracy:.1%} 95% confidence interval " in text
    for piece in (
        " largest class ",
        " balanced accuracy ",
        " macro-F1 ",
        " ROC AUC ",
        " log-loss ",
        " calibration error ",
        " label nodes predicted precision recall F1\n",
        "Confusion matrix: labels in rows, predictions in columns\n blue green red\n",
        "Done in ",
    ):
        assert piece in text
    assert "training nodes" not in text
    assert "does not know" not in text


def test_the_report_fits_80_columns(model, folder, run):
    lines = run("evaluate", "model", *TABLES).out.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("Evaluated"))
    assert max(map(len, lines[begin:])) <= 80


def test_json(model, folder, run):
    done = run("evaluate", "model", *TABLES, "--json")
    report = json.loads(done.out)
    assert report["read"]["nodes"] == 100
    assert report["part"] is None
    assert report["warnings"] == []
    metrics = report["metrics"]
    data = hg.from_tables(*TABLES)
    assert metrics["accuracy"] == hg.load(model).score(data.graph, data.labels)
    low, high = metrics["accuracy_interval"]
    assert low < metrics["accuracy"] < high
    assert [one["label"] for one in metrics["classes"]] == ["blue", "green", "red"]
    assert np.sum(metrics["confusion"]) == metrics["nodes"]
    assert metrics["unknown_labels"] == {}
    assert run("evaluate", "model", *TABLES, "--quiet").out == ""


def test_the_order_of_rows_and_columns_does_not_matter(model, folder, run):
    before = json.loads(run("evaluate", "model", *TABLES, "--json").out)["metrics"]
    shuffle_table("nodes.csv", 1)
    after = json.loads(run("evaluate", "model", *TABLES, "--json").out)["metrics"]
    assert before["confusion"] == after["confusion"]
    assert before["log_loss"] == pytest.approx(after["log_loss"], rel=1e-5)


class TestParts:
    def test_of_a_split(self, model, folder, run):
        rows = add_split(folder)
        counts = {part: sum(row["split"] == part for row in rows) for part in ("train", "test")}
        done = run("evaluate", "model", *TABLES, "--part", "test")
        assert f"Evaluated {counts['test']} labelled nodes of the part 'test'" in done.out
        assert "training nodes" not in done.out
        done = run("evaluate", "model", *TABLES)
        assert f"{counts['train']} of these are training nodes of the split" in done.out

    def test_validation_nodes_that_the_model_learned_from(self, folder, run):
        rows = add_split(folder)
        counts = {part: sum(row["split"] == part for row in rows) for part in ("train", "val")}
        learned = "of these are {} nodes of the split, which a model learns from"
        run("fit", *TABLES, "--T", "2", "--weight-decay", "1e-3", "-m", "model")
        done = run("evaluate", "model", *TABLES)
        either = learned.format("training or validation")
        assert f"{counts['train'] + counts['val']} {either}" in done.words
        done = run("evaluate", "model", *TABLES, "--part", "val")
        assert f"{counts['val']} {learned.format('validation')}" in done.words
        run("fit", *TABLES, "--T", "2", "--final-fit", "train", "-m", "model")
        assert "learns from" not in run("evaluate", "model", *TABLES, "--part", "val").out

    def test_without_a_split(self, model, folder, run):
        done = run("evaluate", "model", *TABLES, "--part", "test")
        assert_error(done, "--part test needs a column with train, val or test", "--split")

    def test_without_labelled_nodes(self, model, folder, run):
        add_split(folder)
        text = (folder / "nodes.csv").read_text(encoding="utf-8").replace(",test", ",val")
        (folder / "nodes.csv").write_text(text, encoding="utf-8")
        done = run("evaluate", "model", *TABLES, "--part", "test")
        assert_error(done, "no node of that part has a label")

    def test_an_unknown_one(self, model, folder, run):
        done = run("evaluate", "model", *TABLES, "--part", "rest")
        assert done.code == 2
        assert "'rest' is not one of 'train', 'val', 'test'" in done.err


class TestLabels:
    def test_that_the_model_does_not_know(self, model, folder, run):
        replace_labels(folder, lambda at, label: "mauve" if at < 5 else label)
        done = run("evaluate", "model", *TABLES)
        assert "5 nodes have labels that the model does not know" in done.out
        assert "count as wrong: mauve (5)\n" in done.out
        assert re.search(r"\n  \(unknown\) ", done.out)
        metrics = json.loads(run("evaluate", "model", *TABLES, "--json").out)["metrics"]
        assert metrics["unknown_labels"] == {"mauve": 5}

    def test_many_that_the_model_does_not_know(self, model, folder, run):
        replace_labels(folder, lambda at, label: f"new {at}")
        done = run("evaluate", "model", *TABLES)
        assert "100 nodes have labels" in done.out
        assert done.out.count("new ") == 5 + 12  # the summary of the tables lists twelve
        assert re.search(r"\n  accuracy +0.0% ", done.out)
        assert "ROC AUC" not in done.out
        assert "log-loss" not in done.out

    def test_of_another_column(self, model, folder, run):
        text = (folder / "nodes.csv").read_text(encoding="utf-8")
        (folder / "nodes.csv").write_text(text.replace("id,label,", "id,colour,"), encoding="utf-8")
        assert_error(
            run("evaluate", "model", *TABLES), "labels are needed to evaluate a model", "--label"
        )
        assert run("evaluate", "model", *TABLES, "--label", "colour").code == 0

    def test_of_a_column_that_does_not_exist(self, model, folder, run):
        done = run("evaluate", "model", *TABLES, "--label", "lable")
        assert_error(done, "nodes.csv has no column 'lable'. Did you mean 'label'?")

    def test_of_a_column_that_is_blank(self, model, folder, run):
        replace_labels(folder, lambda at, label: "")
        done = run("evaluate", "model", *TABLES)
        assert_error(done, "column 'label' of nodes.csv is blank in every row", "--label")

    def test_of_a_column_that_is_a_feature(self, folder, run):
        text = (folder / "nodes.csv").read_text(encoding="utf-8")
        text = text.replace("id,label,f0,", "id,colour,y,")
        (folder / "nodes.csv").write_text(text, encoding="utf-8")
        colour = ("--label", "colour")
        run("fit", *TABLES, "--T", "2", "--weight-decay", "1", *colour, "--features", "y,f*",
            "-m", "model")  # fmt: skip
        assert_error(run("evaluate", "model", *TABLES), "labels are needed to evaluate a model")
        done = run("evaluate", "model", *TABLES, "--label", "y")
        assert_error(done, "column 'y' is a feature of the model, and cannot be the label")
        assert run("evaluate", "model", *TABLES, *colour).code == 0


class TestFeatures:
    def test_that_are_missing(self, model, folder, run):
        text = (folder / "nodes.csv").read_text(encoding="utf-8")
        (folder / "nodes.csv").write_text(text.replace(",f3,", ",g3,"), encoding="utf-8")
        assert_error(run("evaluate", "model", *TABLES), "f3")

    def test_that_are_no_table(self, model, folder, run):
        done = run("evaluate", "model", *TABLES, "--features", "nonsense")
        assert_error(done, "Got 'nonsense', which is not the name of a table")

    def test_none(self, folder, run):
        run("fit", *TABLES, "--T", "2", "--weight-decay", "1e-3", "--features", "", "-m", "model")
        assert run("evaluate", "model", *TABLES).code == 0
        shuffle_table("nodes.csv", 1)
        assert_error(run("evaluate", "model", *TABLES), "fitted without features")


def test_no_model(folder, run):
    assert_error(run("evaluate", "nodes.csv", *TABLES), "nodes.csv")


class TestManyClasses:
    @pytest.fixture
    def model(self, folder):
        """A model of forty-five classes with long names."""
        random = np.random.default_rng(0)
        names = [f"a class with number {at % 45}" for at in range(180)]
        rows = [f"n{at},{name},{random.normal():.3f}" for at, name in enumerate(names)]
        ends = [f"n{at},n{(at + 45) % 180}" for at in range(180)]
        (folder / "nodes.csv").write_text("\n".join(["id,label,f0", *rows]), encoding="utf-8")
        (folder / "edges.csv").write_text("\n".join(["source,target", *ends]), encoding="utf-8")
        data = hg.from_tables(*TABLES)
        hg.DGCClassifier(T=2.0, weight_decay=1e-3).fit(data.graph, data.labels).save("model")

    def test_are_not_all_printed(self, model, run):
        done = run("evaluate", "model", *TABLES)
        assert "Classes, the worst 12 of 45 by F1 (--json has all)" in done.out
        assert done.out.count("\n  a class with number ") == 12 + 5
        assert "Confused most often (--json has the whole matrix)" in done.out
        assert "Confusion matrix:" not in done.out
        report = json.loads(run("evaluate", "model", *TABLES, "--json").out)
        assert np.shape(report["metrics"]["confusion"]) == (45, 45)


def test_warnings_are_printed_and_in_the_json(model, folder, run, monkeypatch):
    from heatgraph.errors import HeatgraphWarning, warn
    from heatgraph.learning.classifier import DGCClassifier

    predict = DGCClassifier.predict_proba

    def predict_with_warning(*arguments):
        warn("the graph differs", HeatgraphWarning)
        return predict(*arguments)

    monkeypatch.setattr(DGCClassifier, "predict_proba", predict_with_warning)
    done = run("evaluate", "model", *TABLES, "--json")
    assert "warning: the graph differs" in done.err
    assert json.loads(done.out)["warnings"] == ["the graph differs"]
