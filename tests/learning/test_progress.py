import time

from heatgraph.learning.progress import FitProgress, StageProgress


def test_the_time_left_is_in_proportion():
    assert FitProgress("search", 0, 10, seconds=5.0).seconds_left is None
    assert FitProgress("search", 2, 10, seconds=5.0).seconds_left == 20.0
    assert FitProgress("search", 10, 10, seconds=5.0).seconds_left == 0.0


def test_a_stage_reports_its_steps():
    calls = []
    stage = StageProgress(calls.append, "training", 3)
    time.sleep(0.01)
    stage.report(1)
    stage.report(3)
    assert [(call.stage, call.done, call.total) for call in calls] == [
        ("training", 0, 3),
        ("training", 1, 3),
        ("training", 3, 3),
    ]
    assert calls[0].seconds < 0.01 <= calls[1].seconds <= calls[2].seconds


def test_nobody_needs_to_listen():
    StageProgress(None, "training", 3).report(1)
