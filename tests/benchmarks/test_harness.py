import signal

import pytest

from benchmarks.benchmark import Job
from benchmarks.harness import Options, run_job, run_rounds
from benchmarks.suite.product import multiply
from benchmarks.workloads import prepare


def command(peer, code):
    return Job("w", None, peer, settings={"command": ["python", "-c", code]}, checked=False)


def test_failing_peers_become_rows_with_a_reason():
    jobs = [
        command("crashing", "import os; os.abort()"),
        command("missing", "import no_such_module"),
        command("failing", "raise SystemExit(3)"),
        command("heatgraph", ""),
    ]
    rows = run_rounds(jobs, rounds=2)
    assert [row.failed for row in rows] == [
        "crashed (SIGABRT)",
        "not installed",
        "ended without a result (exit code 3)",
        "",
    ]
    assert [len(row.turns) for row in rows] == [0, 0, 0, 2]


def test_workload_that_is_missing_is_the_reason():
    (row,) = run_rounds([Job("w", multiply, "SciPy", "cora")], 1, {}, {"cora": "no files"})
    assert row.failed == "no files"


@pytest.mark.slow
def test_worker_reports_errors_and_its_limit(tmp_path):
    folder = prepare("blocks-500", tmp_path)
    unknown = run_job(Job("w", multiply, "nobody", "blocks-500"), folder)
    assert "KeyError" in unknown["failed"]
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers on this system")
    slow = run_job(Job("w", multiply, "SciPy", "blocks-500", limit=0.001), folder)
    assert slow["failed"] == "not done within the limit of 0.001 s"


def test_options_select_jobs_and_scale_their_limits():
    jobs = [
        Job("w", multiply, peer, data, limit=240.0)
        for peer in ("heatgraph", "torch CSR", "SciPy")
        for data in ("pubmed", "blocks-500")
    ]
    (job,) = Options(limit=60.0, peers="torch,MKL", data="blocks").select(jobs)
    assert (job.peer, job.data, job.limit) == ("torch CSR", "blocks-500", 120.0)


def test_options_give_the_command_that_repeats_a_run():
    assert Options(2).command("fit") == "python -m benchmarks fit --rounds 2"
    options = Options(1, 0.01, peers="torch CSR", data="cora")
    expected = "python -m benchmarks fit --rounds 1 --scale 0.01 --peers 'torch CSR' --data cora"
    assert options.command("fit") == expected
