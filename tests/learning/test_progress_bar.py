"""Progress bars in notebooks and on terminals."""

import io
import sys
import types

import pytest

from heatgraph.learning import progress_bar
from heatgraph.learning.progress import FitProgress
from heatgraph.learning.progress_bar import ProgressBar, is_notebook

STATES = [
    FitProgress("search", 0, 10),
    FitProgress("search", 5, 10, settings=40, T=2.0, accuracy=0.8),
    FitProgress("search", 6, 10, settings=48),
    FitProgress("fit", 0, 2),
    FitProgress("fit", 2, 2),
]


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still, unless it is set."""
    now = [0.0]
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def notebook(monkeypatch):
    """A notebook whose displays are listed: what each has shown."""
    shown = []

    class Handle:
        def __init__(self, page):
            shown.append([page])

        def update(self, page):
            shown[-1].append(page)

    package = types.ModuleType("IPython")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    package.display = types.ModuleType("IPython.display")
    package.display.HTML = str
    package.display.display = lambda page, display_id: Handle(page)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", package.display)
    return shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_notebook_has_one_bar_that_is_updated(notebook, clock):
    assert is_notebook()
    bar = ProgressBar()
    for state in STATES:
        clock[0] += 1
        bar(state)
    (display,) = notebook
    assert len(display) == len(STATES)
    assert display[1] == (
        '<progress value="5" max="10"></progress> trying settings: 40 tried, best 80.0% at T = 2'
    )


def test_states_in_quick_succession_are_left_out(notebook, clock):
    bar = ProgressBar()
    for state in STATES:
        bar(state)
    (display,) = notebook
    # The first, the first of the next stage, and the end.
    assert ['value="0"' in page or 'value="2"' in page for page in display] == [True] * 3


def test_a_terminal_has_one_line(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not is_notebook()
    bar = ProgressBar()
    for state in STATES:
        clock[0] += 1
        bar(state)
    lines = terminal.getvalue().split("\r")[1:]
    assert lines[1].strip() == "50% trying settings: 40 tried, best 80.0% at T = 2"
    assert lines[-1].endswith("\n")
    assert {len(line.rstrip("\n")) for line in lines} == {progress_bar.LINE_WIDTH}


def test_a_log_stays_empty(monkeypatch, clock):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    ProgressBar()(STATES[0])
    assert log.getvalue() == ""
