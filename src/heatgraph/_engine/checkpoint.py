"""Checkpoints: a diffusion that is killed resumes from the panels on disk.

While ``X_T.npy`` is computed, the folder ``X_T.npy.unfinished`` has a file for each finished panel,
with a checksum and written atomically. Each carries a fingerprint of the graph, the features, the
settings and the panels. The same call, made again, computes only the panels that are missing or
damaged, and refuses panels with another fingerprint. At the end the panels are concatenated into
``X_T.npy``, and the folder is deleted.

One process at a time has the folder, by a lock in it that ends with its owner; another that asks
for the same path gets FileInUseError. Fingerprints are checked again as panels are concatenated, in
case the file system has no locks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import memory_owners
from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.file_lock import FileLock
from heatgraph._io.tensor_file import map_tensors, write_tensors
from heatgraph.errors import FileFormatError, InputError

Array = npt.NDArray[Any]

KIND = "panel of a diffusion"
LOCK_FILE = "lock"
# Bytes concatenated at a time.
BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class RowCut:
    """Panels that are cut into blocks of rows as well.

    Attributes
    ----------
    counts : list of int
        Rows of the result in each block.
    places : array of shape (R,) or None
        Where each row of the result is among the rows of all blocks, one after the other; None if
        they are in order.
    """

    counts: list[int]
    places: Array | None


class Checkpoint:
    """The finished panels of a result (M, R, d), cut along `axis`: 1 (rows) or 2 (features).

    A context manager that holds the lock of the folder. With `row_cut`, each panel along the
    features is a file for each block of rows.
    """

    def __init__(
        self,
        path: str | Path,
        fingerprint: str,
        shape: tuple[int, int, int],
        dtype: np.dtype[Any],
        axis: int,
        panels: Sequence[slice],
        row_cut: RowCut | None = None,
    ) -> None:
        self.path, self.fingerprint = Path(path), fingerprint
        self.row_cut = row_cut
        self.folder = checkpoint_folder(self.path)
        self.shape, self.dtype, self.axis, self.panels = shape, dtype, axis, panels
        self._lock = FileLock(self.folder / LOCK_FILE, self.path)
        try:
            self._check_panels()
        except BaseException:
            self._unlock()
            raise

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._unlock()

    @property
    def missing(self) -> list[slice]:
        """Panels that remain to be computed."""
        return [panel for panel in self.panels if self.missing_blocks(panel)]

    def missing_blocks(self, panel: slice) -> list[int | None]:
        """Blocks of a panel that remain to be computed; without blocks, the whole as None."""
        return [block for block in self._block_numbers if not self._file(panel, block).exists()]

    @property
    def _block_numbers(self) -> list[int | None]:
        return [None] if self.row_cut is None else list(range(len(self.row_cut.counts)))

    def save(self, panel: slice, values: Array) -> None:
        """Write a finished panel."""
        write_panel(self.folder, panel, self.fingerprint, values)

    def finish(self) -> Array:
        """Concatenate the panels into the result, and return its memory map."""
        # In the folder, so that a file left by a kill is deleted with it.
        whole = self.folder / "result.npy"
        # A single scheme's result is a matrix.
        shape = self.shape[1:] if self.shape[0] == 1 else self.shape
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        with atomic_write(whole) as file:
            np.lib.format.write_array_header_1_0(file, header)
            for block in self._blocks():
                file.write(np.ascontiguousarray(block).data)
            del block
        os.replace(whole, self.path)
        result: Array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        self._delete_files()
        self._unlock()
        return result.reshape(self.shape)

    def _check_panels(self) -> None:
        """Delete damaged panels, and refuse those of another diffusion."""
        for file in self.folder.glob("*.safetensors"):
            try:
                content, _ = map_tensors(file, KIND)
            except FileFormatError:
                file.unlink()
                continue
            if content.get("fingerprint") != self.fingerprint:
                raise InputError(
                    f"{self.folder} has panels of another diffusion: the graph, the features, the "
                    "settings, the memory budget or the version differ from those that it was "
                    "started with. Use those again, or delete the folder to start over."
                )

    def _blocks(self) -> Iterator[Array]:
        """The rows of the result in order, in blocks of about `BLOCK_BYTES`."""
        M, R, d = self.shape
        parts = [
            self._join([self._read(panel, block) for block in self._block_numbers])
            for panel in self.panels
        ]
        rows = max(1, BLOCK_BYTES // max(1, d * self.dtype.itemsize))
        yield np.empty(0, dtype=self.dtype)
        for m in range(M):
            if self.axis == 1:
                yield from (part(m, slice(None)) for part in parts)
            else:
                for start in range(0, R, rows):
                    some = slice(start, min(start + rows, R))
                    yield np.concatenate([part(m, some) for part in parts], axis=1)

    def _join(self, blocks: list[Array]) -> Callable[[int, slice], Array]:
        """A function that returns some rows of a panel, which may be cut into blocks of rows."""
        if self.row_cut is None:
            return lambda m, rows: blocks[0][m, rows]
        places = self.row_cut.places
        starts = np.concatenate([[0], np.cumsum(self.row_cut.counts)])

        def take(m: int, rows: slice) -> Array:
            wanted = np.arange(rows.start, rows.stop) if places is None else places[rows]
            result = np.empty((len(wanted), blocks[0].shape[2]), dtype=self.dtype)
            owner = np.searchsorted(starts, wanted, side="right") - 1
            for number in np.unique(owner).tolist():
                here = owner == number
                result[here] = blocks[number][m, wanted[here] - starts[number]]
            return result

        return take

    def _read(self, panel: slice, block: int | None = None) -> Array:
        """Map a panel of this diffusion; its owner may have changed if the system has no locks."""
        file = self._file(panel, block)
        content, tensors = map_tensors(file, KIND)
        if content.get("fingerprint") != self.fingerprint:
            raise FileFormatError(
                f"{file} was replaced by a panel of another diffusion while this one ran. Run one "
                "at a time, or give each another path; delete the folder and start over."
            )
        return tensors["values"]

    def _delete_files(self) -> None:
        for entry in self.folder.iterdir():
            if entry.name != LOCK_FILE and not entry.is_dir():
                entry.unlink()

    def _unlock(self) -> None:
        self._lock.release()
        # Not empty if panels remain, or if another process has locked it since.
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _file(self, panel: slice, block: int | None = None) -> Path:
        return self.folder / _file_name(panel, block)


def write_panel(
    folder: Path, panel: slice, fingerprint: str, values: Array, block: int | None = None
) -> None:
    """Write a finished panel, or a block of its rows, into the folder of a checkpoint."""
    file = folder / _file_name(panel, block)
    write_tensors(file, KIND, {"fingerprint": fingerprint}, {"values": values})


def has_panel(folder: Path, panel: slice, fingerprint: str, block: int | None = None) -> bool:
    """Whether a folder has a valid panel, or block of one, with this fingerprint."""
    try:
        content, _ = map_tensors(folder / _file_name(panel, block), KIND)
    except (FileNotFoundError, FileFormatError):
        return False
    return bool(content.get("fingerprint") == fingerprint)


def count_finished(path: str | Path, panels: Sequence[slice], blocks: int | None = None) -> int:
    """Panels that an unfinished run left on disk; `Checkpoint` decides whether they are usable.

    `blocks` is the number of files of a panel whose rows were cut into blocks.
    """
    folder = checkpoint_folder(Path(path))
    parts: Sequence[int | None] = [None] if blocks is None else range(blocks)
    return sum(
        all((folder / _file_name(panel, part)).exists() for part in parts) for panel in panels
    )


def checkpoint_folder(path: Path) -> Path:
    """The folder of the panels of an unfinished result."""
    return path.with_name(path.name + ".unfinished")


def _file_name(panel: slice, block: int | None = None) -> str:
    suffix = "" if block is None else f"-block-{block}"
    return f"{panel.start}-{panel.stop}{suffix}.safetensors"


def check_path(path: str | Path, features: Any) -> None:
    """Refuse a path that no result can be written to, before any work is done."""
    path = Path(path)
    if not path.name or path.is_dir():
        raise InputError(f"out must name a file, such as 'X_T.npy'. Got {str(path)!r}.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}. Make it first.")
    source = mapped_file(features)
    if source is not None and path.exists() and os.path.samefile(source, path):
        raise InputError(f"{path} is where the features are. Name another file.")


def mapped_file(array: Any) -> Path | None:
    """The file that an array is a view of, if NumPy knows its name."""
    maps = (owner for owner in memory_owners(array) if isinstance(owner, np.memmap))
    return next((Path(view.filename) for view in maps if view.filename is not None), None)
