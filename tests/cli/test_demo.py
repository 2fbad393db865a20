"""``heatgraph demo``."""

import json

import pytest

import heatgraph as hg
from heatgraph.cli import demo


@pytest.mark.slow
def test_the_demo_and_its_python_code_agree(folder, start, capsys):
    process = start("demo", "--plot", "plot.png", encoding="utf-8")
    exec(demo.PYTHON_EQUIVALENT, {})
    T, accuracy = map(float, capsys.readouterr().out.split())
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "Citeseer: 3,327 papers" in out
    words = " ".join(out.split())
    assert "papers is known: AI, Agents, DB, HCI, IR, ML." in words
    assert "paper 2312 is taken to be about Agents with " in words
    assert "What speaks for it most: its own words; those of paper " in words
    assert "The same curve is drawn in plot.png." in out
    assert max(map(len, out.splitlines())) <= 80
    assert demo.PYTHON_EQUIVALENT in out
    assert f"chose T = {T:.2f}: " in words
    assert f"with the graph  {accuracy:.1%}" in out
    assert accuracy > 0.7


def test_json(folder, run, monkeypatch):
    """With a small search, to save time."""
    real = hg.DGCClassifier
    monkeypatch.setattr(
        "heatgraph.learning.classifier.DGCClassifier",
        lambda T=(0.0, 4.0), **settings: real(T=T, weight_decay=1e-4, **settings),
    )
    report = json.loads(run("demo", "--json").out)
    assert (folder / "heatgraph-demo.png").read_bytes().startswith(b"\x89PNG")
    assert report["T"] == 4
    assert report["test_accuracy"]["with the graph"] > report["test_accuracy"]["words alone"]
