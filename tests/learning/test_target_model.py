"""Files of models of targets: what is refused, and what is not in them."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from strategies import planted

import heatgraph as hg
from heatgraph._io.tensor_file import read_tensors, write_tensors
from heatgraph.errors import FileFormatError

GRAPH, CLASSES = planted(n=40, kind="dense")
MODELS = {
    "DGCRegressor": (hg.DGCRegressor, CLASSES + 0.5),
    "DGCMultilabelClassifier": (hg.DGCMultilabelClassifier, np.eye(3)[CLASSES]),
}


@pytest.fixture(params=MODELS)
def saved(request, tmp_path):
    kind, y = MODELS[request.param]
    path = tmp_path / "model"
    kind(T=1.0, weight_decay=0.1).fit(GRAPH, y).save(path)
    return request.param, path


def rewrite(kind, path, change):
    content, tensors = read_tensors(path, kind)
    change(content, tensors)
    write_tensors(path, kind, content, tensors)


def test_the_file_is_valid_without_changes(saved):
    kind, path = saved
    rewrite(kind, path, lambda content, tensors: None)
    assert type(hg.load(path)).__name__ == kind


@pytest.mark.parametrize(
    "change",
    [
        lambda c, t: t.update(bias=t["bias"][:0]),
        lambda c, t: t["Theta"].fill(np.nan),
        lambda c, t: t.pop("Theta"),
        lambda c, t: c.update(num_features=7),
        lambda c, t: c.update(num_features="12"),
        lambda c, t: c.update(feature_names=["a"]),
        lambda c, t: c.update(nodes_digest=3),
        lambda c, t: c.update(self_loops=1),
        lambda c, t: c.update(search={}),
        lambda c, t: c.update(feature_scaling="rows"),
        lambda c, t: c.update(scheme={"name": "nonsense"}),
        lambda c, t: c["parameters"].update(T=-1),
        lambda c, t: c["parameters"].update(nonsense=1),
        lambda c, t: c["parameters"].update(dtype="int8"),
        lambda c, t: c.pop("weight_decay"),
        lambda c, t: (c.pop("is_flat", None), c.pop("temperature", None)),
        lambda c, t: (c.update(is_flat=1), c.update(temperature=0.0)),
        lambda c, t: (t.pop("held_out_errors", None), c.update(classes=["a"])),
        lambda c, t: c.update(validation_r2="x", validation_f1=None),
    ],
)
def test_crafted_files_are_refused(saved, change):
    kind, path = saved
    rewrite(kind, path, change)
    with pytest.raises(FileFormatError, match="does not hold a valid model"):
        hg.load(path)


def test_every_flipped_byte_and_every_truncation_is_noticed(saved):
    _, path = saved
    raw = path.read_bytes()
    random = np.random.default_rng(0)
    for at in random.integers(0, len(raw), 40).tolist():
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        with pytest.raises(FileFormatError):
            hg.load(path)
        path.write_bytes(raw[:at])
        with pytest.raises(FileFormatError):
            hg.load(path)


@pytest.mark.parametrize("kind", [kind for kind, _ in MODELS.values()])
def test_an_unfitted_model_is_not_saved(tmp_path, kind):
    with pytest.raises(NotFittedError):
        kind().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
