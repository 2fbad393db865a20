import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_computed_table():
    path = ROOT / "scripts" / "cluster_costs.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    assert script.table() in page
    for case in script.CASES:
        size = 4 * case.num_nodes * case.num_features
        name = case.name.split(",")[0]
        assert f"{size / 1e9:.0f} GB each for {name}" in page
