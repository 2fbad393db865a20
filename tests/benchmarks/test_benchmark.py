import pytest

from benchmarks.benchmark import Figure, Job
from benchmarks.registry import BENCHMARKS


@pytest.mark.parametrize(
    ("value", "target", "verdict"),
    [
        (3.0, ">= 3", "met"),
        (2.9, ">= 3", "MISSED"),
        (1.0, "<= 1", "met"),
        (1.1, "<= 1", "MISSED"),
        (2.0, "", ""),
        (None, "<= 1", "not run"),
    ],
)
def test_verdict_compares_with_target(value, target, verdict):
    assert Figure("", value, target).verdict == verdict


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=lambda benchmark: benchmark.name)
def test_every_job_survives_the_command_line(benchmark):
    jobs = benchmark.jobs(0.01)
    assert [Job.from_json(job.to_json()) for job in jobs] == jobs


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=lambda benchmark: benchmark.name)
def test_rows_of_a_work_differ_in_their_peer(benchmark):
    jobs = benchmark.jobs(1.0)
    assert len({(job.work, job.peer) for job in jobs}) == len(jobs)
