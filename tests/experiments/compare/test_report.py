"""The report of a comparison, and its files."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from heatgraph.experiments.compare import comparison as comparison_module
from heatgraph.experiments.compare.comparison import Comparison, run_comparison
from heatgraph.experiments.compare.report import (
    CSV_FILE,
    JSON_FILE,
    RUNS_FILE,
    _headline,
    comparison_document,
    write_comparison,
)
from heatgraph.experiments.compare.splits import comparison_splits
from heatgraph.experiments.compare.subprocess_runs import SubprocessRunError
from heatgraph.experiments.compare.summary import summarize_methods
from heatgraph.report.folder import MARKDOWN, PAGE
from heatgraph.report.markdown import to_markdown

pytestmark = pytest.mark.usefixtures("jobs")


def report_text(comparison, results):
    rows = summarize_methods(comparison, results)
    return to_markdown(comparison_document(comparison, results, rows))


def test_files(data, store, tmp_path):
    comparison, results = Comparison(["dgc", "features"], data, data.splits), store()
    run_comparison(comparison, results)
    written = write_comparison(tmp_path, comparison, results)
    document = written.document
    assert document.title == "Methods compared on planted"
    assert document.headline.startswith("DGC labels ")
    shown = written._repr_html_()
    assert document.headline in shown
    assert f"{written.rows[0]['accuracy']:.1f}" in shown
    with open(tmp_path / CSV_FILE, encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    content = json.loads((tmp_path / JSON_FILE).read_text())
    assert [row["method"] for row in table] == ["dgc", "features"]
    assert content["methods"][0]["accuracy"] == float(table[0]["accuracy"])
    with open(tmp_path / RUNS_FILE, encoding="utf-8") as file:
        assert [row["split"] for row in csv.DictReader(file)] == ["own", "own"]
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert "Features alone" in page
    assert "data:image/svg+xml" in page
    assert (tmp_path / MARKDOWN).read_text(encoding="utf-8") == to_markdown(document)
    assert (tmp_path / "figures" / "accuracy-over-time.png").stat().st_size > 5000


def row(method, accuracy, p=None):
    return {"method": method, "title": method.upper(), "accuracy": accuracy, "runs": 1,
            "p_corrected": p}  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("dgc", 80.0)], "DGC labels 80.0 % of test nodes correctly."),
        (
            [row("dgc", 80.0), row("sgc", 79.0), row("mlp", 60.0)],
            "DGC labels 80.0 % of test nodes correctly, more than any other of 3 methods; the next "
            "is SGC 79.0 %.",
        ),
        (
            [row("dgc", 80.0), row("sgc", 81.0, 0.3)],
            "DGC labels 80.0 % of test nodes correctly; the most accurate of 2 methods is SGC "
            "81.0 %, a difference that may be chance.",
        ),
        (
            [row("dgc", 80.0), row("sgc", 85.0, 0.001)],
            "DGC labels 80.0 % of test nodes correctly; the most accurate of 2 methods is SGC "
            "85.0 %.",
        ),
        ([row("sgc", 85.0)], "No result: DGC, which the others are compared with, has not run."),
    ],
)
def test_the_headline(rows, expected):
    failed = row("gat", None) | {"runs": 0}
    assert _headline([*rows, failed]) == expected


def test_failed_methods_have_a_row_and_a_reason(data, store):
    comparison, results = Comparison(["dgc", "sgc"], data, data.splits), store()
    results.skip(comparison.trials("sgc")[0], "the process crashed (SIGSEGV).")
    text = report_text(comparison, results)
    assert "| SGC | validated | – (failed) |" in text
    assert "**SGC** failed: the process crashed (SIGSEGV)." in text
    run_comparison(comparison, results)
    assert "SIGSEGV" not in report_text(comparison, results)


def test_missing_runs_are_counted(data, store):
    comparison, results = Comparison(["dgc"], data, comparison_splits(data, 3)), store()
    trial = comparison.trials("dgc")[0]
    results.add(trial, trial.run(lambda *_: None), 0.0)
    assert "(n = 1 of 3)" in report_text(comparison, results)


def test_nothing_but_failures(data, store, tmp_path, monkeypatch):
    def fail(job, report):
        raise SubprocessRunError("no.")

    monkeypatch.setattr(comparison_module, "run_in_subprocess", fail)
    comparison, results = Comparison(["dgc", "features"], data, data.splits), store()
    run_comparison(comparison, results)
    document = write_comparison(tmp_path, comparison, results).document
    assert not document.sections[0].charts
    assert (tmp_path / RUNS_FILE).read_text() == "\n"


def test_the_protocol_without_validation_nodes(data, store):
    splits = {"own": replace(data.split, val=np.empty(0, dtype=int))}
    text = report_text(Comparison(["dgc"], data, splits), store())
    assert "cross-validation, since there are no validation nodes" in text


def test_the_protocol_of_tuned_networks(data, store):
    comparison = Comparison(["dgc", "gcn", "gcn-tuned"], data, data.splits)
    text = report_text(comparison, store())
    assert "| GCN, tuned | validated |" in text
    assert "| GCN | published |" in text
    assert "Tuned networks choose from a grid on validation nodes" in text
    assert "(GCN, tuned: learning rate, weight decay, dropout, hidden)." in text
    splits = {"own": replace(data.split, val=np.empty(0, dtype=int))}
    bare = report_text(replace(comparison, splits=splits), store())
    assert "choose from a grid on a fifth of the training nodes" in bare
    assert "Tuned" not in report_text(replace(comparison, methods=["dgc", "gcn"]), store())


def test_variants_of_dgc_are_explained(data, store):
    comparison, results = Comparison(["dgc", "dgc-extended"], data, data.splits), store()
    text = report_text(comparison, results)
    assert "*DGC* is the paper's. *DGC, extended* is the mean of it, " in text
    assert "an offset for each class from the labels of validation nodes, as temperature" in text
    assert "third protocol" not in text
    splits = {"own": replace(data.split, val=np.empty(0, dtype=int))}
    bare = report_text(replace(comparison, splits=splits), results)
    assert "from the labels of training nodes held out by cross-validation" in bare
    assert "extended" not in report_text(replace(comparison, methods=["dgc"]), results)


def test_a_refitted_method_is_set_apart(data, store):
    comparison, results = Comparison(["dgc", "dgc-refit"], data, data.splits), store()
    run_comparison(comparison, results)
    text = report_text(comparison, results)
    assert "*validated, then refitted* (DGC, learned from validation nodes too): settings" in text
    (row,) = (line for line in text.splitlines() if "| validated, then refitted |" in line)
    assert row.startswith("| DGC, learned from validation nodes too |")
    assert row.endswith("| – |")
    splits = {"own": replace(data.split, val=np.empty(0, dtype=int))}
    bare = report_text(replace(comparison, splits=splits), results)
    assert "are then learned from as well; there are none here." in bare


def test_noise_is_reported(data, store):
    comparison, results = Comparison(["dgc"], data, data.splits, seeds=2, noise=0.5), store()
    assert run_comparison(comparison, results).completed == 2
    assert "standard deviation 0.5 was added" in report_text(comparison, results)
