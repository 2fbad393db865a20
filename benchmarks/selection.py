"""How to choose a setting when hundreds have been tried on few nodes: four rules, side by side.

All of them see the same table of a search. Nothing is chosen on test nodes; they only tell which
rule to prefer, over many random splits.
"""

from __future__ import annotations

import numpy as np

from benchmarks.citations import random_splits, read
from benchmarks.turns import write
from heatgraph import DGCClassifier
from heatgraph.experiments.paper.settings import AUTHORS

SPLITS, AVERAGED = 20, 10
RULES = ("best accuracy", "least log-loss", f"mean of {AVERAGED} best", "middle of plateau")


def fit(data, record, share: float) -> DGCClassifier:
    """Fit a record's setting; its weight decay is for a share of the training nodes."""
    return DGCClassifier(
        T=record["T"],
        weight_decay=record["weight_decay"] * share,
        feature_scaling=record["feature_scaling"],
        calibrate=False,
    ).fit(data.graph, data.labels, data.split.train)


def accuracies(data, val) -> list[float]:
    """Test accuracy of each rule, on one split."""
    chosen = DGCClassifier().fit(data.graph, data.labels, data.split.train, val)
    share = 1.0 if val is not None else 0.8  # of five folds, four are learned from
    ranked = sorted(chosen.search_, key=lambda r: (-r["accuracy"], r["log_loss"]))
    certain = min(chosen.search_, key=lambda r: r["log_loss"])
    best = [fit(data, record, share) for record in ranked[:AVERAGED]]
    scores = sum(model.decision_function(nodes=data.split.test) for model in best)
    average = (chosen.classes_[scores.argmax(axis=1)] == data.labels[data.split.test]).mean()
    models = (best[0], fit(data, certain, share), None, chosen)
    return [
        100 * (average if model is None else model.score(None, data.labels, data.split.test))
        for model in models
    ]


def run(rounds: int) -> None:
    lines, facts = [], {}
    for name in AUTHORS:
        data = read(name)
        if data is None:
            print(f"{name}: no files; HEATGRAPH_DATA names the parent of their folder")
            continue
        lines += [f"{name}, {SPLITS} random splits" + "".join(f"{rule:>19}" for rule in RULES)]
        for way in ("validation nodes", "cross-validation"):
            table = np.array(
                [
                    accuracies(split, split.val if way == "validation nodes" else None)
                    for split in random_splits(data, SPLITS)
                ]
            )
            facts[f"{name}, {way}"] = dict(zip(RULES, table.T.tolist(), strict=True))
            figures = (f"{a.mean():.2f} +- {a.std():.2f}" for a in table.T)
            lines += [f"  {way:<{len(lines[0]) - 2 - 19 * len(RULES)}}"]
            lines[-1] += "".join(f"{figure:>19}" for figure in figures)
            print(lines[-1], flush=True)
        lines += [""]
    text = "\n".join(lines).rstrip()
    print(text)
    write("selection", "How to choose among hundreds of settings", text, facts, timed=False)
