from pathlib import Path

import pytest

from benchmarks.report import PREFACE, SECTIONS, peers_ahead, performance_document, work_table
from benchmarks.results import Results, Row
from heatgraph.report.markdown import to_markdown

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def results(rows, data=None):
    run = {
        "started": "2026-01-02T03:04:05",
        "command": "python -m benchmarks product",
        "versions": {"python": "3.11.7"},
        "machine": {"system": "Linux x86_64", "processor": "one", "cores": 2},
    }
    return Results("product", run, 1, 1.0, 120.0, {}, data or {}, rows)


def row(peer, seconds, memory=10**8, **fields):
    return Row("w", peer, turns=[{"median": seconds, "memory": memory}], **fields)


def test_peers_ahead_are_listed_beyond_noise():
    rows = [row("heatgraph", 4.5), row("quick", 1.5), row("even", 4.45), row("slow", 6.0)]
    rows += [row("heatgraph, rows", 0.1), row("part", 0.1, compared=False)]
    rows += [row("small", 6.0, memory=2 * 10**7), Row("w", "failing", failed="crashed")]
    time, memory = peers_ahead([results(rows)])
    assert [line[:5] for line in time.rows] == [["w", "quick", "1.5 s", "4.5 s", "3"]]
    assert [line[:5] for line in memory.rows] == [["w", "small", "20.0 MB", "100.0 MB", "5"]]


def test_peers_ahead_nowhere():
    assert peers_ahead([results([row("heatgraph", 1.0), row("slow", 2.0)])]) == [
        "In time: nowhere, in what was run.",
        "In memory: nowhere, in what was run.",
    ]


def test_table_has_failures_and_no_empty_columns():
    rows = [row("heatgraph", 1.5), Row("w", "failing", failed="crashed (SIGABRT)")]
    table = work_table(results(rows), "w")
    assert table.head == ["peer", "time (fastest to slowest turn)", "times heatgraph's", "memory"]
    assert table.rows[1] == ["failing", "crashed (SIGABRT)", "", ""]


def test_page_shows_measured_figures_without_targets():
    work = "One product: like Reddit"
    rows = [Row(work, "heatgraph", turns=[{"median": 1.0}])]
    rows += [Row(work, "torch CSR", turns=[{"median": 2.0}])]
    text = to_markdown(performance_document({"product": results(rows)}))
    assert "| like Reddit: torch CSR / heatgraph | 2 |" in text
    for word in (">=", "<=", "MISSED", "target"):
        assert word not in text
    assert "**Not run.** Run it with `make bench BENCH=growth`." in text


@pytest.mark.parametrize("name", SECTIONS)
def test_committed_page_has_the_text_that_is_generated(name):
    text = PAGE.read_text(encoding="utf-8")
    for paragraph in (*PREFACE, *SECTIONS[name].description):
        assert paragraph in text
