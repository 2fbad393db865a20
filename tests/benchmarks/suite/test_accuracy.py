from benchmarks.results import Results, Row
from benchmarks.suite.accuracy import text


def test_text_lists_methods_and_calibration():
    facts = {
        "published settings": {"accuracies": [83.0, 83.4]},
        "DGC": {"public": 82.46, "random": [80.0, 82.0]},
        "calibrated on folds": {"before": 50.13, "after": 5.38},
    }
    rows = [Row("cora", peer, turns=[{"median": 1.0}], facts=f) for peer, f in facts.items()]
    rows.append(Row("cora", "SGC", failed="crashed"))
    results = Results("accuracy", {}, 1, 1.0, 0.0, {}, {}, rows)
    assert text(results).splitlines() == [
        "cora",
        "  published settings, 10 seeds: 83.20 +- 0.20 (the paper says 83.3)",
        "  validated settings    public split    20 random splits",
        "  DGC                           82.5       81.00 +- 1.00",
        "  calibration error, with settings and temperature from folds: 50.1 % before, 5.4 % after",
    ]
