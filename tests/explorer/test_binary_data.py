import base64

import numpy as np
import pytest

from heatgraph.explorer.binary_data import TYPES, decode, encode


@pytest.mark.parametrize("name", TYPES)
def test_arrays_of_any_type_come_back(name):
    array = (np.random.default_rng(0).normal(size=1001) * 100).astype("int64").astype(name)
    values, arrays = decode(encode({"a": [1, None, "é"]}, {"x": array, "none": array[:0]}))
    assert values == {"a": [1, None, "é"]}
    assert arrays["x"].dtype == array.dtype
    assert np.array_equal(arrays["x"], array)
    assert len(arrays["none"]) == 0


def test_nothing_but_base64_is_in_the_text():
    text = encode({"label": "</script><script>alert(1)</script>\u2028&"}, {})
    assert base64.b64decode(text, validate=True)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="x is of float64"):
        encode({}, {"x": np.zeros(3)})


def test_small_integers_take_little_space():
    steps = np.random.default_rng(0).integers(0, 200, 100_000).astype(np.uint32)
    assert len(encode({}, {"x": steps})) < 1.4 * 100_000
