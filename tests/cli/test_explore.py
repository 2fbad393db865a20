"""``heatgraph explore``: a page of a model on tables."""

import json
import re
import webbrowser
from pathlib import Path

import numpy as np

import heatgraph as hg
from heatgraph.explorer.binary_data import decode

TABLES = ("nodes.csv", "edges.csv")


def test_a_page_of_tables(model, folder, run):
    done = run("explore", "model", *TABLES, "-o", "page.html")
    assert (done.code, done.err) == (0, "")
    assert "Wrote page.html (" in done.out
    html = Path("page.html").read_text(encoding="utf-8")
    values, arrays = decode(re.search(r'id="data">([^<]*)<', html)[1])
    assert values["ids"][:3] == ["n0", "n1", "n2"]
    classifier = hg.load("model")
    graph = hg.from_tables(*TABLES, model=classifier).graph
    counts = np.bincount(np.searchsorted(classifier.classes_, classifier.predict(graph)))
    shown = arrays["predictions"].reshape(len(values["times"]), -1)[values["chosen"]]
    assert np.bincount(shown).tolist() == counts.tolist()


def test_the_report_as_json_and_open(model, folder, run, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    done = run("explore", "model", *TABLES, "-o", "page.html", "--open", "--json")
    assert json.loads(done.out)["bytes"] == Path("page.html").stat().st_size
    assert opened == [(folder / "page.html").as_uri()]


def test_bad_outputs_get_their_error_before_any_work(model, folder, run):
    assert "is named twice" in run("explore", "model", *TABLES, "-o", "nodes.csv").err
    assert "there is no folder" in run("explore", "model", *TABLES, "-o", "none/page.html").err
    assert run("explore", "model", *TABLES).code == 2
