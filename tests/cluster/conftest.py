import warnings

import pytest


@pytest.fixture(scope="session")
def client():
    """A client of two worker processes with one thread each."""
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as processes,
            distributed.Client(processes) as client,
        ):
            yield client
