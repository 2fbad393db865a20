"""Damage to files, and what readers of tables make of it."""

import warnings
from pathlib import Path

import pytest
from hammer import damage, table_contents

from heatgraph.errors import HeatgraphError, TableWarning
from heatgraph.tables.from_tables import from_tables

SEED, NUM_CASES = 22, 12
NODES = {name: table_contents.COLUMNS[name] for name in ("id", "label")}
EDGES = {"source": ["n0"], "target": ["n1"]}
FILES = {
    "nodes": table_contents.node_files(),
    "edges": table_contents.edge_files(),
    "features": table_contents.feature_files(),
}
CONTENTS = [content for files in FILES.values() for content in files.values()]
FOUND = sorted(Path(__file__).with_name("found").iterdir())


def read(kind, path):
    tables = {"nodes": NODES, "edges": EDGES} | ({kind: path} if kind != "features" else {})
    features = {"features": path} if kind == "features" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        return from_tables(**tables, **features, unknown_edges="drop", memory_budget="1GB")


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, files in FILES.items() for name in files]
)
class TestTables:
    def test_valid_files_are_read(self, tmp_path, kind, name):
        (tmp_path / name).write_bytes(FILES[kind][name])
        assert read(kind, tmp_path / name).graph.num_nodes == table_contents.NUM_NODES

    def test_damaged_files_are_read_or_refused_in_words(self, tmp_path, kind, name):
        path = tmp_path / name
        for case in range(NUM_CASES):
            rng = damage.random_generator(SEED, case)
            path.write_bytes(damage.damage(FILES[kind][name], rng, CONTENTS))
            try:
                read(kind, path)
            except HeatgraphError as error:
                assert name in str(error) or kind in str(error)  # noqa: PT017
                assert " object at 0x" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_is_refused(path):
    with pytest.raises(HeatgraphError, match=path.name):
        read("nodes", path)


@pytest.mark.parametrize("kind", damage.DAMAGES)
def test_damage_depends_on_the_generator_alone(kind):
    content = bytes(range(256))
    first, again = (kind(content, damage.random_generator(0, 1)) for _ in range(2))
    assert first == again
    assert content == bytes(range(256))
    others = {kind(content, damage.random_generator(0, case)) for case in range(50)}
    assert len(others) > 25
    assert kind(b"", damage.random_generator(0, 1)) is not None


def test_splices_have_both_ends():
    for case in range(20):
        spliced = damage.splice(b"a" * 50, b"b" * 50, damage.random_generator(0, case))
        assert spliced == b"a" * spliced.count(b"a") + b"b" * spliced.count(b"b")
