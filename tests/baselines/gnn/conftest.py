import pytest


@pytest.fixture
def torch():
    """The library torch; tests that need it are skipped without the extra gnn."""
    reason = "graph neural networks need torch, torch_geometric and torchdiffeq: the extra gnn"
    pytest.importorskip("torch_geometric", reason=reason)
    pytest.importorskip("torchdiffeq", reason=reason)
    return pytest.importorskip("torch", reason=reason)
