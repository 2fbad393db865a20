"""Labels, ids, feature names and file names that would run as script if they were markup."""

import numpy as np
import pytest
from explorer.browser_pages import OpenPage, chromium
from explorer.explored import blocks, fitted

import heatgraph as hg

pytestmark = pytest.mark.browser

RUN = "window.attacked=1"
ATTACKS = {
    "script": f"<script>{RUN}</script>",
    "end of script": f"</script><script>{RUN}</script>",
    "end of script in capitals": f"</SCRIPT ><script>{RUN}</script>",
    "end of comment": f"--><script>{RUN}</script><!--",
    "comment and script": f"<!--<script>{RUN}",
    "image": f"<img src=x onerror={RUN}>",
    "svg": f"<svg onload={RUN}>",
    "svg in svg": f"<svg><script>{RUN}</script></svg>",
    "end of title": f"</title><script>{RUN}</script>",
    "end of style": f"</style><script>{RUN}</script>",
    "end of attribute": f'" onmouseover="{RUN}" autofocus onfocus="{RUN}',
    "end of attribute, single": f"' onmouseover='{RUN}' x='",
    "address": f"javascript:{RUN}",
    "iframe": f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    "entity": f"&lt;img src=x onerror={RUN}&gt;",
    "numeric entity": f"&#60;script&#62;{RUN}&#60;/script&#62;",
    "line separators": f"\u2028</script><script>{RUN}</script>\u2029",
    "template": "{{ self.__init__.__globals__ }}{% raw %}${window.attacked=1}",
    "end of JSON": f'"}}];{RUN};//',
    "backslash": f'\\";{RUN};//\\u003cscript\\u003e',
    "style": f"<style>@import 'http://127.0.0.1:1/x';</style><body onload={RUN}>",
    "link": "<link rel=stylesheet href=http://127.0.0.1:1/x><meta http-equiv=refresh content=0>",
    "details": f"<details open ontoggle={RUN}>",
    "object": f"<object data='javascript:{RUN}'></object><embed src='javascript:{RUN}'>",
    "base": "<base href=http://127.0.0.1:1/>",
    "prototype": "__proto__",
    "direction": f"\u202e<img src=x onerror={RUN}>\u0000",
}
FORMULAS = ["=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", '=HYPERLINK("http://x")']


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def base(browser):
    data = blocks(n=60)
    return data, fitted(data)


def attacked_data(data, text):
    """The data with a text as its name and in its labels, ids and feature names."""
    graph = hg.Graph(
        data.graph.adjacency,
        data.graph.features,
        node_ids=[f"{text}{node}" for node in range(60)],
        feature_names=[f"{text}{feature}" for feature in range(12)],
    )
    labels = np.array([f"{text}{label}" for label in data.labels], dtype=object)
    return hg.Dataset(text, graph, labels, data.splits)


@pytest.mark.parametrize("name", ATTACKS)
def test_texts_stay_texts(base, browser, tmp_path, monkeypatch, name):
    text = ATTACKS[name]
    data = attacked_data(base[0], text)
    # One frame is enough.
    monkeypatch.setattr("heatgraph.explorer.time_sweep._obstacle", lambda *_: text)
    path = hg.explore(fitted(data), data, tmp_path / "page#<img src=x onerror=alert(1)>.html")
    opened = OpenPage(browser, path)
    page = opened.page
    page.fill("#search", text[:5])
    page.fill("#search", f"{text}7")
    page.press("#search", "Enter")
    # Browsers leave out NUL characters and line breaks of text fields.
    if not page.locator("#panel-node h2").count():
        page.locator("#tab-check").click()
        page.locator("#uncertain-nodes button").first.click()
    assert page.locator("#panel-node h2").text_content().startswith("Node ")
    for tab in ("check", "classes", "calibration", "node"):
        page.click(f"#tab-{tab}")
    page.select_option("#mode", "true")
    page.hover("#overlay")
    assert page.locator("#title").text_content() == text
    assert page.locator("#features th").first.text_content().startswith(text)
    assert page.locator(".legend-name").first.text_content() == str(data.labels.min())
    assert page.evaluate("window.attacked") is None
    assert page.evaluate("document.scripts.length") == 1
    assert page.locator("img, iframe, object, embed, base, body svg[onload]").count() == 0
    assert opened.dialogs == []
    assert opened.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in opened.requests)
    opened.context.close()


def test_addresses_stay_texts(base, browser, tmp_path):
    path = hg.explore(base[1], base[0], tmp_path / "page.html")
    for text in ATTACKS.values():
        opened = OpenPage(browser, path, f"#node={text}&tab={text}&colour={text}&T={text}")
        assert opened.page.evaluate("window.attacked") is None
        assert opened.complaints == []
        opened.context.close()


def test_formulas_are_guarded_in_the_csv(base, browser, tmp_path):
    data = base[0]
    ids = [f"{FORMULAS[node % len(FORMULAS)]}{node}" for node in range(60)]
    graph = hg.Graph(data.graph.adjacency, data.graph.features, node_ids=ids)
    data = hg.Dataset("formulas", graph, data.labels, data.splits)
    path = hg.explore(fitted(data), data, tmp_path / "page.html")
    opened = OpenPage(browser, path)
    opened.page.locator("details.menu summary").click()
    with opened.page.expect_download() as found:
        opened.page.click("#save-csv")
    rows = found.value.path().read_text(encoding="utf-8").splitlines()[1:]
    assert len(rows) == 60
    assert all(row.lstrip('"').startswith("'") for row in rows)
    opened.context.close()
