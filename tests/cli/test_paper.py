"""``heatgraph paper``, on experiments that need the bundled data alone."""

import json
import re
import time

import pytest

from heatgraph.experiments.paper.catalogue import EXPERIMENTS
from heatgraph.experiments.results import RESULTS_FILE


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_an_experiment_from_end_to_end(run, tmp_path):
    done = run("paper", "theorem2", "--quick")
    assert (done.code, done.err) == (0, "")
    folder = tmp_path / "heatgraph-paper-quick"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["figures", "report.html", "report.md", RESULTS_FILE]
    assert "theorem2 (1 of 1): 2 of 2 runs" in done.out
    assert "Runge–Kutta, with self-loops" in done.out
    assert "2 runs, 0 reused." in done.out
    assert str(folder.relative_to(tmp_path) / "report.html") in done.out

    again = run("paper", "theorem2", "--quick")
    assert "0 runs, 2 reused." in again.out
    over = run("paper", "theorem2", "--quick", "--again", "-q")
    assert (over.code, over.out) == (0, "")
    assert len(json.loads((folder / RESULTS_FILE).read_text())["runs"]) == 2


@pytest.mark.slow
def test_experiments_in_one_folder_share_a_report(run, tmp_path):
    for name in ("theorem2", "theorem1"):
        assert run("paper", name, "--quick", "-o", "out/deep").code == 0
    text = (tmp_path / "out" / "deep" / "report.md").read_text(encoding="utf-8")
    assert text.index("## Theorem 1") < text.index("## Theorem 2")
    assert "| `heatgraph paper theorem1 --seeds 3 --quick` |" in text


def test_json(run):
    done = run("paper", "theorem2", "--quick", "--seeds", 1, "--json")
    report = json.loads(done.out)
    assert (report["run"], report["known"], report["left_out"]) == (2, 0, {})
    assert [one["setting"]["self_loops"] for one in report["results"]] == [True, False]
    assert report["results"][0]["result"]["Euler order"] == pytest.approx(1, abs=0.05)


def test_unusable_arguments(run, tmp_path):
    done = run("paper", "table1")
    assert done.code == 2
    assert "no experiment 'table1'. Did you mean 'table10'? There are table2, splits," in done.err
    (tmp_path / "file").write_text("")
    done = run("paper", "theorem1", "-o", "file")
    assert (done.code, "--output: file is a file. Name a folder." in done.err) == (1, True)
    assert run("paper", "theorem1", "--seeds", 0).code == 2
    done = run("paper", "table4", "--data", "nowhere")
    assert done.code == 1
    assert "--data must name a folder that exists. Got 'nowhere'" in done.err
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / RESULTS_FILE).write_text("{}")
    done = run("paper", "theorem1", "-o", "old")
    assert done.code == 1
    assert "does not hold results of heatgraph paper" in done.err
    assert not (tmp_path / "heatgraph-paper").exists()


def test_without_cora_and_without_network(run, monkeypatch, tmp_path):
    from heatgraph.datasets import catalogue
    from heatgraph.errors import DownloadError

    def fail(name, progress=None):
        raise DownloadError("the network is down. Try again.")

    monkeypatch.setattr(catalogue, "fetch_planetoid", fail)
    monkeypatch.delenv("HEATGRAPH_DATA", raising=False)
    for name in ("figure1", "table8"):
        done = run("paper", name, "--quick")
        assert done.code == 1
        assert f"no run of {name} has a result" in done.err
        assert "the network is down. Try again." in done.err
    text = (tmp_path / "heatgraph-paper-quick" / "report.md").read_text(encoding="utf-8")
    assert "**Not run:** 9 of 9 runs." in text
    assert "over-smoothed" not in text
    done = run("paper", "table2", "--quick")
    assert done.code == 0
    assert re.search(r"Left out \d+: the network is down", done.out)


def test_the_help_names_every_experiment(run):
    done = run("paper", "--help")
    text = " ".join(done.out.replace("│", " ").split())
    for name in EXPERIMENTS:
        assert re.search(rf"\b{name}\b[,;]", text)


@pytest.mark.signals
@pytest.mark.slow
def test_a_killed_run_resumes(start, run, tmp_path):
    arguments = ("paper", "theorem2", "--quick", "-o", tmp_path / "out")
    process = start(*arguments, "-q")
    results = tmp_path / "out" / RESULTS_FILE
    while not results.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    stored = len(json.loads(results.read_text())["entries"])
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert stored >= 1
    assert report["known"] == stored
    assert report["run"] + stored == len(report["results"])
