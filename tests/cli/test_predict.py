"""``heatgraph predict``: a model on the same tables, reordered ones, and other graphs."""

import json
import shutil

import numpy as np
from table_files import read_predictions, shuffle_table

import heatgraph as hg

TABLES = ("nodes.csv", "edges.csv")
FIXED = ("--T", "2", "--weight-decay", "1e-3")


def test_a_model_predicts_what_fit_predicted(folder, run):
    run("fit", *TABLES, *FIXED, "-o", "p.csv", "-m", "model")
    done = run("predict", "model", *TABLES, "-o", "q.csv")
    assert (done.code, done.err) == (0, "")
    assert "Wrote predictions of 100 nodes to q.csv" in done.out
    assert (folder / "p.csv").read_bytes() == (folder / "q.csv").read_bytes()


def test_the_order_of_rows_and_columns_does_not_matter(model, folder, run):
    run("predict", "model", *TABLES, "-o", "p.csv")
    shuffle_table("nodes.csv", 1)
    shuffle_table("edges.csv", 2, columns=False)
    done = run("predict", "model", *TABLES, "-o", "q.csv", "--json")
    assert json.loads(done.out)["wrote"] == {"predictions": "q.csv"}
    names, labels, values = read_predictions(folder / "p.csv")
    others, other_labels, other_values = read_predictions(folder / "q.csv")
    order = [others.index(name) for name in names]
    assert names != others
    assert labels == [other_labels[at] for at in order]
    np.testing.assert_allclose(values, other_values[order], atol=2e-6)


def test_a_model_labels_another_graph(model, folder, run):
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    (folder / "few.csv").write_text("\n".join(lines[:11]), encoding="utf-8")
    (folder / "path.csv").write_text("source,target\nn0,n3\nn3,n6\n", encoding="utf-8")
    done = run("predict", "model", "few.csv", "path.csv", "-o", "-")
    assert done.code == 0
    assert len(done.out.splitlines()) == 11
    assert "Wrote" not in done.err
    data = hg.from_tables("few.csv", "path.csv", label="")
    expected = hg.load(model).predict(data.graph).tolist()
    assert [line.split(",")[1] for line in done.out.splitlines()[1:]] == expected


def test_a_model_without_features_labels_its_own_graph(folder, run):
    done = run("fit", *TABLES, *FIXED, "--features", "", "-o", "p.csv", "-m", "model")
    assert done.code == 0
    assert "none: labels alone diffuse" in done.out
    assert "features alone" not in done.out
    assert run("predict", "model", *TABLES, "-o", "q.csv").code == 0
    assert (folder / "p.csv").read_bytes() == (folder / "q.csv").read_bytes()
    done = run("explain", "model", *TABLES, "--node", "n1")
    assert "source nodes" in done.out
    assert "pairs" not in done.out
    shuffle_table("nodes.csv", 1)
    done = run("predict", "model", *TABLES, "-o", "r.csv")
    assert done.code == 1
    assert "fitted without features" in done.err
    assert not (folder / "r.csv").exists()


def test_other_features_are_refused(model, folder, run):
    done = run("predict", "model", *TABLES, "-o", "q.csv", "--features", "nonsense")
    assert done.code == 1
    assert "Got 'nonsense', which is not the name of a table" in done.err
    assert "(the model's)" in run("predict", "model", *TABLES, "-o", "q.csv").out


def test_a_feature_table_must_exist_and_is_not_overwritten(model, folder, run):
    done = run("predict", "model", "nodes.csv", "edges.csv", "-o", "p.csv", "--features", "no.csv")
    assert done.code == 1
    assert "no.csv: there is no such file" in done.err
    shutil.copy("nodes.csv", "no.csv")
    done = run("predict", "model", "nodes.csv", "edges.csv", "-o", "no.csv", "--features", "no.csv")
    assert "no.csv is named twice" in done.err
