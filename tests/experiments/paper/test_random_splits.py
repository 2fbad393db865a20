"""DGC and SGC on random splits."""

from heatgraph.experiments.paper.random_splits import RANDOM_SPLITS
from heatgraph.experiments.results import Record, Records
from heatgraph.report.document import Cell


def test_differences_are_paired_by_split():
    records = Records(
        Record(
            {"method": method, "dataset": "cora", "protocol": "validated", "seed": seed},
            {"accuracy": accuracy},
        )
        for method, accuracies in {"SGC": [70.0, 80.0, 75.0], "DGC": [71.0, 81.0]}.items()
        for seed, accuracy in enumerate(accuracies)
    )
    _, table = RANDOM_SPLITS.parts(records)
    assert table.rows[0][:2] == ["validated", Cell("1.0 ± 0.0", "better in 2 of 2")]
