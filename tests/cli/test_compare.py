"""``heatgraph compare``, on bundled data and on tables."""

import json
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from graph_files import geom_masks, write_geom_gcn, write_twitch

from heatgraph.experiments.compare import comparison, methods
from heatgraph.experiments.compare.measures import measure
from heatgraph.experiments.compare.subprocess_runs import SubprocessRunError
from heatgraph.experiments.results import RESULTS_FILE


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def in_this_process(monkeypatch):
    monkeypatch.setattr(comparison, "run_in_subprocess", measure)


@pytest.mark.slow
def test_from_end_to_end(run, tmp_path):
    done = run("compare", "blocks", "--models", "features")
    assert (done.code, done.err) == (0, "")
    folder = tmp_path / "heatgraph-compare-blocks"
    assert {path.name for path in folder.iterdir()} == {
        "comparison.csv", "comparison.json", "runs.csv", "figures", "report.html", "report.md",
        RESULTS_FILE,
    }  # fmt: skip
    assert "Features alone" in done.out
    assert "against DGC" in done.out
    assert "2 runs, 0 reused. The report is heatgraph-compare-blocks" in done.out
    again = run("compare", "blocks", "--models", "features")
    assert "0 runs, 2 reused." in again.out


@pytest.mark.usefixtures("in_this_process")
def test_tables(run, tables, tmp_path):
    nodes, edges = tables / "nodes.csv", tables / "edges.csv"
    done = run("compare", nodes, edges, "--models", "sgc", "--splits", 2, "-o", "out", "--json")
    report = json.loads(done.out)
    assert (done.code, report["run"], report["known"]) == (0, 4, 0)
    dgc, sgc = report["methods"]
    assert (dgc["method"], sgc["method"], sgc["runs"]) == ("dgc", "sgc", 2)
    assert sgc["difference"] is not None
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "Methods compared on nodes" in text
    typed = "nodes.csv edges.csv --models sgc --splits 2 -o out --json"
    assert f"`heatgraph compare {typed}`" in text
    assert str(tables) not in text


@pytest.mark.usefixtures("in_this_process")
def test_variants_of_dgc(run, tables, tmp_path):
    arguments = ("--models", "dgc-extended,dgc-refit", "--splits", 2, "-o", "out")
    done = run("compare", tables / "nodes.csv", tables / "edges.csv", *arguments)
    assert (done.code, done.err) == (0, "")
    assert "DGC, extended" in done.out
    rows = json.loads((tmp_path / "out" / "comparison.json").read_text())["methods"]
    assert [row["method"] for row in rows] == ["dgc", "dgc-extended", "dgc-refit"]
    assert [row["difference"] is None for row in rows] == [True, False, True]
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "*DGC* is the paper's." in text
    assert "*validated, then refitted*" in text


def test_the_help_has_the_default_methods(run):
    text = "".join(run("compare", "--help").out.replace("│", " ").split())
    assert f"bydefault{methods.DEFAULT_METHODS}.DGC" in text


@pytest.mark.usefixtures("in_this_process")
def test_files_of_geom_gcn(run, tmp_path):
    folder = tmp_path / "data" / "geom-gcn" / "texas"
    write_geom_gcn(folder)
    done = run(
        "compare", "texas", "--data", "data", "--models", "features", "--splits", 1, "--json"
    )
    assert done.code == 0
    assert [row["runs"] for row in json.loads(done.out)["methods"]] == [1, 1]
    for number in range(2):
        np.savez(folder / f"texas_split_0.6_0.2_{number}.npz", **geom_masks(number))
    done = run("compare", "texas", "--data", "data", "--models", "features", "-o", "own", "--json")
    assert [row["runs"] for row in json.loads(done.out)["methods"]] == [2, 2]
    text = (tmp_path / "own" / "report.md").read_text(encoding="utf-8")
    assert "its own 2 splits, with 4 training" in text
    (folder / "out1_graph_edges.txt").write_text("node_id\tnode_id\n0\t8\n")
    done = run("compare", "texas", "--data", "data", "--models", "features")
    assert done.code == 1
    assert "line 2: a node must be an integer in 0..7. Got '8'" in done.err.replace("\n", " ")


@pytest.mark.usefixtures("in_this_process")
def test_files_of_musae(run, tmp_path):
    write_twitch(tmp_path / "data" / "twitch" / "DE")
    done = run("compare", "twitch-de", "--data", "data", "--models", "features", "--splits", 1)
    assert done.code == 0
    assert "2 runs, 0 reused." in done.out


@pytest.mark.usefixtures("in_this_process")
def test_without_an_extra(run, monkeypatch):
    monkeypatch.setitem(methods.EXTRA_PACKAGES, "gnn", ("no_such_library",))
    done = run("compare", "blocks", "--models", "features,gcn,gat")
    assert done.code == 0
    assert 'Not run: GCN, GAT. To run them: pip install "heatgraph[gnn]"' in done.out
    assert "Features alone" in done.out


@pytest.mark.usefixtures("in_this_process")
def test_without_features(run):
    done = run("compare", "karate", "--models", "sgc,label-propagation")
    assert done.code == 0
    assert "There are no features, so SGC are left out." in done.out
    assert "Label propagation" in done.out


def test_unusable_arguments(run, tables, tmp_path):
    done = run("compare", "core")
    assert done.code == 2
    assert "Did you mean 'cora'?" in done.err
    assert "Data sets are: citeseer, cora," in done.err
    done = run("compare", tables / "nodes.csv")
    assert "For tables, name both: NODES EDGES." in done.err
    done = run("compare", "karate", "--models", "x")
    assert "no model 'x'. There are dgc, dgc-extended, sgc" in done.err
    (tmp_path / "file").write_text("")
    assert "--output: file is a file." in run("compare", "karate", "-o", "file").err
    assert "a folder that exists" in run("compare", "karate", "--data", "nowhere").err
    assert run("compare", "karate", "--seeds", 0).code == 2
    assert run("compare", "karate", "--noise", -1).code == 2
    done = run("compare", "karate", "--noise", 0.1, "--models", "dgc")
    assert done.code == 1
    assert "--noise: there are no features to add noise to." in done.err
    assert not (tmp_path / "heatgraph-compare-karate").exists()


def fails(job, report):
    raise SubprocessRunError("gat does not read edge weights, and this graph has some.")


def test_every_method_fails(run, tables, monkeypatch):
    monkeypatch.setattr(comparison, "run_in_subprocess", fails)
    done = run("compare", tables / "nodes.csv", tables / "edges.csv", "--models", "dgc")
    assert done.code == 1
    assert "To ignore weights: --weight ''" in done.out
    assert "every method failed; see above for the reasons." in done.err


@pytest.mark.signals
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the processes in /proc")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_stops_the_run_and_its_worker(start, tmp_path, number, code):
    process = start("compare", "blocks", "--models", "features,sgc", "-o", "out")
    results = tmp_path / "out" / RESULTS_FILE
    wait_for(results.exists)
    wait_for(lambda: children(process.pid))
    workers = children(process.pid)
    process.send_signal(getattr(signal, number))
    assert process.wait(300) == code
    wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    known = len(json.loads(results.read_text())["entries"])
    assert 1 <= known < 3


def wait_for(condition):
    """Wait for a condition; the limit only ends a test that hangs."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("the condition was never met")


def children(pid):
    """Ids of the child processes of a process."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
