"""Pages in a browser: sorting by mouse and keyboard, phones, and dark mode."""

import pytest

from heatgraph.report.document import Cell, Chart, Document, Panel, Section, Series, Table
from heatgraph.report.pages import to_html

VALUES = ["9.5 s", "–", "21.3 ms", Cell("1,200 s", "a remark"), "−2 s", "2 min"]
ASCENDING = ["−2 s", "21.3 ms", "9.5 s", "2 min", "1,200 s", "–"]
NODES = ["n10", "n2", "n1", "n3", "n4", "n5"]
TABLE = Table("Times", ["node", "time"], list(zip(NODES, VALUES, strict=True)))
WIDE = Table("Wide", [f"column {at}" for at in range(20)], [["a value"] * 20] * 3, 20)
CHART = Chart("c", "A caption", [Panel("p", [Series("a", [0, 1], [0, 1])])])
PAGE = to_html(Document("d", [], [Section("s", "Section", [TABLE, WIDE, CHART])], "A headline."))


@pytest.fixture
def page(browser, tmp_path):
    """The page, opened from disk as a phone shows it; it may neither log errors nor load files."""
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page, errors, requests = context.new_page(), [], []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    yield page
    assert errors == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    context.close()


def column(page, number):
    cells = page.locator(f"table >> nth=0 >> tbody tr td:nth-child({number + 1})")
    return [text.split("\n")[0] for text in cells.all_inner_texts()]


def test_numbers_sort_by_value_and_unit(page):
    button = page.get_by_role("button", name="time")
    head = page.locator("th", has=button)
    button.click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, 1) == [*ASCENDING[-2::-1], "–"]
    button.click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, 1) == ASCENDING


def test_texts_sort_by_keyboard(page):
    button = page.get_by_role("button", name="node")
    button.focus()
    page.keyboard.press("Enter")
    assert column(page, 0) == ["n1", "n2", "n3", "n4", "n5", "n10"]
    page.keyboard.press("Space")
    assert column(page, 0) == ["n10", "n5", "n4", "n3", "n2", "n1"]
    page.get_by_role("button", name="time").click()
    assert page.locator("th[aria-sort]").count() == 1


def test_wide_tables_scroll_within_the_page(page):
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    assert page.locator(".table").nth(1).evaluate("box => box.scrollWidth") > 390


def test_dark_mode(page):
    def background():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    def corner_of_chart():
        """The colour of the first pixel of the chart."""
        return page.locator("img").evaluate(
            """async image => {
                await image.decode();
                const canvas = new OffscreenCanvas(50, 50), context = canvas.getContext("2d");
                context.drawImage(image, 0, 0);
                return [...context.getImageData(2, 2, 1, 1).data];
            }"""
        )

    page.emulate_media(color_scheme="light")
    assert background() == "rgb(255, 255, 255)"
    assert corner_of_chart() == [255, 255, 255, 255]
    page.emulate_media(color_scheme="dark")
    assert background() == "rgb(20, 24, 31)"
    assert corner_of_chart() == [20, 24, 31, 255]
