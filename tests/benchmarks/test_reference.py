import numpy as np
import pytest

from benchmarks.reference import compare_samples, load_reference
from benchmarks.results import Row
from benchmarks.workloads import Workload, write_arrays
from heatgraph import diffuse, make_block_graph


@pytest.fixture
def workload(tmp_path):
    write_arrays(make_block_graph(50, 120, 3, 4), tmp_path)
    return Workload(tmp_path)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ({"what": "euler", "T": 1.5, "K": 3, "steps": 3}, {"T": 1.5, "K": 3}),
        ({"what": "heat", "T": 1.5}, {"T": 1.5}),
    ],
)
def test_reference_is_the_diffusion(workload, kind, parameters):
    expected = workload.sample(diffuse(workload.graph(), **parameters))
    np.testing.assert_allclose(load_reference(workload, kind), expected, atol=1e-5)


def test_samples_are_compared_with_heatgraph_if_they_have_the_same_reference(workload, tmp_path):
    X = load_reference(workload, {"what": "product"})
    facts = {"reference": {"what": "product"}}
    rows = [
        Row("w", "heatgraph", "small", facts=facts),
        Row("w", "peer", "small", facts=facts),
        Row("w", "other", "small"),
        Row("v", "elsewhere", "small", facts=facts),
    ]
    samples = {place: tmp_path / f"sample-{place}.npy" for place in range(4)}
    for place, factor in enumerate((1.0, 1.5, 1.0, 3.0)):
        np.save(samples[place], factor * X)
    compare_samples(rows, samples, {"small": workload.folder})
    assert [row.agreement for row in rows] == [None, pytest.approx(0.5), None, None]
    assert [row.difference for row in rows] == [0, pytest.approx(0.5), None, pytest.approx(2.0)]


def test_labels_agree_by_their_share(tmp_path):
    samples = {0: tmp_path / "0.npy", 1: tmp_path / "1.npy"}
    np.save(samples[0], [0, 1, 2, 2])
    np.save(samples[1], [0, 1, 2, 0])
    rows = [Row("w", "heatgraph"), Row("w", "peer")]
    compare_samples(rows, samples, {})
    assert rows[1].agreement == 0.75
