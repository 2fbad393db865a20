"""``heatgraph info``: statistics of a graph."""

import json
import re

TABLES = ("nodes.csv", "edges.csv")


def test_statistics_and_verdict(folder, run):
    done = run("info", *TABLES)
    assert (done.code, done.err) == (0, "")
    for piece in ("components", "neighbours", "spectral gap", "homophily", "informativeness",
                  "agreement"):  # fmt: skip
        assert f"\n  {piece}" in done.out
    assert "Diffusion is likely to help: of " in done.out
    report = json.loads(run("info", *TABLES, "--json").out)
    assert report["graph"]["verdict"] == "likely"
    assert report["graph"]["reason"] in done.words
    assert "\nNeighbours mostly agree. A fit diffuses features" in done.out
    assert report["graph"]["neighbours"]["relation"] == "agree"
    assert 0 < report["graph"]["informativeness"]["value"] < 1
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
    (listed,) = re.findall(r"label: label \(detected\); (.*?, \.\.\.)", run("info", *TABLES).words)
    assert listed.count("class ") == 12


def test_neighbours_that_differ(folder, run):
    red_and_blue(folder)
    done = run("info", *TABLES)
    assert re.search(r"\n  homophily +-1.00 +adjusted: 0 by chance", done.out)
    assert re.search(r"\n  informativeness +1.00 ", done.out)
    assert "Neighbours differ in an informative way: the label of one removes 100%" in done.words
    assert "those of a node itself, of its neighbours, and rows of the adjacency" in done.words


def test_few_labelled_edges_are_told_once(folder, run):
    red_and_blue(folder, edges=20)
    done = run("info", *TABLES)
    assert "homophily" not in done.out
    assert "informativeness" not in done.out
    assert "Neighbours" not in done.out
    assert done.words.count("to tell by labels (20, where 30 are needed)") == 1


def red_and_blue(folder, edges=60):
    """Tables of a graph whose edges join red nodes, which are even, and blue ones."""
    rows = [f"n{at},{'blue' if at % 2 else 'red'},{at % 7}" for at in range(61)]
    ends = [f"n{at},n{at + 1}" for at in range(edges)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,f0", *rows]), encoding="utf-8")
    (folder / "edges.csv").write_text("\n".join(["source,target", *ends]), encoding="utf-8")


def test_without_labels_nothing_is_said_about_them(folder, run):
    done = run("info", *TABLES, "--label", "", "--features", "")
    assert "Diffusion is not certain to help: there are no labels to tell by." in done.words
    assert "tune" not in done.words
