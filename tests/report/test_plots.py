"""The plot of a search."""

import errno
import os

import matplotlib.figure
import numpy as np
import pytest
from strategies import planted

from heatgraph import DGCClassifier
from heatgraph.errors import InputError
from heatgraph.report.plots import check_plot_name, plot_search

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}


def record(T, accuracy):
    return {"T": T, "accuracy": accuracy}


SEARCH = [record(T, a) for T, a in [(0.0, 0.5), (0.0, 0.6), (2.0, 0.9), (2.0, 0.7), (1.0, 0.8),
                                    (1.0, 0.65), (1.7, 0.95)]]  # fmt: skip


@pytest.fixture
def axes(monkeypatch):
    """The axes of what is drawn."""
    drawn = []
    save = matplotlib.figure.Figure.savefig

    def keep(figure, *args, **options):
        drawn.append(figure.axes[0])
        save(figure, *args, **options)

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", keep)
    return drawn


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "PNG"])
def test_every_format(suffix, tmp_path):
    plot_search(SEARCH, 2.0, tmp_path / f"p.{suffix}", "A title")
    assert (tmp_path / f"p.{suffix}").read_bytes().startswith(MAGIC[suffix.lower()])
    assert len(list(tmp_path.iterdir())) == 1


def test_a_png_is_large_enough(tmp_path):
    plot_search(SEARCH, 2.0, tmp_path / "p.png")
    raw = (tmp_path / "p.png").read_bytes()
    width, height = (int.from_bytes(raw[at : at + 4], "big") for at in (16, 20))
    assert width >= 1000
    assert height >= 600


@pytest.mark.parametrize("name", ["p", "p.jpg", "p.csv", "png", ".png"])
def test_other_suffixes_are_refused(name, tmp_path):
    with pytest.raises(
        InputError, match=rf"{name}: the name of a plot must end in .png, .svg, .pdf"
    ):
        check_plot_name(name)
    with pytest.raises(InputError, match="the name of a plot"):
        plot_search(SEARCH, 2.0, tmp_path / name)


@pytest.mark.parametrize("search", [[], [record(None, 0.5)]])
def test_nothing_to_plot(search, tmp_path):
    with pytest.raises(InputError, match="no search over T"):
        plot_search(search, None, tmp_path / "p.png")
    assert not list(tmp_path.iterdir())


def test_best_accuracy_at_each_time_of_the_full_grid(axes, tmp_path):
    plot_search(SEARCH, 1.7, tmp_path / "p.png", "Karate")
    (axis,) = axes
    best, chosen, alone = axis.get_lines()
    assert best.get_xdata().tolist() == [0, 1, 2]
    assert np.allclose(best.get_ydata(), [60, 80, 90])
    assert set(chosen.get_xdata()) == {1.7}
    assert np.allclose(alone.get_ydata(), 60)
    assert axis.get_xlabel() == "diffusion time T (no unit)"
    assert axis.get_ylabel() == "validation accuracy (%)"
    assert axis.get_title() == "Karate"
    legend = [text.get_text() for text in axis.get_legend().get_texts()]
    assert legend == ["best setting at each T", "chosen: T = 1.70", "T = 0, no diffusion"]


def test_one_time_without_a_choice(axes, tmp_path):
    plot_search([record(3.0, 0.5)], None, tmp_path / "p.svg")
    assert len(axes[0].get_lines()) == 1


def test_plots_are_reproducible_byte_for_byte(tmp_path):
    for form in MAGIC:
        plot_search(SEARCH, 2.0, tmp_path / f"p.{form}")
        plot_search(SEARCH, 2.0, tmp_path / f"q.{form}")
        assert (tmp_path / f"p.{form}").read_bytes() == (tmp_path / f"q.{form}").read_bytes()


def test_a_failed_write_keeps_the_old_plot(tmp_path, monkeypatch):
    path = tmp_path / "p.png"
    path.write_bytes(b"old")

    def fail(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        plot_search(SEARCH, 2.0, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_real_search(axes, tmp_path):
    graph, labels = planted()
    model = DGCClassifier(T=[0.0, 1.0, 4.0]).fit(graph, labels)
    plot_search(model.search_, model.T_, tmp_path / "p.png")
    assert 0 in axes[0].get_lines()[0].get_xdata()
