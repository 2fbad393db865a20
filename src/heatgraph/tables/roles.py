"""Which column of a table is what: as told, else by its name, else by its place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from heatgraph.errors import InputError

# What columns are usually called, in lower case, the likeliest first.
USUAL = {
    "id": ("id", "node", "node_id", "nodeid", "node id"),
    "label": ("label", "labels", "class", "y", "category", "target"),
    "split": ("split", "subset"),
    "source": ("source", "src", "from", "u", "node1", "node_1", "source_id", "start", "head"),
    "target": ("target", "dst", "to", "v", "node2", "node_2", "target_id", "end", "tail"),
    "weight": ("weight", "w", "weights"),
    "feature": ("feature", "word", "term", "column", "feature_id"),
    "value": ("value", "count", "weight", "val"),
}


@dataclass(frozen=True)
class Role:
    """The column that was chosen for something (None: there is none), and whether by a guess."""

    column: str | None
    guessed: bool

    def __str__(self) -> str:
        return f"{self.column} (guessed)" if self.guessed else f"{self.column}"


def choose(
    role: str, given: str | None, names: list[str], table: str, place: int | None = None
) -> Role:
    """Find the column for a role among `names`.

    `given` is what the user says: a name, "" for none, or None for a guess by `USUAL` names and
    then by `place`, the position at which such a column usually stands.
    """
    if given == "":
        return Role(None, False)
    if given is not None:
        return Role(existing(given, names, table), False)
    lower = {name.lower(): name for name in reversed(names)}
    for usual in USUAL[role]:
        if usual in lower:
            return Role(lower[usual], True)
    if place is not None and place < len(names):
        return Role(names[place], True)
    return Role(None, True)


def existing(name: str, names: list[str], table: str) -> str:
    """Give the name back if there is such a column."""
    if name in names:
        return name
    raise InputError(f"{table} has no column {name!r}.{hint(name, names)} It has {listed(names)}.")


def hint(name: str, names: Iterable[str]) -> str:
    """A question whether something was meant that is called nearly the same; "" if nothing is."""
    close = difflib.get_close_matches(name, names, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def matching(patterns: list[str], names: list[str], table: str) -> list[str]:
    """Columns by name or by pattern, such as ``word_*``, in the order of the patterns."""
    found: dict[str, None] = {}
    known = set(names)
    for pattern in patterns:
        if pattern in known:
            found[pattern] = None
            continue
        matches = [name for name in names if fnmatchcase(name, pattern)]
        if not matches:
            existing(pattern, names, table)
        found |= dict.fromkeys(matches)
    return list(found)


def listed(names: list[str], most: int = 8) -> str:
    """A few names for a message."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names):,} in all)"
