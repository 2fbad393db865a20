from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.workloads import MissingFiles, Workload, normalize, prepare, write_arrays
from heatgraph import make_block_graph


def test_S_is_that_of_heatgraph(tmp_path):
    data = make_block_graph(50, 120, 3, 4)
    write_arrays(data, tmp_path)
    S = normalize(data.graph.adjacency)
    np.testing.assert_allclose(S.toarray(), data.graph.operator().to_scipy().toarray(), rtol=1e-6)
    stored = Workload(tmp_path)
    assert (stored.S() != S).nnz == 0
    assert stored.graph().num_edges == data.graph.num_edges
    np.testing.assert_array_equal(stored.split.test, data.split.test)


def test_tiny_workload_has_the_kind_of_features_of_the_large_one(tmp_path):
    data = make_block_graph(50, 120, 3, 4)
    sparse = replace(data, graph=data.graph.with_features(sp.csr_array(data.graph.features)))
    for name, one in (("dense", data), ("sparse", sparse)):
        (tmp_path / name / "tiny").mkdir(parents=True)
        write_arrays(one, tmp_path / name)
        workload = Workload(tmp_path / name)
        assert workload.is_sparse == (name == "sparse")
        assert workload.tiny(tmp_path / name / "tiny").is_sparse == workload.is_sparse


def test_tables_are_prepared_once(tmp_path):
    folder = prepare("tables-500", tmp_path)
    assert Workload(folder).is_tables
    assert len((folder / "nodes.csv").read_text().splitlines()) == 501
    written = (folder / "about.json").stat().st_mtime_ns
    assert prepare("tables-500", tmp_path) == folder
    assert (folder / "about.json").stat().st_mtime_ns == written


def test_missing_files_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("HEATGRAPH_DATA", str(tmp_path))
    with pytest.raises(MissingFiles, match="no files of cora; HEATGRAPH_DATA names the parent"):
        prepare("cora", tmp_path / "workloads")
    assert not (tmp_path / "workloads" / "cora").exists()
