import copy
import sys

import pytest

from heatgraph.cluster import Cluster
from heatgraph.cluster._connection import as_cluster, connect, import_distributed
from heatgraph.errors import InputError, MissingExtraError


def test_a_cluster_can_be_given_in_several_ways(client):
    assert as_cluster(client).client is client
    assert as_cluster("local:2") == Cluster("local:2")
    assert as_cluster(Cluster("local:2", mode="blocks")).mode == "blocks"


@pytest.mark.parametrize("cluster", [3, None, ["tcp://a:1"]])
def test_anything_else_is_refused(cluster):
    with pytest.raises(InputError, match="cluster must be a dask.distributed Client"):
        as_cluster(cluster)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "rows"}, "mode must be 'auto', 'columns' or 'blocks'. Got 'rows'"),
        ({"blocks": 0}, "blocks must be"),
        ({"folder": "/nowhere/at/all"}, "there is no folder /nowhere/at/all"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError, match=message):
        Cluster("local:2", **options)


def test_copies_share_the_connection(client):
    cluster = Cluster(client)
    assert copy.deepcopy(cluster) is cluster
    assert copy.deepcopy({"cluster": cluster})["cluster"] is cluster


def test_no_scheduler_at_the_address():
    pytest.importorskip("distributed")
    with (
        pytest.raises(InputError, match="no Dask scheduler at 'nonsense://x'"),
        connect(Cluster("nonsense://x")),
    ):
        pass


def test_local_processes_end_with_the_block():
    pytest.importorskip("distributed")
    with connect(Cluster("local:1")) as opened:
        assert len(opened.nthreads()) == 1
    assert opened.status == "closed"


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'heatgraph\[cluster\]'"):
        import_distributed()
