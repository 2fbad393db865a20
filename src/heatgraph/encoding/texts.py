"""Columns of free text: tf-idf weights of words, rows of unit length.

The words and their inverse document frequencies are those of the training nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from heatgraph.encoding.block import Block, Settings
from heatgraph.encoding.categories import describe_blank, describe_unknown
from heatgraph.encoding.column import Column, NothingToEncode

# Words that become features; of more, the most frequent ones.
MAX_WORDS = 10_000
# With at least this many training texts, a word must occur in two of them.
MANY_TEXTS = 1000


@dataclass(frozen=True)
class TextEncoding:
    """A column of text, with the words of the training nodes and their idf."""

    kind: ClassVar[str] = "text"
    column: str
    words: tuple[str, ...]
    idf: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.words) != len(self.idf) or len(set(self.words)) < len(self.words):
            raise ValueError("words of an encoding must be distinct, with an idf each")

    @classmethod
    def fit(cls, column: Column, train: npt.NDArray[np.int64], settings: Settings) -> TextEncoding:
        """Learn words and their idf from the training nodes."""
        texts = column.texts
        documents = [texts.values[code] for code in texts.codes[train] if code >= 0]
        vectorizer = _vectorizer(
            max_features=MAX_WORDS, min_df=2 if len(documents) >= MANY_TEXTS else 1
        )
        try:
            vectorizer.fit(documents)
        except ValueError:  # scikit-learn's error if no words are left
            raise NothingToEncode("no words among the training nodes") from None
        words = tuple(vectorizer.get_feature_names_out().tolist())
        return cls(column.name, words, tuple(vectorizer.idf_.astype(np.float64).tolist()))

    @property
    def names(self) -> list[str]:
        """``title: neural`` and so on."""
        return [f"{self.column}: {word}" for word in self.words]

    @property
    def description(self) -> str:
        """What the column is used as."""
        return f"text of {len(self.words):,} word{'s' * (len(self.words) != 1)}"

    def encode(self, column: Column, settings: Settings) -> Block:
        """Tf-idf features (n, k)."""
        texts = column.texts
        vectorizer = _vectorizer(vocabulary=dict(zip(self.words, range(len(self.words)),
                                                     strict=True)))  # fmt: skip
        vectorizer.idf_ = np.array(self.idf)
        # The last document is that of blank values.
        weights = sp.csr_array(vectorizer.transform([*texts.values, ""]))
        X = weights[np.where(texts.present, texts.codes, len(texts.values))]
        blank = describe_blank(column, ~texts.present)
        unknown, unknown_note = texts.present & (np.diff(X.indptr) == 0), ""
        if unknown.any():
            unknown_note = describe_unknown(column, unknown, "none of the words of training nodes")
        return Block(X, blank=blank, unknown=unknown_note)


def _vectorizer(**options: Any) -> Any:
    # A slow import, which tables without text do not need.
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **options)
