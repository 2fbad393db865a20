"""Files that a command writes: checked before any work is done, with errors that name the file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from heatgraph._io.regular_files import circular_links
from heatgraph.errors import InputError


def check_outputs(inputs: Sequence[Path | str | None], outputs: Sequence[Path | None]) -> None:
    """Refuse outputs that cannot be written, or that would overwrite an input or each other."""
    taken = [Path(path) for path in inputs if path]
    for path in outputs:
        if path is None or is_stdout(path):
            continue
        if os.path.islink(os.path.realpath(path)):
            raise circular_links(path)
        if any(_is_same_file(path, other) for other in taken):
            raise InputError(f"{path} is named twice, and would be overwritten. Name another file.")
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}. Make it first.")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is a folder or a device. Name a file.")
        taken.append(path)


def check_folders(data: Path | None, output: Path | None) -> None:
    """Refuse a data folder that does not exist, and an output folder that is a file."""
    if data is not None and not data.is_dir():
        raise InputError(f"--data must name a folder that exists. Got '{data}'.")
    if output is not None and output.exists() and not output.is_dir():
        raise InputError(f"--output: {output} is a file. Name a folder.")
    if output is not None and output.is_symlink() and not output.exists():
        raise InputError(f"--output: {output} is a symbolic link to nothing. Name a folder.")


def is_stdout(path: Path | None) -> bool:
    """Whether a path stands for standard output."""
    return str(path) == "-"


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Name the file in an error about writing it; writes are atomic, so the old file is intact."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        if is_stdout(path):
            raise OSError(error.errno, reason, "standard output") from error
        intact = f"{reason}. No file was left incomplete"
        raise OSError(error.errno, intact, str(path)) from error


def _is_same_file(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    # Path.resolve raises RuntimeError where links lead in a circle, before Python 3.13.
    return os.path.realpath(path) == os.path.realpath(other)
