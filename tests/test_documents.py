"""What the documents say can be run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from heatgraph.baselines.gnn.recipes import RECIPES
from heatgraph.cli.exit_codes import (
    CLOSED_PIPE,
    FAILED,
    INTERNAL_ERROR,
    INTERRUPTED,
    NOT_CONVERGED,
    TERMINATED,
    WRONG_USE,
)
from heatgraph.experiments.compare.methods import METHODS

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]


def test_the_readme_runs(capsys, tmp_path, monkeypatch):
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    names: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)
    exec(code, names)
    assert names["clf"].score(names["graph"], names["y"]) > 0.8
    assert names["part"].shape == (900,)
    assert (names["again"].predict(names["graph"]) == names["labels"]).all()
    assert names["rows"].shape == (3, 32)
    assert names["grid"].shape == (50, 3, 32)
    assert "products" in capsys.readouterr().out
    claimed = re.search(r"in (\d+) products", code)[1]
    assert int(claimed) == names["hg"].plan(names["graph"], T=5.3, K=250).products


def test_the_readmes_commands_run(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [
        line
        for block in blocks
        for line in block.splitlines()
        # Those that compare take minutes, and have tests of their own.
        if line.startswith("heatgraph") and line.split()[1] not in ("paper", "compare")
    ]
    assert len(lines) == 7
    program = Path(sys.executable).with_name("heatgraph")
    printed = []
    for line in lines:
        arguments = shlex.split(line, comments=True)[1:]
        done = subprocess.run(
            [program, *arguments], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    shown = re.search(r"```text\n(.*?)```", text, re.DOTALL)[1].splitlines()
    for table, column in (("nodes", 0), ("edges", 1)):
        with (tmp_path / "blocks" / f"{table}.csv").open() as file:
            for row in shown:
                start = re.split(r",?\.\.\.\s+", row)[column] if "..." in row else row
                assert next(file).startswith(start)
    assert "likely to help" in printed[1]
    rows = printed[3].splitlines()
    assert rows == (tmp_path / "predictions.csv").read_text().splitlines()
    assert len(rows) == 1001
    # Parquet gives the same as CSV.
    again = pq.read_table(tmp_path / "predictions.parquet").to_pylist()
    assert [row["prediction"] for row in again] == [int(row.split(",")[1]) for row in rows[1:]]


def test_every_method_is_documented():
    text = (ROOT / "docs" / "baselines.md").read_text(encoding="utf-8")
    table = text[text.index("## Networks") : text.index("```python", text.index("## Networks"))]
    assert re.findall(r'`"([\w-]+)"`', table) == list(RECIPES)
    assert f"any of {len(METHODS)} methods" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_is_documented():
    from heatgraph.cli.app import app

    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `heatgraph (\w+)", text, re.MULTILINE)
    assert listed == [command.name for command in app.registered_commands]
    codes = re.findall(r"^\| (\d+(?:, \d+)*) \|", text, re.MULTILINE)
    known = (FAILED, WRONG_USE, NOT_CONVERGED, INTERNAL_ERROR, INTERRUPTED, CLOSED_PIPE, TERMINATED)
    assert {int(code) for entry in codes for code in entry.split(",")} == {0, *known}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


LINK = re.compile(r"\]\(([^)]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(path):
    """Anchors of a page's headings, as mkdocs makes them."""
    headings = HEADING.findall(path.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def local_links():
    return [
        pytest.param(path, target, id=f"{path.name}:{target}")
        for path in DOCUMENTS
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not target.startswith("https://")
    ]


@pytest.mark.parametrize(("path", "target"), local_links())
def test_links_resolve(path, target):
    name, _, anchor = target.partition("#")
    page = path.parent / name if name else path
    assert page.exists()
    assert not anchor or anchor in anchors(page)


def test_links_are_found():
    linked = {parameters.values[1] for parameters in local_links()}
    assert {"docs/architecture.md", "command-line.md#tables", "performance.md"} <= linked


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for path in (ROOT / "docs").glob("*.md"):
        assert f": {path.name}\n" in navigation, path.name
