"""The layers of docs/architecture.md, enforced by reading the source."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import heatgraph

SOURCE = Path(heatgraph.__file__).parent
TESTS = Path(__file__).parent
ARCHITECTURE = TESTS.parent / "docs" / "architecture.md"

# From the bottom up: a layer imports from those before it, never from those after.
LAYERS = [
    "errors", "_arguments", "_io", "schemes", "encoding", "graph", "_engine", "cluster",
    "diffusion", "theory", "learning", "baselines", "datasets", "exchange", "tables", "report",
    "explorer", "plot", "experiments", "cli",
]  # fmt: skip
VAGUE = {"util", "utils", "helper", "helpers", "common", "misc", "base"}


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules():
    """Every module of the package by its dotted name, but for the package itself."""
    return {
        module_name(path): path
        for path in sorted(SOURCE.rglob("*.py"))
        if path != SOURCE / "__init__.py"
    }


def layer(name):
    return name.split(".")[1]


def imported_modules(source):
    """Modules of heatgraph that some source imports, wherever it does: in functions, for types."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            while name not in modules() and "." in name:
                name = name.rpartition(".")[0]
            if name in modules():
                found.add(name)
    return found


@cache
def imports(name):
    return imported_modules(modules()[name].read_text(encoding="utf-8")) - {name}


def test_every_module_is_in_a_layer():
    assert {layer(name) for name in modules()} == set(LAYERS)


@pytest.mark.parametrize("name", modules())
def test_layers_import_from_lower_layers_only(name):
    here = LAYERS.index(layer(name))
    above = sorted(other for other in imports(name) if LAYERS.index(layer(other)) > here)
    assert not above, f"{name} imports {', '.join(above)}"


def test_no_cycles_between_modules():
    """Within a layer too, and by imports inside functions as well."""
    try:
        TopologicalSorter({name: imports(name) for name in modules()}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_imports_are_found_wherever_they_are():
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from heatgraph.graph import Graph
def f():
    from heatgraph.learning import _labels
    import heatgraph.cli.app
"""
    assert imported_modules(source) == {
        "heatgraph.graph",
        "heatgraph.learning._labels",
        "heatgraph.cli.app",
    }


def test_names_of_modules():
    for name in modules():
        parts = name.split(".")[1:]
        assert not VAGUE & {part.strip("_") for part in parts}, name
        private_or_grouped = len(parts) > 1 or parts[0].startswith("_")
        assert private_or_grouped or parts[0] not in sys.stdlib_module_names, name


def test_every_module_has_tests_under_its_name():
    """A module or package is mirrored by ``test_<name>.py``, or by a folder of tests."""
    files = {path.relative_to(TESTS).with_suffix("") for path in TESTS.rglob("test_*.py")}
    mirrored = {
        tuple(part.removeprefix("test_").strip("_") for part in path.parts) for path in files
    }
    # Commands, experiments and pages are tested through the package that runs them; the arguments
    # of kernels are plain tuples.
    through = {("cli",), ("experiments", "paper"), ("report",), ("engine", "kernel_arguments")}
    missing = []
    for name, path in modules().items():
        parts = tuple(part.strip("_") for part in name.split(".")[1:])
        whole_package = any(parts[: len(package)] == package for package in through)
        if path.name == "__init__.py" or whole_package:
            continue
        if parts not in mirrored:
            missing.append("/".join(parts))
    assert not missing


def test_the_architecture_page_names_every_layer_in_order():
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)?` \|", ARCHITECTURE.read_text(encoding="utf-8"), re.M)
    assert rows == LAYERS


def test_the_architecture_page_names_modules_that_exist():
    text = ARCHITECTURE.read_text(encoding="utf-8")
    paths = set(re.findall(r"(?:\w+/)*\w+\.py\b", text))
    roots = (SOURCE, TESTS.parent)
    assert len(paths) > 20
    missing = {path for path in paths if not any((root / path).exists() for root in roots)}
    assert not missing


def test_numba_is_imported_by_the_kernels_alone():
    for name, path in modules().items():
        if not name.startswith("heatgraph._engine."):
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
    heavy = {"numba", "matplotlib", "pyarrow", "torch", "sklearn", "joblib", "jinja2"}
    assert not heavy & set(loaded)
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
