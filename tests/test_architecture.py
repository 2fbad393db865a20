"""The house rules of docs/architecture.md, enforced by reading the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import heatgraph

SOURCE = Path(heatgraph.__file__).parent

# From the ground up. A package may import from those before it, never from those after.
ROOMS = [
    "errors", "_arguments", "_io", "schemes", "graph", "_engine", "diffusion", "theory", "learning",
    "baselines", "datasets", "exchange", "tables", "report", "experiments", "cli",
]  # fmt: skip
NAMELESS = {"util", "utils", "helper", "helpers", "common", "misc", "base"}


def modules():
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            names = [node.module] if node.module != "heatgraph" else []
            if node.module == "heatgraph":
                names = [f"heatgraph.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "heatgraph" and name != "heatgraph":
                yield name.split(".")[1]


def test_every_room_has_its_place():
    assert {room(path) for path in modules()} <= set(ROOMS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_up(path):
    here = room(path)
    for other in imported_rooms(path):
        assert ROOMS.index(other) <= ROOMS.index(here), f"{here} imports {other}"


def test_the_rule_would_notice(tmp_path):
    (tmp_path / "wrong.py").write_text("from heatgraph.cli import x\nimport heatgraph.paper.y\n")
    assert list(imported_rooms(tmp_path / "wrong.py")) == ["cli", "paper"]


def test_no_room_without_a_name_of_its_own():
    assert not NAMELESS & {part for path in modules() for part in path.with_suffix("").parts}


def test_numba_is_imported_by_kernels_alone():
    for path in modules():
        if path.name not in {"kernels.py", "row_sum.py", "row_sum_codegen.py"}:
            assert "import numba" not in path.read_text(encoding="utf-8"), path


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.parametrize(
    "use", ["", "; heatgraph.Graph; heatgraph.diffuse; heatgraph.theory; dir(heatgraph)"]
)
def test_importing_is_light(use):
    loaded = run(f"import sys, heatgraph{use}; print(*sys.modules)")
    assert not {"numba", "matplotlib", "pyarrow", "torch", "sklearn"} & set(loaded)
    if not use:
        assert "numpy" not in loaded


def test_public_names():
    for name in heatgraph.__all__:
        assert getattr(heatgraph, name) is not None
    assert dir(heatgraph) == sorted(heatgraph.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = heatgraph.nonsense


def test_editors_see_the_same_names():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    listed = {alias.asname for node in guarded.body for alias in node.names}
    assert listed == set(heatgraph.__all__) - {"__version__"}


def test_one_version_number():
    import importlib.metadata

    assert importlib.metadata.version("heatgraph") == heatgraph.__version__
