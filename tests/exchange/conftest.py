import pytest


@pytest.fixture(scope="session")
def nx():
    return pytest.importorskip("networkx", reason="networkx is not installed")


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="session")
def pyg():
    return pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
