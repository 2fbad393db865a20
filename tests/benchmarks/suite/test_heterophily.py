from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.mixed_blocks import MixedBlocks, agreeing, cycle, joined, ring
from benchmarks.results import Results, Row
from benchmarks.suite import heterophily
from benchmarks.suite.heterophily import GRAPHS, LEGEND, METHODS, figures, jobs, text

PAGE = Path(__file__).parents[3] / "docs" / "heterophily-benchmark.md"
FIRST, MIXED = GRAPHS[0].name, next(graph.name for graph in GRAPHS if graph.is_mixed)


def results(facts):
    rows = [
        Row(work, peer, turns=[{"median": 1.0}], facts={"accuracies": values})
        for (work, peer), values in facts.items()
    ]
    rows.append(Row(MIXED, "features", failed="crashed"))
    return Results("heterophily", {}, 1, 1.0, 0.0, {}, {}, rows)


FACTS = {
    (FIRST, "default"): [90.0, 91.0],
    (FIRST, "DGC"): [92.0, 92.0],
    (FIRST, "adjacency"): [95.0, 70.0],
    (MIXED, "default"): [80.0, 82.0],
    (MIXED, "DGC"): [70.0, 71.0],
}


def test_the_default_is_compared_with_the_best_mean():
    lines = text(results(FACTS)).splitlines()
    head, first, mixed = lines[-3:]
    # The standard error of the differences -2 and -1 is 0.5.
    expected = "90.5 92.0 not run 82.5 -1.50 +- 0.50 DGC"
    assert " ".join(first.split()).endswith(expected)
    assert mixed.endswith("+10.50 +- 0.50  DGC")
    assert head.index("minus the best") + len("minus the best") == first.index(" +- 0.50") + 8


def test_bars():
    found = {figure.label.partition(":")[0]: figure for figure in figures(results(FACTS))}
    assert found[FIRST].value == pytest.approx(-1.5)
    assert (found[FIRST].target, found[FIRST].verdict) == (">= -1", "MISSED")
    assert (found[MIXED].target, found[MIXED].verdict) == (">= 0", "met")
    assert found[GRAPHS[-1].name].verdict == "not run"


def test_a_job_for_every_graph_and_method():
    found = jobs(0.1)
    assert len(found) == len(GRAPHS) * len(METHODS)
    assert len({graph.name for graph in GRAPHS}) == len(GRAPHS)
    assert {job.threads for job in found} == {1}


@pytest.mark.parametrize("method", METHODS)
def test_methods_learn(method, monkeypatch):
    """Edges and features both tell the classes, so that every method finds them."""
    easy = MixedBlocks("easy", agreeing(2, 0.9), 200, 10, 3.0)
    monkeypatch.setattr(heterophily, "GRAPHS", (easy,))
    monkeypatch.setattr(heterophily, "SEEDS", 2)
    (job,) = (job for job in jobs(1.0) if job.peer == method)
    accuracies = job.task(job, None).run().facts["accuracies"]
    assert len(accuracies) == 2
    assert min(accuracies) > 80


def test_committed_page_has_the_text_that_is_generated():
    page = PAGE.read_text(encoding="utf-8")
    assert LEGEND in page
    for graph in GRAPHS:
        assert f"\n{graph.name} " in page


def shares_of_edges(family, seed=0):
    graph, labels, _ = family.draw(seed)
    rows, columns = graph.adjacency.nonzero()
    C = len(family.mixing)
    counts = np.bincount(C * labels[rows] + labels[columns], minlength=C * C)
    return counts.reshape(C, C) / counts.sum()


@pytest.mark.parametrize(
    "mixing",
    [agreeing(4, 0.7), ring(5, 0.8), joined(np.eye(1), np.eye(1), ring(2, 0.9), share=0.8)],
)
@pytest.mark.parametrize("exponent", [np.inf, 2.5])
def test_edges_are_mixed_as_told(mixing, exponent):
    family = MixedBlocks("any", mixing, 4000, 10, 1.0, exponent=exponent)
    expected = (mixing + mixing.T) / (2 * mixing.sum())
    assert np.abs(shares_of_edges(family) - expected).max() < 0.01
    graph, labels, _ = family.draw(0)
    assert graph.num_self_loops == 0
    assert np.ptp(np.bincount(labels)) <= 1
    hubs = graph.degrees.max() / graph.degrees.mean()
    assert (hubs > 5) == np.isfinite(exponent)


def test_directed_edges_are_mixed_by_direction():
    family = MixedBlocks("any", cycle(3, 0.8), 3000, 10, 1.0, directed=True)
    graph, labels, _ = family.draw(0)
    rows, columns = graph.directed_adjacency.nonzero()
    assert ((labels[rows] + 1) % 3 == labels[columns]).mean() == pytest.approx(
        0.8 + 0.2 / 3, abs=0.02
    )


def test_classes_of_a_group_have_the_same_features():
    family = MixedBlocks("any", agreeing(4, 0.5), 8000, 2, 5.0, groups=(0, 1, 0, 1))
    graph, labels, split = family.draw(3)
    means = np.array([graph.features[labels == code].mean(axis=0) for code in range(4)])
    assert np.abs(means[0] - means[2]).max() < 0.2
    assert np.linalg.norm(means[0] - means[1]) > 2
    assert np.linalg.norm(means, axis=1) == pytest.approx(5, abs=0.3)
    assert [len(part) for part in (split.train, split.val, split.test)] == [4800, 1600, 1600]


def test_seeds_and_scales():
    family = replace(GRAPHS[0], nodes=300)
    (one, labels, _), (again, _, _), (other, others, _) = (family.draw(s) for s in (1, 1, 2))
    assert (one.adjacency != again.adjacency).nnz == 0
    assert (one.adjacency != other.adjacency).nnz > 0
    assert (labels != others).any()
    assert (family.scaled(2).nodes, family.scaled(0.001).nodes) == (600, 100)
