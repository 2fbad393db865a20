"""Accuracy under both protocols, and calibration, on the citation graphs.

*Published*: the settings that the authors print, for which they looked at no validation data.
*Validated*: everything chosen on validation nodes, nothing on test nodes.
"""

from __future__ import annotations

import numpy as np

from benchmarks.citations import random_splits, read
from benchmarks.turns import write
from heatgraph import SGC, DGCClassifier, expected_calibration_error
from heatgraph.experiments.paper import published as paper
from heatgraph.experiments.paper.settings import AUTHORS

SEEDS, SPLITS = 10, 20
METHODS = {
    "DGC": {},
    "DGC, rows only": {"feature_scaling": "rows"},
    "SGC": {"scheme": [SGC(k) for k in range(1, 21)]},
    "SGC, rows only": {"scheme": [SGC(k) for k in range(1, 21)], "feature_scaling": "rows"},
    "no graph": {"T": 0.0},
}


def published(data, name: str) -> list[float]:
    models = (
        AUTHORS[name].classifier(seed).fit(data.graph, data.labels, data.split.train)
        for seed in range(SEEDS)
    )
    return [100 * model.score(None, data.labels, data.split.test) for model in models]


def validated(data, **parameters) -> float:
    model = DGCClassifier(**parameters).fit(
        data.graph, data.labels, data.split.train, data.split.val
    )
    return 100 * model.score(None, data.labels, data.split.test)


def calibration(data, val) -> tuple[float, float]:
    """Expected calibration error on test nodes before and after a temperature is fitted."""
    model = DGCClassifier().fit(data.graph, data.labels, data.split.train, val)
    codes = np.searchsorted(model.classes_, data.labels[data.split.test])
    after = model.predict_proba(nodes=data.split.test)
    model.temperature_ = 1.0
    before = model.predict_proba(nodes=data.split.test)
    return tuple(100 * expected_calibration_error(p, codes) for p in (before, after))


def spread(values: list[float]) -> str:
    return f"{np.mean(values):.2f} +- {np.std(values):.2f}"


def run(rounds: int) -> None:
    lines, facts = [], {}
    for name in AUTHORS:
        data = read(name)
        if data is None:
            print(f"{name}: no files; HEATGRAPH_DATA names the parent of their folder")
            continue
        accuracies = published(data, name)
        facts[name] = {"published settings": accuracies}
        lines += [name, f"  published settings, {SEEDS} seeds: {spread(accuracies)}"]
        (number,) = paper.published_numbers(source="Table 2", method="DGC", dataset=name)
        lines[-1] += f" (the paper says {number.value})"
        lines += [
            f"  {'validated settings':<20}{'public split':>14}{f'{SPLITS} random splits':>20}"
        ]
        for method, parameters in METHODS.items():
            public = validated(data, **parameters)
            random = [validated(split, **parameters) for split in random_splits(data, SPLITS)]
            facts[name][method] = {"public": public, "random": random}
            lines += [f"  {method:<20}{public:>14.1f}{spread(random):>20}"]
            print("\n".join(lines[-1:]), flush=True)
        for way, val in (("validation nodes", data.split.val), ("folds", None)):
            before, after = calibration(data, val)
            facts[name][f"calibrated on {way}"] = {"before": before, "after": after}
            lines += [
                f"  calibration error, with settings and temperature from {way}: "
                f"{before:.1f} % before, {after:.1f} % after"
            ]
        lines += [""]
    text = "\n".join(lines).rstrip()
    print(text)
    write("accuracy", "Accuracy and calibration on the citation graphs", text, facts, timed=False)
