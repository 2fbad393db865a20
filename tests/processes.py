"""Child processes for tests of signals."""

import signal
import subprocess
import sys


def start(arguments, **options):
    """Start a process that Ctrl-C can stop, even if the tests run with SIGINT ignored.

    A background job of a shell, and every process it starts, inherits SIGINT as ignored, and Python
    then installs no handler.
    """
    if sys.platform != "win32":
        options["preexec_fn"] = _default_interrupt
    return subprocess.Popen(arguments, **options)


def _default_interrupt():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
