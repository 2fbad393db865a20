"""A long diffusion that survives being killed: its result goes to disk panel by panel.

While the work for ``X_T.npy`` is under way there is a folder ``X_T.npy.unfinished`` with a file for
each finished panel, checksummed and whole or not there at all. Each carries a fingerprint of graph,
features, settings and the cut into panels. The same call again, after whatever happened, takes up
the panels that are there and computes the others; a damaged one is computed anew, and panels with
another fingerprint are refused. In the end they are put together in ``X_T.npy``, and the folder
goes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import memory_owners
from heatgraph._io.atomic_files import atomic_write
from heatgraph._io.tensor_file import map_tensors, write_tensors
from heatgraph.errors import FileFormatError, InputError

Array = npt.NDArray[Any]

KIND = "panel of a diffusion"
# Bytes that are put together at a time.
BLOCK_BYTES = 1 << 22


class Checkpoint:
    """The finished panels of a result (M, R, d), which is cut along `axis`: 1 or 2."""

    def __init__(
        self,
        path: str | Path,
        mark: str,
        shape: tuple[int, int, int],
        dtype: np.dtype[Any],
        axis: int,
        panels: Sequence[slice],
    ) -> None:
        self.path, self.mark = Path(path), mark
        self.folder = self.path.with_name(self.path.name + ".unfinished")
        self.shape, self.dtype, self.axis, self.panels = shape, dtype, axis, panels
        self.folder.mkdir(exist_ok=True)
        self._look()

    @property
    def left(self) -> list[slice]:
        """Panels that are still to be computed."""
        return [panel for panel in self.panels if not self._file(panel).exists()]

    def keep(self, panel: slice, values: Array) -> None:
        """Have a finished panel on disk."""
        write_tensors(self._file(panel), KIND, {"fingerprint": self.mark}, {"values": values})

    def finish(self) -> Array:
        """Put the panels together in the file that was asked for, and give it as a memory map."""
        # Beside the panels, so that what a kill leaves goes with them.
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
        shutil.rmtree(self.folder)
        result: Array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return result.reshape(self.shape)

    def _look(self) -> None:
        """Drop damaged panels, and refuse those of another diffusion."""
        for file in self.folder.glob("*.safetensors"):
            try:
                content, _ = map_tensors(file, KIND)
            except FileFormatError:
                file.unlink()
                continue
            if content.get("fingerprint") != self.mark:
                raise InputError(
                    f"{self.folder} has panels of another diffusion: the graph, the features, the "
                    "settings, the memory budget or the version are not those that it was begun "
                    "with. Go on with those, or delete the folder to begin anew."
                )

    def _blocks(self) -> Iterator[Array]:
        """The result's rows in order, some at a time."""
        M, R, d = self.shape
        parts = [map_tensors(self._file(panel), KIND)[1]["values"] for panel in self.panels]
        rows = max(1, BLOCK_BYTES // max(1, d * self.dtype.itemsize))
        yield np.empty(0, dtype=self.dtype)
        for m in range(M):
            if self.axis == 1:
                yield from (part[m] for part in parts)
            else:
                for start in range(0, R, rows):
                    yield np.concatenate([part[m, start : start + rows] for part in parts], axis=1)

    def _file(self, panel: slice) -> Path:
        return self.folder / f"{panel.start}-{panel.stop}.safetensors"


def check_path(path: str | Path, features: Any) -> None:
    """Refuse a place where no result can be written, before any work is done."""
    path = Path(path)
    if not path.name or path.is_dir():
        raise InputError(f"out must name a file, such as 'X_T.npy'. Got {str(path)!r}.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}. Make it first.")
    source = mapped_file(features)
    if source is not None and path.exists() and os.path.samefile(source, path):
        raise InputError(f"{path} is where the features are. Name another file.")


def mapped_file(array: Any) -> Path | None:
    """The file that an array is a memory map of, as far as NumPy tells it."""
    maps = (owner for owner in memory_owners(array) if isinstance(owner, np.memmap))
    return next((Path(found.filename) for found in maps if found.filename is not None), None)
