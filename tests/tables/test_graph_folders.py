"""Folders that hold a graph."""

import json

import numpy as np
import pytest
from graph_files import FACEBOOK_ROWS, write_geom_gcn, write_twitch

from heatgraph.errors import InputError
from heatgraph.tables.graph_folders import find_graph, planetoid_graph
from heatgraph.tables.options import TableOptions


def read(folder, **options):
    return find_graph(folder).read(TableOptions(**options))


@pytest.fixture
def table_folder(tmp_path):
    (tmp_path / "nodes.csv").write_text("id,label,x\na,u,1\nb,v,2\n")
    (tmp_path / "edges.txt").write_text("a b\n")
    return tmp_path


def test_tables(table_folder):
    assert find_graph(table_folder).files == [
        table_folder / "nodes.csv",
        table_folder / "edges.txt",
    ]
    result = read(table_folder)
    assert result.dataset.graph.feature_names == ["x"]
    assert result.dataset.graph.num_edges == 1


def test_a_file_of_features(table_folder):
    np.save(table_folder / "features.npy", np.eye(2))
    assert read(table_folder).dataset.graph.feature_names == ["f0", "f1"]
    assert read(table_folder, features="x").dataset.graph.feature_names == ["x"]
    assert read(table_folder, features="").dataset.graph.features is None


def test_a_model_of_columns_needs_no_file_of_features(table_folder):
    rows = "id,label,x,colour\na,u,1,red\nb,v,2,blue\n"
    (table_folder / "nodes.csv").write_text(rows, encoding="utf-8")
    (table_folder / "features.csv").write_text("node,feature\na,w\n", encoding="utf-8")
    encoder = read(table_folder, features=["x", "colour"]).dataset.graph.feature_encoder
    options = {"model_features": encoder.names, "model_encoder": encoder}
    assert read(table_folder, **options).dataset.graph.feature_names == encoder.names
    both = [*encoder.names, "w"]
    result = read(table_folder, **options | {"model_features": both})
    assert result.dataset.graph.feature_names == both


def test_several_tables(table_folder):
    (table_folder / "nodes.parquet").touch()
    with pytest.raises(InputError, match="several tables of nodes: nodes.csv, nodes.parquet"):
        find_graph(table_folder)


def test_an_unknown_folder(tmp_path):
    with pytest.raises(InputError, match=r"Looked for tables nodes.* ind.NAME.* Found no files\."):
        find_graph(tmp_path)
    for name in ("a.csv", "b.txt"):
        (tmp_path / name).touch()
    with pytest.raises(
        InputError, match=r"holds no graph that is recognised.* Found a.csv, b.txt\.$"
    ):
        find_graph(tmp_path)
    (tmp_path / "raw").mkdir()
    with pytest.raises(InputError, match=r"a.csv, b.txt, and the folders raw: name one of them"):
        find_graph(tmp_path)


def test_planetoid(planetoid_folder):
    with pytest.raises(
        InputError, match="several of Planetoid's data sets. Name one: .*cora.graph"
    ):
        find_graph(planetoid_folder)
    graph = planetoid_graph(planetoid_folder / "ind.cora.graph")
    assert len(graph.files) == 8
    assert graph.read(TableOptions()).dataset.graph.num_nodes == 2708


def test_an_incomplete_planetoid_folder(tmp_path):
    (tmp_path / "ind.cora.graph").touch()
    with pytest.raises(InputError, match=r"lacks ind.cora.x, ind.cora.y, .* data set 'cora'"):
        read(tmp_path)
    assert planetoid_graph(tmp_path / "cora.graph") is None


def test_geom_gcn(tmp_path):
    folder = write_geom_gcn(tmp_path / "texas")
    assert read(folder).dataset.graph.num_nodes == 8
    (folder / "out1_graph_edges.txt").unlink()
    with pytest.raises(InputError, match="must hold out1_node"):
        read(folder)


def test_twitch(tmp_path):
    folder = tmp_path / "DE"
    write_twitch(folder)
    data = read(folder).dataset
    assert data.graph.num_features == 3170
    assert set(data.labels.tolist()) <= {"True", "False"}
    assert read(folder, label="").dataset.labels is None


def write_musae(folder, header):
    (folder / "my_target.csv").write_text(f"{header}\n0,x\n1,y\n")
    (folder / "my_edges.csv").write_text("id_1,id_2\n0,1\n")
    (folder / "my_features.json").write_text(json.dumps({"0": [0], "1": [1]}))


def test_facebook(tmp_path):
    assert "page_type" in FACEBOOK_ROWS[0]
    write_musae(tmp_path, "id,page_type")
    assert read(tmp_path).dataset.labels.tolist() == ["x", "y"]


def test_another_column_of_classes(tmp_path):
    write_musae(tmp_path, "id,colour")
    with pytest.raises(
        InputError, match=r"no column of classes .* It has id, colour. Name it with"
    ):
        read(tmp_path)
    assert read(tmp_path, label="colour").dataset.labels.tolist() == ["x", "y"]
