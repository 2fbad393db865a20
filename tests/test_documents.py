"""What the documents say can be run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert names["part"].shape == (500,)
    assert (names["again"].predict(names["graph"]) == names["labels"]).all()
    assert names["rows"].shape == (3, 32)
    assert names["grid"].shape == (50, 3, 32)
    assert "products" in capsys.readouterr().out
    claimed = re.search(r"in (\d+) products", code)[1]
    assert int(claimed) == names["hg"].plan(names["graph"], T=5.3, K=250).products


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_modules_named_in_the_architecture_exist(path):
    for module in re.findall(r"^\| `(\w+)/?` \|", path.read_text(encoding="utf-8"), re.MULTILINE):
        home = ROOT / "src" / "heatgraph"
        assert (home / f"{module}.py").exists() or (home / module).is_dir()
