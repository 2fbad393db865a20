"""Documents as Markdown."""

from heatgraph.report.document import Cell, Document, KeyFigures, Notice, Table, literal
from heatgraph.report.markdown import MARK, cell_text, to_markdown


def test_markdown(document):
    text = to_markdown(document, "pictures")
    assert text.startswith("# The <title>\n\nWords with `code`")
    assert "## First: a table\n\nText.\n\n**A title**\n\n| method | a\\|b | c |\n" in text
    assert "| --- | ---: | ---: |\n| one & two | 83.3 ± 0.1 (+0.0) | – |\n" in text
    assert f"| <b> | 73.0 (-1.0 {MARK}) | `code` |" in text
    assert "![A caption with <angles> & more](pictures/drawn.png)\n\n*A caption" in text
    assert text.endswith("\n")


def test_cells_as_text():
    assert cell_text(Cell("1.0")) == "1.0"
    assert cell_text(Cell("1.0", marked=True)) == f"1.0 {MARK}"


def test_headline_notices_and_key_figures():
    parts = [Notice("Good."), Notice("Bad.", True), KeyFigures([("accuracy", "83 %", "of 9")])]
    text = to_markdown(Document("d", parts, [], "The headline"))
    assert text.startswith("# d\n\n**The headline**\n\n> Good.\n\n> **Warning.** Bad.\n\n")
    assert "| accuracy | 83 % | of 9 |" in text


def test_pipes_are_escaped_once():
    table = Table("", ["a|b", literal("a|b"), r"\\|"], [])
    assert to_markdown(Document("d", [table], [])).splitlines()[2] == r"| a\|b | a\|b | \\\| |"
