"""``heatgraph info``: statistics of a graph."""

import json

TABLES = ("nodes.csv", "edges.csv")


def test_statistics_and_verdict(folder, run):
    done = run("info", *TABLES)
    assert (done.code, done.err) == (0, "")
    for piece in ("components", "neighbours", "spectral gap", "homophily", "agreement"):
        assert f"\n  {piece}" in done.out
    assert "Diffusion is likely to help: of " in done.out
    report = json.loads(run("info", *TABLES, "--json").out)
    assert report["graph"]["verdict"] == "likely"
    assert report["graph"]["reason"] in done.out
    assert report["read"]["nodes"] == 100


def test_without_labels_and_features(folder, run):
    done = run("info", *TABLES, "--label", "", "--features", "")
    assert done.code == 0
    assert "homophily" not in done.out
    assert "agreement" not in done.out
    assert "classes" not in done.out
    assert "Diffusion is " in done.out


def test_without_edges(folder, run):
    (folder / "edges.csv").write_text("source,target\n", encoding="utf-8")
    done = run("info", *TABLES)
    assert done.code == 0, done.err
    assert "100 isolated nodes" in done.out
    assert "Diffusion is likely" not in done.out


def test_many_classes_are_not_all_listed(folder, run):
    lines = (folder / "nodes.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    for at, row in enumerate(cells[1:]):
        row[1] = f"class {at % 15}"
    (folder / "nodes.csv").write_text("\n".join(",".join(row) for row in cells), encoding="utf-8")
    (line,) = [line for line in run("info", *TABLES).out.splitlines() if " classes " in line]
    assert line.count("class ") == 12
    assert line.endswith(", ...")
