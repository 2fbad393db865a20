"""Table 2 on the real data, with published settings."""

import numpy as np
import pytest

from heatgraph.experiments.paper.fitting import fit_trial
from heatgraph.experiments.paper.published import published_number
from heatgraph.experiments.paper.settings import AUTHORS, authors_sgc


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["citeseer", "pubmed"])
@pytest.mark.parametrize(("method", "points"), [("DGC", 0.3), ("SGC", 0.5)])
def test_published_settings_give_the_published_accuracy(datasets, method, points, dataset):
    make = AUTHORS[dataset].classifier if method == "DGC" else authors_sgc
    trials = [fit_trial(method, dataset, "published", make, "public", seed) for seed in (0, 1)]
    accuracy = np.mean([trial.run(datasets)["accuracy"] for trial in trials])
    number = published_number(source="Table 2", method=method, dataset=dataset)
    assert accuracy == pytest.approx(number.value, abs=points)
