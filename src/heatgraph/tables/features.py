"""Features of nodes: from columns of numbers or of lists, or from a table of their own."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from heatgraph.errors import InputError
from heatgraph.tables import columns
from heatgraph.tables.edges import positions
from heatgraph.tables.reading import read_source
from heatgraph.tables.roles import Role, choose, listed, matching
from heatgraph.tables.source import Source, is_path, is_table_name, source_of


def read_features(
    table: Source,
    ids: pa.ChunkedArray,
    taken: set[str],
    aside: set[str],
    given: Any,
    known: list[str] | None,
    memory: float,
    remarks: list[str],
) -> tuple[Any, list[str] | None, str]:
    """Features (n, d), their names, and where they are from; None, None and "" without any.

    `taken` are columns that serve for something else, and `aside` those that are called as if they
    did: such a one is no feature unless named. `given` is what the user says of features, and
    `known` are the names of a model's features, which are then the ones to find.
    """
    if isinstance(given, str) and not given:
        return None, None, ""
    if isinstance(given, np.ndarray) or type(given).__name__ == "Index":
        given = given.tolist()
    if _is_feature_table(given, table):
        return _from_feature_table(given, table, ids, known, memory, remarks)
    if known is not None and given is not None:
        raise InputError(
            f"the model finds its features in {table.name} by their names, or in a table of "
            f"features. Got {given!r}, which is no name of a table; leave it out."
        )
    if known is not None:
        chosen = _known_columns(known, table)
    elif given is not None:
        chosen = _named_columns(given, taken, table)
    else:
        chosen = _likely_columns(taken, aside, table, remarks)
    if not chosen:
        return None, None, ""
    X, called = _assembled(table, chosen)
    if known is not None:
        X, called = _in_order(X, called, known, table), known
    how = ", ".join(chosen[:4]) + ", ..." * (len(chosen) > 4)
    if given is None:
        how += " (guessed)" if known is None else " (the model's)"
    if sp.issparse(X):
        how += f", {1 - X.nnz / np.prod(X.shape):.0%} zeros: read as words or counts"
    return X, called, how


def _named_columns(given: Any, taken: set[str], table: Source) -> list[str]:
    """Columns that the user names, by name or pattern."""
    patterns = [given] if isinstance(given, str) else list(given)
    _check_free(patterns, taken, table)
    names = [name for name in table.table.column_names if name not in taken]
    return matching(patterns, names, table.name)


def _likely_columns(
    taken: set[str], aside: set[str], table: Source, remarks: list[str]
) -> list[str]:
    """Every column of numbers, or of lists of them, that serves for nothing else."""
    names = [name for name in table.table.column_names if name not in taken]
    named = [name for name in names if name not in table.unnamed | aside]
    chosen = [
        name for name in named if columns.is_list(table, name) or columns.is_feature(table, name)
    ]
    used = set(chosen)
    reasons = (
        ({name for name in named if name not in used}, "being no numbers"),
        (table.unnamed, "having no name"),
        (aside, "being called like a label or a split"),
    )
    for left, why in reasons:
        unused = [name for name in names if name in left]
        if unused:
            remarks.append(f"{table.name}: not used, {why}: {listed(unused)}")
    return chosen


def _in_order(X: Any, called: list[str], known: list[str], table: Source) -> Any:
    """Features in the order of a model's."""
    if called == known:
        return X
    if sorted(called) != sorted(known):
        raise InputError(
            f"{table.name} has {len(called):,} features and the model {len(known):,}: lists must "
            "be as long as those that it was fitted with."
        )
    place = {name: at for at, name in enumerate(called)}
    return X[:, [place[name] for name in known]]


def _check_free(patterns: list[Any], taken: set[str], table: Source) -> None:
    for name in patterns:
        if not isinstance(name, str):
            raise InputError(
                f"features must be names of columns, or a table. Got {name!r} among the names."
            )
        if name in taken:
            raise InputError(
                f"{table.name}: column {name!r} is the id, the label or the split, and cannot be a "
                "feature as well. Leave it out."
            )


def _is_feature_table(given: Any, table: Source) -> bool:
    if given is None or isinstance(given, list | tuple):
        return False
    if isinstance(given, str):
        return given not in table.table.column_names and is_table_name(given)
    return True


def _known_columns(known: list[str], table: Source) -> list[str]:
    """Columns that have a model's features: one each, or lists."""
    names = set(table.table.column_names)
    found = {
        name if name in names else re.sub(r"\[\d+\]$", "", name): name for name in reversed(known)
    }
    missing = [first for column, first in reversed(found.items()) if column not in names]
    if missing:
        raise InputError(
            f"{table.name} lacks features that the model was fitted with: {listed(missing, 4)}. If "
            "they are in a table of their own, name it as the features."
        )
    return list(reversed(found))


def _assembled(table: Source, chosen: list[str]) -> tuple[Any, list[str]]:
    """Features from columns of numbers and of lists, side by side, with their names."""
    lists = [name for name in chosen if columns.is_list(table, name)]
    plain = [name for name in chosen if name not in lists]
    blocks = [columns.read_feature_columns(table, plain)] if plain else []
    names = list(plain)
    for name in lists:
        blocks.append(columns.read_list_column(table, name))
        names += [f"{name}[{at}]" for at in range(blocks[-1].shape[1])]
    if len(blocks) == 1:
        return blocks[0], names
    if any(sp.issparse(block) for block in blocks):
        return sp.hstack(blocks, format="csr"), names
    return np.hstack(blocks), names


def _from_feature_table(
    given: Any,
    nodes: Source,
    ids: pa.ChunkedArray,
    known: list[str] | None,
    memory: float,
    remarks: list[str],
) -> tuple[sp.csr_array, list[str], str]:
    def roles_in(names: list[str]) -> list[Role]:
        found = [choose("id", None, names, name, 0), choose("feature", None, names, name, 1)]
        return [*found, choose("value", None, names, name, 2)]

    name = str(given) if is_path(given) else "features"
    if is_path(given):
        table = read_source(
            given, lambda names: [role.column or "" for role in roles_in(names)[:2]], memory
        )
    else:
        table = source_of(given, name)
    node, feature, value = (role.column for role in roles_in(table.table.column_names))
    if node is None or feature is None or len({node, feature, value}) < 3:
        raise InputError(
            f"{table.name} must have the columns node, feature and value. It has "
            f"{listed(table.table.column_names)}."
        )
    if table.table.num_rows == 0:
        raise InputError(f"{table.name} has no rows. Expected one per node and feature.")
    rows = positions(table, [node], ids, nodes.name)[0]
    words = columns.read_ids(table, feature).cast(pa.string())
    if value is None:
        values = np.ones(len(rows), dtype=np.float32)
    else:
        values = columns.read_numbers(table, value).astype(np.float32)
    if known is None:
        known = pc.unique(words).to_pylist()
    places = columns.find(words, pa.chunked_array([known]))
    if places.null_count:
        kept = pc.is_valid(places).to_numpy()
        strange = len(pc.unique(words.filter(pa.array(~kept))))
        remarks.append(f"{table.name}: left out {strange:,} features that the model does not know")
        rows, values, places = rows[kept], values[kept], places.drop_null()
    shape = (len(ids), len(known))
    X = sp.csr_array((values, (rows, places.to_numpy())), shape=shape)
    if X.nnz < len(values):
        remarks.append(f"{table.name}: {len(values) - X.nnz:,} repeated entries were added up")
    return X, known, f"{table.name} ({node}, {feature}, {value or 'all 1'})"
