import numpy as np
import pyarrow as pa
import pytest

from heatgraph.encoding.column import Column


@pytest.fixture
def column():
    """Make a column called x of a table called t."""

    def make(values, kind=None, name="x"):
        array = values if isinstance(values, pa.Array) else pa.array(values, kind)
        is_categorical = pa.types.is_dictionary(array.type)
        array = array.cast(array.type.value_type) if is_categorical else array
        # Two chunks, as large files come in several.
        half = len(array) // 2
        chunks = pa.chunked_array([array[:half], array[half:]], type=array.type)
        return Column(name, chunks, "t", lambda row: f"t, row {row}", is_categorical)

    return make


@pytest.fixture
def rows():
    """All rows of a column."""
    return lambda column: np.arange(len(column))
