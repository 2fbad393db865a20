"""`load` returns what was saved."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
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


@pytest.mark.parametrize("kind", [hg.DGCClassifier, hg.DGCMultilabelClassifier])
def test_labels_that_differ_in_a_null_character_at_the_end(tmp_path, kind):
    names = [["a", "a\0", "b"][code] for code in CLASSES]
    y = names if kind is hg.DGCClassifier else [[name] for name in names]
    model = kind(T=1.0, weight_decay=0.1).fit(GRAPH, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.classes_.tolist() == ["a", "a\0", "b"]
    assert_array_equal(again.predict(GRAPH), model.predict(GRAPH))


def test_other_files_are_refused(tmp_path):
    GRAPH.save(tmp_path / "graph")
    with pytest.raises(FileFormatError, match="holds a graph; expected a DGCClassifier"):
        load(tmp_path / "graph")
    (tmp_path / "text").write_text("nothing of the kind")
    with pytest.raises(FileFormatError, match="not a model file"):
        load(tmp_path / "text")
