from benchmarks.results import Results, Row


def results(*rows):
    return Results("product", {}, 1, 1.0, 120.0, {}, {}, list(rows))


def test_row_summarises_turns():
    row = Row("w", "heatgraph")
    for seconds, memory in (([1.0, 2.0, 3.0], 10), ([4.0], 30), ([6.0], None)):
        row.add_turn({"seconds": seconds, "memory": memory, "products": 7})
    assert (row.seconds, row.spread, row.memory, row.products) == (4.0, (2.0, 6.0), 30, 7)
    assert row.setup_seconds is None
    row.add_turn({"failed": "out of memory"})
    assert (row.failed, row.turns, row.seconds) == ("out of memory", [], None)


def test_results_survive_their_file(tmp_path):
    saved = results(Row("w", "heatgraph", turns=[{"median": 1.5}], facts={"T": 2.0}))
    assert Results.load(saved.save(tmp_path)) == saved


def test_ratio_needs_both_rows():
    ours, peer = Row("w", "heatgraph", turns=[{"median": 2.0}]), Row("w", "peer", failed="absent")
    assert results(ours, peer).ratio("w", "peer") is None
    peer = Row("w", "peer", turns=[{"median": 5.0}], note="extrapolated")
    figure = results(ours, peer).ratio_figure("peer / heatgraph", "w", "peer", target=">= 2")
    assert (figure.label, figure.value) == ("peer / heatgraph (extrapolated)", 2.5)


def test_plan_error_is_relative():
    row = Row("w", "heatgraph", turns=[{"median": 1.0, "memory": 200}], planned_memory=150)
    assert results(row).plan_error("w") == 0.25
    assert results().plan_error("w") is None
