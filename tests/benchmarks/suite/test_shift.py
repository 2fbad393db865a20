from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.results import Results, Row
from benchmarks.suite import shift
from benchmarks.suite.shift import HOME, LEGEND, METHODS, OTHERS, jobs, text

PAGE = Path(__file__).parents[3] / "docs" / "shift-benchmark.md"


def test_text_aligns_accuracies_with_their_methods():
    work = next(iter(OTHERS))
    facts = {"as fitted": [60.0, 61.0], "rescaled": [90.0, 91.0]}
    rows = [Row(work, "default", turns=[{"median": 1.0}], facts=facts)]
    rows.append(Row(work, "DGC", failed="crashed"))
    head, line = text(Results("shift", {}, 1, 1.0, 0.0, {}, {}, rows)).splitlines()[-2:]
    assert line[: head.index("default") + len("default")].endswith(" 60.5")
    assert line[: head.index("rescaled") + len("rescaled")].endswith(" 90.5")
    assert line.count("not run") == 4


@pytest.mark.filterwarnings("ignore::heatgraph.errors.ShiftWarning")
def test_rescaling_makes_up_for_moved_features(monkeypatch):
    monkeypatch.setattr(shift, "SEEDS", 1)
    work = "means moved by 3"
    (job,) = (job for job in jobs(1.0) if (job.work, job.peer) == (work, "DGC"))
    facts = job.task(job, None).run().facts
    assert facts["rescaled"][0] > facts["as fitted"][0] + 30
    assert len(jobs(1.0)) == len(OTHERS) * len(METHODS)


def test_graphs_of_a_pair_have_the_same_classes():
    large = replace(HOME, nodes=8000)
    means = []
    for seed in (1, 2):
        graph, labels = large.draw(seed, 0)
        means.append([graph.features[labels == code].mean(axis=0) for code in range(4)])
    assert np.abs(np.subtract(*means)).max() < 0.15
    assert np.linalg.norm(means[0], axis=1) == pytest.approx(shift.SIGNAL, abs=0.1)


def test_committed_page_has_the_text_that_is_generated():
    page = PAGE.read_text(encoding="utf-8")
    assert LEGEND in page
    for work in OTHERS:
        assert f"\n{work} " in page
