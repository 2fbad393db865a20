"""Documents as HTML."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from heatgraph.report.document import (
    NUM_LEVELS,
    Cell,
    Chart,
    Document,
    KeyFigures,
    Notice,
    Panel,
    Points,
    Section,
    Table,
    code,
    literal,
    unescaped,
)
from heatgraph.report.pages import inline_markup, to_html
from heatgraph.report.palette import LIGHT, css_variables

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
        if self.open[-1:] not in (["style"], ["script"]):
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
    assert page.count("<script") == 1
    assert "<script src" not in page


def test_texts_are_escaped_and_marked_up(page):
    assert "<title>The &lt;title&gt;</title>" in page
    assert "<code>code</code>, <em>stress</em> and <strong>strength</strong>, but 2 * 3" in page
    assert '<td class="marked">73.0<small>-1.0 ◆</small></td>' in page
    assert '<td class="text">&lt;b&gt;</td>' in page
    assert "83.3 ± 0.1+0.0" in parsed(page).text


def test_pages_fit_phones_and_paper(page):
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "@media print" in page
    assert page.count('<div class="table" tabindex="0"><table') == page.count("<table") == 1


def test_pages_are_light_or_dark(page):
    assert "prefers-color-scheme: dark" in page
    outside = page.replace(css_variables(), "")
    style = outside[outside.index("<style>") : outside.index("</style>")]
    assert not re.search("#[0-9a-fA-F]{3}", style)  # every colour is a variable
    used = set(re.findall(r"var\((--[\w-]+)\)", style))
    assert used <= set(LIGHT.variables())


HOSTILE = "<script>alert('\"x\"')</script>"


def test_every_text_of_a_document_is_escaped():
    table = Table(HOSTILE, [HOSTILE], [[HOSTILE], [Cell(HOSTILE, HOSTILE, marked=True)]])
    chart = Chart("c", HOSTILE, [Panel("a panel", Points(["a"], [1.0], [1.0], [0.0]))])
    figures = KeyFigures([(HOSTILE, HOSTILE, HOSTILE)])
    section = Section(HOSTILE, HOSTILE, [HOSTILE, table, chart, figures, Notice(HOSTILE, True)])
    page = to_html(Document(HOSTILE, [HOSTILE], [section], HOSTILE))
    tags = parsed(page)
    assert page.count("<script") == 1
    assert tags.ids == [HOSTILE]
    assert tags.text.count(HOSTILE) == 17


TEXTS = ["a*b*c", "**x**", "`x`", r"back\\slash \\", "<b>&amp;</b>", "a|b", "_x_ [y](z)",
         "# $5$ ~~z~~", "*", "`", r"\\*", "line\nbreak", "\u202eright to left",
         "a&lt;b"]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_literal_texts_are_shown_as_they_are(text):
    shown = re.sub("[\n\u202e]", " ", text)
    table = Table("", [literal(text)], [[literal(text)]])
    section = Section("s", f"*{literal(text)}*", [f"**{literal(text)}**", table])
    tags = parsed(to_html(Document(literal(text), [], [section], literal(text))))
    assert tags.text.count(shown) == 8
    assert parsed(str(inline_markup(literal(text)))).text == shown
    assert "<" not in str(inline_markup(literal(text)))
    assert unescaped(literal(text)) == shown


@pytest.mark.parametrize("text", [*TEXTS, ""])
def test_code_is_shown_as_it_is(text):
    html = str(inline_markup(code(text)))
    assert parsed(html).text == re.sub("[\n\u202e]", " ", text).strip()


def test_notices_and_key_figures():
    parts = [Notice("Good."), Notice("Bad.", True), KeyFigures([("accuracy", "83 %", "of 9")])]
    page = to_html(Document("d", parts, [], "The headline"))
    assert '<p class="headline">The headline</p>' in page
    assert '<p class="notice">Good.</p>' in page
    assert '<p class="notice warning"><strong>Warning.</strong> Bad.</p>' in page
    assert "<dt>accuracy</dt><dd>83 %<small>of 9</small></dd>" in page


def test_cells_are_shaded():
    table = Table("", ["a", "b"], [["x", Cell("1", level=3)]])
    page = to_html(Document("d", [table], []))
    assert '<td class="level-3">1</td>' in page
    assert all(f"td.level-{level} " in page for level in range(1, NUM_LEVELS + 1))


def test_named_points_get_a_large_image():
    chart = Chart("c", "A caption", [Panel("", Points(["a"], [1.0], [1.0], [0.0]))])
    page = to_html(Document("d", [], [Section("s", "S", [chart])]))
    assert '<figure class="large">' in page
    assert 'alt="A caption"' in page


def test_the_policy_allows_the_script_and_the_style_of_the_page_alone():
    html = to_html(Document("<b>", ["text"], []))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r"<[^>]* (style|on\w+)=", html)
