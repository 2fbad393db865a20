"""Runs in subprocesses, and the messages of those that crash."""

import os
import re
import signal
import sys
from dataclasses import replace

import pytest

from heatgraph.experiments.compare.measures import Job, measure
from heatgraph.experiments.compare.subprocess_runs import (
    SubprocessRunError,
    _describe_exit_code,
    run_in_subprocess,
)
from heatgraph.learning.progress import FitProgress


def silent(*_):
    pass


class Call:
    """A job that calls a function in the subprocess when it is unpickled there."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


@pytest.mark.slow
def test_a_subprocess_gives_the_same_result_and_reports_progress(data):
    reports = []
    result = run_in_subprocess(Job("dgc", data), reports.append)
    assert result["right"] == measure(Job("dgc", data), silent)["right"]
    assert reports
    assert isinstance(reports[0], FitProgress)


@pytest.mark.slow
def test_a_crash_before_the_job_is_received_is_reported():
    with pytest.raises(SubprocessRunError, match=r"ended without a result \(exit code 7\)"):
        run_in_subprocess(LargeJob(), silent)


class LargeJob:
    """A job that takes long to send, to a subprocess that exits meanwhile."""

    def __reduce__(self):
        return _unreachable, (Call(os._exit, 7), bytes(50_000_000))


def _unreachable(*_):
    raise AssertionError


@pytest.mark.slow
@pytest.mark.signals
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_killed_subprocess_is_reported():
    with pytest.raises(SubprocessRunError, match="most likely since the machine ran out of memory"):
        run_in_subprocess(Call(signal.raise_signal, signal.SIGKILL), silent)


@pytest.mark.slow
def test_errors_in_the_subprocess_keep_their_message(data):
    bare = replace(data, graph=data.graph.with_features(None))
    with pytest.raises(SubprocessRunError, match="SIGNClassifier needs a graph with features"):
        run_in_subprocess(Job("sign", bare), silent)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-9, "the process was killed, most likely"),
        (-11, r"the process crashed \(SIGSEGV\)\."),
        (-250, r"the process crashed \(signal 250\)\."),
        (3, r"the process ended without a result \(exit code 3\)\."),
    ],
)
def test_exit_codes_become_messages(code, message):
    assert re.match(message, _describe_exit_code(code))
