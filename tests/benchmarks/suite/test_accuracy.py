import pytest

from benchmarks.results import Results, Row
from benchmarks.suite import accuracy
from benchmarks.suite.accuracy import text


def lines_of(facts, *failed):
    rows = [Row("cora", peer, turns=[{"median": 1.0}], facts=f) for peer, f in facts.items()]
    rows += [Row("cora", peer, failed="crashed") for peer in failed]
    lines = text(Results("accuracy", {}, 1, 1.0, 0.0, {}, {}, rows)).splitlines()
    return lines[lines.index("cora") :]


def test_text_lists_methods_and_calibration():
    facts = {
        "published settings": {"accuracies": [83.0, 83.4]},
        "DGC": {"public": 82.46, "random": [80.0, 82.0]},
        "DGC, extended": {"public": 84.0, "random": [81.0, 81.5]},
        "calibrated on folds": {"before": 50.13, "after": 5.38},
    }
    _, published, heading, header, plain, extended, failed, calibration = lines_of(facts, "SGC")
    assert published == "  published settings, 10 seeds: 83.20 +- 0.20 (the paper says 83.3)"
    assert heading == "  validated settings: 20 labels per class, 500 validation nodes"
    assert "20 random splits" in header
    assert plain.split() == ["DGC", "82.5", "81.00", "+-", "1.00"]
    # The standard error of the differences 1 and -0.5 is 0.75.
    assert extended.split()[2:] == ["84.0", "81.25", "+-", "0.25", "+0.25", "+-", "0.75", "-0.5"]
    assert failed.split() == ["SGC", "not", "run"]
    assert calibration == (
        "  calibration error, with settings and temperature from folds: 50.1 % before, 5.4 % after"
    )
    assert header.endswith("worst")
    assert len(header) == len(extended)


def test_learning_from_validation_nodes_is_compared_on_its_own_splits():
    facts = {
        "DGC": {"public": 82.0, "random": [80.0, 82.0, 99.0]},
        "DGC, learned from validation nodes too (validation labels)": {
            "public": 86.0,
            "random": [83.0, 84.0],
        },
    }
    *_, heading, _, line = lines_of(facts)
    assert heading.startswith("  validation labels learned too: ")
    assert line.endswith("+2.50 +- 0.50    +2.0")


def test_protocols_without_public_split():
    facts = {
        "DGC (60/20/20)": {"random": [80.0, 82.0]},
        "no graph (60/20/20)": {"random": [70.0, 72.0]},
    }
    _, heading, header, plain, features = lines_of(facts)
    assert heading.startswith("  many labels: 60 %")
    assert "public" not in header
    assert plain.split() == ["DGC", "81.00", "+-", "1.00"]
    assert features.split()[-4:] == ["-10.00", "+-", "0.00", "-10.0"]


@pytest.mark.parametrize("key", accuracy.PROTOCOLS)
def test_test_nodes_are_in_no_other_part(key):
    protocol = accuracy.PROTOCOLS[key]
    labels = [node % 3 for node in range(2000)]
    split = protocol.split(labels, 1)  # parts of a split are disjoint
    assert len(split.train) == {"5 labels per class": 15, "60/20/20": 1200}.get(key, 60)
    assert len(split.val) == {"5 labels per class": 0, "60/20/20": 400}.get(key, 500)
    assert len(split.test) == {"60/20/20": 400}.get(key, 1000)
    assert protocol.baseline in ("", accuracy.VALIDATED)
