"""HTML for notebooks."""

from html.parser import HTMLParser

import numpy as np
import pytest
from strategies import planted

import heatgraph as hg
from heatgraph._io.notebook_html import html_bars, html_table

HOSTILE = "<script>alert('\"x\"')</script>"


class Text(HTMLParser):
    """Checks that every tag is closed, and collects tags and text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], set(), []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_tables():
    html = html_table([("nodes", "1,234"), ("share", "+83.5%"), ("name", HOSTILE)], ["a", "b"])
    shown = Text(html)
    assert shown.text == ["a", "b", "nodes", "1,234", "share", "+83.5%", "name", HOSTILE]
    assert shown.tags == {"table", "tr", "th", "td"}
    assert html.count("text-align: right") == 2


def test_bars_are_as_long_as_their_values():
    html = html_bars([("a", 2.0), ("b", -1.0), (HOSTILE, 0.0)], ["feature", "share"])
    assert [part.split("em")[0] for part in html.split("width: ")[1:]] == ["6.0", "3.0", "0.0"]
    assert HOSTILE in Text(html).text
    assert Text(html_bars([])).text == []


def hostile_data():
    graph, classes = planted(n=60, kind="dense")
    ids = np.array([f"{HOSTILE}{at}" for at in range(60)], dtype=object)
    names = [f"{HOSTILE}{at}" for at in range(12)]
    graph = hg.Graph(graph.adjacency, graph.features, node_ids=ids, feature_names=names)
    split = hg.Split(np.arange(30), np.arange(30, 40), np.arange(40, 60))
    labels = np.array([f"{HOSTILE}{code}" for code in classes], dtype=object)
    return hg.Dataset(HOSTILE, graph, labels, {HOSTILE: split})


@pytest.fixture(scope="module")
def data():
    return hostile_data()


def test_graphs_and_data_sets(data):
    shown = Text(data.graph._repr_html_())
    assert {"nodes", "60", "edges", f"{data.graph.num_edges:,}", "12"} <= set(shown.text)
    assert any(text.startswith(f"{HOSTILE}0, ") and text.endswith(", ...") for text in shown.text)
    shown = Text(data._repr_html_())
    assert {"classification", "classes", "3", HOSTILE, "30", "10", "20"} <= set(shown.text)
    assert "script" not in shown.tags
    assert Text(data.graph.with_features(None)._repr_html_()).text[0] == "Graph"


def test_statistics(data):
    found = hg.describe(data.graph, data.labels)
    shown = Text(found._repr_html_())
    assert shown.text[:2] == [f"Diffusion: {found.verdict} to help", found.reason]
    assert f"{found.homophily.value:.2f}" in shown.text
    assert f"{HOSTILE}1" in shown.text
    assert "script" not in shown.tags
    assert "adjusted homophily" not in hg.describe(data.graph)._repr_html_()


def test_explanations(data):
    model = hg.DGCClassifier(T=2.0, weight_decay=1e-3).fit(data.graph, data.labels)
    found = model.explain(3, top=4)
    shown = Text(found._repr_html_())
    assert shown.text[0] in repr(found)
    for record in found.features:
        assert f"feature {record['feature']}" in shown.text
        assert f"{record['share']:+.4f}" in shown.text
    assert "script" not in shown.tags


@pytest.mark.parametrize("kind", [hg.DGCClassifier, hg.DGCRegressor, hg.DGCMultilabelClassifier])
def test_models_have_the_diagram_and_once_fitted_their_settings(kind):
    graph, classes = planted(n=60, kind="dense")
    model = kind(T=[1.0, 2.0], weight_decay=1e-3)
    assert "<strong>Fitted</strong>" not in model._repr_html_()
    y = classes + 0.5 if kind is hg.DGCRegressor else classes
    y = [[str(code)] for code in classes] if kind is hg.DGCMultilabelClassifier else y
    model.fit(graph, y)
    for html in (model._repr_mimebundle_()["text/html"], model._repr_html_()):
        assert kind.__name__ in html
        assert "<strong>Fitted</strong>" in html
        assert f">{model.T_:.3g}<" in html
        assert "validation " in html
