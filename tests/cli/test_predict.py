"""``heatgraph predict``: a model on the same tables, reordered ones, and other graphs."""

import json
import shutil

import numpy as np
from table_files import assert_error, read_predictions, read_rows, shuffle_table

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


# New nodes of the graph that a model carries

FEATURES = "0.9,0.1,-0.3,0.2,0.0,0.5"


def write_new(folder, nodes=("x1", "x2"), edges=("x1,n3", "n4,x2", "x1,x2")):
    rows = [f"{name},{FEATURES}" for name in nodes]
    text = "\n".join(["id,f0,f1,f2,f3,f4,f5", *rows, ""])
    (folder / "new.csv").write_text(text, encoding="utf-8")
    text = "\n".join(["source,target", *edges, ""])
    (folder / "links.csv").write_text(text, encoding="utf-8")


def test_new_nodes_are_labelled_as_on_the_larger_graph(folder, run):
    done = run("fit", *TABLES, *FIXED, "-m", "model", "--with-graph")
    assert done.code == 0
    assert "Wrote model to model with its graph, " in done.out
    write_new(folder)
    done = run("predict", "model", "--new", "new.csv", "links.csv", "-o", "p.csv")
    assert (done.code, done.err) == (0, "")
    assert "Wrote predictions of 2 nodes to p.csv" in done.out
    names, labels, values = read_predictions(folder / "p.csv")
    assert names == ["x1", "x2"]
    for new, old, kept in (("new.csv", "nodes.csv", 1), ("links.csv", "edges.csv", 1)):
        rows = (folder / new).read_text(encoding="utf-8").splitlines()[kept:]
        if old == "nodes.csv":
            rows = [row.replace(",", ",,", 1) for row in rows]  # no label
        with (folder / old).open("a", encoding="utf-8") as file:
            file.write("\n".join([*rows, ""]))
    assert run("predict", "model", *TABLES, "-o", "q.csv").code == 0
    all_names, all_labels, all_values = read_predictions(folder / "q.csv")
    at = [all_names.index(name) for name in names]
    assert labels == [all_labels[i] for i in at]
    np.testing.assert_allclose(values, all_values[at], atol=2e-5)


def test_new_nodes_with_weights_and_as_json(folder, run):
    run("fit", *TABLES, *FIXED, "-m", "model", "--with-graph")
    write_new(folder, edges=())
    (folder / "links.csv").write_text("a,b,w\nx1,n3,2.5\nn3,x1,2.5\nx2,x1,0\n", encoding="utf-8")
    done = run("predict", "model", "new.csv", "links.csv", "--new", "-o", "p.csv", "--json",
               "--source", "a", "--target", "b", "--weight", "w")  # fmt: skip
    assert done.code == 0
    read = json.loads(done.out)["read"]
    assert (read["nodes"], read["edges"], read["edge_rows"], read["known_nodes"]) == (2, 1, 3, 100)


def test_integer_ids_join_names(folder, run):
    run("fit", *TABLES, *FIXED, "-m", "model", "--with-graph")
    write_new(folder, nodes=("7", "8"), edges=("7,n3", "8,7"))
    assert run("predict", "model", "--new", "new.csv", "links.csv", "-o", "p.csv").code == 0
    assert read_predictions(folder / "p.csv")[0] == [7, 8]


def test_a_graph_without_ids_is_joined_by_index(folder, run):
    data = hg.from_tables(*TABLES)
    graph = hg.Graph(data.graph.adjacency, data.graph.features,
                     feature_names=data.graph.feature_names)  # fmt: skip
    clf = hg.DGCClassifier(T=2.0, weight_decay=1e-3).fit(graph, data.labels)
    clf.save("model", graph=True)
    write_new(folder, edges=("x1,3", "4,x2"))
    assert run("predict", "model", "--new", "new.csv", "links.csv", "-o", "p.csv").code == 0
    X = np.array([FEATURES.split(",")] * 2, dtype=np.float32)
    expected = clf.predict_new(X, [(100, 3), (101, 4)]).tolist()
    assert read_predictions(folder / "p.csv")[1] == expected


def test_new_nodes_need_a_model_with_its_graph(model, folder, run):
    write_new(folder)
    done = run("predict", "model", "--new", "new.csv", "links.csv", "-o", "p.csv")
    assert done.code == 1
    assert "has no graph that new nodes could join" in done.err
    assert "--with-graph" in done.err
    assert not (folder / "p.csv").exists()
    done = run("fit", *TABLES, *FIXED, "--with-graph")
    assert done.code == 2
    assert "--with-graph needs --model" in done.err


def test_bad_tables_of_new_nodes_are_refused(folder, run):
    run("fit", *TABLES, *FIXED, "-m", "model", "--with-graph")
    for nodes, edges, message in [
        (("x1", "n5"), (), "new.csv, line 3: node 'n5' is in the graph already"),
        (("x1", "x1"), (), "id 'x1' occurs again"),
        ((), (), "new.csv has no rows"),
        (("x1",), ("x1,n3", "x1,zz"), "links.csv, line 3: 'zz' in column 'target' is not an id of"),
        (("x1",), ("n3,n4",), "edge 'n3' - 'n4' is between known nodes"),
    ]:
        write_new(folder, nodes, edges)
        done = run("predict", "model", "--new", "new.csv", "links.csv", "-o", "p.csv")
        assert done.code == 1
        assert message in " ".join(done.err.split())
        assert not (folder / "p.csv").exists()


def test_new_nodes_alone_are_pointed_to_the_option(model, folder, run):
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    row = lines[1].replace("n0,", "new,", 1)
    (folder / "new.csv").write_text(f"{lines[0]}\n{row}\n", encoding="utf-8")
    (folder / "links.csv").write_text("source,target\nnew,n3\n", encoding="utf-8")
    assert_error(
        run("predict", "model", "new.csv", "links.csv", "-o", "p.csv"),
        "'n3' in column 'target' is not an id of new.csv",
        "`heatgraph predict --new`",
    )


def test_formulas_are_told_or_made_text(folder, run):
    nodes = (folder / "nodes.csv").read_text().replace("red", "=cmd|calc").replace("n7,", "+7+7,")
    edges = (folder / "edges.csv").read_text()
    edges = "\n".join(
        ",".join("+7+7" if end == "n7" else end for end in line.split(","))
        for line in edges.split()
    )
    (folder / "nodes.csv").write_text(nodes)
    (folder / "edges.csv").write_text(edges + "\n")
    fit = ("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1e-3", "-m", "m", "-o")
    told = run(*fit, "p.csv")
    assert "cells begin like formulas" in told.err
    assert "--spreadsheet-safe" in told.err
    predict = ("predict", "m", "nodes.csv", "edges.csv", "-o")
    for arguments in (fit, predict):
        safe = run(*arguments, "safe.csv", "--spreadsheet-safe")
        assert (safe.code, safe.err) == (0, "")
        rows = read_rows(folder / "safe.csv")
        assert "'+7+7" in [row["id"] for row in rows]
        assert {row["prediction"] for row in rows} <= {"'=cmd|calc", "green", "blue"}
        assert not any(cell.startswith(("=", "+")) for row in rows for cell in row.values())
        assert run(*arguments, "p.parquet").err == ""
    assert "cells begin like formulas" in run(*predict, "-").err
