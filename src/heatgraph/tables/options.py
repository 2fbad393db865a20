"""Options of the table reader, shared by `from_tables` and the command line.

The module imports nothing heavy, so that the command line can list choices without loading Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from heatgraph.errors import InputError

if TYPE_CHECKING:
    from heatgraph.encoding.encoder import FeatureEncoder

Directed = Literal["max", "sum", "keep", "refuse"]
Duplicates = Literal["error", "sum", "max"]
UnknownEdges = Literal["error", "drop", "add"]
Task = Literal["classification", "multilabel", "regression", "auto"]
Missing = Literal["indicator", "mean", "error"]
Decimal = Literal[".", ","]

NODE_COLUMNS = ("id", "label", "split")
EDGE_COLUMNS = ("source", "target", "weight")


@dataclass(frozen=True)
class TableOptions:
    """How to read a node table and an edge table; `from_tables` documents each option.

    A column is given by name; None detects it and "" means that there is none. `model_features`
    are the feature names of a fitted model: exactly those are read, in that order. `model_encoder`
    is its encoder, which the first of these features come from, if it has one.
    """

    id: str | None = None
    label: str | None = None
    split: str | None = None
    features: Any = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    directed: Directed = "max"
    duplicates: Duplicates = "error"
    unlabelled: Any = ""
    unknown_edges: UnknownEdges = "error"
    memory_budget: Any = None
    missing: Missing = "indicator"
    decimal: Decimal | None = None
    model_features: list[str] | None = None
    model_encoder: FeatureEncoder | None = None
    task: Task = "classification"

    def __post_init__(self) -> None:
        for option in (*NODE_COLUMNS, *EDGE_COLUMNS):
            column = getattr(self, option)
            if not isinstance(column, str | None):
                raise InputError(f"{option} must be the name of a column. Got {column!r}.")
        for option, choices in (
            ("directed", get_args(Directed)),
            ("duplicates", get_args(Duplicates)),
            ("unknown_edges", get_args(UnknownEdges)),
            ("task", get_args(Task)),
            ("missing", get_args(Missing)),
            ("decimal", (None, *get_args(Decimal))),
        ):
            value = getattr(self, option)
            if value not in choices:
                listed = ", ".join(map(repr, choices))
                raise InputError(f"{option} must be one of {listed}. Got {value!r}.")
        _ = self.memory_bytes, self.unlabelled_texts

    @property
    def unlabelled_texts(self) -> list[str]:
        """Texts that mean that a node has no label."""
        given = self.unlabelled
        texts = [given] * bool(given) if isinstance(given, str) else given
        if isinstance(texts, list | tuple | set) and all(isinstance(text, str) for text in texts):
            return list(texts)
        raise InputError(f"unlabelled must be a text or a list of texts. Got {given!r}.")

    @property
    def model_columns(self) -> set[str]:
        """Columns of the node table that a model reads as features."""
        if self.model_encoder is not None:
            return set(self.model_encoder.columns)
        return set(self.model_features or ()) if self.features is None else set()

    @property
    def model_reads_columns_only(self) -> bool:
        """Whether a model encodes columns of the node table, and reads no feature table."""
        encoder, names = self.model_encoder, self.model_features
        return encoder is not None and encoder.settings.scaled and encoder.names == names

    @property
    def memory_bytes(self) -> float:
        """The memory budget in bytes."""
        from heatgraph._io.memory import memory_budget_bytes

        return memory_budget_bytes(self.memory_budget)

    def with_less_memory(self, taken: float) -> TableOptions:
        """The same options, with what the budget leaves when so many bytes are taken."""
        return replace(self, memory_budget=max(self.memory_bytes - taken, 1.0))


def model_options(model: Any, directed: str) -> dict[str, Any]:
    """Options that read what a fitted model needs; `directed` is what the user says."""
    options: dict[str, Any] = {"features": ""}
    if model.n_features_in_:
        options = {
            "model_features": getattr(model, "feature_names_in_", None),
            "model_encoder": getattr(model, "feature_encoder_", None),
        }
    if getattr(model, "reads_directions", False) and directed == "max":
        options["directed"] = "keep"  # the same weights, and directions too
    return options
