"""A long diffusion that survives being killed: its result goes to disk panel by panel.

While the work for ``X_T.npy`` is under way there is a folder ``X_T.npy.unfinished`` with a file for
each finished panel, checksummed and whole or not there at all, and a file that says what is being
computed: a fingerprint of graph, features, settings and panels. The same call again, after whatever
happened, takes up the panels that are there and computes the others; every panel comes out the same
to the last bit, whoever computes it. Other data or settings have another fingerprint, and are
refused. In the end the panels are put together in ``X_T.npy`` and the folder goes.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.files import map_tensors, whole_file, write_tensors

Array = npt.NDArray[Any]

KIND = "panel of a diffusion"
# Bytes that are hashed, or put together, at a time.
BLOCK_BYTES = 1 << 24


class Checkpoint:
    """The finished panels of a result (M, R, d), which is cut along `axis`: 1 or 2."""

    def __init__(
        self,
        path: str | Path,
        fingerprint: str,
        shape: tuple[int, int, int],
        dtype: np.dtype[Any],
        axis: int,
        panels: Sequence[slice],
    ) -> None:
        self.path = Path(path)
        self.folder = self.path.with_name(self.path.name + ".unfinished")
        self.shape, self.dtype, self.axis, self.panels = shape, dtype, axis, panels
        self._begin(fingerprint)

    @property
    def left(self) -> list[slice]:
        """Panels that are still to be computed."""
        return [panel for panel in self.panels if not self._file(panel).exists()]

    def keep(self, panel: slice, values: Array) -> None:
        """Have a finished panel on disk."""
        write_tensors(self._file(panel), KIND, {}, {"values": values})

    def finish(self) -> Array:
        """Put the panels together in the file that was asked for, and give it as a memory map."""
        parts = [self._read(panel) for panel in self.panels]
        M, R, d = self.shape
        rows = max(1, BLOCK_BYTES // (d * self.dtype.itemsize))
        # A single scheme's result is a matrix.
        shape = self.shape[1:] if M == 1 else self.shape
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": shape}
        with whole_file(self.path) as file:
            np.lib.format.write_array_header_1_0(file, header)
            for m in range(M):
                if self.axis == 1:
                    blocks: Iterable[Array] = (part[m] for part in parts)
                else:
                    blocks = (
                        np.concatenate([part[m, start : start + rows] for part in parts], axis=1)
                        for start in range(0, R, rows)
                    )
                for block in blocks:
                    file.write(np.ascontiguousarray(block).data)
        del parts, block
        shutil.rmtree(self.folder)
        result: Array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        return result.reshape(self.shape)

    def _begin(self, fingerprint: str) -> None:
        job = self.folder / "fingerprint"
        if not self.path.parent.is_dir():
            raise InputError(f"{self.path}: there is no folder {self.path.parent}. Make it first.")
        self.folder.mkdir(exist_ok=True)
        if not job.exists():
            with whole_file(job) as file:
                file.write(fingerprint.encode())
        elif job.read_bytes() != fingerprint.encode():
            raise InputError(
                f"{self.folder} has panels of another diffusion: the graph, the features, the "
                "settings, the memory budget or the version are not those that it was begun with. "
                "Go on with those, or delete the folder to begin anew."
            )

    def _file(self, panel: slice) -> Path:
        return self.folder / f"{panel.start}-{panel.stop}.safetensors"

    def _read(self, panel: slice) -> Array:
        _, tensors = map_tensors(self._file(panel), KIND)
        return tensors["values"]


def fingerprint(*parts: Any) -> str:
    """SHA-256 of arrays, sparse matrices and values that print themselves in full."""
    digest = hashlib.sha256()
    for part in parts:
        if sp.issparse(part):
            arrays = [part.indptr, part.indices, part.data]
        else:
            arrays = [part] if isinstance(part, np.ndarray) else []
        text = [(array.dtype.str, array.shape) for array in arrays] if arrays else part
        digest.update(repr(text).encode() + b"\0")
        for array in arrays:
            rows = max(1, BLOCK_BYTES // max(1, array[:1].nbytes))
            for start in range(0, len(array), rows):
                digest.update(np.ascontiguousarray(array[start : start + rows]).data)
    return digest.hexdigest()
