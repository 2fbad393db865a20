"""The numbers that the paper prints, against the paper."""

import re
from pathlib import Path

import pytest

from heatgraph.experiments.paper.published import published_numbers

PAPER = Path(__file__).parents[4] / "shared" / "paper" / "dgc.tex"
# Tables by their labels in the source, and how many numbers each has.
TABLES = {
    "Table 2": ("tab:citation-results", 45),
    "Table 3": ("tab:citation-random", 21),
    "Table 4": ("tab:reddit-results", 9),
    "Table 5": ("tab:computation-time", 12),
    "Table 6": ("tab:list-T-K-acc", 8),
    "Table 8": ("tab:sign-T", 19),
    "Table 9": ("tab:sign-time", 18),
    "Table 10": ("tab:sign-time-K", 10),
}


@pytest.fixture(scope="module")
def source():
    if not PAPER.exists():
        pytest.skip(f"no source of the paper at {PAPER}")
    return PAPER.read_text(encoding="utf-8")


def rows_of(source, label):
    """Rows of a table: cells as plain texts."""
    end = source.index(r"\label{" + label + "}")
    block = source[source.rindex(r"\begin{tabular}", 0, end) : end]
    block = re.sub(r"~?\\cite\{[^}]*\}", "", block)
    block = re.sub(r"\\(textbf|multirow\{\d\}\{\*\})", "", block)
    block = re.sub(r"\$\\pm\$", "+-", block).translate(str.maketrans("", "", "{}$"))
    return [[cell.strip() for cell in row.split("&")] for row in block.split(r"\\")]


@pytest.mark.parametrize("table", TABLES)
def test_counts(table):
    assert len(published_numbers(source=table)) == TABLES[table][1]


def test_numbers_are_unique():
    keys = [(n.source, n.method, n.dataset, n.setting, n.measure) for n in published_numbers()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("table", ["Table 2", "Table 3"])
def test_accuracies_on_citation_graphs(source, table):
    spelled = {"GWWN": "GWNN", "DGC (ours)": "DGC"}
    found = 0
    for cells in rows_of(source, TABLES[table][0]):
        if len(cells) < 5 or not re.match(r"\d|-$", cells[-1]):
            continue
        method = spelled.get(cells[-4], cells[-4])
        for dataset, cell in zip(("cora", "citeseer", "pubmed"), cells[-3:], strict=True):
            numbers = published_numbers(source=table, method=method, dataset=dataset)
            if cell == "-":
                assert numbers == []
                continue
            value, _, spread = cell.partition("+-")
            (number,) = numbers
            assert number.value == float(value)
            assert number.spread == (float(spread) if spread else None)
            found += 1
    assert found == TABLES[table][1]


@pytest.mark.parametrize(
    "table", ["Table 4", "Table 5", "Table 6", "Table 8", "Table 9", "Table 10"]
)
def test_every_number_is_in_its_table(source, table):
    printed = set()
    for cells in rows_of(source, TABLES[table][0]):
        for cell in cells:
            for value, unit in re.findall(r"(\d+(?:\.\d+)?)\s*(ms|s)?(?![\w.])", cell):
                printed.add(round(float(value) * (1000 if unit == "s" else 1), 6))
    for number in published_numbers(source=table):
        assert number.value is None or number.value in printed, number


def test_out_of_memory_has_no_value():
    (gcn,) = published_numbers(source="Table 4", method="GCN")
    assert gcn.value is None
