import numpy as np
import pytest
from explorer.explored import blocks, fitted

import heatgraph as hg
from heatgraph.errors import InputError


def test_a_page_is_written_whole(tmp_path):
    data = blocks()
    stages = []
    path = hg.explore(
        fitted(data), data, tmp_path / "page.html", progress=lambda *step: stages.append(step)
    )
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert path.read_text(encoding="utf-8").endswith("</html>")
    assert stages[0] == ("fitting at other times", 0, 16)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_the_same_model_gives_the_same_page(tmp_path):
    data = blocks()
    first, second = (
        hg.explore(fitted(data), data, tmp_path / name).read_bytes() for name in ("a", "b")
    )
    assert first == second


def test_other_models_are_refused(tmp_path):
    data = blocks()
    regressor = hg.DGCRegressor(T=1.0, weight_decay=1e-3).fit(data.graph, np.arange(300.0))
    with pytest.raises(InputError, match="one class per node. Got DGCRegressor"):
        hg.explore(regressor, data, tmp_path / "page.html")
    with pytest.raises(InputError, match="shows a Dataset"):
        hg.explore(fitted(data), data.graph, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
