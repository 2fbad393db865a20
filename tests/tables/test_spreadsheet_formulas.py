"""Texts that spreadsheets would run."""

import pyarrow as pa
import pytest

from heatgraph.tables.spreadsheet_formulas import Formulas, find_formulas, guard_formulas

FORMULAS = ["=1+1", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1"]
TEXTS = ["a=1", "'=1", " =1", "", "-1.5", "+2", "-1e3", "1-1", "x"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_get_an_apostrophe(formula):
    table = pa.table({"x": ["u", formula, None], "y": [-1, 0, 1], formula: [0.5, -0.5, 0]})
    assert find_formulas(table) == Formulas(2, formula, formula)
    guarded = guard_formulas(table)
    assert guarded.column_names == ["x", "y", "'" + formula]
    assert guarded["x"].to_pylist() == ["u", "'" + formula, None]
    assert guarded["y"].to_pylist() == [-1, 0, 1]
    assert find_formulas(guarded) is None


def test_other_texts_stay():
    table = pa.table({"x": TEXTS})
    assert find_formulas(table) is None
    assert guard_formulas(table).equals(table)
