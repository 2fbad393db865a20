"""Exclusive locks on files, which end with the process that holds them: at a kill or a crash too.

The system keeps the lock (``flock``, or a byte-range lock on Windows), so that no lock is left by
a process that is gone. A lock belongs to an open file: two threads exclude each other as two
processes do, and a child process does not inherit it.

Network file systems pass locks on to their server (NFS, SMB, Lustre with ``flock``), refuse them,
which gives an `UnlockedFileWarning`, or are mounted with locks that other hosts do not see (NFS
with ``local_lock``, Lustre with ``localflock``), which no program can notice.
"""

from __future__ import annotations

import contextlib
import os
import platform
import stat
import sys
import time
import weakref
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from heatgraph.errors import FileInUseError, UnlockedFileWarning, warn

# Seconds between two attempts to take a lock.
RETRY_INTERVAL = 0.01


class FileLock:
    """The right to write `target`, held from here to `release` or to the end of the process.

    Parameters
    ----------
    path
        The lock file. It is made, with its folder, and deleted by `release`; its text tells others
        who holds the lock.
    target
        What the lock protects, for messages.
    timeout
        Seconds to wait for another owner, before FileInUseError is raised.
    """

    def __init__(self, path: Path, target: Path, timeout: float = 0.0) -> None:
        self.path, self.target = Path(os.path.realpath(path.parent)) / path.name, target
        self._file: BinaryIO | None = None
        deadline = time.monotonic() + timeout
        while (file := self._attempt()) is None:
            if time.monotonic() >= deadline:
                raise FileInUseError(
                    f"{target} is being written by {_owner(self.path)}. Wait until that has "
                    "ended, or name another file."
                )
            time.sleep(RETRY_INTERVAL)
        self._file = file
        _held.add(self)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}".encode())
        file.flush()

    def release(self) -> None:
        """Delete the lock file and end the lock, once."""
        file, self._file = self._file, None
        if file is None:
            return
        if sys.platform == "win32":
            # An open file cannot be deleted here, so that the lock file of a new owner is safe.
            file.close()
            with contextlib.suppress(OSError):
                self.path.unlink()
        else:
            # Deleted before the lock ends: those who have opened it see that it is gone.
            with contextlib.suppress(OSError):
                self.path.unlink()
            file.close()

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def _attempt(self) -> BinaryIO | None:
        """The locked file; None if another has the lock."""
        while True:
            file = self._open()
            if file is None:
                continue
            keep = False
            try:
                if not self._lock_or_warn(file):
                    return None
                # Its last owner may have deleted it before it was locked here.
                keep = is_at(file, self.path)
                if keep:
                    return file
            finally:
                if not keep:
                    file.close()

    def _open(self) -> BinaryIO | None:
        """The lock file; None if its last owner deleted its folder meanwhile."""
        folder = self.path.parent
        try:
            folder.mkdir(exist_ok=True)
            return self.path.open("ab+")
        except (FileExistsError, FileNotFoundError):
            if not folder.parent.is_dir() or _is_no_folder(folder):
                raise
            return None

    def _lock_or_warn(self, file: BinaryIO) -> bool:
        try:
            return try_lock(file)
        except OSError as error:
            warn(
                f"{self.target}: its file system has no locks ({error.strerror}). Make sure that "
                "no other process writes it at the same time.",
                UnlockedFileWarning,
            )
            return True

    def _close_in_child(self) -> None:
        """Leave the lock to the parent after a fork."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def try_lock(file: BinaryIO) -> bool:
    """Lock an open file until it is closed; False if another has the lock.

    A file system without locks raises OSError.
    """
    try:
        _lock(file.fileno())
    except (BlockingIOError, PermissionError):  # the latter on Windows
        return False
    return True


def is_at(file: BinaryIO, path: Path) -> bool:
    """Whether `path` is this open file, neither deleted nor replaced."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    # Locked bytes cannot be read by others: take one far behind the text of any file.
    _LOCKED_BYTE = (1 << 31) - 2

    def _lock(descriptor: int) -> None:
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_no_folder(path: Path) -> bool:
    """Whether there is something else than a folder; one look, as others make and delete it."""
    try:
        return not stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _owner(path: Path) -> str:
    """Who holds a lock, by the text of its file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")[:200]
    except OSError:
        text = ""
    return text or "another process"


_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


def release_all() -> None:
    """Release the locks of this process, which is about to end."""
    for lock in list(_held):
        lock.release()


def _close_all_in_child() -> None:
    for lock in list(_held):
        lock._close_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_in_child)
