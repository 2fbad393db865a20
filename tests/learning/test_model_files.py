"""`load` returns what was saved."""

import numpy as np
import pytest
from strategies import planted

import heatgraph as hg
from heatgraph.errors import FileFormatError
from heatgraph.learning.model_files import load, task_of

GRAPH, CLASSES = planted(n=40, kind="dense")


@pytest.mark.parametrize(
    ("kind", "y", "task"),
    [
        (hg.DGCClassifier, CLASSES, "classification"),
        (hg.DGCRegressor, CLASSES + 0.5, "regression"),
        (hg.DGCMultilabelClassifier, np.eye(3)[CLASSES], "multilabel"),
    ],
)
def test_the_class_of_a_file(tmp_path, kind, y, task):
    model = kind(T=1.0, weight_decay=0.1).fit(GRAPH, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is kind
    assert task_of(again) == task


def test_other_files_are_refused(tmp_path):
    GRAPH.save(tmp_path / "graph")
    with pytest.raises(FileFormatError, match="holds a graph; expected a DGCClassifier"):
        load(tmp_path / "graph")
    (tmp_path / "text").write_text("nothing of the kind")
    with pytest.raises(FileFormatError, match="not a model file"):
        load(tmp_path / "text")
