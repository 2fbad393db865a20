"""What a search over settings (`search_`) found: scores over T and over weight decay.

Scores are those that settings are chosen by, on held-out nodes. They are compared between equals:
the same regression, feature scaling and self-loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import multimode
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """The best setting at a T or at a weight decay: its score, and the standard error of that."""

    x: float
    score: float
    error: float


def best_over_time(search: Sequence[Record], score: str = "score") -> list[Record]:
    """The best record at each T, in the order of T.

    They are of the regression and the scaling that were tried at most values of T, without values
    that few other settings were combined with, as are those that refine a search. Empty if there
    was no search over T. `score` is the field to compare by, larger being better.
    """
    groups: dict[tuple[Any, ...], dict[float, list[Record]]] = {}
    for record in search:
        if record["T"] is not None:
            by_time = groups.setdefault(_kind(record), {})
            by_time.setdefault(record["T"], []).append(record)

    def best(records: Sequence[Record]) -> Record:
        return max(records, key=lambda record: record[score])

    if not groups:
        return []
    by_time = max(
        groups.values(), key=lambda group: (len(group), max(best(r)[score] for r in group.values()))
    )
    usual = max(multimode(map(len, by_time.values())))
    return [best(by_time[T]) for T in sorted(by_time) if len(by_time[T]) >= usual]


def best_over_weight_decay(search: Sequence[Record], score: str, T: float | None) -> list[Record]:
    """Records at the T tried that is nearest to the chosen one, in the order of weight decay.

    They are of the kind of regression that most weight decays were tried with.
    """
    tried = [record for record in search if (record["T"] is None) == (T is None)]
    if not tried:
        return []
    if T is not None:
        nearest = min((record["T"] for record in tried), key=lambda other: abs(other - T))
        tried = [record for record in tried if record["T"] == nearest]
    groups: dict[tuple[Any, ...], dict[float, Record]] = {}
    for record in tried:
        by_decay = groups.setdefault(_kind(record), {})
        old = by_decay.get(record["weight_decay"])
        if old is None or record[score] > old[score]:
            by_decay[record["weight_decay"]] = record
    by_decay = max(groups.values(), key=len)
    return [by_decay[decay] for decay in sorted(by_decay)]


def best_by_scaling(search: Sequence[Record], score: str) -> list[Record]:
    """The best record of each feature scaling and choice of self-loops, the best first.

    Scalings are compared where all of them were tried: by the same regression, at the same T.
    """
    heads: dict[Any, set[tuple[Any, ...]]] = {}
    for record in search:
        heads.setdefault(record.get("head"), set()).add(_scaling(record))
    if not heads:
        return []
    head = max(heads, key=lambda name: len(heads[name]))
    rivals = [record for record in search if record.get("head") == head]
    common = set.intersection(
        *({r["T"] for r in rivals if _scaling(r) == scaling} for scaling in heads[head])
    )
    best: dict[tuple[Any, ...], Record] = {}
    for record in rivals:
        old = best.get(_scaling(record))
        if record["T"] in common and (old is None or record[score] > old[score]):
            best[_scaling(record)] = record
    return sorted(best.values(), key=lambda record: -record[score])


def plateau(curve: Sequence[Point], chosen: float) -> tuple[float, float] | None:
    """The range of T around the chosen one whose scores are within a standard error of the best.

    None if the chosen T is not in such a range.

    Examples
    --------
    >>> curve = [Point(0, 0.5, 0.1), Point(1, 0.8, 0.1), Point(2, 0.85, 0.1), Point(8, 0.6, 0.1)]
    >>> plateau(curve, 1.5)
    (1, 2)
    """
    if not curve:
        return None
    best = max(curve, key=lambda point: point.score)
    is_good = [point.score >= best.score - best.error for point in curve]
    nearest = min(range(len(curve)), key=lambda at: abs(curve[at].x - chosen))
    if not is_good[nearest]:
        return None
    low = high = nearest
    while low and is_good[low - 1]:
        low -= 1
    while high + 1 < len(curve) and is_good[high + 1]:
        high += 1
    return curve[low].x, curve[high].x


def _kind(record: Record) -> tuple[Any, ...]:
    return (record.get("head"), *_scaling(record))


def _scaling(record: Record) -> tuple[Any, ...]:
    return record.get("feature_scaling"), record.get("self_loops")
