"""``heatgraph datasets``: list, load and export."""

import json
import shutil

import pytest
from table_files import read_rows

import heatgraph as hg
from heatgraph.datasets.catalogue import DATASETS

FIXED = ("--T", "2", "--weight-decay", "1e-3")


def test_the_list_says_how_to_get_each_data_set(run):
    done = run("datasets")
    assert (done.code, done.err) == (0, "")
    for entry in DATASETS.values():
        line, _ = [line for line in done.out.splitlines() if line.startswith(f"  {entry.name} ")]
        for piece in (f"{entry.nodes:,}", f"{entry.edges:,}", entry.place):
            assert piece in line
        how = "" if entry.place == "bundled" else f"; {entry.how}"
        assert f" {entry.name} {entry.title}{how}" in done.words
    listed = json.loads(run("datasets", "--json").out)
    assert [entry["name"] for entry in listed] == list(DATASETS)
    assert listed[0]["published"]["nodes"] == 3_327


def test_exported_tables_can_be_fitted(folder, run):
    done = run("datasets", "karate", "--export", "a b/club")
    assert done.code == 0
    assert "split public  train 2, val 0, test 32" in done.out
    assert "licence: " in done.out
    assert 'heatgraph fit "a b/club/nodes.csv" "a b/club/edges.csv"\n' in done.out.replace(
        "\\", "/"
    )
    data = hg.load_dataset("karate")
    done = run("fit", "a b/club/nodes.csv", "a b/club/edges.csv", *FIXED, "--json")
    report = json.loads(done.out)
    assert report["read"]["edges"] == data.graph.num_edges
    model = hg.DGCClassifier(T=2.0, weight_decay=1e-3, random_state=0)
    model.fit(data.graph, data.labels, data.split.train)
    expected = model.score(data.graph, data.labels, data.split.test)
    assert report["result"]["metrics"]["accuracy"] == expected
    assert "chosen by" not in run("fit", "a b/club/nodes.csv", "a b/club/edges.csv", *FIXED).out


def test_sparse_features_survive_the_export(folder, run):
    done = run("datasets", "citeseer", "--export", "papers", "--json")
    report = json.loads(done.out)
    assert report["nodes"] == 3_327
    assert report["splits"] == {"public": [120, 500, 1_000]}
    assert len(report["wrote"]) == 3
    arguments = ("papers/nodes.csv", "papers/edges.csv", "--features", "papers/features.csv")
    done = run("fit", *arguments, "--T", "4.5", "--weight-decay", "1e-4", "-m", "model", "--json")
    report = json.loads(done.out)
    assert report["read"]["edges"] == 4_676
    assert report["chosen"]["validated_by"] == "500 validation nodes"
    data = hg.load_dataset("citeseer")
    model = hg.DGCClassifier(T=4.5, weight_decay=1e-4, random_state=0, final_fit="train+val")
    model.fit(data.graph, data.labels, data.split.train, data.split.val)
    expected = model.score(data.graph, data.labels, data.split.test)
    assert report["result"]["metrics"]["accuracy"] == pytest.approx(expected, abs=0.003)
    assert set(report["read"]["classes"]) == {"AI", "ML", "IR", "DB", "Agents", "HCI"}
    done = run("predict", "model", *arguments, "-o", "p.csv")
    assert done.code == 0
    assert len(read_rows("p.csv")) == 3_327
    shutil.rmtree(folder / "papers")


def test_the_suggested_command_names_the_features(folder, run):
    done = run("datasets", "citeseer", "--export", "papers")
    assert '--features "papers/features.csv"\n' in done.out.replace("\\", "/")
