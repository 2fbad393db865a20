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
    code = FAILED
    try:
        # Python's own default would leave without removing what is half written.
        signal.signal(signal.SIGTERM, _terminated)
        code = _run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        _say("stopped; nothing was left half written.")
        code = INTERRUPTED
    except BrokenPipeError:
        # Python would complain again when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = CLOSED_PIPE
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    import typer

    from heatgraph.cli.app import app
    from heatgraph.errors import HeatgraphError

    # The base of all wrong use, in a module that differs between versions of typer.
    wrong_use: Any = typer.BadParameter.__bases__
    try:
        return app(arguments, standalone_mode=False) or 0
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except wrong_use as error:
        error.show()
        return WRONG_USE
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in arguments:
            raise
        if isinstance(error, HeatgraphError):
            _say(str(error))
        elif isinstance(error, OSError):
            named = f"{error.filename}: " if error.filename else ""
            _say(f"{named}{error.strerror or error}. Nothing was left half written.")
        elif isinstance(error, MemoryError):
            _say("there is not enough memory. Close other programs, or use a larger machine.")
        else:
            _say(
                f"an error of heatgraph's own, {type(error).__name__}: {error}. Run the command "
                "again with --debug and report what it prints."
            )
            return OWN_ERROR
        return FAILED


def _terminated(number: int, frame: Any) -> None:
    raise SystemExit(TERMINATED)


def _say(message: str) -> None:
    print(f"heatgraph: {message}", file=sys.stderr)
