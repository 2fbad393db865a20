"""Stored results: filtering, resuming, stale results, and files that are not ours."""

import json

import pytest

from heatgraph.errors import FileFormatError, InputError
from heatgraph.experiments.results import (
    RESULTS_FILE,
    Record,
    Records,
    ResultStore,
    Trial,
    describe_machine,
    describe_run,
    installed_versions,
    runs_table,
)


def open_store(folder):
    return ResultStore(folder, "paper", "heatgraph paper test")


def make_trial(seed=0, **details):
    return Trial({"dataset": "cora", "seed": seed}, lambda _: {}, details)


class TestTrial:
    def test_the_key_ignores_the_order_of_the_setting(self):
        first, second = Trial({"a": 1, "b": None}, dict), Trial({"b": None, "a": 1}, dict)
        assert first.key == second.key
        assert json.loads(first.key) == first.setting

    def test_text_leaves_out_none(self):
        assert str(Trial({"method": "SGC", "T": None, "seed": 3}, dict)) == "SGC, 3"


def test_records_are_filtered_by_setting():
    records = Records(
        Record({"method": method, "seed": seed}, {"accuracy": seed})
        for method in "ab"
        for seed in (1, 2)
    )
    assert records.where(method="b").values("accuracy") == [1, 2]
    assert records.where(method="b", seed=2).values("accuracy") == [2]
    assert records.where(other=1) == []


class TestResultStore:
    def test_results_survive_reopening(self, tmp_path):
        trial = make_trial(grid=(1, 2))
        open_store(tmp_path).add(trial, {"accuracy": 80.5, "pair": (1, 2)}, 1.2345)
        again = open_store(tmp_path)
        assert trial in again
        assert make_trial(seed=1) not in again
        (record,) = again.records([trial, make_trial(seed=1)])
        assert record == Record(trial.setting, {"accuracy": 80.5, "pair": [1, 2]})
        assert json.loads((tmp_path / RESULTS_FILE).read_text())["entries"][0]["seconds"] == 1.234

    def test_results_with_other_details_are_stale(self, tmp_path):
        store = open_store(tmp_path)
        store.add(make_trial(grid=(1, 2)), {"accuracy": 1.0}, 0.0)
        assert make_trial(grid=[1, 2]) in store
        changed = make_trial(grid=(1, 3))
        assert changed not in store
        assert store.records([changed]) == []
        store.add(changed, {"accuracy": 2.0}, 0.0)
        assert changed in open_store(tmp_path)
        assert make_trial(grid=(1, 2)) not in open_store(tmp_path)

    def test_a_run_is_described_once_and_only_if_it_adds_results(self, tmp_path):
        for seeds in ((0, 1), (), (2,)):
            store = open_store(tmp_path)
            for seed in seeds:
                store.add(make_trial(seed), {}, 0.0)
        store = open_store(tmp_path)
        assert len(store.runs) == 2
        assert store.runs_of([make_trial(0), make_trial(1)]) == store.runs[:1]
        assert store.runs_of([make_trial(2), make_trial(9)]) == store.runs[1:]

    def test_reasons_of_skipped_trials_are_stored_until_they_succeed(self, tmp_path):
        store = open_store(tmp_path)
        store.skip(make_trial(), "no network.")
        store.save()
        store = open_store(tmp_path)
        assert store.skip_reason(make_trial()) == "no network."
        assert store.skip_reason(make_trial(seed=1)) is None
        assert make_trial() not in store
        store.add(make_trial(), {}, 0.0)
        assert open_store(tmp_path).skip_reason(make_trial()) is None

    def test_other_data_under_the_same_name_are_refused(self, tmp_path):
        store = open_store(tmp_path)
        store.check_data("cora", "first")
        store.save()
        store = open_store(tmp_path)
        store.check_data("cora", "first")
        store.check_data("pubmed", "second")
        with pytest.raises(InputError, match="results of other data by the name of cora"):
            store.check_data("cora", "second")

    def test_results_that_are_not_numbers_are_refused(self, tmp_path):
        store = open_store(tmp_path)
        with pytest.raises(ValueError, match="not JSON compliant"):
            store.add(make_trial(), {"accuracy": float("nan")}, 0.0)
        assert not (tmp_path / RESULTS_FILE).exists()

    def test_files_of_another_command_are_refused(self, tmp_path):
        open_store(tmp_path).add(make_trial(), {}, 0.0)
        with pytest.raises(FileFormatError, match="does not hold results of heatgraph compare"):
            ResultStore(tmp_path, "compare", "heatgraph compare")

    @pytest.mark.parametrize(
        "content",
        [
            "", "[]", "{", "{}", '{"heatgraph-paper": 2}',
            '{"heatgraph-paper": 2, "runs": [], "data": {}, "not_run": {}, "entries": [{}]}',
            '{"heatgraph-paper": 2, "runs": [], "data": {}, "not_run": {}, "entries": '
            '[{"setting": {}, "result": {}, "details": {}, "run": 0}]}',
            '{"heatgraph-paper": 2, "runs": [{"versions": {}}], "data": {}, "not_run": {}, '
            '"entries": [{"setting": {}, "result": {}, "details": {}, "run": 0}]}',
        ],
    )  # fmt: skip
    def test_malformed_files_are_refused_and_kept(self, tmp_path, content):
        (tmp_path / RESULTS_FILE).write_text(content)
        with pytest.raises(FileFormatError, match=r"does not hold results of .*delete"):
            open_store(tmp_path)
        assert (tmp_path / RESULTS_FILE).read_text() == content


def test_runs_that_differ_only_in_time_share_a_row():
    first = describe_run("heatgraph paper all") | {"started": "2026-01-02T03:04:05+00:00"}
    second = first | {"started": "2026-01-03T03:04:05+00:00"}
    other = first | {"command": "heatgraph paper table2"}
    table = runs_table([first, second, other])
    assert [row[:2] for row in table.rows] == [
        ["2026-01-02 03:04, in 2 runs", "`heatgraph paper all`"],
        ["2026-01-02 03:04", "`heatgraph paper table2`"],
    ]
    assert f"python {first['versions']['python']}" in table.rows[0][3]


def test_versions_of_missing_packages_are_left_out():
    assert list(installed_versions(["numpy", "no_such_package"])) == ["numpy"]


def test_the_machine_is_described_in_json_values():
    machine = describe_machine()
    assert set(machine) == {"system", "processor", "cores", "memory_gib"}
    json.dumps(machine, allow_nan=False)
