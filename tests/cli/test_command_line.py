"""Every command, from tables to what it says and writes."""

import csv
import gzip
import io
import json
import re
import shutil
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import heatgraph as hg
from heatgraph._io.tensor_file import read_tensors
from heatgraph.cli import demo, options
from heatgraph.cli.console import Voice
from heatgraph.datasets.catalogue import DATASETS
from heatgraph.learning.classifier import KIND
from heatgraph.learning.scaling import SCALINGS

TABLES = ("nodes.csv", "edges.csv")
FIXED = ("--T", "2", "--weight-decay", "1e-3")


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def probabilities(path):
    """Names of the nodes, predictions and probabilities (n, C) in a table of predictions."""
    table = pa.parquet.read_table(path) if path.suffix == ".parquet" else None
    if table is None:
        tabs = pa.csv.ParseOptions(delimiter="\t" if ".tsv" in path.name else ",")
        table = pa.csv.read_csv(path, parse_options=tabs)
    columns = [name for name in table.column_names if name.startswith("probability_")]
    values = np.column_stack([table[name].to_numpy() for name in columns])
    return table["id"].to_pylist(), table["prediction"].to_pylist(), values


def shuffled(name, seed, columns=True):
    """Write a table again with its rows, and perhaps its columns, in another order."""
    table = pa.csv.read_csv(name)
    rng = np.random.default_rng(seed)
    table = table.take(rng.permutation(table.num_rows))
    if columns:
        table = table.select(rng.permutation(table.column_names).tolist())
    pa.csv.write_csv(table, name)


def with_split(folder, seed=3):
    """Give every labelled node of the tables a part."""
    rows = rows_of(folder / "nodes.csv")
    rng = np.random.default_rng(seed)
    for row in rows:
        row["split"] = str(rng.choice(["train", "val", "test"])) if row["label"] else ""
    with open(folder / "nodes.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def assert_same_model(path, other):
    """See that two files hold the same model, to the bit."""
    (content, tensors), (others, other_tensors) = (read_tensors(p, KIND) for p in (path, other))
    assert content == others
    assert {name: tensor.tobytes() for name, tensor in tensors.items()} == {
        name: tensor.tobytes() for name, tensor in other_tensors.items()
    }


# Fit.


def test_fit_tells_what_it_read_and_chose(folder, command):
    done = command("fit", *TABLES, "-m", "model", "-o", "p.csv")
    assert (done.code, done.err) == (0, "")
    rows, edges = rows_of("nodes.csv"), rows_of("edges.csv")
    known = [row["label"] for row in rows if row["label"]]
    pairs = {frozenset(edge.values()) for edge in edges}
    text = re.sub(" +", " ", done.out)
    for piece in (
        "Read nodes.csv and edges.csv in ",
        " nodes 100 id: id (guessed)",
        f" edges {len(pairs)} from {len(edges)} rows; source (guessed) - target (guessed)",
        " 1 duplicates merged, 1 self-loops, 3 isolated nodes",
        " features 6 ",
        " classes 3 label: label (guessed); ",
        f" unlabelled {100 - len(known)} nodes",
        f"Fitted {len(known)} labelled nodes in ",
        " settings by cross-validation",
        " weight decay ",
        "Accuracy by cross-validation",
        " with the graph ",
        " features alone ",
        " largest class ",
        "Wrote model to model",
        "Wrote predictions to p.csv",
        "Done in ",
    ):
        assert piece in text
    for colour in ("red", "green", "blue"):
        assert f"{colour} ({known.count(colour)})" in text
    assert re.search(r" T \d", text)
    assert "━" not in text


def test_json_has_the_same_numbers_and_nothing_beside_it(folder, run):
    words = run("fit", *TABLES, "-o", "p.csv", "--T", "1,2")
    done = run("fit", *TABLES, "-o", "q.csv", "--T", "1,2", "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    read, chosen = report["read"], report["chosen"]
    assert (read["nodes"], read["features"], read["isolated"]) == (100, 6, 3)
    assert (read["duplicates"], read["self_loops"]) == (1, 1)
    assert sum(read["classes"].values()) + read["unlabelled"] == 100
    assert chosen["T"] in (1, 2)
    assert report["wrote"] == {"model": None, "predictions": "q.csv"}
    text = re.sub(" +", " ", words.out)
    assert f" T {chosen['T']:.3g}\n weight decay {chosen['weight_decay']:.3g}\n" in text
    for name, key in {
        "with the graph": "validation_accuracy",
        "features alone": "features_alone_accuracy",
        "largest class": "majority_accuracy",
    }.items():
        assert f" {name} {chosen[key]:.1%}" in text
    assert (folder / "p.csv").read_bytes() == (folder / "q.csv").read_bytes()


def test_quiet_is_silent(model, folder, run):
    for arguments in (
        ("fit", *TABLES, *FIXED, "-o", "p.csv"),
        ("predict", "model", *TABLES, "-o", "p.csv"),
        ("tune", *TABLES, "--T", "1,2", "--weight-decay", "1"),
        ("explain", "model", *TABLES, "--node", "n1"),
        ("info", *TABLES),
        ("datasets",),
        ("datasets", "karate"),
    ):
        done = run(*arguments, "--quiet")
        assert (done.code, done.out, done.err) == (0, "", "")


def test_a_table_on_standard_output_is_alone_there(folder, run):
    done = run("fit", *TABLES, *FIXED, "-o", "-", "-m", "model")
    assert done.code == 0
    assert "Wrote model to model" in done.err
    (folder / "out.csv").write_text(done.out, encoding="utf-8")
    names, _, values = probabilities(folder / "out.csv")
    assert names == [f"n{at}" for at in range(100)]
    assert values.shape == (100, 3)


def test_reports_for_machines_make_way_for_a_table(folder, run):
    done = run("fit", *TABLES, *FIXED, "-o", "-", "--json")
    assert done.out.startswith("id,prediction,probability,")
    assert json.loads(done.err)["wrote"]["predictions"] == "-"


def test_nothing_written_is_said(folder, run):
    done = run("fit", *TABLES, *FIXED)
    assert "Nothing was written: --predictions and --model say where to." in done.out
    assert "chose among" not in done.out
    assert sorted(path.name for path in folder.iterdir()) == ["edges.csv", "nodes.csv"]


def test_predictions_are_those_of_the_python_api(folder, run):
    run("fit", *TABLES, *FIXED, "-o", "p.csv")
    data = hg.from_tables(*TABLES)
    model = hg.DGCClassifier(T=2.0, weight_decay=1e-3, random_state=0).fit(data.graph, data.labels)
    names, predicted, values = probabilities(folder / "p.csv")
    assert names == data.graph.names.tolist()
    assert predicted == model.predict().tolist()
    np.testing.assert_allclose(values, model.predict_proba(), atol=1e-6)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=3e-6)
    header = (folder / "p.csv").read_text(encoding="utf-8").splitlines()[0]
    classes = [f"probability_{label}" for label in model.classes_]
    assert header == ",".join(["id", "prediction", "probability", *classes])


@pytest.mark.parametrize("form", [".tsv", ".csv.gz", ".tsv.gz", ".parquet"])
def test_every_form_gives_the_same_predictions(folder, run, form):
    run("fit", *TABLES, *FIXED, "-o", "p.csv", "-m", "model")
    for name in ("nodes", "edges"):
        table = pa.csv.read_csv(f"{name}.csv")
        if form == ".parquet":
            pa.parquet.write_table(table, f"{name}{form}")
            continue
        text = (folder / f"{name}.csv").read_text(encoding="utf-8")
        text = text.replace(",", "\t") if "tsv" in form else text
        raw = gzip.compress(text.encode()) if form.endswith(".gz") else text.encode()
        (folder / f"{name}{form}").write_bytes(raw)
    done = run("fit", f"nodes{form}", f"edges{form}", *FIXED, "-o", f"q{form}", "-m", "other")
    assert done.code == 0, done.err
    ours, theirs = probabilities(folder / "p.csv"), probabilities(folder / f"q{form}")
    assert ours[:2] == theirs[:2]
    # Arrow wrote the Parquet table from the texts, so features are the same numbers.
    np.testing.assert_array_equal(ours[2], theirs[2])


def test_a_seed_makes_it_reproducible_to_the_byte(folder, run):
    for name in ("p", "q"):
        arguments = ("--T", "1,2,4", "--seed", "7", "-o", f"{name}.csv", "-m", name)
        assert run("fit", *TABLES, *arguments).code == 0
    assert (folder / "p.csv").read_bytes() == (folder / "q.csv").read_bytes()
    assert_same_model(folder / "p", folder / "q")


def test_threads_do_not_change_predictions(folder, run):
    for threads in "12":
        arguments = ("--T", "1,2,4", "--threads", threads, "-o", f"{threads}.csv")
        assert run("fit", *TABLES, *arguments).code == 0
    assert (folder / "1.csv").read_bytes() == (folder / "2.csv").read_bytes()


def test_long_ids_survive(folder, run):
    """Of 19 digits, which no float holds."""
    base = 9_007_199_254_740_993_001
    for name in TABLES:
        text = (folder / name).read_text(encoding="utf-8")
        text = re.sub(r"\bn(\d+)", lambda match: str(base + int(match[1])), text)
        (folder / name).write_text(text, encoding="utf-8")
    for form in (".csv", ".parquet"):
        done = run("fit", *TABLES, *FIXED, "-o", f"p{form}", "-m", "model")
        assert done.code == 0, done.err
        assert probabilities(folder / f"p{form}")[0] == [base + at for at in range(100)]
    done = run("explain", "model", *TABLES, "--node", base + 7, "--json")
    assert json.loads(done.out)["node"] == base + 7


def test_the_split_column_is_obeyed(folder, run):
    rows = with_split(folder)
    arguments = ("fit", *TABLES, "--T", "0.5,2,8", "-o", "p.csv", "--json")
    done = run(*arguments)
    report = json.loads(done.out)
    test = [row for row in rows if row["split"] == "test"]
    assert report["read"]["split"]["test"] == len(test) == report["chosen"]["test_nodes"]
    assert "validation nodes" in report["chosen"]["validated_by"]
    predicted = {row["id"]: row["prediction"] for row in rows_of("p.csv")}
    right = np.mean([predicted[row["id"]] == row["label"] for row in test])
    assert report["chosen"]["test_accuracy"] == pytest.approx(right)
    words = run(*arguments[:-1]).out
    assert f"Accuracy on {len(test)} test nodes\n  with the graph  {right:.1%}\n" in words
    assert "Accuracy on 2" in words or "Accuracy on 1" in words
    assert " validation nodes\n  with the graph" in words


def test_labels_of_test_nodes_change_nothing_but_their_accuracy(folder, run):
    with_split(folder)
    arguments = ("fit", *TABLES, "--T", "0.5,2,8", "-m")
    run(*arguments, "before", "-o", "before.csv")
    text = (folder / "nodes.csv").read_text(encoding="utf-8")
    wrong = {"red": "green", "green": "blue", "blue": "red"}
    lines = [
        re.sub("red|green|blue", lambda match: wrong[match[0]], line) if ",test" in line else line
        for line in text.splitlines()
    ]
    (folder / "nodes.csv").write_text("\n".join(lines), encoding="utf-8")
    run(*arguments, "after", "-o", "after.csv")
    assert_same_model(folder / "before", folder / "after")
    assert (folder / "before.csv").read_bytes() == (folder / "after.csv").read_bytes()


def test_settings_reach_the_model(folder, run):
    done = run("fit", *TABLES, "--T", "2", "--K", "5", "--scheme", "rk4", "--weight-decay", "0.01",
               "--no-self-loops", "--feature-scaling", "none", "--json")  # fmt: skip
    chosen = json.loads(done.out)["chosen"]
    assert (chosen["T"], chosen["K"], chosen["scheme"]) == (2, 5, "RungeKutta4")
    assert (chosen["weight_decay"], chosen["self_loops"]) == (0.01, False)
    assert chosen["feature_scaling"] == "none"
    assert " K  " in run("fit", *TABLES, *FIXED, "--K", "5").out


def test_options_name_all_that_the_library_knows():
    assert [scaling.value for scaling in options.Scalings] == ["auto", *SCALINGS]
    assert options.numbers(None, "--T") == options.numbers("auto", "--T") == "auto"
    assert options.numbers("1, 2.5", "--T") == [1, 2.5]


def test_warnings_are_lines_on_standard_error(folder, run):
    done = run("fit", *TABLES, *FIXED, "--T", "9", "--K", "2")
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert line.startswith("warning: Euler(T=9.0, K=2) takes steps T/K = 4.5")
    assert run("fit", *TABLES, *FIXED, "--T", "9", "--K", "2", "-q").err == ""


def test_strict_fails_what_did_not_converge(folder, run, monkeypatch):
    assert run("fit", *TABLES, *FIXED, "--strict").code == 0
    monkeypatch.setattr(
        "heatgraph.learning.classifier.DGCClassifier.predict_proba",
        lambda self: setattr(self, "converged_", False) or np.full((100, 3), 1 / 3),
    )
    assert run("fit", *TABLES, *FIXED, "-o", "p.csv").code == 0
    assert run("fit", *TABLES, *FIXED, "-o", "p.csv", "--strict").code == 3


def test_chosen_columns_and_weights(folder, run):
    for name, old, new in (("nodes.csv", "id,label", "key,kind"), ("edges.csv", "source", "a")):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    lines = (folder / "edges.csv").read_text(encoding="utf-8").splitlines()
    lines = ["a,b,strength", *(f"{line},{1 + at % 3}" for at, line in enumerate(lines[1:]))]
    (folder / "edges.csv").write_text("\n".join(lines), encoding="utf-8")
    arguments = ("--id", "key", "--label", "kind", "--source", "a", "--target", "b")
    arguments += ("--weight", "strength", "--features", "f1, f*", *FIXED)
    done = run("fit", *TABLES, *arguments)
    assert done.code == 1
    assert "and had " in done.err
    done = run("fit", *TABLES, *arguments, "--duplicates", "max", "-o", "p.csv")
    assert done.code == 0, done.err
    assert "a - b, weight: strength" in done.out
    assert "guessed" not in done.out
    assert (folder / "p.csv").read_text(encoding="utf-8").startswith("key,prediction")
    done = run("fit", *TABLES, *arguments, "--duplicates", "max", "--directed", "refuse")
    assert "no counterpart of equal weight" in done.err


def test_many_classes_are_not_all_listed(folder, run):
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    for at, row in enumerate(cells[1:]):
        row[1] = f"class {at % 15}"
    (folder / "nodes.csv").write_text("\n".join(",".join(row) for row in cells), encoding="utf-8")
    (line,) = [line for line in run("info", *TABLES).out.splitlines() if " classes " in line]
    assert line.count("class ") == 12
    assert line.endswith(", ...")


def test_any_label_is_shown_as_it_is(folder, run, command):
    text = (folder / "nodes.csv").read_text(encoding="utf-8")
    for colour, label in {"red": ":red_heart:", "green": "[bold]Übung", "blue": "日本"}.items():
        text = text.replace(f",{colour},", f",{label},")
    (folder / "nodes.csv").write_text(text, encoding="utf-8")
    assert {":red_heart:", "[bold]Übung"} <= set(json.loads(run("info", *TABLES, "--json").out)
                                                  ["read"]["classes"])  # fmt: skip
    done = run("fit", *TABLES, *FIXED, "-o", "p.csv")
    assert ":red_heart: (" in done.out
    assert "[bold]Übung (" in done.out
    header = (folder / "p.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "probability_[bold]Übung" in header


def test_letters_that_the_terminal_lacks_are_no_error(folder, command, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    text = (folder / "nodes.csv").read_text(encoding="utf-8")
    (folder / "nodes.csv").write_text(text.replace(",red,", ",Übung,"), encoding="utf-8")
    done = command("info", *TABLES)
    assert (done.code, done.err) == (0, "")
    assert r"\xdcbung (" in done.out


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_json_survives_any_encoding(run, monkeypatch, encoding):
    monkeypatch.setattr("heatgraph.cli.version.LIBRARIES", ())
    monkeypatch.setattr("heatgraph.__version__", "Übung 日本")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    assert run("version", "--json").code == 0
    assert json.loads(written.getvalue().decode(encoding))["heatgraph"] == "Übung 日本"


def test_numbers_that_json_lacks_are_null(capsys):
    Voice(options.Report(as_json=True)).json({"list": [float("nan"), 1.5, (float("inf"),)]})
    assert json.loads(capsys.readouterr().out) == {"list": [None, 1.5, [None]]}


# Predict.


def test_a_model_predicts_what_fit_predicted(folder, run, command):
    run("fit", *TABLES, *FIXED, "-o", "p.csv", "-m", "model")
    done = command("predict", "model", *TABLES, "-o", "q.csv")
    assert (done.code, done.err) == (0, "")
    assert "Wrote predictions of 100 nodes to q.csv" in done.out
    assert (folder / "p.csv").read_bytes() == (folder / "q.csv").read_bytes()


def test_the_order_of_rows_and_columns_does_not_matter(model, folder, run):
    run("predict", "model", *TABLES, "-o", "p.csv")
    shuffled("nodes.csv", 1)
    shuffled("edges.csv", 2, columns=False)
    done = run("predict", "model", *TABLES, "-o", "q.csv", "--json")
    assert json.loads(done.out)["wrote"] == {"predictions": "q.csv"}
    names, labels, values = probabilities(folder / "p.csv")
    others, other_labels, other_values = probabilities(folder / "q.csv")
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
    shuffled("nodes.csv", 1)
    done = run("predict", "model", *TABLES, "-o", "r.csv")
    assert done.code == 1
    assert "fitted without features" in done.err
    assert not (folder / "r.csv").exists()


# Tune.


def test_tune_tells_every_setting(folder, command):
    done = command("tune", *TABLES, "--T", "0,1,2", "--weight-decay", "1e-3,1e-2", "-o", "t.csv")
    assert (done.code, done.err) == (0, "")
    rows = rows_of("t.csv")
    assert {(float(row["T"]), float(row["weight_decay"])) for row in rows} == {
        (T, decay) for T in (0, 1, 2) for decay in (1e-3, 1e-2)
    }
    assert all(0 <= float(row["accuracy"]) <= 1 for row in rows)
    assert f"Wrote {len(rows)} settings to t.csv" in done.out
    assert f"chose among {len(rows)} settings" in done.out


def test_tune_plots_accuracy_over_time(folder, run):
    for name, start in {"t.png": b"\x89PNG", "t.svg": b"<?xml", "t.pdf": b"%PDF"}.items():
        done = run("tune", *TABLES, "--T", "0,1,2", "--weight-decay", "1e-3", "--plot", name)
        assert done.code == 0
        assert f"Wrote the plot to {name}" in done.out
        assert (folder / name).read_bytes().startswith(start)


def test_tune_leaves_test_nodes_aside(folder, run):
    with_split(folder)
    done = run("tune", *TABLES, "--T", "1,2", "--weight-decay", "1", "-o", "-", "--json")
    assert done.out.startswith("scheme,T,")
    assert "test_accuracy" not in json.loads(done.err)["chosen"]
    done = run("tune", *TABLES, "--T", "1,2", "--weight-decay", "1", "-o", "t.parquet")
    assert pa.parquet.read_table("t.parquet").num_rows >= 2


# Explain.


def test_shares_add_up_to_the_score(model, folder, run, command):
    done = command("explain", "model", *TABLES, "--node", "n5", "--top", "1000", "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    assert report["node"] == "n5"
    for part in ("nodes", "features", "pairs"):
        total = report["bias"] + sum(record["share"] for record in report[part])
        assert total == pytest.approx(report["score"], abs=1e-9)
    run("predict", "model", *TABLES, "-o", "p.csv")
    row = rows_of("p.csv")[5]
    assert row["prediction"] == report["label"]
    assert float(row["probability"]) == pytest.approx(report["probability"], abs=1e-5)


def test_explain_tells_a_few_and_the_rest(model, run):
    done = run("explain", "model", *TABLES, "--node", "n5", "--class", "blue", "--top", "2")
    assert "node n5 as 'blue': score " in done.out
    assert done.out.count("all others") == 3
    text = done.out[done.out.index("node n5") :]
    score, bias = (float(re.search(rf"{name} ([-+.\d]+\d)", text)[1]) for name in ("score", "bias"))
    parts = [float(share) for share in re.findall(r"^    ([-+][.\d]+)", text, re.MULTILINE)]
    assert sum(parts) == pytest.approx(3 * (score - bias), abs=1e-3)


def test_unknown_nodes_and_classes_are_named(model, run):
    done = run("explain", "model", *TABLES, "--node", "n100")
    assert done.code == 1
    assert done.err == "heatgraph: --node: nodes.csv has no node 'n100'. Did you mean 'n10'?\n"
    done = run("explain", "model", *TABLES, "--node", "zebra")
    assert done.err == "heatgraph: --node: nodes.csv has no node 'zebra'.\n"
    done = run("explain", "model", *TABLES, "--node", "n1", "--class", "mauve")
    assert done.code == 1
    assert done.err == (
        "heatgraph: --class: the model knows the classes blue, green, red. Got 'mauve'.\n"
    )


# Info.


def test_info_suggests_whether_diffusion_helps(folder, command, run):
    done = command("info", *TABLES)
    assert (done.code, done.err) == (0, "")
    for piece in ("components", "neighbours", "spectral gap", "homophily", "agreement"):
        assert f"\n  {piece}" in done.out
    assert "Diffusion is likely to help: of " in done.out
    report = json.loads(run("info", *TABLES, "--json").out)
    assert report["graph"]["verdict"] == "likely"
    assert report["graph"]["reason"] in done.out
    assert report["read"]["nodes"] == 100


def test_info_does_without_labels_and_features(folder, run):
    done = run("info", *TABLES, "--label", "", "--features", "")
    assert done.code == 0
    assert "homophily" not in done.out
    assert "agreement" not in done.out
    assert "classes" not in done.out
    assert "Diffusion is " in done.out


def test_info_of_a_graph_without_edges(folder, run):
    (folder / "edges.csv").write_text("source,target\n", encoding="utf-8")
    done = run("info", *TABLES)
    assert done.code == 0, done.err
    assert "100 isolated nodes" in done.out
    assert "Diffusion is likely" not in done.out


# Data sets.


def test_datasets_are_listed_with_where_and_how(command, run):
    done = command("datasets")
    assert (done.code, done.err) == (0, "")
    for entry in DATASETS.values():
        (line,) = [line for line in done.out.splitlines() if line.startswith(f"  {entry.name} ")]
        for piece in (f"{entry.nodes:,}", f"{entry.edges:,}", entry.place, entry.title):
            assert piece in line
        if entry.place != "bundled":
            assert f"  {entry.name}: {entry.how}" in done.out
    listed = json.loads(run("datasets", "--json").out)
    assert [entry["name"] for entry in listed] == list(DATASETS)
    assert listed[0]["published"]["nodes"] == 3_327


def test_a_data_set_can_be_written_as_tables_and_fitted(folder, run):
    done = run("datasets", "karate", "--export", "a b/club")
    assert done.code == 0
    assert "split public  train 2, val 0, test 32" in done.out
    assert "licence: " in done.out
    assert 'heatgraph fit "a b/club/nodes.csv" "a b/club/edges.csv"\n' in done.out.replace(
        "\\", "/"
    )
    data = hg.load_dataset("karate")
    done = run("fit", "a b/club/nodes.csv", "a b/club/edges.csv", *FIXED, "--json")
    report = json.loads(done.out)
    assert report["read"]["edges"] == data.graph.num_edges
    model = hg.DGCClassifier(T=2.0, weight_decay=1e-3, random_state=0)
    model.fit(data.graph, data.labels, data.split.train)
    expected = model.score(data.graph, data.labels, data.split.test)
    assert report["chosen"]["test_accuracy"] == expected
    assert "chose among" not in run("fit", "a b/club/nodes.csv", "a b/club/edges.csv", *FIXED).out


def test_sparse_features_are_written_and_read_again(folder, run):
    done = run("datasets", "citeseer", "--export", "papers", "--json")
    report = json.loads(done.out)
    assert report["nodes"] == 3_327
    assert report["splits"] == {"public": [120, 500, 1_000]}
    assert len(report["wrote"]) == 3
    arguments = ("papers/nodes.csv", "papers/edges.csv", "--features", "papers/features.csv")
    done = run("fit", *arguments, "--T", "4.5", "--weight-decay", "1e-4", "-m", "model", "--json")
    report = json.loads(done.out)
    assert report["read"]["edges"] == 4_676
    assert report["chosen"]["validated_by"] == "500 validation nodes"
    data = hg.load_dataset("citeseer")
    model = hg.DGCClassifier(T=4.5, weight_decay=1e-4, random_state=0)
    model.fit(data.graph, data.labels, data.split.train, data.split.val)
    expected = model.score(data.graph, data.labels, data.split.test)
    assert report["chosen"]["test_accuracy"] == pytest.approx(expected, abs=0.003)
    done = run("predict", "model", *arguments, "-o", "p.csv")
    assert done.code == 0
    assert len(rows_of("p.csv")) == 3_327
    shutil.rmtree(folder / "papers")


def test_the_command_to_fit_exported_tables_names_their_features(folder, run):
    done = run("datasets", "citeseer", "--export", "papers")
    assert '--features "papers/features.csv"\n' in done.out.replace("\\", "/")


# Demo and version.


def test_the_demo_and_its_python_lines_agree(folder, start, capsys):
    process = start("demo", "--plot", "plot.png", encoding="utf-8")
    exec(demo.THE_SAME_IN_PYTHON, {})
    T, accuracy = map(float, capsys.readouterr().out.split())
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "Citeseer: 3,327 papers" in out
    assert "Why one of them got its field" in out
    assert "Accuracy over T is drawn in plot.png." in out
    assert demo.THE_SAME_IN_PYTHON in out
    assert f"chose T = {T:.2f}." in out
    assert f"with the graph  {accuracy:.1%}" in out
    assert accuracy > 0.7


def test_the_demo_in_json(folder, run, monkeypatch):
    """With a model that has not much to choose, for the sake of time."""
    real = hg.DGCClassifier
    monkeypatch.setattr(
        "heatgraph.learning.classifier.DGCClassifier",
        lambda T=(0.0, 4.0), **settings: real(T=T, weight_decay=1e-4, **settings),
    )
    report = json.loads(run("demo", "--json").out)
    assert (folder / "heatgraph-demo.png").read_bytes().startswith(b"\x89PNG")
    assert report["T"] == 4
    assert report["test_accuracy"]["with the graph"] > report["test_accuracy"]["words alone"]


def test_version_tells_what_is_installed(command, run):
    done = command("version")
    assert done.out.startswith(f"heatgraph {hg.__version__}\n  python ")
    assert f"  numpy         {np.__version__}\n" in done.out
    found = json.loads(run("version", "--json").out)
    assert found["heatgraph"] == hg.__version__
    assert found["pyarrow"] == pa.__version__


def test_version_leaves_out_what_is_not_installed(run, monkeypatch):
    from heatgraph.cli import version

    monkeypatch.setattr(version, "LIBRARIES", ("numpy", "no-such-library"))
    assert set(json.loads(run("version", "--json").out)) == {"heatgraph", "python", "numpy"}


@pytest.mark.parametrize("name", ["fit", "predict", "tune", "explain", "info", "datasets", "demo"])
def test_every_command_has_help(run, name):
    done = run(name, "-h")
    assert done.code == 0
    assert f"Usage: heatgraph {name}" in done.out
    assert "--json" in done.out
    assert "--quiet" in done.out


def test_a_report_that_is_asked_for_comes_even_if_quiet(folder, run):
    done = run("fit", *TABLES, *FIXED, "--json", "--quiet")
    assert json.loads(done.out)["read"]["columns"]["id"] == {"column": "id", "guessed": True}
    assert done.err == ""


def test_a_split_that_names_test_nodes_alone(folder, run):
    nodes = pd.read_csv(folder / "nodes.csv", dtype=str, keep_default_na=False)
    nodes["split"] = ["test" if at % 4 == 0 else "" for at in range(len(nodes))]
    nodes.to_csv(folder / "nodes.csv", index=False)
    report = json.loads(run("fit", *TABLES, *FIXED, "--json").out)
    labelled = nodes[nodes["label"] != ""]
    assert report["chosen"]["test_nodes"] == (labelled["split"] == "test").sum()
    assert report["chosen"]["training_nodes"] == (labelled["split"] == "").sum()


def test_a_warning_comes_once(folder, run):
    nodes = pd.read_csv(folder / "nodes.csv", dtype=str, keep_default_na=False)
    labelled = nodes.index[nodes["label"] != ""]
    nodes["split"] = ""
    nodes.loc[labelled, "split"] = ["val" if at % 3 == 0 else "train" for at in labelled]
    (first,) = labelled[nodes.loc[labelled, "split"] == "val"][:1]
    nodes.loc[first, "label"] = "never seen"
    nodes.to_csv(folder / "nodes.csv", index=False)
    done = run("fit", *TABLES, "--T", "1,2", "--weight-decay", "1")
    assert done.code == 0
    assert done.err.count("never seen") == 1


def test_the_version_at_once(run):
    done = run("--version")
    assert (done.code, done.out) == (0, f"heatgraph {hg.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "piece"),
    [
        (("--scheme", "heat", "--K", "5"), "--scheme heat takes no --K"),
        (("--scheme", "rk4"), "--scheme rk4 needs a number of steps, --K"),
    ],
)
def test_schemes_and_steps_must_fit(folder, run, arguments, piece):
    done = run("fit", *TABLES, *arguments)
    assert done.code == 2
    assert piece in " ".join(done.err.split())


def test_plots_of_files_with_signs_in_their_names(folder, run):
    (folder / "x$_$.csv").write_bytes((folder / "nodes.csv").read_bytes())
    done = run(
        "tune", "x$_$.csv", "edges.csv", "--T", "1,2", "--weight-decay", "1", "--plot", "t.png"
    )
    assert done.code == 0, done.err


def test_features_that_the_model_does_not_need(model, folder, run):
    done = run("predict", "model", *TABLES, "-o", "q.csv", "--features", "nonsense")
    assert done.code == 1
    assert "Got 'nonsense', which is no name of a table" in done.err
    assert "(the model's)" in run("predict", "model", *TABLES, "-o", "q.csv").out
