"""Documents as Markdown and as a page."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.text import Text

from heatgraph.report import charts
from heatgraph.report.charts import panel_svg, write_chart
from heatgraph.report.document import (
    Bars,
    Cell,
    Chart,
    Document,
    Panel,
    Points,
    Scatter,
    Section,
    Series,
    Table,
)
from heatgraph.report.markdown import MARK, plain, to_markdown
from heatgraph.report.pages import to_html

LINES = [
    Series("first", [1, 10, 100], [0.5, 0.2, 0.1], [0.1, 0.0, 0.05]),
    Series.through("second", [(1, 0.3), (100, 0.2)], dashed=True, colour=0),
]
POINTS = Scatter(np.random.default_rng(0).normal(size=(50, 2)), np.arange(50) % 9)
CHART = Chart(
    "drawn",
    "A caption with <angles> & more",
    [
        Panel("lines", LINES, "x", "y", "xy"),
        Panel("one line", LINES[:1], "x", "y", "x"),
        Panel("points", POINTS),
        Panel("bars", Bars(["DGC, K = 100, Chebyshev\nat some nodes", "b"], [1.0, 2.5]), "time"),
    ],
    2,
)
TABLE = Table(
    "A title",
    ["method", "a|b", "c"],
    [
        ["one & two", Cell("83.3 ± 0.1", "+0.0"), "–"],
        ["<b>", Cell("73.0", "-1.0", marked=True), "`code`"],
    ],
)
DOCUMENT = Document(
    "The <title>",
    ["Words with `code`, *stress* and **strength**, but 2 * 3 * 4."],
    [
        Section("first", "First: a table", ["Text.", TABLE]),
        Section("second", "Second: a chart", [CHART]),
    ],
)
VOID = {"meta", "img"}


class Tags(HTMLParser):
    """Sees that every tag is closed, and gathers what the page refers to."""

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


def test_markdown():
    text = to_markdown(DOCUMENT, "pictures")
    assert text.startswith("# The <title>\n\nWords with `code`")
    assert "## First: a table\n\nText.\n\n**A title**\n\n| method | a\\|b | c |\n" in text
    assert "| --- | ---: | ---: |\n| one & two | 83.3 ± 0.1 (+0.0) | – |\n" in text
    assert f"| <b> | 73.0 (-1.0 {MARK}) | `code` |" in text
    assert "![A caption with <angles> & more](pictures/drawn.png)\n\n*A caption" in text
    assert text.endswith("\n")


def test_marked_cells_in_one_line():
    assert plain(Cell("1.0")) == "1.0"
    assert plain(Cell("1.0", marked=True)) == f"1.0 {MARK}"


def test_a_page_needs_nothing_beside_it():
    page = to_html(DOCUMENT)
    tags = parsed(page)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in tags.sources)
    assert len(tags.sources) == len(CHART.panels)
    assert set(tags.links) == {f"#{name}" for name in tags.ids} == {"#first", "#second"}
    assert "url(" not in page
    assert "@import" not in page
    assert "<script" not in page


def test_texts_on_a_page():
    page = to_html(DOCUMENT)
    assert "<title>The &lt;title&gt;</title>" in page
    assert "<code>code</code>, <em>stress</em> and <strong>strength</strong>, but 2 * 3" in page
    assert '<td class="marked">73.0<small>-1.0 ◆</small></td>' in page
    assert '<td class="text">&lt;b&gt;</td>' in page
    assert "83.3 ± 0.1+0.0" in parsed(page).text


def test_pages_fit_phones_and_paper():
    page = to_html(DOCUMENT)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "@media print" in page
    assert page.count('<div class="table">') == page.count("<table>") == 1


def test_charts_are_drawn_as_png_and_svg(tmp_path):
    files = write_chart(CHART, tmp_path)
    assert [path.name for path in files] == ["drawn.png", "drawn.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    drawn = files[1].read_bytes()
    write_chart(CHART, tmp_path)
    assert files[1].read_bytes() == drawn  # the same chart is the same file
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drawn.png", "drawn.svg"]


@pytest.mark.parametrize("panel", CHART.panels, ids=lambda panel: panel.title)
def test_labels_are_not_clipped(panel):
    """Every text of a panel lies within its picture."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from heatgraph.report import charts

    with rc_context(charts.STYLE):
        figure = charts._figure([panel], 1)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    width, height = canvas.get_width_height()
    (axes,) = figure.axes
    names = axes.get_yticklabels() if isinstance(panel.content, Bars) else []
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *names):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert box.x0 >= -1, text
            assert box.y0 >= -1, text
            assert box.x1 <= width + 1, text
            assert box.y1 <= height + 1, text


def test_one_series_needs_no_legend():
    from heatgraph.report import charts

    several, one, *_ = charts._figure(CHART.panels, 2).axes
    assert [t.get_text() for t in several.get_legend().get_texts()] == ["first", "second"]
    assert one.get_legend() is None
    lines = several.get_lines()
    assert lines[0].get_color() == lines[1].get_color() == charts.COLOURS[0]
    assert (several.get_xscale(), several.get_yscale()) == ("log", "log")
    assert (one.get_xscale(), one.get_yscale()) == ("log", "linear")


def test_many_lines_that_are_everywhere_the_same_are_named_once_and_below():
    names = [f"line {number}" for number in range(7)]
    panels = [
        Panel(title, [Series(name, [1, 2], [place, 3]) for place, name in enumerate(names)])
        for title in ("time", "memory")
    ]
    figure = charts._figure(panels, 2)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names
    assert [axes.get_legend() for axes in figure.axes] == [None, None]


def test_points_are_an_image_inside_the_svg():
    """Thousands of paths would make it slow to open."""
    drawn = panel_svg(CHART.panels[2])
    (image,) = re.findall(rb"data:image/png;base64,([^\"]+)", drawn)
    assert base64.b64decode(image).startswith(b"\x89PNG")


def test_every_point_has_its_name_and_no_name_covers_another():
    rng = np.random.default_rng(3)
    names = [f"method {number}" for number in range(25)]
    x, y = 10 ** rng.uniform(0, 2, 25), rng.uniform(80, 84, 25)
    points = Points(names, x.tolist(), y.tolist(), [0.3] * 25)
    figure = charts._figure([Panel("", points, "x", "y", "x")], 1)
    (axes,) = figure.axes
    figure.draw_without_rendering()
    written = {text.get_text(): Text.get_window_extent(text) for text in axes.texts}
    assert set(written) == set(names)
    boxes = list(written.values())
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:number])
