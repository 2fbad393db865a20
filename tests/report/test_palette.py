"""The palette: contrast with the background, and colours that the colour-blind tell apart."""

import re

import numpy as np
import pytest

from heatgraph.report.palette import DARK, LIGHT, class_colours, css_variables

# What the colour-blind see of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
# From linear RGB to cone responses, and from their cube roots to OKLab (Ottosson 2020).
TO_CONES = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
TO_LAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
          [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip
themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def linear(colour):
    c = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(colour, vision):
    seen = np.clip(np.array(VISION[vision]) @ linear(colour), 0, 1)
    return np.array(TO_LAB) @ np.cbrt(np.array(TO_CONES) @ seen)


def least_distance(colours, vision):
    points = np.array([lab(colour, vision) for colour in colours])
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    return distances[~np.eye(len(points), dtype=bool)].min()


def contrast(one, other):
    """The contrast ratio of WCAG 2."""
    luminances = [float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other)]
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


def test_contrast_of_black_and_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@themes
def test_texts_are_readable(theme):
    for colour in (theme.ink, theme.soft, theme.link, theme.warning):
        assert contrast(colour, theme.background) >= 4.5
    for background in (theme.marked, theme.code):
        assert contrast(theme.ink, background) >= 7
        assert contrast(theme.warning, background) >= 4.5


@themes
def test_classes_stand_out_from_the_background(theme):
    assert min(contrast(colour, theme.background) for colour in theme.classes) > 2.2


@themes
@pytest.mark.parametrize("vision", VISION)
def test_the_colour_blind_tell_classes_apart(theme, vision):
    """By 0.05 in OKLab, two to three times what is just noticeable."""
    assert least_distance(theme.classes, vision) > 0.05


@themes
def test_many_classes(theme):
    assert class_colours(8, theme) == list(theme.classes)
    assert least_distance(class_colours(24, theme), "normal") > 0.03
    assert class_colours(30, theme)[24:] == class_colours(6, theme)


def test_css_variables():
    css = css_variables()
    assert css.index("--ink: #1c2430;") < css.index("prefers-color-scheme: dark")
    assert set(re.findall(r"--[\w-]+", css)) == set(LIGHT.variables()) == set(DARK.variables())
    assert all(re.fullmatch(r"#[0-9a-f]{6}", colour) for colour in LIGHT.variables().values())
