"""Curves of a search."""

from heatgraph.report.search_curves import (
    Point,
    best_by_scaling,
    best_over_time,
    best_over_weight_decay,
    plateau,
)


def record(T, score, decay=1.0, head="ridge", scaling="none"):
    return {"T": T, "score": score, "weight_decay": decay, "head": head,
            "feature_scaling": scaling, "self_loops": True}  # fmt: skip


SEARCH = [
    record(1, 0.70, scaling="rows"),
    record(0, 0.5),
    record(1, 0.6),
    record(1, 0.65, 2.0),
    record(0, 0.55, 2.0),
    record(4, 0.8),
    record(4, 0.7, 2.0),
    record(3, 0.9),
    record(3, 0.81, 0.5, "softmax"),
    record(3, 0.82, 1.0, "softmax"),
    record(3, 0.80, 2.0, "softmax"),
]


def test_the_best_at_each_time_of_the_full_grid():
    found = [(one["T"], one["score"]) for one in best_over_time(SEARCH)]
    assert found == [(0, 0.55), (1, 0.65), (4, 0.8)]
    assert best_over_time([]) == best_over_time([record(None, 0.5)]) == []


def test_weight_decays_at_the_nearest_time():
    found = best_over_weight_decay(SEARCH, "score", 2.8)
    assert [(one["weight_decay"], one["score"]) for one in found] == [
        (0.5, 0.81), (1.0, 0.82), (2.0, 0.80)
    ]  # fmt: skip
    assert best_over_weight_decay([], "score", 1.0) == []
    assert best_over_weight_decay(SEARCH, "score", None) == []
    without_time = [record(None, 0.5, 2.0), record(None, 0.6), record(None, 0.55)]
    found = best_over_weight_decay(without_time, "score", None)
    assert [one["score"] for one in found] == [0.6, 0.5]


def test_scalings_are_compared_at_the_same_times():
    found = best_by_scaling(SEARCH, "score")
    assert [(one["feature_scaling"], one["score"]) for one in found] == [
        ("rows", 0.70), ("none", 0.65)
    ]  # fmt: skip
    assert best_by_scaling([], "score") == []


def test_plateaus():
    curve = [Point(at, score, 0.1) for at, score in enumerate([0.8, 0.5, 0.75, 0.82, 0.74, 0.6])]
    assert plateau(curve, 3.2) == (2, 4)
    assert plateau(curve, 0.1) == (0, 0)
    assert plateau(curve, 5.0) is None
    assert plateau([], 1.0) is None
