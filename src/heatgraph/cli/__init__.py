"""The command ``heatgraph``: one file per command, and nothing in them that Python users lack.

Exit codes: 0, done; 1, the input or a file cannot be used; 2, the command line is wrong; 3, the
model did not converge and --strict was given; 70, an error of heatgraph's own; 130 and 143, stopped
by Ctrl-C or SIGTERM; 141, whoever read the output has stopped reading.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

FAILED, WRONG_USE, NOT_CONVERGED, OWN_ERROR = 1, 2, 3, 70
INTERRUPTED, CLOSED_PIPE, TERMINATED = 130, 141, 143


def main() -> None:
    """Run a command and leave with its exit code."""
    code: Any = FAILED
    try:
        # Python's own default would leave without removing what is half written.
        signal.signal(signal.SIGTERM, _terminated)
        sys.unraisablehook = _raised_in_vain
        _prepare_output()
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        _say("stopped; nothing was left half written.")
        code = INTERRUPTED
    except BrokenPipeError:
        code = CLOSED_PIPE
    except SystemExit as stop:
        # On a closed pipe, rich and typer leave by themselves, with 1.
        code = CLOSED_PIPE if isinstance(stop.__context__, BrokenPipeError) else stop.code
    # All is done: from here on a signal may end the process at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if code == CLOSED_PIPE or not _is_written():
        # Else Python would complain about it when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    import typer

    from heatgraph.cli.app import app

    # The base of all wrong use, in a module that differs between versions of typer.
    wrong_use: Any = typer.BadParameter.__bases__
    try:
        code = app(arguments, prog_name="heatgraph", standalone_mode=False) or 0
        if code == INTERRUPTED:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
        return code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except wrong_use as error:
        error.show()
        return WRONG_USE
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in arguments:
            import traceback

            traceback.print_exc()
        return _failed(error)


def _failed(error: Exception) -> int:
    """Say in words what went wrong, and give the exit code for it."""
    from heatgraph.errors import HeatgraphError

    if isinstance(error, HeatgraphError):
        _say(str(error))
    elif isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        _say(f"{named}{error.strerror or error}.")
    elif isinstance(error, MemoryError):
        _say("there is not enough memory. Close other programs, or use a larger machine.")
    else:
        _say(
            f"an error of heatgraph's own, {type(error).__name__}: {error}. Run the command again "
            "with --debug and report what it prints."
        )
        return OWN_ERROR
    return FAILED


def _terminated(number: int, frame: Any) -> None:
    raise SystemExit(TERMINATED)


def _raised_in_vain(ignored: Any) -> None:
    """Stop again a little later, if a signal came where Python cannot raise: in a call from C."""
    numbers = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}
    number = numbers.get(ignored.exc_type)
    if number is None:
        sys.__unraisablehook__(ignored)
        return
    import _thread
    import threading

    threading.Timer(0.05, _thread.interrupt_main, (number,)).start()


def _prepare_output() -> None:
    """Have both streams, whatever the caller closed, and let them take any letter."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _is_written() -> bool:
    """Whether all that was printed has reached whoever it is for."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _say(message: str) -> None:
    print(f"heatgraph: {message}", file=sys.stderr)
