"""Running experiments, keeping results, and the report."""

import json
import re

import numpy as np
import pytest

from heatgraph.errors import DownloadError, FileFormatError, InputError, MissingExtraError
from heatgraph.experiments.paper import experiment as experiments_room
from heatgraph.experiments.paper import fits
from heatgraph.experiments.paper.catalogue import EXPERIMENTS, experiments
from heatgraph.experiments.paper.experiment import Experiment, Materials, Scope
from heatgraph.experiments.paper.reproduction import reasons, run_experiments, write_report
from heatgraph.experiments.results import FILE, Entry, Record, Records, Results
from heatgraph.report.document import Cell, Table
from heatgraph.report.folder import FIGURES
from heatgraph.report.pages import _inline

NAMES = [
    "table2", "splits", "table3", "networks", "table4", "table5", "table6", "table8", "table9",
    "table10", "figure1", "figure2", "figure3", "theorem1", "theorem2", "theorem3",
]  # fmt: skip


def counting(name, count, calls, dataset="citeseer"):
    """An experiment of so many entries, which count themselves."""

    def entry(number):
        def run(materials):
            calls.append(number)
            return {"accuracy": float(number)}

        return Entry({"what": name, "dataset": dataset, "seed": number}, run)

    return Experiment(
        name,
        f"{name}: a title",
        lambda scope: [entry(number) for number in range(count)],
        lambda records: [Table("", ["sum"], [[str(sum(records.values("accuracy")))]])],
    )


def results_in(folder, command="heatgraph paper test"):
    return Results(folder, "paper", command)


# The catalogue


def test_every_experiment_has_its_name():
    assert list(EXPERIMENTS) == NAMES
    apart = EXPERIMENTS["networks"]
    assert [*experiments("all"), apart] == [
        *(one for one in EXPERIMENTS.values() if one is not apart), apart
    ]  # fmt: skip
    assert experiments("figure3") == [EXPERIMENTS["figure3"]]
    with pytest.raises(InputError, match=r"no experiment 'table1'. There are table2, .*, all\."):
        experiments("table1")


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_entries_are_told_apart(name, quick):
    entries = EXPERIMENTS[name].entries(Scope(2, quick))
    keys = [entry.key for entry in entries]
    assert len(set(keys)) == len(keys) > 0
    for entry in entries:
        assert json.loads(entry.key) == entry.setting
        assert "dataset" in entry.setting
        assert str(entry)


def test_a_quick_run_is_less():
    for experiment in EXPERIMENTS.values():
        quick, full = (len(experiment.entries(Scope(3, quick))) for quick in (True, False))
        assert quick <= full


# Everything, once, on small graphs


@pytest.mark.usefixtures("shrunk")
def test_everything_runs_and_is_reported(tmp_path, scope):
    results = results_in(tmp_path)
    steps = []
    outcome = run_experiments(
        list(EXPERIMENTS.values()),
        scope,
        results,
        lambda e, what, done, of: steps.append((e.name, done, of)),
    )
    assert outcome.left_out == []
    listed = {e.key for ex in EXPERIMENTS.values() for e in ex.entries(scope)}
    assert outcome.done == len(listed)
    for name in NAMES:
        done = [(at, of) for experiment, at, of in steps if experiment == name]
        assert done == [(at, len(done) - 1) for at in range(len(done))]

    content = json.loads((tmp_path / FILE).read_text())
    assert {json.dumps(e["setting"], sort_keys=True) for e in content["entries"]} == listed
    (run,) = content["runs"]
    assert run["command"] == "heatgraph paper test"
    assert {"python", "heatgraph", "numpy", "scipy"} <= set(run["versions"])
    assert run["machine"]["cores"] >= 1
    assert all(entry["run"] == 0 and entry["seconds"] >= 0 for entry in content["entries"])

    document = write_report(tmp_path, scope, results)
    assert [section.name for section in document.sections] == NAMES
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    for section in document.sections:
        assert f'<section id="{section.name}">' in page
        assert f"## {section.title}\n\n`heatgraph paper {section.name} --seeds 1 --quick`" in text
        assert any(not isinstance(part, str) for part in section.parts)
        for chart in section.charts:
            for form in ("png", "svg"):
                assert (tmp_path / FIGURES / f"{chart.name}.{form}").stat().st_size > 1000
    for link in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (tmp_path / link).exists()
    assert "Not run" not in text
    assert "**Not comparable with the paper.**" in text
    assert len(list((tmp_path / FIGURES).iterdir())) == 2 * sum(
        len(section.charts) for section in document.sections
    )
    # The means in the table of Table 2 are those of the results.
    (table,) = (part for part in document.sections[0].parts if isinstance(part, Table))
    (row,) = (r for r in table.rows if r[:2] == ["DGC", "published"])
    found = results.of(EXPERIMENTS["table2"].entries(scope)).where(
        method="DGC", dataset="pubmed", protocol="published"
    )
    assert row[4].value == f"{np.mean(found.values('accuracy')):.1f}"

    # Networks are run apart, and shown in the table of the paper too.
    (row,) = (r for r in table.rows if r[:2] == ["GWNN", "published"])
    (gwnn,) = results.of(EXPERIMENTS["networks"].entries(scope)).where(method="GWNN")
    assert row[2].value.startswith(f"{gwnn.result['accuracy']:.1f}")

    again = run_experiments(list(EXPERIMENTS.values()), scope, results_in(tmp_path))
    assert (again.done, again.known) == (0, len(listed))


# Keeping results


def test_what_is_done_is_not_done_again(tmp_path, scope):
    calls = []
    some = counting("some", 3, calls)
    first = run_experiments([some], scope, results_in(tmp_path))
    assert (first.done, first.known, calls) == (3, 0, [0, 1, 2])
    more = counting("some", 5, calls)
    second = run_experiments([more], scope, results_in(tmp_path))
    assert (second.done, second.known, calls) == (2, 3, [0, 1, 2, 3, 4])
    content = json.loads((tmp_path / FILE).read_text())
    assert [entry["run"] for entry in content["entries"]] == [0, 0, 0, 1, 1]
    assert len(content["runs"]) == 2


def test_nothing_new_is_no_run(tmp_path, scope):
    some = counting("some", 2, [])
    run_experiments([some], scope, results_in(tmp_path))
    before = (tmp_path / FILE).read_bytes()
    run_experiments([some], scope, results_in(tmp_path))
    assert (tmp_path / FILE).read_bytes() == before


def test_a_kill_loses_one_entry_at_most(tmp_path, scope):
    calls = []
    some = counting("some", 5, calls)
    entries = some.entries(scope)

    def stopped(materials):
        raise KeyboardInterrupt

    entries[3] = Entry(entries[3].setting, stopped)
    stopping = Experiment("some", "", lambda scope: entries, some.parts)
    with pytest.raises(KeyboardInterrupt):
        run_experiments([stopping], scope, results_in(tmp_path))
    assert calls == [0, 1, 2]
    run_experiments([some], scope, results_in(tmp_path))
    assert calls == [0, 1, 2, 3, 4]


def test_asked_to_it_runs_again_and_loses_nothing_meanwhile(tmp_path, scope):
    calls = []
    some = counting("some", 3, calls)
    run_experiments([some], scope, results_in(tmp_path))
    run_experiments([some], scope, results_in(tmp_path), again=True)
    assert calls == [0, 1, 2, 0, 1, 2]
    entries = some.entries(scope)

    def stopped(materials):
        raise KeyboardInterrupt

    stopping = Experiment(
        "some", "", lambda scope: [entries[0], Entry(entries[1].setting, stopped)], some.parts
    )
    with pytest.raises(KeyboardInterrupt):
        run_experiments([stopping], scope, results_in(tmp_path), again=True)
    assert len(results_in(tmp_path).of(entries)) == 3


def test_results_with_other_details_do_not_count(tmp_path, scope):
    def experiment(grid, calls):
        def run(materials):
            calls.append(grid)
            return {"accuracy": 1.0}

        entry = Entry({"what": "x", "dataset": "citeseer"}, run, {"grid": grid})
        return Experiment("x", "", lambda scope: [entry], lambda records: [])

    calls = []
    for grid in ((1, 2), (1, 2), (1, 3)):
        run_experiments([experiment(grid, calls)], scope, results_in(tmp_path))
    assert calls == [(1, 2), (1, 3)]
    assert len(json.loads((tmp_path / FILE).read_text())["entries"]) == 1


@pytest.mark.parametrize("name", NAMES)
def test_details_are_plain(name):
    for entry in EXPERIMENTS[name].entries(Scope(1, quick=True)):
        assert entry.details
        json.dumps(entry.details, allow_nan=False)


def test_experiments_share_entries(tmp_path, scope):
    calls = []
    run_experiments([counting("one", 2, calls), counting("one", 2, calls)], scope,
                    results_in(tmp_path))  # fmt: skip
    assert calls == [0, 1]


def test_other_data_is_noticed(tmp_path, scope, monkeypatch):
    calls = []
    some = counting("some", 1, calls)
    run_experiments([some], scope, results_in(tmp_path))
    monkeypatch.setattr(Materials, "digest", lambda self, name: "another")
    with pytest.raises(InputError, match=r"results of other data by the name of citeseer"):
        run_experiments([counting("some", 2, calls)], scope, results_in(tmp_path), again=True)
    assert calls == [0]


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{", "{}", '{"heatgraph-paper": 2}',
        '{"heatgraph-paper": 1, "runs": [], "data": {}, "not_run": {}, "entries": [{}]}',
        '{"heatgraph-paper": 1, "runs": [], "data": {}, "not_run": {}, "entries": '
        '[{"setting": {}, "result": {}, "details": {}, "run": 0}]}',
        '{"heatgraph-paper": 1, "runs": [{"versions": {}}], "data": {}, "not_run": {}, "entries": '
        '[{"setting": {}, "result": {}, "details": {}, "run": 0}]}',
    ],
)  # fmt: skip
def test_files_that_hold_no_results_are_refused(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(FileFormatError, match=r"does not hold results of .*delete"):
        results_in(tmp_path)
    assert (tmp_path / FILE).read_text() == content


# What is not to be had


def test_absent_data_is_left_out_with_the_reason(tmp_path, scope, monkeypatch):
    asked = []

    def load(name, folder):
        asked.append(name)
        raise DownloadError("no network. Try again.")

    monkeypatch.setattr(experiments_room, "load_dataset", load)
    calls = []
    chosen = [counting("some", 3, calls, "cora"), counting("other", 2, calls, "cora")]
    results = results_in(tmp_path)
    outcome = run_experiments(chosen, scope, results)
    assert (outcome.done, calls, asked) == (0, [], ["cora"])
    assert reasons(outcome.left_out, results) == {"no network. Try again.": 5}
    assert len(outcome.left_out) == 5
    again = results_in(tmp_path)
    assert reasons(outcome.left_out, again) == {"no network. Try again.": 5}


def test_a_missing_library_is_left_out_with_the_reason(tmp_path, scope, monkeypatch):
    def run(materials):
        raise MissingExtraError('Install it: pip install "heatgraph[deepwalk]"')

    calls = []
    some = counting("table2", 3, calls)
    entries = some.entries(scope)
    entries[1] = Entry(entries[1].setting, run)
    partly = Experiment("table2", "A title", lambda scope: entries, some.parts)
    results = results_in(tmp_path)
    outcome = run_experiments([partly], scope, results)
    assert (outcome.done, calls) == (2, [0, 2])
    monkeypatch.setattr("heatgraph.experiments.paper.reproduction.EXPERIMENTS", {"table2": partly})
    write_report(tmp_path, scope, results_in(tmp_path))  # the reason is on disk
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "**Not run:** 1 of 3 entries." in text
    assert '1 of them: Install it: pip install "heatgraph[deepwalk]"' in text


def test_reports_of_nothing(tmp_path, scope):
    assert write_report(tmp_path, scope, results_in(tmp_path)).sections == []


def test_a_section_without_results_tells_why(tmp_path, scope):
    results = results_in(tmp_path)
    for entry in EXPERIMENTS["table8"].entries(scope):
        results.leave_out(entry, "Cora is not here.")
    document = write_report(tmp_path, scope, results)
    assert "table8" in [section.name for section in document.sections]
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert re.search(r"(\d+) of them: Cora is not here.", text)


def test_too_little_memory_is_left_out(tmp_path, scope):
    def run(materials):
        raise MemoryError

    entry = Entry({"what": "x", "dataset": "citeseer"}, run)
    results = results_in(tmp_path)
    outcome = run_experiments(
        [Experiment("x", "", lambda scope: [entry], lambda records: [])], scope, results
    )
    assert reasons(outcome.left_out, results) == {"there was not enough memory.": 1}


@pytest.mark.parametrize("name", NAMES)
def test_sections_of_nothing(name):
    """Whatever is missing, a section can be made."""
    section = EXPERIMENTS[name].section(Records())
    assert section.title == EXPERIMENTS[name].title
    assert section.charts == []


# Parts


def test_records_are_found_by_setting():
    records = Records(
        Record({"method": method, "seed": seed}, {"accuracy": seed})
        for method in "ab"
        for seed in (1, 2)
    )
    assert records.where(method="b").values("accuracy") == [1, 2]
    assert records.where(method="b", seed=2).values("accuracy") == [2]
    assert records.where(other=1) == []


@pytest.mark.usefixtures("shrunk")
def test_materials_are_read_once_and_split_anew():
    materials = Materials()
    public = materials.data("cora")
    assert materials.data("cora").graph is public.graph
    first, again, other = (materials.data("cora", "random", seed).split for seed in (0, 0, 1))
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)
    fractions = materials.data("cora", "fractions").split
    assert [len(part) for part in (fractions.train, fractions.val)] == [1020, 340]


def test_digests_tell_data_apart(shrunk):
    from dataclasses import replace

    materials = Materials()
    digest = materials.digest("cora")
    assert materials.digest("cora") == digest == Materials().digest("cora")
    data = shrunk["cora"]
    labels = np.array(data.labels)
    labels[0] += 1
    for changed in (
        replace(data, labels=labels),
        replace(data, graph=data.graph.with_features(data.graph.features + 1)),
        replace(data, splits={}),
    ):
        shrunk["cora"] = changed
        assert Materials().digest("cora") != digest


def test_reddit_where_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv("HEATGRAPH_DATA", raising=False)
    assert Scope(1).reddit == "reddit-like/10"
    assert Scope(1, quick=True).reddit == "reddit-like/50"
    assert Scope(1, data=tmp_path).reddit == "reddit-like/10"
    (tmp_path / "reddit").mkdir()
    assert Scope(1, data=tmp_path).reddit == "reddit"
    entries = EXPERIMENTS["table4"].entries(Scope(1, data=tmp_path))
    assert {entry.setting["dataset"] for entry in entries} == {"reddit"}


@pytest.mark.parametrize("name", ["table4", "table6"])
@pytest.mark.parametrize(("laplacian", "published"), [("I - S", 95.5), ("I - S_sym", 95.8)])
def test_real_reddit_is_compared(name, laplacian, published):
    setting = {"method": "DGC", "dataset": "reddit", "protocol": "published"}
    record = Record(setting | {"Laplacian": laplacian}, {"accuracy": 95.6, "T": 2.7, "nodes": 9})
    section = EXPERIMENTS[name].section(Records([record]))
    (table,) = (part for part in section.parts if isinstance(part, Table))
    (row,) = (row for row in table.rows if not isinstance(row[-1], str))
    assert row[-1].remark == f"{95.6 - published:+.1f}"
    assert not any(isinstance(part, str) and "Not comparable" in part for part in section.parts)


def test_a_stand_in_is_never_compared():
    setting = {"method": "DGC", "dataset": "reddit-like/10", "protocol": "published"}
    record = Record(setting | {"Laplacian": "I - S"}, {"accuracy": 95.6, "T": 2.7, "nodes": 9})
    for name in ("table4", "table6"):
        section = EXPERIMENTS[name].section(Records([record]))
        tables = [part for part in section.parts if isinstance(part, Table)]
        assert all(isinstance(cell, str) for t in tables for row in t.rows for cell in row)
        assert any(isinstance(part, str) and "Not comparable" in part for part in section.parts)


def test_dgc_with_published_settings_sees_no_validation_nodes(shrunk):
    """As its authors have none: with other labels there, nothing changes."""
    (entry,) = (
        e
        for e in EXPERIMENTS["table2"].entries(Scope(1))
        if e.setting["method"] == "DGC"
        and e.setting["protocol"] == "published"
        and e.setting["dataset"] == "pubmed"
    )
    first = entry.run(Materials())
    data = shrunk["pubmed"]
    data.labels[data.split.val] = 0
    assert entry.run(Materials()) == first


def test_no_setting_is_chosen_on_test_nodes(shrunk, monkeypatch):
    """Whatever the labels of test nodes are, models and predictions are the same."""
    chosen = []

    def keep(model, data):
        chosen.append(model.predict())
        return {"accuracy": 0.0}

    monkeypatch.setattr(fits, "found", keep)
    entries = [
        e for e in EXPERIMENTS["table2"].entries(Scope(1)) if e.setting["dataset"] == "pubmed"
    ]
    entries += [
        e
        for e in EXPERIMENTS["table3"].entries(Scope(1, quick=True))
        if e.setting["dataset"] == "pubmed"
    ]
    for entry in entries:
        entry.run(Materials())
        first = chosen.pop()
        data = shrunk["pubmed"]
        before = data.labels.copy()
        split = Materials().data("pubmed", entry.setting["split"], entry.setting["seed"]).split
        data.labels[split.test] = np.random.default_rng(0).permutation(data.labels[split.test])
        entry.run(Materials())
        assert np.array_equal(chosen.pop(), first), entry
        data.labels[:] = before


def test_dgc_and_sgc_are_compared_split_by_split():
    records = Records(
        Record(
            {"method": method, "dataset": "cora", "protocol": "validated", "seed": seed},
            {"accuracy": accuracy},
        )
        for method, accuracies in {"SGC": [70.0, 80.0, 75.0], "DGC": [71.0, 81.0]}.items()
        for seed, accuracy in enumerate(accuracies)
    )
    _, table = (p for p in EXPERIMENTS["splits"].parts(records))
    assert table.rows[0][:2] == ["validated", Cell("1.0 ± 0.0", "better in 2 of 2")]


def test_remarks_survive_both_forms():
    """Stars and backquotes in prose pair up, on the page and in Markdown."""
    for experiment in EXPERIMENTS.values():
        for remark in experiment.remarks:
            shown = re.sub(r"</?(em|strong|code)>", "", _inline(remark))
            assert "*" not in shown, remark
            assert "`" not in shown, remark
