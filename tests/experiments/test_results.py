"""Stored results: filtering, resuming, stale results, and files that are not ours."""

import json
import random
import subprocess
import sys

import pytest

from heatgraph.errors import FileFormatError, InputError
from heatgraph.experiments.results import (
    FORMAT,
    MAX_DEPTH,
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


class TestDamage:
    """Damaged files are refused, and never read in part."""

    @pytest.fixture
    def file(self, tmp_path):
        store = open_store(tmp_path)
        store.check_data("cora", "digest")
        store.skip(make_trial(9), "no network.")
        for seed in range(3):
            store.add(make_trial(seed, grid=[1, 2.5]), {"accuracy": 80.5 + seed}, 1.5)
        return tmp_path / RESULTS_FILE

    def test_a_flipped_bit_is_noticed_wherever_it_changes_the_content(self, file):
        raw, content = file.read_bytes(), json.loads(file.read_bytes())
        randomness, refused = random.Random(0), 0
        for _ in range(500):
            place, bit = randomness.randrange(len(raw)), randomness.randrange(8)
            damaged = bytearray(raw)
            damaged[place] ^= 1 << bit
            file.write_bytes(damaged)
            try:
                open_store(file.parent)
            except FileFormatError:
                refused += 1
            else:
                assert json.loads(damaged) == content  # a space became a line break
        assert refused > 250

    @pytest.mark.parametrize("change", ["value", "entry", "checksum"])
    def test_other_content_does_not_have_the_checksum(self, file, change):
        content = json.loads(file.read_text())
        if change == "value":
            content["entries"][0]["result"]["accuracy"] += 1e-12
        elif change == "entry":
            del content["entries"][1]
        else:
            del content["sha256"]
        file.write_text(json.dumps(content))
        with pytest.raises(FileFormatError, match="damaged or was altered: its checksum .*delete"):
            open_store(file.parent)

    def test_files_of_format_2_have_no_checksum(self, file):
        content = json.loads(file.read_text())
        content["heatgraph-paper"] = 2
        file.write_text(json.dumps(content))
        with pytest.raises(FileFormatError, match="checksum"):
            open_store(file.parent)
        del content["sha256"]
        file.write_text(json.dumps(content))
        store = open_store(file.parent)
        store.add(make_trial(3), {}, 0.0)
        assert json.loads(file.read_text())["heatgraph-paper"] == FORMAT
        assert len(json.loads(file.read_text())["entries"]) == 4

    @pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
    def test_what_is_no_number_in_json_is_refused(self, file, number):
        content = json.loads(file.read_text())
        del content["sha256"]
        content["heatgraph-paper"] = 2
        file.write_text(json.dumps(content).replace("80.5", number))
        with pytest.raises(FileFormatError, match="not JSON compliant"):
            open_store(file.parent)

    @pytest.mark.parametrize("depth", [MAX_DEPTH, 900, 200_000])
    def test_deep_nesting_is_refused(self, file, depth):
        file.write_text('{"heatgraph-paper": 3, "runs": ' + "[" * depth + "]" * depth + "}")
        with pytest.raises(FileFormatError, match="does not hold results of .*(levels|recursion)"):
            open_store(file.parent)

    def test_damage_during_a_run_stops_it_and_stays(self, file):
        store = open_store(file.parent)
        file.write_text("{")
        with pytest.raises(FileFormatError, match="delete the file"):
            store.add(make_trial(5), {}, 0.0)
        assert file.read_text() == "{"

    def test_results_as_deep_as_no_file_may_be_are_not_written(self, file):
        before, deep = file.read_bytes(), []
        for _ in range(MAX_DEPTH):
            deep = [deep]
        with pytest.raises(ValueError, match="levels"):
            open_store(file.parent).add(make_trial(5), {"deep": deep}, 0.0)
        assert file.read_bytes() == before


class TestSeveralProcesses:
    def test_all_entries_are_kept(self, tmp_path):
        code = (
            "import sys\n"
            "from pathlib import Path\n"
            "from heatgraph.experiments.results import ResultStore, Trial\n"
            "store = ResultStore(Path(sys.argv[1]), 'paper', 'writer ' + sys.argv[2])\n"
            "input()\n"
            "for seed in range(50):\n"
            "    trial = Trial({'dataset': 'cora', 'writer': sys.argv[2], 'seed': seed}, dict)\n"
            "    store.add(trial, {'accuracy': seed}, 0.0)\n"
        )
        processes = [
            subprocess.Popen([sys.executable, "-c", code, tmp_path, name], stdin=subprocess.PIPE)
            for name in "ab"
        ]
        for process in processes:
            process.communicate(b"go\n")
        assert [process.returncode for process in processes] == [0, 0]
        content = json.loads((tmp_path / RESULTS_FILE).read_text())
        assert len(content["entries"]) == 100
        for entry in content["entries"]:
            writer = entry["setting"]["writer"]
            assert content["runs"][entry["run"]]["command"] == f"writer {writer}"
        assert [entry.name for entry in tmp_path.iterdir()] == [RESULTS_FILE]

    def test_each_sees_what_the_other_has_stored(self, tmp_path):
        first, second = open_store(tmp_path), open_store(tmp_path)
        first.add(make_trial(0), {}, 0.0)
        second.add(make_trial(1), {}, 0.0)
        second.skip(make_trial(2), "no network.")
        second.save()
        first.save()
        for store in (first, second, open_store(tmp_path)):
            assert make_trial(0) in store
            assert store.skip_reason(make_trial(2)) == "no network."
        assert make_trial(1) in first

    def test_a_reason_does_not_return_once_another_has_a_result(self, tmp_path):
        first, second = open_store(tmp_path), open_store(tmp_path)
        first.skip(make_trial(), "no network.")
        first.save()
        second.add(make_trial(), {}, 0.0)
        first.save()
        assert open_store(tmp_path).skip_reason(make_trial()) is None

    def test_data_that_another_has_stored_meanwhile(self, tmp_path):
        first, second = open_store(tmp_path), open_store(tmp_path)
        first.check_data("cora", "first")
        second.check_data("cora", "second")
        first.save()
        with pytest.raises(InputError, match="results of other data by the name of cora"):
            second.add(make_trial(), {}, 0.0)
        assert make_trial() not in open_store(tmp_path)


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
