"""Trials of a comparison: which are run, stored, resumed, and what a failure does."""

from dataclasses import replace

import pytest
from strategies import planted

from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.experiments.compare import comparison as comparison_module
from heatgraph.experiments.compare.comparison import Comparison, run_comparison
from heatgraph.experiments.compare.measures import measure
from heatgraph.experiments.compare.splits import comparison_splits
from heatgraph.experiments.compare.subprocess_runs import SubprocessRunError


def make_comparison(data, methods=("dgc", "features"), splits=None, **options):
    return Comparison(list(methods), data, splits or comparison_splits(data, None), **options)


def test_stored_results_are_not_computed_again(data, store, jobs):
    comparison = make_comparison(data)
    status = run_comparison(comparison, store())
    assert (status.completed, status.stored, len(jobs)) == (2, 0, 2)
    status = run_comparison(comparison, store())
    assert (status.completed, status.stored, len(jobs)) == (0, 2, 2)
    assert run_comparison(comparison, store(), rerun=True).completed == 2
    more = make_comparison(data, ["dgc", "sgc", "features"])
    assert run_comparison(more, store()).completed == 1


def test_only_random_methods_are_run_with_several_seeds(data):
    comparison = make_comparison(data, seeds=4)
    assert [len(comparison.trials(name)) for name in ("dgc", "gcn")] == [1, 4]
    assert len(make_comparison(data, seeds=4, noise=0.1).trials("dgc")) == 4
    five = make_comparison(data, seeds=4, splits=comparison_splits(data, 5))
    assert [len(five.trials(name)) for name in ("dgc", "gcn")] == [5, 20]


@pytest.mark.usefixtures("jobs")
def test_progress(data, store):
    reports = []
    run_comparison(make_comparison(data), store(), lambda *report: reports.append(report))
    assert reports[0] == ("DGC, run 1 of 1", "starting", 0.0, 0, 2)
    assert {(done, total) for *_, done, total in reports} == {(0, 2), (1, 2)}


@pytest.mark.parametrize(
    "change", [{"threads": 1}, {"memory": "8GB"}, {"recipe_dataset": "pubmed"}, {"noise": 0.1}]
)
def test_results_are_stale_under_other_conditions(data, store, change):
    methods = ["gat"] if "recipe_dataset" in change else ["dgc"]
    before, after = make_comparison(data, methods), make_comparison(data, methods, **change)
    results = store()
    results.add(before.trials(methods[0])[0], {}, 0.0)
    assert before.trials(methods[0])[0] in results
    assert after.trials(methods[0])[0] not in results
    other = {"own": replace(data.split, train=data.split.train[1:])}
    assert make_comparison(data, methods, other).trials(methods[0])[0] not in results


@pytest.mark.usefixtures("jobs")
def test_other_data_under_the_same_name_are_refused(data, store):
    run_comparison(make_comparison(data, ["dgc"]), store())
    graph, labels = planted(kind="sparse")
    other = Dataset("planted", graph, labels, data.splits)
    with pytest.raises(InputError, match="results of other data by the name of planted"):
        run_comparison(make_comparison(other, ["dgc"]), store())


def test_a_failed_method_is_skipped_and_tried_again_next_time(data, store, jobs, monkeypatch):
    def crash_on_sgc(job, report):
        jobs.append(job)
        if job.method == "sgc":
            raise SubprocessRunError("the process crashed (SIGSEGV).")
        return measure(job, report)

    comparison = make_comparison(data, ["dgc", "sgc", "features"], comparison_splits(data, 2))
    with monkeypatch.context() as patch:
        patch.setattr(comparison_module, "run_in_subprocess", crash_on_sgc)
        status = run_comparison(comparison, store())
    assert status.failed == {"sgc": "the process crashed (SIGSEGV)."}
    assert status.completed == 4
    assert [job.method for job in jobs].count("sgc") == 1
    assert comparison.failure("sgc", store()) == "the process crashed (SIGSEGV)."
    assert run_comparison(comparison, store()).completed == 2
    assert comparison.failure("sgc", store()) is None
