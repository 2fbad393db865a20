"""``heatgraph explain``: contributions add up to the score."""

import json
import re

import pytest
from table_files import read_rows

TABLES = ("nodes.csv", "edges.csv")


def test_contributions_sum_to_the_score(model, folder, run):
    done = run("explain", "model", *TABLES, "--node", "n5", "--top", "1000", "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    assert report["node"] == "n5"
    for part in ("nodes", "features", "pairs"):
        total = report["bias"] + sum(record["share"] for record in report[part])
        assert total == pytest.approx(report["score"], abs=1e-9)
    run("predict", "model", *TABLES, "-o", "p.csv")
    row = read_rows("p.csv")[5]
    assert row["prediction"] == report["label"]
    assert float(row["confidence"]) == pytest.approx(report["probability"], abs=1e-5)


def test_the_largest_contributions_and_the_rest(model, run):
    done = run("explain", "model", *TABLES, "--node", "n5", "--class", "blue", "--top", "2")
    assert "node n5 as 'blue': score " in done.out
    assert done.out.count("all others") == 3
    text = done.out[done.out.index("node n5") :]
    score, bias = (float(re.search(rf"{name} ([-+.\d]+\d)", text)[1]) for name in ("score", "bias"))
    parts = [float(share) for share in re.findall(r"^    ([-+][.\d]+)", text, re.MULTILINE)]
    assert sum(parts) == pytest.approx(3 * (score - bias), abs=1e-3)


def test_unknown_nodes_and_classes(model, run):
    done = run("explain", "model", *TABLES, "--node", "n100")
    assert done.code == 1
    assert done.err == "heatgraph: --node: nodes.csv has no node 'n100'. Did you mean 'n10'?\n"
    done = run("explain", "model", *TABLES, "--node", "zebra")
    assert done.err == "heatgraph: --node: nodes.csv has no node 'zebra'.\n"
    done = run("explain", "model", *TABLES, "--node", "n1", "--class", "mauve")
    assert done.code == 1
    assert done.err == (
        "heatgraph: --class: the model knows the classes blue, green, red. Got 'mauve'.\n"
    )
