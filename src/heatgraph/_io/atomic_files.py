"""Atomic writes: a reader sees the complete old file or the complete new one, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from heatgraph.errors import InputError


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file for writing that replaces `path` when the block ends without error.

    After an error, a crash or a kill at any moment, `path` is still the old file. Data and the
    directory entry are synced to disk. Symbolic links are followed, and permissions are kept.
    """
    path = Path(os.path.realpath(path))
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: there is no folder {folder}. Make it first.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is a folder or a device. Name a file.")
    temporary = folder / f".{secrets.token_hex(8)}.part"
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    """Sync the directory entry to disk; Windows cannot open folders."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
