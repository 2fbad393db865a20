"""``heatgraph tune``: the table and the plot of a search."""

import json

import pyarrow as pa
import pyarrow.parquet
from table_files import add_split, read_rows

TABLES = ("nodes.csv", "edges.csv")


def test_the_table_has_every_setting(folder, run):
    done = run("tune", *TABLES, "--T", "0,1,2", "--weight-decay", "1e-3,1e-2", "-o", "t.csv")
    assert (done.code, done.err) == (0, "")
    rows = read_rows("t.csv")
    assert {(float(row["T"]), float(row["weight_decay"])) for row in rows} == {
        (T, decay) for T in (0, 1, 2) for decay in (1e-3, 1e-2)
    }
    assert all(0 <= float(row["accuracy"]) <= 1 for row in rows)
    assert f"Wrote {len(rows)} settings to t.csv" in done.out
    assert f", of {len(rows)} settings" in done.words


def test_the_largest_candidate_gets_a_hint(folder, run):
    done = run("tune", *TABLES, "--T", "0.01,2", "--weight-decay", "1e-3")
    assert "T = 2 is the largest of the candidates: a larger one may be better." in done.words
    done = run("tune", *TABLES, "--T", "2,1000", "--weight-decay", "1e-3")
    assert "the largest of the candidates" not in done.out


def test_plot_formats(folder, run):
    for name, start in {"t.png": b"\x89PNG", "t.svg": b"<?xml", "t.pdf": b"%PDF"}.items():
        done = run("tune", *TABLES, "--T", "0,1,2", "--weight-decay", "1e-3", "--plot", name)
        assert done.code == 0
        assert f"Wrote the plot to {name}" in done.out
        assert (folder / name).read_bytes().startswith(start)


def test_test_nodes_are_not_used(folder, run):
    add_split(folder)
    done = run("tune", *TABLES, "--T", "1,2", "--weight-decay", "1", "-o", "-", "--json")
    assert done.out.startswith("scheme,T,")
    assert json.loads(done.err)["result"]["part"] == "validation"
    done = run("tune", *TABLES, "--T", "1,2", "--weight-decay", "1", "-o", "t.parquet")
    assert pa.parquet.read_table("t.parquet").num_rows >= 2


def test_the_model_is_plain_unless_extensions_are_given(folder, run):
    add_split(folder)
    arguments = ("tune", *TABLES, "--weight-decay", "1e-3", "--json")
    plain = json.loads(run(*arguments).out)["chosen"]
    assert (plain["extensions"], plain["member_weights"]) == ([], {"plain": 1.0})
    extended = json.loads(run(*arguments, "--extensions", "similar-edges").out)["chosen"]
    assert extended["extensions"] == ["similar-edges"]
    for chosen in (plain, extended):
        assert chosen["final_fit_nodes"] == chosen["training_nodes"]


def test_plot_titles_with_dollar_signs(folder, run):
    (folder / "x$_$.csv").write_bytes((folder / "nodes.csv").read_bytes())
    done = run(
        "tune", "x$_$.csv", "edges.csv", "--T", "1,2", "--weight-decay", "1", "--plot", "t.png"
    )
    assert done.code == 0, done.err


def test_the_curve_is_drawn(folder, run, monkeypatch):
    done = run("tune", *TABLES, "--T", "0,1,2", "--weight-decay", "1e-3")
    lines = done.out.splitlines()
    at = lines.index("Accuracy of the best setting at each T, on held-out nodes")
    assert lines[at + 1].split() == ["T", "accuracy"]
    assert [line.split()[0] for line in lines[at + 2 : at + 5]] == ["0", "1", "2"]
    assert any("█" in line for line in lines)
    report = json.loads(run("tune", *TABLES, "--json").out)
    assert len(report["curve"]) > 5
    assert report["curve"][0]["T"] == 0


def test_the_curve_in_ascii(folder, command):
    import os

    done = command(
        "tune", *TABLES, "--T", "0,2", "--weight-decay", "1e-3",
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.out.isascii()
    assert "  ####" in done.out
