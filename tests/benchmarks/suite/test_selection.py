from benchmarks.results import Results, Row
from benchmarks.suite.selection import RULES, text


def test_text_aligns_rules_with_their_accuracies():
    facts = {rule: [80.0 + place, 82.0 + place] for place, rule in enumerate(RULES)}
    rows = [Row("cora", "cross-validation", turns=[{"median": 1.0}], facts=facts)]
    head, line = text(Results("selection", {}, 1, 1.0, 0.0, {}, {}, rows)).splitlines()
    assert line.split("  ")[1] == "cross-validation"
    for place, rule in enumerate(RULES):
        end = head.index(rule) + len(rule)
        assert line[:end].endswith(f"{81 + place}.00 +- 1.00")
