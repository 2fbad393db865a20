"""Validation of the reader's options."""

import pytest

from heatgraph.errors import InputError
from heatgraph.tables.from_tables import from_tables

EDGE = {"source": ["a"], "target": ["b"]}
PAIR = {"id": ["a", "b"]}


@pytest.mark.parametrize("role", ["id", "label", "split", "source", "target", "weight"])
def test_a_column_is_given_by_name(role):
    with pytest.raises(InputError, match=f"{role} must be the name of a column. Got 3"):
        from_tables(PAIR, EDGE, **{role: 3})
