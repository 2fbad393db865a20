"""Open regular files only: a pipe would wait for a writer, and a device may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from heatgraph.errors import InputError


def open_regular_file(path: str | Path) -> BinaryIO:
    """Open a file for reading; a folder, a pipe, a socket or a device raises InputError."""
    # Without O_NONBLOCK, opening a pipe waits; it does not matter to a regular file.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if os.path.isdir(path):  # Windows cannot open folders
        raise InputError(f"{path} is a folder. Name a file.")
    try:
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise circular_links(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path} is a pipe or a device. Save its content in a file.")
    return open(descriptor, "rb")


def circular_links(path: str | Path) -> InputError:
    """The error for a path whose symbolic links lead back to themselves."""
    return InputError(f"{path}: its symbolic links lead in a circle. Name the file itself.")
