"""Atomic writes: a reader sees the complete old file or the complete new one, never a part.

The new file grows under a temporary name, ``.heatgraph-HOST-TOKEN.part``, in the folder of the old
one. Its writer holds a lock on it (`heatgraph._io.file_lock`), so that a temporary file that can be
locked was left by a killed process: the next writer to the folder deletes it. HOST keeps this safe
where locks are not seen by other hosts.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from heatgraph._io.file_lock import is_at, try_lock
from heatgraph._io.regular_files import circular_links
from heatgraph.errors import InputError

_PREFIX = f".heatgraph-{hashlib.sha256(platform.node().encode()).hexdigest()[:8]}-"
_TEMPORARY_NAME = re.compile(re.escape(_PREFIX) + "[0-9a-f]{16}[.]part")
# On Windows a file is closed, and with that unlocked, before it is renamed. Seconds since its last
# change after which no writer can be between the two.
_WINDOWS_RENAME_SECONDS = 600
# Temporary files of this process.
_open_files: set[Path] = set()


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file for writing that replaces `path` when the block ends without error.

    After an error, a crash or a kill at any moment, `path` is still the old file. Data and the
    directory entry are synced to disk. Symbolic links are followed, and permissions are kept.
    """
    path = Path(os.path.realpath(path))
    if path.is_symlink():  # which the real path is in a circle only
        raise circular_links(path)
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: there is no folder {folder}. Make it first.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is a folder or a device. Name a file.")
    _delete_abandoned_files(folder)
    file, temporary = _locked_temporary_file(folder)
    _open_files.add(temporary)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if path.exists():
                shutil.copymode(path, temporary)
            if sys.platform == "win32":
                file.close()
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    finally:
        _open_files.discard(temporary)
    _sync_folder(folder)


def delete_open_files() -> None:
    """Delete the temporary files of this process, which is about to end."""
    for temporary in list(_open_files):
        with contextlib.suppress(OSError):
            temporary.unlink()


def _locked_temporary_file(folder: Path) -> tuple[BinaryIO, Path]:
    """A new temporary file, open and locked."""
    while True:
        temporary = folder / f"{_PREFIX}{secrets.token_hex(8)}.part"
        file: BinaryIO = temporary.open("xb")
        try:
            locked = try_lock(file)
        except OSError:  # a file system without locks, where nobody deletes abandoned files
            locked = True
        # Another writer may have taken it for abandoned before it was locked.
        if locked and is_at(file, temporary):
            return file, temporary
        file.close()


def _delete_abandoned_files(folder: Path) -> None:
    """Delete the temporary files of processes that are gone."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY_NAME.fullmatch(entry.name):
                _delete_if_abandoned(Path(entry.path))


def _delete_if_abandoned(temporary: Path) -> None:
    with contextlib.suppress(OSError):
        with temporary.open("rb+") as file:
            if not try_lock(file):
                return
            if sys.platform != "win32":
                temporary.unlink()
                return
        if time.time() - temporary.stat().st_mtime > _WINDOWS_RENAME_SECONDS:
            temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Sync the directory entry to disk; Windows cannot open folders."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
