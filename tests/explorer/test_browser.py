"""The page in a real browser: what it shows is what Python says."""

import re
from urllib.parse import unquote

import numpy as np
import pytest
from explorer.browser_pages import OpenPage, chromium
from explorer.explored import blocks, fitted

import heatgraph as hg
from heatgraph.explorer.time_sweep import time_sweep

pytestmark = pytest.mark.browser

MODELS = {
    "extended": {"extensions": ["similar-edges", "class-offsets"]},
    "two classes": {"num_classes": 2},
    "channels": {"T": "auto", "weight_decay": "auto", "extensions": ["channels"]},
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


class Example:
    """A data set with ids and names, a model of it, and its page."""

    def __init__(self, folder, name):
        parameters = dict(MODELS[name])
        homophily = 0.05 if name == "channels" else 0.8
        data = blocks(parameters.pop("num_classes", 3), homophily=homophily)
        graph = hg.Graph(
            data.graph.adjacency,
            data.graph.features,
            node_ids=[f"n{node}" for node in range(300)],
            feature_names=[f"word {feature}" for feature in range(12)],
        )
        self.data = hg.Dataset(f"blocks, {name}", graph, data.labels, data.splits)
        self.model = fitted(self.data, **parameters)
        self.path = hg.explore(self.model, self.data, folder / f"{name}.html")
        P = self.model.predict_proba(graph)
        self.sweep = time_sweep(self.model, graph, self.data, P)


@pytest.fixture(scope="module")
def examples(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("pages")
    return {name: Example(folder, name) for name in MODELS}


@pytest.fixture
def example(examples):
    return examples["extended"]


@pytest.fixture
def opened(browser):
    """Opens pages, checks at the end that they were quiet, and closes them."""
    pages = []

    def open_page(path, fragment="", **options):
        pages.append(OpenPage(browser, path, fragment, **options))
        return pages[-1]

    yield open_page
    for page in pages:
        assert page.complaints == []
        assert page.dialogs == []
        elsewhere = [
            url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))
        ]
        assert elsewhere == []
        page.context.close()


def set_frame(page, frame):
    page.page.locator("#time").evaluate(
        "(slider, frame) => { slider.value = frame; slider.dispatchEvent(new Event('input')); }",
        str(frame),
    )


def test_class_counts_are_those_of_predict_at_every_time(example, opened):
    page = opened(example.path)
    for frame, predictions in enumerate(example.sweep.predictions):
        set_frame(page, frame)
        expected = np.bincount(predictions, minlength=3).tolist()
        assert page.numbers(".legend-row", "count") == expected
    set_frame(page, example.sweep.chosen)
    labels, counts = np.unique(example.model.predict(), return_counts=True)
    assert page.texts(".legend-name") == [str(label) for label in labels.tolist()]
    assert page.numbers(".legend-row", "count") == counts.tolist()


@pytest.mark.parametrize("name", MODELS)
def test_shares_and_bias_add_up_to_the_decision_function(examples, opened, name):
    example = examples[name]
    model, graph = example.model, example.data.graph
    page = opened(example.path)
    for node in (3, 150, 299):
        page.page.fill("#search", f"n{node}")
        page.page.press("#search", "Enter")
        score = model.decision_function(graph, [node])[0]
        code = model.predict_proba(graph, [node]).argmax()
        score = (1 if code else -1) * score if np.ndim(score) == 0 else score[code]
        expected = model.explain(node, graph=graph, top=12)
        for table in ("sources", "features"):
            shares = page.numbers(f"#{table} [data-kind=share]")
            (bias,) = page.numbers(f"#{table} [data-kind=bias]")
            (total,) = page.numbers(f"#{table} [data-kind=total]")
            assert sum(shares) + bias == pytest.approx(score, abs=2e-5)
            assert total == pytest.approx(score, abs=1e-6)
        found = page.numbers("#sources .row-share [data-kind=share]")[: len(expected.nodes)]
        assert found == pytest.approx([one["share"] for one in expected.nodes], abs=1e-5)
        names = page.texts("#sources .link")
        assert names[0].removesuffix(" (itself)") == expected.nodes[0]["node"]
        if expected.features:
            assert page.texts("#features th")[0] == expected.features[0]["feature"]
        assert sum(page.numbers("#probabilities [data-value]")) == pytest.approx(1)


def test_pixels_change_with_time_and_come_back(example, opened):
    page = opened(example.path)
    first = page.pixels()
    set_frame(page, 0)
    assert page.pixels() != first
    set_frame(page, example.sweep.chosen)
    assert page.pixels() == first


@pytest.mark.parametrize("mode", ["true", "confidence", "error", "split", "degree"])
def test_each_colouring_is_different(example, opened, mode):
    page = opened(example.path)
    first = page.pixels()
    page.page.select_option("#mode", mode)
    assert page.pixels() != first


def test_a_class_is_hidden_by_its_row_of_the_legend(example, opened):
    page = opened(example.path)
    first = page.pixels()
    page.page.locator(".legend-row").nth(1).click()
    assert page.page.locator(".legend-row").nth(1).get_attribute("aria-pressed") == "false"
    assert page.pixels() != first
    page.page.locator(".legend-row").nth(1).click()
    page.page.mouse.move(0, 0)
    assert page.pixels() == first


def test_a_click_selects_the_node_under_the_pointer(example, opened):
    page = opened(example.path)
    box = page.page.locator("#overlay").bounding_box()
    graph = page.page.locator("#overlay")
    # Somewhere in the middle there is a node within reach.
    for share in np.linspace(0.3, 0.7, 20):
        graph.click(position={"x": box["width"] * share, "y": box["height"] / 2})
        if page.page.locator("#panel-node h2").count():
            break
    node = int(page.texts("#panel-node h2")[0].removeprefix("Node n"))
    truth = example.data.labels[node]
    assert f"true label: {truth}" in page.page.inner_text("#panel-node").replace("\n", "")


def test_the_page_is_operated_by_keyboard(example, opened):
    page = opened(example.path)
    keys = page.page.keyboard
    chosen = example.sweep.chosen
    page.page.focus("#overlay")
    keys.press("]")
    assert page.page.input_value("#time") == str(chosen + 1)
    keys.press("[")
    keys.press("[")
    assert page.page.input_value("#time") == str(chosen - 1)
    before = page.pixels()
    keys.press("+")
    keys.press("ArrowLeft")
    assert page.pixels() != before
    keys.press("0")
    assert page.pixels() == before
    keys.press("/")
    keys.type("n42")
    keys.press("Enter")
    assert page.texts("#panel-node h2") == ["Node n42"]
    page.page.focus("#overlay")
    keys.press("Escape")
    assert page.page.locator("#panel-node h2").count() == 0
    page.page.focus("#tab-node")
    keys.press("ArrowRight")
    assert page.page.is_visible("#wrong-nodes")
    page.page.focus("#overlay")
    keys.press(" ")
    assert page.page.get_attribute("#play", "aria-pressed") == "true"
    # Playing goes on by itself. (The page's policy forbids Playwright's own waiting.)
    while int(page.page.input_value("#time")) < chosen:
        page.page.wait_for_timeout(100)
    keys.press(" ")
    assert page.page.get_attribute("#play", "aria-pressed") == "false"


def test_every_control_is_reached_by_tab_and_has_a_name(example, opened):
    page = opened(example.path)
    names = page.page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, canvas[tabindex], summary')]
        .filter((one) => one.offsetParent !== null)
        .map((one) => one.getAttribute('aria-label') || one.textContent.trim()
          || (one.labels && one.labels[0] && one.labels[0].textContent.trim()) || '')"""
    )
    assert len(names) > 15
    assert all(names)


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("tab", ["node", "check", "classes", "calibration"])
def test_nothing_is_wider_than_the_screen(example, opened, width, tab):
    page = opened(example.path, f"#tab={tab}&node=n5", viewport={"width": width, "height": 844})
    assert page.page.is_visible(f"#panel-{tab}")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    aside = page.page.locator("aside")
    assert aside.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    box = page.page.locator("#graph").bounding_box()
    assert box["width"] >= 0.6 * width
    assert box["height"] >= 250


def test_touch_moves_and_selects(example, opened):
    page = opened(example.path, has_touch=True, viewport={"width": 390, "height": 844})
    box = page.page.locator("#overlay").bounding_box()
    for share in np.linspace(0.3, 0.7, 20):
        page.page.touchscreen.tap(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)
        if page.page.locator("#panel-node h2").count():
            break
    assert page.texts("#panel-node h2")[0].startswith("Node n")


def brightness(page):
    """Mean of the background's channels."""
    colour = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    return np.mean([int(part) for part in re.findall(r"\d+", colour)[:3]])


def test_dark_mode_follows_the_system_and_the_button(example, opened):
    light, dark = (opened(example.path, color_scheme=scheme) for scheme in ("light", "dark"))
    assert brightness(light) > 200
    assert brightness(dark) < 60
    assert light.pixels() != dark.pixels()
    drawn = light.pixels()
    light.page.click("#theme")
    assert brightness(light) < 60
    assert light.pixels() == dark.pixels()
    light.page.click("#theme")
    assert light.pixels() == drawn


def test_the_address_restores_the_view(example, opened):
    page = opened(example.path)
    page.page.select_option("#mode", "true")
    page.page.click("#zoom-in")
    set_frame(page, 3)
    page.page.locator(".legend-row").nth(2).click()
    page.page.fill("#search", "n7")
    page.page.press("#search", "Enter")
    page.page.wait_for_timeout(400)
    fragment = page.page.evaluate("location.hash")
    assert "node=n7" in unquote(fragment)
    again = opened(example.path, fragment)
    assert again.page.input_value("#mode") == "true"
    assert again.page.input_value("#time") == "3"
    assert again.texts("#panel-node h2") == ["Node n7"]
    page.page.mouse.move(0, 0)
    assert again.pixels() == page.pixels()


@pytest.mark.parametrize(
    "fragment",
    ["#T=nonsense&view=1,2&hide=x,999&node=none&tab=no", "#view=NaN,0,-1", "#%", "#T=&node="],
)
def test_nonsense_in_the_address_is_ignored(example, opened, fragment):
    page = opened(example.path, fragment)
    assert page.page.is_visible("#panel-node")
    assert page.page.locator("#panel-node h2").count() == 0


def test_metrics_are_those_of_python(example, opened):
    page = opened(example.path, "#tab=classes")
    from sklearn.metrics import confusion_matrix

    test = example.data.split.test
    truth, predicted = example.data.labels[test], example.model.predict()[test]
    cells = page.texts("#confusion tbody td")
    expected = confusion_matrix(truth, predicted)
    assert [int(cell) for cell in cells] == expected.ravel().tolist()
    recall = expected.diagonal() / expected.sum(axis=1)
    found = page.texts("#per-class tbody tr td:nth-child(4)")
    assert found == [f"{100 * share:.1f} %" for share in recall]
    page.page.click("#tab-calibration")
    assert page.page.locator("#reliability circle").count() > 2


def test_tables_of_nodes_to_check(example, opened):
    page = opened(example.path, "#tab=check")
    predicted = example.model.predict()
    wrong = {f"n{node}" for node in np.flatnonzero(predicted != example.data.labels)}
    listed = page.texts("#wrong-nodes tbody th")
    assert listed
    assert set(listed) <= wrong
    assert len(listed) == min(50, len(wrong))
    least = page.texts("#uncertain-nodes tbody th")[0].removeprefix("n")
    confidence = example.model.predict_proba().max(axis=1)
    assert confidence[int(least)] < confidence.min() + 1 / 255
    page.page.locator("#wrong-nodes button").first.click()
    assert page.texts("#panel-node h2") == [f"Node {listed[0]}"]


def download(page, button):
    page.page.locator("details.menu summary").click()
    with page.page.expect_download() as found:
        page.page.click(button)
    return found.value.path().read_bytes()


def test_pictures_are_saved(example, opened):
    page = opened(example.path)
    assert download(page, "#save-png").startswith(b"\x89PNG")


def test_the_svg_has_all_nodes(example, opened):
    page = opened(example.path)
    assert download(page, "#save-svg").count(b"<circle") == 300


def test_the_csv_has_the_nodes_shown(example, opened):
    page = opened(example.path)
    page.page.locator(".legend-row").nth(0).click()
    rows = download(page, "#save-csv").decode().split("\r\n")
    first = example.model.classes_[0]
    assert len(rows) - 2 == np.count_nonzero(example.model.predict() != first)
    assert rows[0].startswith("id,T,predicted")


def test_a_sample_says_that_it_is_one(example, opened, tmp_path):
    path = hg.explore(example.model, example.data, tmp_path / "sample.html", max_nodes=100)
    page = opened(path)
    assert "A sample of 100 of 300 nodes" in page.page.inner_text("#sample")
    page.page.click("#tab-check")
    page.page.locator("#uncertain-nodes button").first.click()
    assert page.page.locator("#sources").count() == 0
    assert "need the whole graph" in page.page.inner_text("#panel-node")
    assert page.page.locator("#features").count() == 1


def test_without_webgl_the_page_says_so_and_draws(example, opened, browser):
    page = opened(example.path)
    assert not page.page.is_visible("#no-webgl")
    context = browser.new_context()
    context.add_init_script(
        "const get = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {"
        "  return kind === 'webgl2' ? null : get.call(this, kind, ...rest); };"
    )
    without = context.new_page()
    without.goto(example.path.resolve().as_uri())
    without.wait_for_selector("html[data-ready]", state="attached")
    assert without.is_visible("#no-webgl")
    without.wait_for_timeout(300)
    before = without.locator("#graph").screenshot()
    without.focus("#overlay")
    without.keyboard.press("[")
    without.wait_for_timeout(300)
    assert without.locator("#graph").screenshot() != before
    context.close()
