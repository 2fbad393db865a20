"""Reports in a folder."""

from heatgraph.report.document import Bars, Chart, Document, Panel, Section
from heatgraph.report.folder import write_document
from heatgraph.report.markdown import to_markdown
from heatgraph.report.pages import to_html


def test_files_of_a_report(tmp_path):
    chart = Chart("drawn", "A caption", [Panel("bars", Bars(["a"], [1.0]))], 1)
    document = Document("A title", [], [Section("s", "A section", ["Text.", chart])])
    for _ in range(2):  # a second report replaces the first
        write_document(document, tmp_path)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"report.html", "report.md", "figures/drawn.png", "figures/drawn.svg"}
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == to_html(document)
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == to_markdown(document)
