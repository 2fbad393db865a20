"""``heatgraph fit``: the report, predictions, models and settings."""

import gzip
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from table_files import add_split, assert_error, read_predictions, read_rows

import heatgraph as hg
from heatgraph._io.tensor_file import read_tensors
from heatgraph.learning.classifier import KIND

TABLES = ("nodes.csv", "edges.csv")
FIXED = ("--T", "2", "--weight-decay", "1e-3")


def assert_same_model(path, other):
    """Assert that two files hold the same model, bit by bit."""
    (content, tensors), (others, other_tensors) = (read_tensors(p, KIND) for p in (path, other))
    assert content == others
    assert {name: tensor.tobytes() for name, tensor in tensors.items()} == {
        name: tensor.tobytes() for name, tensor in other_tensors.items()
    }


def test_the_report_summarizes_tables_and_choice(folder, command):
    done = command("fit", *TABLES, "--T", "1,2", "-m", "model", "-o", "p.csv")
    assert (done.code, done.err) == (0, "")
    rows, edges = read_rows("nodes.csv"), read_rows("edges.csv")
    known = [row["label"] for row in rows if row["label"]]
    pairs = {frozenset(edge.values()) for edge in edges}
    text = done.words
    for piece in (
        "Read nodes.csv and edges.csv in ",
        " nodes 100 id: id (detected)",
        f" edges {len(pairs)} from {len(edges)} rows; source (detected) - target (detected)",
        " 1 duplicates merged, 1 self-loops, 3 isolated nodes",
        " features 6 ",
        " classes 3 label: label (detected); ",
        f" unlabelled {100 - len(known)} nodes",
        f"Fitted {len(known)} labelled nodes in ",
        " chosen by accuracy by cross-validation: ",
        " weight decay ",
        f"Result on {len(known)} labelled nodes, each by a model that has not learned from it",
        " accuracy balanced accuracy macro-F1",
        " with the graph ",
        " features alone ",
        " labels alone ",
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


def test_json_has_the_same_numbers_and_nothing_else(folder, run):
    words = run("fit", *TABLES, "-o", "p.csv", "--T", "1,2")
    done = run("fit", *TABLES, "-o", "q.csv", "--T", "1,2", "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    read, chosen, result = report["read"], report["chosen"], report["result"]
    assert (read["nodes"], read["features"], read["isolated"]) == (100, 6, 3)
    assert (read["duplicates"], read["self_loops"]) == (1, 1)
    assert sum(read["classes"].values()) + read["unlabelled"] == 100
    assert chosen["T"] in (1, 2)
    assert report["wrote"] == {"model": None, "predictions": "q.csv", "report": None}
    text = re.sub(" +", " ", words.out)
    assert f" T {chosen['T']:.3g}\n weight decay {chosen['weight_decay']:.3g}\n" in text
    for name, metrics in {
        "with the graph": result["metrics"],
        "features alone": result["features_alone"],
        "labels alone": result["labels_alone"],
    }.items():
        values = [f"{metrics[key]:.1%}" for key in ("accuracy", "balanced_accuracy", "macro_f1")]
        assert f" {name} {' '.join(values)}" in text
    assert f" largest class {result['largest_class']:.1%}" in text
    assert result["findings"][0]["text"] in " ".join(text.split())
    assert (folder / "p.csv").read_bytes() == (folder / "q.csv").read_bytes()


def test_quiet_does_not_suppress_json(folder, run):
    done = run("fit", *TABLES, *FIXED, "--json", "--quiet")
    assert json.loads(done.out)["read"]["columns"]["id"] == {"column": "id", "guessed": True}
    assert done.err == ""


def test_predictions_on_standard_output_are_alone(folder, run):
    done = run("fit", *TABLES, *FIXED, "-o", "-", "-m", "model")
    assert done.code == 0
    assert "Wrote model to model" in done.err
    (folder / "out.csv").write_text(done.out, encoding="utf-8")
    names, _, values = read_predictions(folder / "out.csv")
    assert names == [f"n{at}" for at in range(100)]
    assert values.shape == (100, 3)


def test_json_goes_to_standard_error_beside_predictions(folder, run):
    done = run("fit", *TABLES, *FIXED, "-o", "-", "--json")
    assert done.out.startswith("id,prediction,confidence,margin,note,")
    assert json.loads(done.err)["wrote"]["predictions"] == "-"


def test_the_report_says_if_nothing_was_written(folder, run):
    done = run("fit", *TABLES, *FIXED)
    assert "Nothing was written: give --predictions, --model or --report." in done.out
    assert "chosen by" not in done.out
    assert sorted(path.name for path in folder.iterdir()) == ["edges.csv", "nodes.csv"]


def test_predictions_are_those_of_the_python_api(folder, run):
    run("fit", *TABLES, *FIXED, "-o", "p.csv")
    data = hg.from_tables(*TABLES)
    model = hg.DGCClassifier(T=2.0, weight_decay=1e-3, random_state=0).fit(data.graph, data.labels)
    names, predicted, values = read_predictions(folder / "p.csv")
    assert names == data.graph.names.tolist()
    assert predicted == model.predict().tolist()
    np.testing.assert_allclose(values, model.predict_proba(), atol=1e-6)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=3e-6)
    header = (folder / "p.csv").read_text(encoding="utf-8").splitlines()[0]
    classes = [f"probability_{label}" for label in model.classes_]
    assert header == ",".join(["id", "prediction", "confidence", "margin", "note", *classes])


@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz", ".tsv.gz", ".parquet"])
def test_every_file_format_gives_the_same_predictions(folder, run, suffix):
    run("fit", *TABLES, *FIXED, "-o", "p.csv", "-m", "model")
    for name in ("nodes", "edges"):
        table = pa.csv.read_csv(f"{name}.csv")
        if suffix == ".parquet":
            pa.parquet.write_table(table, f"{name}{suffix}")
            continue
        text = (folder / f"{name}.csv").read_text(encoding="utf-8")
        text = text.replace(",", "\t") if "tsv" in suffix else text
        raw = gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode()
        (folder / f"{name}{suffix}").write_bytes(raw)
    done = run("fit", f"nodes{suffix}", f"edges{suffix}", *FIXED, "-o", f"q{suffix}", "-m", "other")
    assert done.code == 0, done.err
    ours, theirs = read_predictions(folder / "p.csv"), read_predictions(folder / f"q{suffix}")
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


def test_ids_of_19_digits_are_exact(folder, run):
    """No float represents them."""
    base = 9_007_199_254_740_993_001
    for name in TABLES:
        text = (folder / name).read_text(encoding="utf-8")
        text = re.sub(r"\bn(\d+)", lambda match: str(base + int(match[1])), text)
        (folder / name).write_text(text, encoding="utf-8")
    for suffix in (".csv", ".parquet"):
        done = run("fit", *TABLES, *FIXED, "-o", f"p{suffix}", "-m", "model")
        assert done.code == 0, done.err
        assert read_predictions(folder / f"p{suffix}")[0] == [base + at for at in range(100)]
    done = run("explain", "model", *TABLES, "--node", base + 7, "--json")
    assert json.loads(done.out)["node"] == base + 7


def test_the_split_column_is_used(folder, run):
    rows = add_split(folder)
    arguments = ("fit", *TABLES, "--T", "0.5,2,8", "-o", "p.csv", "--json")
    done = run(*arguments)
    report = json.loads(done.out)
    test = [row for row in rows if row["split"] == "test"]
    metrics = report["result"]["metrics"]
    assert report["read"]["split"]["test"] == len(test) == metrics["nodes"]
    assert "validation nodes" in report["chosen"]["validated_by"]
    predicted = {row["id"]: row["prediction"] for row in read_rows("p.csv")}
    right = np.mean([predicted[row["id"]] == row["label"] for row in test])
    assert metrics["accuracy"] == pytest.approx(right)
    words = run(*arguments[:-1]).words
    assert f"Result on {len(test)} test nodes " in words
    assert f" with the graph {right:.1%} " in words
    assert re.search(r"chosen by accuracy on \d+ validation nodes: ", words)


def test_labels_of_test_nodes_change_nothing_but_their_accuracy(folder, run):
    add_split(folder)
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


def test_a_split_with_test_nodes_only(folder, run):
    nodes = pd.read_csv(folder / "nodes.csv", dtype=str, keep_default_na=False)
    nodes["split"] = ["test" if at % 4 == 0 else "" for at in range(len(nodes))]
    nodes.to_csv(folder / "nodes.csv", index=False)
    report = json.loads(run("fit", *TABLES, *FIXED, "--json").out)
    labelled = nodes[nodes["label"] != ""]
    assert report["result"]["metrics"]["nodes"] == (labelled["split"] == "test").sum()
    assert report["chosen"]["training_nodes"] == (labelled["split"] == "").sum()


def test_settings_reach_the_model(folder, run):
    done = run("fit", *TABLES, "--T", "2", "--K", "5", "--scheme", "rk4", "--weight-decay", "0.01",
               "--no-self-loops", "--feature-scaling", "none", "--json")  # fmt: skip
    chosen = json.loads(done.out)["chosen"]
    assert (chosen["T"], chosen["K"], chosen["scheme"]) == (2, 5, "RungeKutta4")
    assert (chosen["weight_decay"], chosen["self_loops"]) == (0.01, False)
    assert chosen["feature_scaling"] == "none"
    assert " K  " in run("fit", *TABLES, *FIXED, "--K", "5").out


@pytest.mark.parametrize(
    ("arguments", "piece"),
    [
        (("--scheme", "heat", "--K", "5"), "--scheme heat takes no --K"),
        (("--scheme", "rk4"), "--scheme rk4 needs a number of steps, --K"),
    ],
)
def test_schemes_and_steps_must_be_compatible(folder, run, arguments, piece):
    done = run("fit", *TABLES, *arguments)
    assert done.code == 2
    assert piece in " ".join(done.err.split())


def test_warnings_are_lines_on_standard_error(folder, run):
    done = run("fit", *TABLES, *FIXED, "--T", "9", "--K", "2")
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert line.startswith("warning: Euler(T=9.0, K=2) takes steps T/K = 4.5")
    assert run("fit", *TABLES, *FIXED, "--T", "9", "--K", "2", "-q").err == ""


def test_a_warning_is_printed_once(folder, run):
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


def test_strict_fails_without_convergence(folder, run, monkeypatch):
    assert run("fit", *TABLES, *FIXED, "--strict").code == 0
    monkeypatch.setattr(
        "heatgraph.learning.classifier.DGCClassifier.predict_proba",
        lambda self, graph, nodes=None: (
            setattr(self, "converged_", False)
            or np.full((100 if nodes is None else len(nodes), 3), 1 / 3)
        ),
    )
    assert run("fit", *TABLES, *FIXED, "-o", "p.csv").code == 0
    assert run("fit", *TABLES, *FIXED, "-o", "p.csv", "--strict").code == 3


def test_given_columns_and_weights(folder, run):
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
    assert "detected" not in done.out
    assert (folder / "p.csv").read_text(encoding="utf-8").startswith("key,prediction")
    done = run("fit", *TABLES, *arguments, "--duplicates", "max", "--directed", "refuse")
    assert "no counterpart of equal weight" in done.err


def test_labels_are_printed_verbatim(folder, run):
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


class TestNeighbours:
    """What the report says of the labels of neighbours."""

    def alternate(self, folder):
        rows = [f"n{at},{'ab'[at % 2]},{at % 7}" for at in range(61)]
        ends = [f"n{at},n{at + 1}" for at in range(60)]
        (folder / "nodes.csv").write_text("\n".join(["id,label,f0", *rows]), encoding="utf-8")
        (folder / "edges.csv").write_text("\n".join(["source,target", *ends]), encoding="utf-8")

    def test_that_differ(self, folder, run):
        self.alternate(folder)
        done = run("fit", *TABLES, "--weight-decay", "1e-3")
        assert "\nNeighbours differ in an informative way" in done.out
        assert "a fit compares features alone" in done.words

    def test_with_settings_that_are_given(self, folder, run):
        self.alternate(folder)
        done = run("fit", *TABLES, *FIXED)
        assert "\nNeighbours differ in an informative way" in done.out
        assert "a fit compares" not in done.out

    def test_that_agree(self, folder, run):
        assert "Neighbours" not in run("fit", *TABLES, *FIXED).out
        report = json.loads(run("fit", *TABLES, *FIXED, "--json").out)
        assert report["neighbours"]["relation"] == "agree"


class TestExtensions:
    """What the report says of that which was added to DGC."""

    def fit(self, folder, run, *arguments):
        """The report as words, with single spaces, and as JSON."""
        add_split(folder)
        arguments = ("fit", *TABLES, "--weight-decay", "1e-3", *arguments)
        words, values = run(*arguments), run(*arguments, "--json")
        assert (words.code, words.err) == (0, "")
        return words.words, json.loads(values.out)["chosen"]

    def test_by_default(self, folder, run):
        text, chosen = self.fit(folder, run, "--final-fit", "train")
        weights = chosen["member_weights"]
        assert chosen["extensions"] == ["similar-edges", "self-training", "class-offsets"]
        assert sum(weights.values()) == pytest.approx(1)
        shares = [f"{weights[name]:.0%}" for name in ("plain", "similar", "student")]
        members = "DGC {}, similar edges {}, self-training {}".format(*shares)
        assert f" mean of {members} " in text
        assert set(chosen["class_offsets"]) == {"red", "green", "blue"}
        source = chosen["class_offsets_from"]
        assert source == chosen["validated_by"]
        assert source.endswith(" validation nodes")
        offsets = f"3 numbers, learned like the temperature from the labels of {source}"
        assert f" class offsets {offsets} " in text
        assert ", before class offsets learned from the labels of these nodes " in text
        assert " final fit " not in text

    def test_none(self, folder, run):
        text, chosen = self.fit(folder, run, "--extensions", "none", "--final-fit", "train")
        assert (chosen["extensions"], chosen["class_offsets"]) == ([], None)
        assert (chosen["validated_before"], chosen["class_offsets_from"]) == ([], None)
        for word in ("mean of DGC", "class offsets", "final fit", ", before "):
            assert word not in text

    def test_by_name(self, folder, run):
        arguments = ("--T", "2", "--extensions", "similar-edges", "--final-fit", "train")
        text, chosen = self.fit(folder, run, *arguments)
        assert chosen["extensions"] == ["similar-edges"]
        assert set(chosen["member_weights"]) == {"plain", "similar"}
        assert "class offsets" not in text

    def test_without_validation_nodes(self, folder, run):
        arguments = ("fit", *TABLES, "--weight-decay", "1e-3", "--extensions")
        done = run(*arguments, "class-offsets,self-training", "--json")
        chosen = json.loads(done.out)["chosen"]
        assert chosen["extensions"] == ["class-offsets"]
        nodes = chosen["training_nodes"]
        assert chosen["class_offsets_from"] == f"{nodes} nodes by cross-validation"
        (hint,) = chosen["hints"]
        assert hint.startswith("self-training was not used: it needs ")
        assert hint in run(*arguments, "self-training").words


class TestFinalFit:
    """The last fit learns from validation nodes too, unless it is told otherwise."""

    def fit(self, *arguments):
        return ("fit", *TABLES, "--T", "1,2", "--weight-decay", "1e-3", *arguments)

    def test_includes_validation_nodes_by_default(self, folder, run):
        rows = add_split(folder)
        learned = sum(row["split"] in ("train", "val") for row in rows)
        done = run(*self.fit("-m", "model"))
        chosen = json.loads(run(*self.fit("--json")).out)["chosen"]
        assert chosen["final_fit_nodes"] == learned > chosen["training_nodes"]
        assert f"{learned} labelled nodes, including validation nodes\n" in done.out
        assert ", before the final fit learned from the labels of these" in done.words
        assert hg.load(folder / "model").final_fit == "train+val"

    def test_validation_accuracy_is_from_before(self, folder, run):
        add_split(folder)
        before, after = (
            json.loads(run(*self.fit("--final-fit", nodes, "--json")).out)["chosen"]
            for nodes in ("train", "train+val")
        )
        assert before["validation_accuracy"] == after["validation_accuracy"]
        assert before["final_fit_nodes"] == before["training_nodes"] == after["training_nodes"]
        assert (before["validated_before"], after["validated_before"]) == ([], ["the final fit"])

    def test_class_offsets_are_then_learned_in_folds(self, folder, run):
        add_split(folder)
        arguments = ("--extensions", "class-offsets", "--json")
        chosen = json.loads(run(*self.fit(*arguments)).out)["chosen"]
        nodes = chosen["final_fit_nodes"]
        assert chosen["class_offsets_from"] == f"{nodes} nodes by cross-validation"
        assert chosen["validated_before"] == ["class offsets", "the final fit"]

    def test_without_validation_nodes(self, folder, run):
        run(*self.fit("-m", "model"))
        model = hg.load(folder / "model")
        assert model.final_fit == "train"
        chosen = json.loads(run(*self.fit("--json")).out)["chosen"]
        assert chosen["final_fit_nodes"] == chosen["training_nodes"] == model.final_fit_nodes_


def test_rare_classes(folder, run):
    done = run(
        "fit",
        *TABLES,
        "--class-weight",
        "balanced",
        "--scoring",
        "f1_macro",
        "-m",
        "model.safetensors",
    )
    assert done.code == 0
    model = hg.load(folder / "model.safetensors")
    assert (model.class_weight, model.scoring) == ("balanced", "f1_macro")
    assert "chosen by macro-F1 by cross-validation: " in done.words


@pytest.mark.parametrize("option", ["--class-weight", "--scoring"])
def test_unknown_weights_and_scores(folder, run, option):
    done = run("fit", *TABLES, option, "auc")
    assert done.code == 2
    assert "'auc' is not one of" in done.err


class TestResult:
    """What is told of a result that is worth little, and beside good ones."""

    def imbalanced(self, folder, positives=17):
        """600 nodes of which few are positive, and nothing that predicts them."""
        rng = np.random.default_rng(0)
        is_positive = np.isin(np.arange(600), rng.choice(600, positives, replace=False))
        rows = [
            f"{at},{'pos' if is_positive[at] else 'neg'},{rng.normal():.3f}" for at in range(600)
        ]
        ends = [f"{v},{w}" for v, w in rng.integers(0, 600, (2000, 2))]
        (folder / "nodes.csv").write_text("\n".join(["id,label,f0", *rows]), encoding="utf-8")
        (folder / "edges.csv").write_text("\n".join(["source,target", *ends]), encoding="utf-8")

    def test_of_one_class_is_said_first(self, folder, run):
        self.imbalanced(folder)
        done = run("fit", *TABLES, "--T", "2", "--weight-decay", "1", "-o", "p.csv")
        title = "Result on 600 labelled nodes, each by a model that has not learned from it"
        assert f"{title}\n  Every node is predicted as 'neg': nothing was found" in done.out
        assert "Balanced accuracy is 50.0%, where chance gives 50.0%." in done.words
        assert "warning: all 600 nodes are predicted as 'neg', one of 2 classes" in done.err
        report = json.loads(run("fit", *TABLES, *FIXED, "--weight-decay", "1", "--json").out)
        findings = report["result"]["findings"]
        assert findings[0]["kind"] == "one class"
        assert any("The graph does not help" in finding["text"] for finding in findings)
        assert report["result"]["metrics"]["balanced_accuracy"] == 0.5

    def test_of_a_class_with_a_single_label(self, folder, run):
        self.imbalanced(folder, positives=1)
        done = run("fit", *TABLES, "--T", "2", "--weight-decay", "1")
        assert "With a single training node: 'pos'; nothing held out tells" in done.words

    def test_of_one_label_per_class(self, folder, run):
        text = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
        rows = [line.split(",") for line in text]
        for at, row in enumerate(rows[1:]):
            row[1] = {3: "red", 4: "blue"}.get(at, "")
        (folder / "nodes.csv").write_text("\n".join(map(",".join, rows)), encoding="utf-8")
        done = run("fit", *TABLES)
        assert done.code == 0, done.err
        assert "the middle of " in done.words
        assert "no class has a node to hold out" in done.words
        assert "How well it predicts is unknown: no class has two labelled nodes" in done.words
        assert json.loads(run("fit", *TABLES, *FIXED, "--json").out)["result"] is None

    def test_features_alone_are_one_number(self, folder, run):
        fit, tune = (
            json.loads(run(command, *TABLES, "--weight-decay", "1e-3,1e-2", "--json").out)["result"]
            for command in ("fit", "tune")
        )
        assert fit["features_alone"] == tune["features_alone"]
        assert fit["labels_alone"] == tune["labels_alone"]


class TestExplainTop:
    """Reasons of predictions as columns of their table."""

    def test_columns(self, folder, run):
        done = run("fit", *TABLES, *FIXED, "-o", "p.csv", "-m", "model", "--explain-top", "2")
        assert done.code == 0, done.err
        rows = read_rows("p.csv")
        assert list(rows[0])[:7] == [
            "id", "prediction", "confidence", "margin", "note", "top_features", "top_nodes"
        ]  # fmt: skip
        report = json.loads(
            run("explain", "model", *TABLES, "--node", "n5", "--top", "2", "--json").out
        )
        for column, part, name in (
            ("top_features", "features", "feature"),
            ("top_nodes", "nodes", "node"),
        ):
            reasons = [f"{record[name]} {record['share']:+.3g}" for record in report[part]]
            assert rows[5][column] == "; ".join(reasons)
        assert [row["note"] for row in rows[97:]] == ["no edges"] * 3
        run("predict", "model", *TABLES, "-o", "q.csv", "--explain-top", "2")
        assert read_rows("q.csv")[5]["top_nodes"] == rows[5]["top_nodes"]

    def test_of_too_many_nodes_is_refused_before_the_fit(self, folder, run, monkeypatch):
        monkeypatch.setattr("heatgraph.report.predictions.MAX_EXPLAINED", 99)
        done = run("fit", *TABLES, "-o", "p.csv", "--explain-top", "2")
        assert done.code == 1
        assert "--explain-top explains up to 99 nodes, and nodes.csv has 100." in done.err
        assert not (folder / "p.csv").exists()


def test_columns_that_may_be_the_label_are_named(folder, run):
    rows = [f"n{at},{at % 3},{'abcd'[at % 4]},{at / 7:.3f},{at % 2 == 0}" for at in range(100)]
    text = "id,stage,plan,size,active\n" + "\n".join(rows).lower()
    (folder / "nodes.csv").write_text(text, encoding="utf-8")
    done = run("fit", "nodes.csv", "edges.csv")
    assert done.code == 1
    assert done.err.strip().endswith("--label. Columns of few values are: active, plan.")


class TestReport:
    def test_a_page(self, run, folder):
        done = run("fit", "nodes.csv", "edges.csv", "--report", "fit.html", *FIXED)
        assert done.code == 0
        assert "Wrote report to fit.html" in done.out
        page = (folder / "fit.html").read_text(encoding="utf-8")
        for piece in (
            "<h1>Fit of nodes.csv</h1>",
            "labelled nodes, each by a model that has not learned from it are labelled correctly",
            "duplicates merged",
            "heatgraph fit nodes.csv edges.csv --report fit.html",
            "scikit-learn",
        ):
            assert piece in page, piece
        assert str(folder) not in page

    def test_markdown_and_json(self, run, folder):
        done = run("fit", "nodes.csv", "edges.csv", "--report", "fit.md", "--json", *FIXED)
        assert json.loads(done.out)["wrote"]["report"] == "fit.md"
        text = (folder / "fit.md").read_text(encoding="utf-8")
        assert text.startswith("# Fit of nodes.csv\n\n**")
        assert (folder / "fit-figures" / "reliability.png").exists()

    def test_other_tasks(self, run, folder):
        done = run("fit", "nodes.csv", "edges.csv", "--label", "f0", "--report", "fit.html", *FIXED)
        assert done.code == 0
        assert "R² is " in (folder / "fit.html").read_text(encoding="utf-8")
        assert "Result on 100 labelled nodes" in done.out

    def test_names_are_checked_before_any_work(self, run, folder):
        done = run("fit", "nodes.csv", "edges.csv", "--report", "fit.pdf")
        assert_error(done, "fit.pdf: the name of a report must end in .html or .md")
        done = run("fit", "nodes.csv", "edges.csv", "--report", "nodes.csv")
        assert_error(done, "named twice")
