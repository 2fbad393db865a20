"""The entry point of the command: streams, signals, errors and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from heatgraph.cli.exit_codes import (
    CLOSED_PIPE,
    FAILED,
    INTERNAL_ERROR,
    INTERRUPTED,
    TERMINATED,
    WRONG_USE,
)
from heatgraph.cli.printable import printable
from heatgraph.cli.watchdog import Watchdog, clean_up, exit_now

# Bytes for the code, buffers and stacks of the libraries and their threads.
LEAST_ADDRESS_SPACE = 3 << 30
# Seconds until a signal that Python could not raise is sent again.
RESEND_DELAY = 0.05
STOPPED = "stopped; no file was left incomplete."


def main() -> None:
    """Run a command and exit with its code."""
    code: Any = FAILED
    watchdog = Watchdog(_end)
    try:
        # The default handler would end the process without removing temporary files.
        signal.signal(signal.SIGTERM, _exit_on_sigterm)
        sys.unraisablehook = _resend_lost_signal
        _prepare_streams()
        _check_address_space()
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        _print_error(STOPPED)
        code = INTERRUPTED
    except BrokenPipeError:
        code = CLOSED_PIPE
    except SystemExit as stop:
        # On a closed pipe, rich and typer exit with code 1.
        code = CLOSED_PIPE if isinstance(stop.__context__, BrokenPipeError) else stop.code
    if watchdog.finish():
        exit_now(code)
    # Nothing is left to clean up, so a signal may end the process at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if code == CLOSED_PIPE or not _flush_stdout():
        # Otherwise Python would print an error when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _end(number: int) -> None:
    """End the process at a signal that the main thread does not obey in time."""
    clean_up()
    if number == signal.SIGINT:
        _print_error(STOPPED)
    exit_now(INTERRUPTED if number == signal.SIGINT else TERMINATED)


def _run(arguments: list[str]) -> int:
    # Imported here, so that an interrupt during these imports is handled too.
    import typer

    from heatgraph.cli.app import app

    # The base class of usage errors; its module differs between versions of typer.
    usage_error: Any = typer.BadParameter.__bases__
    try:
        code = app(arguments, prog_name="heatgraph", standalone_mode=False) or 0
        if code == INTERRUPTED:  # typer turns Ctrl-C into an exit code
            raise KeyboardInterrupt
        sys.stdout.flush()
        return code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except usage_error as error:
        _report_wrong_use(error)
        return WRONG_USE
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in arguments:
            import traceback

            print(printable(traceback.format_exc()), end="", file=sys.stderr)
        return _report_error(error)


def _report_wrong_use(error: Any) -> None:
    """Print an error of the command line, with a suggestion where there is one."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    message = " ".join(error.format_message().split()).removeprefix("Invalid value: ")
    options = getattr(error, "possibilities", None)
    if options:
        message = f"{error.message.rstrip('.')}. Did you mean {' or '.join(options)}?"
    command = error.ctx.command_path if error.ctx is not None else "heatgraph"
    _print_error(f"{message}\nTry '{command} --help'.")


def _report_error(error: Exception) -> int:
    """Print an error without a traceback, and return its exit code."""
    from heatgraph.errors import HeatgraphError

    if isinstance(error, HeatgraphError):
        _print_error(str(error))
    elif isinstance(error, OSError):
        file = f"{error.filename}: " if error.filename else ""
        _print_error(f"{file}{error.strerror or error}.")
    elif isinstance(error, MemoryError):
        _print_error("there is not enough memory. Close other programs, or use a larger machine.")
    else:
        _print_error(
            f"internal error, {type(error).__name__}: {error}. Run the command again with --debug "
            "and report what it prints."
        )
        return INTERNAL_ERROR
    return FAILED


def _check_address_space() -> None:
    """Refuse limits of address space that libraries end the process at, or wait forever."""
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
        _print_error(
            f"a process of heatgraph needs {LEAST_ADDRESS_SPACE / 1e9:.1f} GB of address space, of "
            f"which little is ever used, and may have {limit / 1e9:.1f} GB. Raise the limit "
            f"(ulimit -v {LEAST_ADDRESS_SPACE // 1024})."
        )
        raise SystemExit(FAILED)


def _exit_on_sigterm(number: int, frame: Any) -> None:
    raise SystemExit(TERMINATED)


def _resend_lost_signal(unraisable: Any) -> None:
    """Send a signal again whose exception Python could not raise, inside a callback from C."""
    signals = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}
    number = signals.get(unraisable.exc_type)
    if number is None:
        sys.__unraisablehook__(unraisable)
        return
    import _thread
    import threading

    threading.Timer(RESEND_DELAY, _thread.interrupt_main, (number,)).start()


def _prepare_streams() -> None:
    """Open streams that the caller closed, and let both print any character."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _flush_stdout() -> bool:
    """Whether everything that was printed could be written."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _print_error(message: str) -> None:
    """Print a message: wrapped and with colour on a terminal, and on one line in a log."""
    name, message = "heatgraph:", printable(message)
    if sys.stderr.isatty():
        import shutil

        from heatgraph.cli.text_layout import wrap

        width = shutil.get_terminal_size((80, 24)).columns
        message = "\n".join(wrap(f"{name} {message}", width))[len(name) + 1 :]
        if not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
            name = f"\033[31m{name}\033[0m"
    print(f"{name} {message}", file=sys.stderr)
