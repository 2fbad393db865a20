"""The harness of the benchmarks, at a tiny size and without torch."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


def test_a_benchmark_from_end_to_end(tmp_path):
    page = tmp_path / "docs" / "performance.md"
    command = [sys.executable, "-m", "benchmarks", "product", "--rounds", "1", "--scale", "0.0005"]
    chosen = ["--peers", "heatgraph,SciPy", "--data", "blocks"]
    places = ["--output", tmp_path, "--page", page]
    done = subprocess.run([*command, *chosen, *places], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "product.json").read_text())
    assert [row["peer"] for row in content["rows"]] == ["heatgraph", "SciPy"]
    for row in content["rows"]:
        assert not row["failed"]
        assert row["turns"][0]["median"] > 0
        assert row["products"] == 1
        assert row["difference"] < 1e-5  # to the same in float64: both did the same thing
    assert content["data"]["blocks-500"]["nodes"] == 500
    assert str(ROOT) not in json.dumps(content)
    text = page.read_text(encoding="utf-8")
    for expected in ("One product: blocks", "scale 0.0005", "Not run", "Where others are ahead"):
        assert expected in text
    assert (page.parent / "figures" / "performance" / "product.png").exists()


def test_a_peer_that_fails_is_a_row(tmp_path):
    from benchmarks.jobs import Job
    from benchmarks.report import ahead, work_table
    from benchmarks.rounds import run_command, take_turn
    from benchmarks.rows import Results, Row
    from benchmarks.workloads import prepare

    folder = prepare("blocks-500", tmp_path)
    abort = {"command": ["python", "-c", "import os; os.abort()"]}
    absent = {"command": ["python", "-c", "import no_such_module"]}
    jobs = {
        "no result": Job("w", "product", "nobody", "blocks-500"),
        "crashed (SIGABRT)": Job("w", "command", "crashing", settings=abort),
        "not installed": Job("w", "command", "missing", settings=absent),
    }
    if hasattr(signal, "setitimer"):
        jobs["limit of 0.001 s"] = Job("w", "product", "SciPy", "blocks-500", limit=0.001)
    rows = []
    for job in jobs.values():
        rows.append(Row.of(job))
        rows[-1].add(take_turn(job, folder, None))
    assert "KeyError" in rows[0].failed
    for expected, row in list(zip(jobs, rows, strict=True))[1:]:
        assert expected in row.failed
    quick = Job("w", "command", "heatgraph", settings={"command": ["python", "-c", ""]})
    rows.append(Row.of(quick))
    rows[-1].add(run_command(quick))
    results = Results("product", {}, 1, 1.0, 120.0, {}, {}, rows)
    lines = work_table(results, "w").rows
    assert [line[0] for line in lines] == [row.peer for row in rows]
    assert lines[1][1] == "crashed (SIGABRT)"
    assert ahead([results]) == [
        f"In {kind}: nowhere, in what was run." for kind in ("time", "memory")
    ]


def test_figures_are_judged():
    from benchmarks.jobs import Figure

    verdicts = [
        Figure("", value, wanted).verdict
        for value, wanted in (
            (3.0, ">= 3"),
            (2.9, ">= 3"),
            (1.0, "<= 1"),
            (2.0, ""),
            (None, "<= 1"),
        )
    ]
    assert verdicts == ["reached", "MISSED", "reached", "", "not run"]


def test_peers_that_are_ahead_are_told():
    from benchmarks.report import ahead
    from benchmarks.rows import Results, Row

    def row(peer, seconds, **more):
        return Row("w", peer, turns=[{"median": seconds, "memory": 10**8}], **more)

    rows = [row("heatgraph", 2.0), row("quick", 1.0), row("even", 1.99), row("slow", 3.0)]
    rows += [row("heatgraph, rows", 0.1), row("part", 0.1, compared=False)]
    time, memory = ahead([Results("product", {}, 1, 1.0, 120.0, {}, {}, rows)])
    assert [line[:5] for line in time.rows] == [["w", "quick", "1 s", "2 s", "2"]]
    assert "nowhere" in memory


def test_steps_are_extrapolated_only_beyond_the_budget(monkeypatch):
    from benchmarks import peers

    clock = [0.0]
    monkeypatch.setattr(peers.time, "perf_counter", lambda: clock[0])

    def step(x):
        clock[0] += 1.0
        return x + 1

    whole = peers.take_steps(step, 0, 5, budget=60)
    assert (whole.value, whole.steps, whole.seconds) == (5, 5, 5)
    part = peers.take_steps(step, 0, 1000, budget=10)
    assert (part.value, part.steps, part.seconds) == (3, 3, 1000)
    # Quick steps may be slower at first, so a tenth of the budget is spent on them.
    later = peers.take_steps(step, 0, 1000, budget=100)
    assert (later.value, later.steps, later.seconds) == (11, 11, 1000)


def test_the_matrix_of_peers_is_that_of_the_engine(tmp_path):
    import numpy as np

    from benchmarks.workloads import Workload, normalised, write
    from heatgraph import make_block_graph

    data = make_block_graph(50, 120, 3, 4)
    write(data, tmp_path)
    S = normalised(data.graph.adjacency)
    np.testing.assert_allclose(S.toarray(), data.graph.operator().to_scipy().toarray(), rtol=1e-6)
    kept = Workload(tmp_path)
    assert (kept.S() != S).nnz == 0
    assert kept.graph().num_edges == data.graph.num_edges
    assert (kept.split.test == data.split.test).all()
