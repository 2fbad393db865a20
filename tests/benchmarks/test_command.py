"""``python -m benchmarks`` from end to end, at a tiny size and without torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.slow
def test_product_from_jobs_to_page(tmp_path):
    page = tmp_path / "docs" / "performance.md"
    size = ["--rounds", 1, "--scale", 0.0005]
    selection = ["--peers", "heatgraph,SciPy", "--data", "blocks"]
    done = run("product", *size, *selection, "--output", tmp_path, "--page", page)
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "product.json").read_text())
    assert [row["peer"] for row in content["rows"]] == ["heatgraph", "SciPy"]
    for row in content["rows"]:
        assert not row["failed"]
        assert row["turns"][0]["median"] > 0
        assert row["products"] == 1
        assert row["difference"] < 1e-5  # to the product in float64
    assert content["data"]["blocks-500"]["nodes"] == 500
    assert str(ROOT) not in json.dumps(content)
    text = page.read_text(encoding="utf-8")
    for expected in ("One product: blocks", "scale 0.0005", "Not run", "Where others are ahead"):
        assert expected in text
    assert (page.parent / "figures" / "performance" / "product.png").exists()
    assert "like Reddit: torch CSR / heatgraph  " in done.stdout
    assert ">= 3" in done.stdout
    assert ">= 3" not in text


def test_unknown_benchmark_is_refused():
    done = run("products")
    assert done.returncode == 2
    assert "no benchmark called 'products': there are product, diffusion" in done.stderr


def test_before_after_needs_a_checkout(tmp_path):
    done = run("before-after", "--base", tmp_path)
    assert done.returncode == 2
    assert "--base must be a checkout of heatgraph" in done.stderr
