"""Splits, runs that are kept and gone on with, failures, and the report of it all."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from strategies import planted

from heatgraph.datasets.dataset import Dataset
from heatgraph.datasets.splits import Split
from heatgraph.errors import InputError
from heatgraph.experiments.compare import trials
from heatgraph.experiments.compare.isolation import RunFailed
from heatgraph.experiments.compare.measures import measure
from heatgraph.experiments.compare.significance import corrected, over_nodes, over_splits
from heatgraph.experiments.compare.trials import Comparison, run, splits_of
from heatgraph.experiments.compare.verdict import CSV, JSON, RUNS, rows, write
from heatgraph.experiments.results import Results
from heatgraph.report.folder import MARKDOWN, PAGE

pytestmark = pytest.mark.usefixtures("in_this_process")


def results(folder):
    return Results(folder, "compare", "heatgraph compare planted")


def compared(data, methods=("dgc", "features"), **more):
    return Comparison(list(methods), data, more.pop("splits", splits_of(data, None)), **more)


class TestSplits:
    def test_the_own_one(self, data):
        assert list(splits_of(data, None)) == ["own"]

    def test_random_ones_like_the_own(self, data):
        found = splits_of(data, 3)
        assert list(found) == ["random 0", "random 1", "random 2"]
        for split in found.values():
            assert np.bincount(data.labels[split.train]).tolist() == [5, 5, 5]
            assert (len(split.val), len(split.test)) == (30, 45)
        assert set(found["random 0"].train) != set(found["random 1"].train)

    def test_an_own_one_that_is_not_even(self, data):
        own = Split(np.r_[np.arange(15), 18], np.arange(20, 45), np.arange(45, 90))
        split = splits_of(replace(data, splits={"x": own}), 1)["random 0"]
        assert abs(len(split.train) - 16) <= 3
        assert abs(len(split.test) - 45) <= 3
        parts = np.concatenate([split.train, split.val, split.test])
        assert len(set(parts)) == len(parts)

    def test_classes_that_the_own_one_does_not_learn(self, data):
        labels = data.labels.copy()
        labels[np.flatnonzero(labels == 2)[5:9]] = 3  # four of them: fewer than of any other
        own = Split(np.flatnonzero(labels < 2)[:20], np.arange(45, 60), np.arange(60, 90))
        found = splits_of(replace(data, labels=labels, splits={"x": own}), 2)
        assert all(len(split.test) > 20 for split in found.values())

    def test_none(self, data):
        found = splits_of(replace(data, splits={}), None)
        assert len(found) == trials.SPLITS
        assert [len(part) for part in (found["random 0"].train, found["random 0"].test)] == [54, 18]

    def test_nothing_to_judge_by(self, data):
        own = Split(np.arange(15), np.arange(15, 45), np.empty(0, dtype=int))
        with pytest.raises(InputError, match="names no test nodes"):
            splits_of(replace(data, splits={"x": own}), None)
        assert len(splits_of(replace(data, splits={"x": own}), 2)["random 1"].test) == 18
        with pytest.raises(InputError, match="labels are needed"):
            splits_of(replace(data, labels=None), None)


class TestRuns:
    def test_they_are_kept(self, data, tmp_path, in_this_process):
        comparison = compared(data)
        outcome = run(comparison, results(tmp_path))
        assert (outcome.done, outcome.known, len(in_this_process)) == (2, 0, 2)
        outcome = run(comparison, results(tmp_path))
        assert (outcome.done, outcome.known, len(in_this_process)) == (0, 2, 2)
        assert run(comparison, results(tmp_path), again=True).done == 2
        more = compared(data, ["dgc", "sgc", "features"])
        assert run(more, results(tmp_path)).done == 1

    def test_seeds_are_run_where_they_matter(self, data):
        assert [len(compared(data, seeds=4).entries(name)) for name in ("dgc", "gcn")] == [1, 4]
        assert len(compared(data, seeds=4, noise=0.1).entries("dgc")) == 4
        five = compared(data, seeds=4, splits=splits_of(data, 5))
        assert [len(five.entries(name)) for name in ("dgc", "gcn")] == [5, 20]

    def test_progress(self, data, tmp_path):
        told = []
        run(compared(data), results(tmp_path), lambda *report: told.append(report))
        assert told[0] == ("DGC, run 1 of 1", "starting", 0.0, 0, 2)
        assert {(done, total) for *_, done, total in told} == {(0, 2), (1, 2)}

    @pytest.mark.parametrize(
        "change", [{"threads": 1}, {"memory": "8GB"}, {"known_as": "pubmed"}, {"noise": 0.1}]
    )
    def test_other_circumstances_count_anew(self, data, tmp_path, change):
        methods = ["gat"] if "known_as" in change else ["dgc"]
        before, after = compared(data, methods), compared(data, methods, **change)
        kept = results(tmp_path)
        kept.add(before.entries(methods[0])[0], {}, 0.0)
        assert before.entries(methods[0])[0] in kept
        assert after.entries(methods[0])[0] not in kept
        other = {"own": replace(data.split, train=data.split.train[1:])}
        assert compared(data, methods, splits=other).entries(methods[0])[0] not in kept

    def test_other_data_are_refused(self, data, tmp_path):
        run(compared(data, ["dgc"]), results(tmp_path))
        graph, labels = planted(kind="sparse")
        other = Dataset("planted", graph, labels, data.splits)
        with pytest.raises(InputError, match="results of other data by the name of planted"):
            run(compared(other, ["dgc"]), results(tmp_path))

    def test_a_failure_is_a_row(self, data, tmp_path, monkeypatch, in_this_process):
        def fails(job, report):
            in_this_process.append(job)
            if job.method == "sgc":
                raise RunFailed("the process crashed (SIGSEGV).")
            return measure(job, report)

        monkeypatch.setattr(trials, "isolated", fails)
        comparison = compared(data, ["dgc", "sgc", "features"], splits=splits_of(data, 2))
        outcome = run(comparison, results(tmp_path))
        assert outcome.failed == {"sgc": "the process crashed (SIGSEGV)."}
        assert outcome.done == 4
        assert [job.method for job in in_this_process].count("sgc") == 1
        write(tmp_path, comparison, results(tmp_path))
        text = (tmp_path / MARKDOWN).read_text(encoding="utf-8")
        assert "| SGC | validated | – (failed) |" in text
        assert "**SGC** failed: the process crashed (SIGSEGV)." in text
        monkeypatch.setattr(trials, "isolated", lambda job, report: measure(job, report))
        assert run(comparison, results(tmp_path)).done == 2
        write(tmp_path, comparison, results(tmp_path))
        assert "SIGSEGV" not in (tmp_path / MARKDOWN).read_text(encoding="utf-8")

    def test_a_method_with_some_of_its_runs(self, data, tmp_path):
        comparison, kept = compared(data, splits=splits_of(data, 3)), results(tmp_path)
        run(comparison, kept)
        entry = comparison.entries("features")[0]
        for other in comparison.entries("features")[1:]:
            del kept._found[other.key]
        assert entry in kept
        row = rows(comparison, kept)[1]
        assert (row["runs"], row["planned"], row["p"]) == (1, 3, None)
        write(tmp_path, comparison, kept)
        assert "(n = 1 of 3)" in (tmp_path / MARKDOWN).read_text(encoding="utf-8")


class TestVerdict:
    def test_one_split_is_compared_by_nodes(self, data, tmp_path):
        comparison, kept = compared(data), results(tmp_path)
        run(comparison, kept)
        dgc, alone = rows(comparison, kept)
        split = data.split
        right = {}
        for row, model in ((dgc, "dgc"), (alone, "features")):
            fitted = trials.CONTESTANTS[model].estimator("")
            fitted.fit(data.graph, data.labels, split.train, split.val)
            right[model] = fitted.predict(nodes=split.test) == data.labels[split.test]
            assert row["accuracy"] == pytest.approx(100 * right[model].mean())
        expected = over_nodes(right["features"].astype(float) - right["dgc"])
        assert alone["difference"] == pytest.approx(100 * expected.mean)
        assert alone["p"] == alone["p_corrected"] == pytest.approx(expected.p)
        assert (dgc["difference"], dgc["p"]) == (None, None)

    def test_splits_are_compared_by_splits(self, data, tmp_path):
        comparison = compared(data, ["dgc", "features", "sgc"], splits=splits_of(data, 3))
        kept = results(tmp_path)
        run(comparison, kept)
        found = rows(comparison, kept)
        means = {
            name: np.array(trials.records(comparison, kept)[name].values("accuracy"))
            for name in comparison.methods
        }
        expected = over_splits(means["features"] - means["dgc"], 0.5)
        assert found[1]["difference_margin"] == pytest.approx(100 * expected.margin)
        assert found[1]["runs"] == 3
        assert found[1]["accuracy_spread"] == pytest.approx(100 * np.std(means["features"], ddof=1))
        assert [row["p_corrected"] for row in found] == corrected([row["p"] for row in found])

    def test_files(self, data, tmp_path):
        comparison, kept = compared(data), results(tmp_path)
        run(comparison, kept)
        document = write(tmp_path, comparison, kept)
        assert document.title == "Methods compared on planted"
        with open(tmp_path / CSV, encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        content = json.loads((tmp_path / JSON).read_text())
        assert [row["method"] for row in table] == ["dgc", "features"]
        assert content["methods"][0]["accuracy"] == float(table[0]["accuracy"])
        with open(tmp_path / RUNS, encoding="utf-8") as file:
            assert [row["split"] for row in csv.DictReader(file)] == ["own", "own"]
        page = (tmp_path / PAGE).read_text(encoding="utf-8")
        assert "Features alone" in page
        assert "data:image/svg+xml" in page
        assert (tmp_path / "figures" / "accuracy-over-time.png").stat().st_size > 5000

    def test_nothing_but_failures(self, data, tmp_path, monkeypatch):
        def fails(job, report):
            raise RunFailed("no.")

        monkeypatch.setattr(trials, "isolated", fails)
        comparison, kept = compared(data), results(tmp_path)
        run(comparison, kept)
        document = write(tmp_path, comparison, kept)
        assert not document.sections[0].charts
        assert (tmp_path / RUNS).read_text() == "\n"

    def test_without_validation_nodes(self, data, tmp_path):
        own = replace(data.split, val=np.empty(0, dtype=int))
        comparison, kept = compared(data, splits={"own": own}), results(tmp_path)
        run(comparison, kept)
        write(tmp_path, comparison, kept)
        assert "cross-validation, since there are no validation nodes" in (
            tmp_path / MARKDOWN
        ).read_text(encoding="utf-8")

    def test_noise_is_told(self, data, tmp_path):
        comparison, kept = compared(data, noise=0.5, seeds=2), results(tmp_path)
        assert run(comparison, kept).done == 4
        write(tmp_path, comparison, kept)
        assert "standard deviation 0.5 was added" in (tmp_path / MARKDOWN).read_text()
