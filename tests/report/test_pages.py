"""Documents as HTML."""

from html.parser import HTMLParser

import pytest

from heatgraph.report.document import Cell, Chart, Document, Panel, Points, Section, Table
from heatgraph.report.pages import to_html

VOID = {"meta", "img"}


class Tags(HTMLParser):
    """Checks that every tag is closed, and collects sources, links, anchors and text."""

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.links, self.ids, self.text = [], [], [], [], ""

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        attributes = dict(attributes)
        self.sources += [attributes["src"]] if "src" in attributes else []
        self.links += [attributes["href"]] if "href" in attributes else []
        self.ids += [attributes["id"]] if "id" in attributes else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def parsed(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


@pytest.fixture(scope="module")
def page(document):
    return to_html(document)


def test_pages_are_self_contained(page, chart):
    tags = parsed(page)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in tags.sources)
    assert len(tags.sources) == len(chart.panels)
    assert set(tags.links) == {f"#{name}" for name in tags.ids} == {"#first", "#second"}
    assert "url(" not in page
    assert "@import" not in page
    assert "<script" not in page


def test_texts_are_escaped_and_marked_up(page):
    assert "<title>The &lt;title&gt;</title>" in page
    assert "<code>code</code>, <em>stress</em> and <strong>strength</strong>, but 2 * 3" in page
    assert '<td class="marked">73.0<small>-1.0 ◆</small></td>' in page
    assert '<td class="text">&lt;b&gt;</td>' in page
    assert "83.3 ± 0.1+0.0" in parsed(page).text


def test_pages_fit_phones_and_paper(page):
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "@media print" in page
    assert page.count('<div class="table">') == page.count("<table>") == 1


HOSTILE = "<script>alert('\"x\"')</script>"


def test_every_text_of_a_document_is_escaped():
    table = Table(HOSTILE, [HOSTILE], [[HOSTILE], [Cell(HOSTILE, HOSTILE, marked=True)]])
    chart = Chart("c", HOSTILE, [Panel("a panel", Points(["a"], [1.0], [1.0], [0.0]))])
    section = Section(HOSTILE, HOSTILE, [HOSTILE, table, chart])
    page = to_html(Document(HOSTILE, [HOSTILE], [section]))
    tags = parsed(page)
    assert "<script" not in page
    assert tags.ids == [HOSTILE]
    assert tags.text.count(HOSTILE) == 12


def test_named_points_get_a_large_image():
    chart = Chart("c", "A caption", [Panel("", Points(["a"], [1.0], [1.0], [0.0]))])
    page = to_html(Document("d", [], [Section("s", "S", [chart])]))
    assert '<figure class="large">' in page
    assert 'alt="A caption"' in page
