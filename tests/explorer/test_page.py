"""The page holds no text of the user's that could be markup, and allows itself alone."""

import base64
import hashlib
import re

import numpy as np
import pytest
from explorer.explored import blocks, fitted

import heatgraph as hg
from heatgraph.explorer.binary_data import decode
from heatgraph.explorer.page import theme_variables, to_html
from heatgraph.explorer.page_data import page_data
from heatgraph.report.palette import DARK, LIGHT

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u2028\u2029&\"'"


@pytest.fixture(scope="module")
def html():
    data = blocks()
    graph = hg.Graph(
        data.graph.adjacency,
        data.graph.features,
        node_ids=[f"{ATTACK}{node}" for node in range(300)],
        feature_names=[f"{ATTACK}{feature}" for feature in range(12)],
    )
    labels = np.array([f"{ATTACK}{label}" for label in data.labels], dtype=object)
    data = hg.Dataset(ATTACK, graph, labels, data.splits)
    return to_html(page_data(fitted(data), data))


def test_texts_are_in_the_data_alone(html):
    assert "alert(1)" not in html.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "").replace(
        "onerror=alert(1)&gt;", ""
    )
    assert len(re.findall("<script", html)) == 2
    assert len(re.findall("</script", html)) == 2
    assert "<img" not in html
    text = re.search(r'id="data">([^<]*)<', html)[1]
    values, _ = decode(text)
    assert values["title"] == ATTACK
    assert values["ids"][7] == f"{ATTACK}7"
    assert values["features"][3] == f"{ATTACK}3"
    assert values["classes"][0].startswith(ATTACK)


def test_the_policy_allows_the_pages_own_script_and_style(html):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for pattern in (r"<script>(.*?)</script>", r"<style>(.*?)</style>"):
        (text,) = re.findall(pattern, html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_nothing_is_loaded_from_elsewhere(html):
    text = re.sub(r"http://www\.w3\.org/\d+/svg", "", html)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    assert "https://" not in text
    assert "http://" not in text


def test_style_attributes_which_the_policy_forbids_are_not_used(html):
    assert " style=" not in html.replace(re.search(r'id="data">[^<]*<', html)[0], "")


def test_colours_are_those_of_all_reports():
    css = theme_variables()
    for theme in (LIGHT, DARK):
        assert f"--background:{theme.background};" in css
        assert f"--class-3:{theme.classes[3]};" in css
