"""`FeatureEncoder`: columns of a table as a feature matrix X (n, d), with a name for each column.

It is fitted on training nodes, and then encodes this and other tables in the same way. All it
learns are JSON values, which models keep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph._arguments import index_dtype
from heatgraph.encoding.bags import BagEncoding
from heatgraph.encoding.block import Block, Encoding, Settings, from_record, to_record
from heatgraph.encoding.categories import CategoryEncoding
from heatgraph.encoding.column import Column, NothingToEncode
from heatgraph.encoding.dates import DateEncoding
from heatgraph.encoding.detection import Kind, detect_kind
from heatgraph.encoding.numbers import NumberEncoding
from heatgraph.encoding.texts import TextEncoding
from heatgraph.encoding.vectors import VectorEncoding
from heatgraph.errors import InputError

Array = npt.NDArray[Any]

FORMAT = 1
KINDS: dict[str, Any] = {
    kind.kind: kind
    for kind in (
        NumberEncoding, VectorEncoding, CategoryEncoding, TextEncoding, DateEncoding, BagEncoding
    )
}  # fmt: skip
# Non-negative numbers in at least this many columns with this share of zeros are taken for words
# or counts, and stored sparse.
MIN_SPARSE_COLUMNS, MIN_SPARSE_SHARE = 20, 0.8
# Features of several kinds are stored sparse up to this share of nonzeros.
MAX_SPARSE_DENSITY = 0.25


@dataclass(frozen=True)
class Encoded:
    """Features (n, d) of a table, and notes on its columns, as in `Block`."""

    values: Any
    filled: list[str]
    blank: list[str]
    unknown: list[str]

    @classmethod
    def join(cls, blocks: list[Block], is_sparse: bool) -> Encoded:
        """Put the features of columns side by side."""
        kinds = ("filled", "blank", "unknown")
        notes = [[note for b in blocks if (note := getattr(b, kind))] for kind in kinds]
        return cls(_stack([block.values for block in blocks], is_sparse), *notes)


@dataclass(frozen=True)
class FeatureEncoder:
    """Columns of a table as features, fitted on training nodes.

    Attributes
    ----------
    encodings : tuple of encodings
        One per column, in the order of their features.
    settings : Settings
        ``settings.scaled`` tells that numbers are standardised, so that no other scaling is needed.
    is_sparse : bool
        Whether features are stored sparse.

    Examples
    --------
    >>> import heatgraph as hg
    >>> nodes = {"id": [1, 2, 3], "label": ["a", "b", None], "country": ["FR", "DE", "FR"]}
    >>> graph = hg.from_tables(nodes, {"source": [1, 2], "target": [2, 3]}).graph
    >>> graph.feature_names
    ['country=DE', 'country=FR']
    >>> graph.feature_encoder.encodings[0].description
    'category of 2 values'
    """

    encodings: tuple[Encoding, ...]
    settings: Settings
    is_sparse: bool = False

    @classmethod
    def fit(
        cls, columns: list[Column], kinds: list[Kind], train: npt.NDArray[np.int64],
        settings: Settings,
    ) -> tuple[FeatureEncoder | None, dict[str, str]]:  # fmt: skip
        """Fit columns of the given kinds on the rows `train`.

        Features are scaled if there are several kinds, or if the settings say so.
        Returns the encoder, None if no column has features, and why columns have none, by name.
        """
        fitted: list[Any] = []
        failed: dict[str, str] = {}
        for column, kind in zip(columns, kinds, strict=True):
            try:
                fitted.append(kind.fit(column, train, settings))
            except NothingToEncode as reason:
                failed[column.name] = str(reason)
        # Numbers come first, whatever the order of the table.
        fitted.sort(key=lambda encoding: not isinstance(encoding, NumberEncoding))
        if not fitted:
            return None, failed
        found = {type(encoding) for encoding in fitted}
        alike = found <= {NumberEncoding, VectorEncoding} or found == {BagEncoding}
        encoder = cls(tuple(fitted), replace(settings, scaled=settings.scaled or not alike))
        encoder.check_names()
        return encoder, failed

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are encoded."""
        return [encoding.column for encoding in self.encodings]

    @property
    def text_columns(self) -> list[str]:
        """Names of the columns whose values are compared as text."""
        kinds = CategoryEncoding, TextEncoding, BagEncoding
        return [encoding.column for encoding in self.encodings if isinstance(encoding, kinds)]

    @property
    def names(self) -> list[str]:
        """Names of the features, d of them."""
        return [name for encoding in self.encodings for name in encoding.names]

    def check_names(self) -> None:
        """Refuse two features of the same name."""
        seen: dict[str, str] = {}
        for encoding in self.encodings:
            for name in encoding.names:
                if name in seen:
                    raise InputError(
                        f"columns {seen[name]!r} and {encoding.column!r} both have a feature "
                        f"called {name!r}. Rename one of the columns."
                    )
                seen[name] = encoding.column

    def with_storage(self, columns: list[Column]) -> tuple[FeatureEncoder, Encoded]:
        """Encode the table that was fitted, and choose between dense and sparse storage by it."""
        blocks = self._blocks(columns)
        is_sparse = _is_sparse([block.values for block in blocks], self.settings.scaled)
        return replace(self, is_sparse=is_sparse), Encoded.join(blocks, is_sparse)

    def encode(self, columns: list[Column]) -> Encoded:
        """Features of the columns of a table, which are found by name."""
        return Encoded.join(self._blocks(columns), self.is_sparse)

    def _blocks(self, columns: list[Column]) -> list[Block]:
        by_name = {column.name: column for column in columns}
        blocks = []
        for encoding in self.encodings:
            block = encoding.encode(by_name[encoding.column], self.settings)
            if not sp.issparse(block.values):
                block = replace(block, values=block.values.astype(np.float32))
            blocks.append(block)
        return blocks

    def to_json(self) -> dict[str, Any]:
        """All that was learned, as JSON values."""
        return {
            "format": FORMAT,
            "missing": self.settings.missing,
            "decimal": self.settings.decimal,
            "scaled": self.settings.scaled,
            "sparse": self.is_sparse,
            "columns": [to_record(encoding) for encoding in self.encodings],
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> FeatureEncoder:
        """An encoder from what `to_json` made; ValueError or LookupError if it is not valid."""
        if content["format"] != FORMAT:
            raise ValueError(f"an encoder of format {content['format']!r} is unknown; upgrade")
        missing, decimal = content["missing"], content["decimal"]
        if missing not in ("indicator", "mean", "error") or decimal not in (None, ".", ","):
            raise ValueError("an encoder must say what becomes of missing values and decimals")
        scaled, is_sparse = content["scaled"], content["sparse"]
        if not isinstance(scaled, bool) or not isinstance(is_sparse, bool):
            raise ValueError("scaled and sparse of an encoder must be booleans")
        records = content["columns"]
        encodings = tuple(from_record(KINDS[record["kind"]], record) for record in records)
        encoder = cls(encodings, Settings(missing, decimal, scaled), is_sparse)
        if len(set(encoder.columns)) < len(encodings) or not encodings:
            raise ValueError("columns of an encoder must be distinct")
        encoder.check_names()
        return encoder

    @classmethod
    def read(cls, content: dict[str, Any], feature_names: list[str] | None) -> FeatureEncoder:
        """The encoder of a file whose features have these names, its own first."""
        encoder = cls.from_json(content)
        names = encoder.names
        if feature_names is None or feature_names[: len(names)] != names:
            raise ValueError("feature names are not those of the encoder")
        return encoder


def detect_kinds(
    columns: list[Column], settings: Settings, is_named: bool
) -> tuple[list[Column], list[Kind], dict[str, str]]:
    """Columns that hold features, their kinds, and why the others do not, by name."""
    found, kinds, failed = [], [], {}
    for column in columns:
        try:
            kinds.append(detect_kind(column, settings, is_named))
            found.append(column)
        except NothingToEncode as reason:
            failed[column.name] = str(reason)
    return found, kinds, failed


def _is_sparse(blocks: list[Any], scaled: bool) -> bool:
    """Whether to store features sparse: counts, or several kinds with few nonzeros."""
    size = sum(block.shape[0] * block.shape[1] for block in blocks)
    nonzero = sum(block.nnz if sp.issparse(block) else np.count_nonzero(block) for block in blocks)
    if any(map(sp.issparse, blocks)):
        return not scaled or bool(nonzero <= MAX_SPARSE_DENSITY * size)
    wide = sum(block.shape[1] for block in blocks) >= MIN_SPARSE_COLUMNS
    if not wide or nonzero > (1 - MIN_SPARSE_SHARE) * size:
        return False
    return not any((block < 0).any() for block in blocks)


def _stack(blocks: list[Any], is_sparse: bool) -> Any:
    if is_sparse:
        dense = [sp.csr_array(b) if not sp.issparse(b) else b for b in _merge_dense(blocks)]
        X = sp.hstack(dense, format="csr") if len(dense) > 1 else dense[0]
        # Half the memory of the 64-bit indices that one-hot blocks have.
        kind = index_dtype(max(X.nnz, *X.shape))
        indices, indptr = (part.astype(kind, copy=False) for part in (X.indices, X.indptr))
        return sp.csr_array((X.data, indices, indptr), shape=X.shape)
    if len(blocks) == 1:
        (only,) = blocks
        return only.toarray() if sp.issparse(only) else only
    # Filled row by row and transposed once: writing columns of a row-major matrix takes four times
    # as long.
    d = sum(block.shape[1] for block in blocks)
    transposed = np.empty((d, blocks[0].shape[0]), dtype=np.float32)
    at = 0
    for block in blocks:
        end = at + block.shape[1]
        transposed[at:end] = block.T.toarray() if sp.issparse(block) else block.T
        at = end
    return np.ascontiguousarray(transposed.T)


def _merge_dense(blocks: list[Any]) -> list[Any]:
    """Join dense blocks that are side by side, since stacking many sparse ones is slow."""
    merged: list[Any] = []
    run: list[Any] = []
    for block in [*blocks, None]:
        if block is not None and not sp.issparse(block):
            run.append(block)
            continue
        if run:
            merged.append(_stack(run, is_sparse=False))
            run = []
        if block is not None:
            merged.append(block)
    return merged
