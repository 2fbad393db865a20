"""Times of preprocessing and training on Pubmed, for Tables 5, 9 and 10 and Figure 2.

Preprocessing computes the diffused features r(S) X in four variants, timed in alternation so that
load on the machine affects all of them alike:

    steps       K literal steps on all features, as the paper does
    Chebyshev   the same response as a short Chebyshev series, on all features
    rows        the same, at the training nodes only, which is what `fit` does
    SIGN        the K + 1 blocks of SIGN on all features, by literal steps

Training is the paper's: 100 epochs of Adam on the diffused features of the training nodes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from heatgraph._io.formatting import format_seconds
from heatgraph._io.memory import memory_budget_bytes
from heatgraph.baselines.gnn.estimator import authors_network
from heatgraph.baselines.gnn.recipes import recipe_for
from heatgraph.datasets.dataset import Dataset
from heatgraph.diffusion import diffuse, plan
from heatgraph.experiments.paper.experiment import DatasetCache, RunConfig
from heatgraph.experiments.paper.fitting import with_scaled_rows
from heatgraph.experiments.paper.published import published_numbers
from heatgraph.experiments.paper.settings import AUTHORS, EPOCHS, LEARNING_RATE
from heatgraph.experiments.results import Records, Trial, describe_machine
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.report.document import MISSING, Table
from heatgraph.schemes import SGC, Euler

ROUNDS, QUICK_ROUNDS, GCN_ROUNDS = 7, 2, 3
VARIANTS = {
    "steps": "DGC, literal steps",
    "Chebyshev": "DGC, Chebyshev",
    "rows": "DGC, Chebyshev at training nodes",
    "SIGN": "SIGN, literal steps",
}
# SIGN at all nodes is skipped if it needs more than this share of memory.
SIGN_MEMORY_SHARE = 0.5


def _scheme(K: int) -> Euler:
    """K steps to the authors' T; for K <= T, where Euler is unstable, SGC as in the paper."""
    T = AUTHORS["pubmed"].T
    return Euler(T, K) if K > T else SGC(K)


def _preprocessing_variants(data: Dataset, K: int) -> dict[str, Callable[[], Any]]:
    """Functions by variant; each returns features of the training nodes, (1, n_train, p)."""
    graph, train = with_scaled_rows(data), data.split.train
    scheme = _scheme(K)
    X, n, d = graph.features, graph.num_nodes, graph.num_features

    def sign() -> Any:
        blocks = np.empty((K + 1, n, d), dtype=np.float32)
        blocks[0] = X.toarray() if sp.issparse(X) else X
        for step in range(K):
            last = graph._with_features(blocks[step])
            diffuse(last, scheme=SGC(1), method="steps", out=blocks[step + 1])
        return np.concatenate(list(blocks[:, train]), axis=1)

    variants: dict[str, Callable[[], Any]] = {
        "steps": lambda: diffuse(graph, scheme=scheme, method="steps")[train],
        "Chebyshev": lambda: diffuse(graph, scheme=scheme)[train],
        "rows": lambda: diffuse(graph, scheme=scheme, rows=train),
    }
    if 4 * (K + 1) * n * d < SIGN_MEMORY_SHARE * memory_budget_bytes(None):
        variants["SIGN"] = sign
    return variants


def stage_times_trial(K: int, rounds: int) -> Trial:
    """Milliseconds of preprocessing and of training, for every variant."""

    def run(datasets: DatasetCache) -> dict[str, Any]:
        data = datasets.load("pubmed")
        codes = np.unique(np.asarray(data.labels)[data.split.train], return_inverse=True)[1]
        head, variants = SoftmaxRegression("adam", EPOCHS, 0), _preprocessing_variants(data, K)
        times: dict[str, dict[str, list[float]]] = {
            variant: {"preprocessing": [], "training": []} for variant in variants
        }
        for number in range(rounds + 1):
            for variant, preprocess in variants.items():
                started = time.perf_counter()
                X = preprocess()
                preprocessed = time.perf_counter()
                head.fit(X, codes, int(codes.max()) + 1, 1e-5, LEARNING_RATE)
                trained = time.perf_counter()
                if number:  # round 0 compiles and fills caches
                    times[variant]["preprocessing"].append(
                        round(1000 * (preprocessed - started), 3)
                    )
                    times[variant]["training"].append(round(1000 * (trained - preprocessed), 3))
        return {"milliseconds": times, "products": _count_products(data, K)}

    setting = {"what": "times", "dataset": "pubmed", "K": K, "rounds": rounds, "seed": 0}
    # Times of another machine are stale.
    return Trial(setting, run, describe_machine() | {"T": AUTHORS["pubmed"].T})


def gcn_times_trial(rounds: int) -> Trial:
    """Milliseconds to fit GCN and DGC with their authors' settings, in alternation (extra: gnn)."""

    def run(datasets: DatasetCache) -> dict[str, Any]:
        data = datasets.load("pubmed")
        factories: dict[str, Callable[[], Any]] = {
            "GCN": lambda: authors_network("gcn", "pubmed", random_state=0),
            "DGC": lambda: AUTHORS["pubmed"].classifier(0),
        }
        times: dict[str, list[float]] = {method: [] for method in factories}
        for make in factories.values():
            warm_up = make().set_params(epochs=2)  # compiles and fills caches
            warm_up.fit(data.graph, data.labels, data.split.train)
        for _ in range(rounds):
            for method, make in factories.items():
                model = make()
                started = time.perf_counter()
                model.fit(data.graph, data.labels, data.split.train)
                times[method].append(round(1000 * (time.perf_counter() - started), 3))
        return {"milliseconds": times}

    setting = {"what": "GCN times", "dataset": "pubmed", "rounds": rounds, "seed": 0}
    return Trial(setting, run, describe_machine() | {"recipe": asdict(recipe_for("gcn", "pubmed"))})


def _count_products(data: Dataset, K: int) -> dict[str, int]:
    """Products with S, a cost that does not depend on the load of the machine."""
    return {"steps": K, "Chebyshev": plan(data.graph, scheme=_scheme(K)).products}


def stage_times_trials(config: RunConfig, steps: Sequence[int]) -> list[Trial]:
    """Trials of the stages, for every number of steps."""
    rounds = QUICK_ROUNDS if config.quick else ROUNDS
    return [stage_times_trial(K, rounds) for K in steps]


def stage_and_gcn_trials(config: RunConfig) -> list[Trial]:
    """Trials of Tables 5 and 9: the stages with 2 and with 100 steps, and GCN."""
    gcn = gcn_times_trial(1 if config.quick else GCN_ROUNDS)
    return [*stage_times_trials(config, (2, 100)), gcn]


def stage_milliseconds(records: Records, K: int, variant: str, stage: str) -> float | None:
    """Median time of a stage; None if it was not run."""
    own = records.where(what="times", K=K)
    times = own[0].result["milliseconds"].get(variant) if own else None
    return statistics.median(times[stage]) if times else None


def total_milliseconds(records: Records, K: int, variant: str) -> float | None:
    """Median times of preprocessing and training, added; None if they were not run."""
    stages = [
        stage_milliseconds(records, K, variant, stage) for stage in ("preprocessing", "training")
    ]
    return None if None in stages else sum(filter(None, stages))


def gcn_milliseconds(records: Records, method: str = "GCN") -> float | None:
    """Median time to fit GCN, or DGC in the same trial; None if it was not run."""
    own = records.where(what="GCN times")
    return statistics.median(own[0].result["milliseconds"][method]) if own else None


def format_milliseconds(value: float | None) -> str:
    """A time in milliseconds as text, with all digits that the paper prints; a dash for None."""
    return MISSING if value is None else format_seconds(value / 1000, digits=4)


def stages_table(
    source: str, rows: Sequence[tuple[str, str, str, int, str]], records: Records
) -> Table:
    """Preprocessing, training and total, printed and measured.

    A row is title, method and setting in the paper, K and variant; the variant "steps" shows all
    variants of DGC, and "" shows none.
    """
    cells: list[list[str]] = []
    for title, method, setting, K, variant in rows:
        printed = published_numbers(source=source, method=method, setting=setting)
        cells.append(
            [title, "the paper, GPU", *(format_milliseconds(stage.value) for stage in printed)]
        )
        shown = {"": [], "steps": ["steps", "Chebyshev", "rows"]}.get(variant, [variant])
        for one in shown:
            stages = [
                stage_milliseconds(records, K, one, stage)
                for stage in ("preprocessing", "training")
            ]
            where = f"here,{VARIANTS[one].partition(',')[2]}"
            total = total_milliseconds(records, K, one)
            cells.append([title, where, *map(format_milliseconds, [*stages, total])])
        gcn = gcn_milliseconds(records) if method == "GCN" else None
        if gcn is not None:
            where = f"here, PyTorch Geometric, {recipe_for('gcn').epochs} epochs"
            cells.append([title, where, MISSING, *[format_milliseconds(gcn)] * 2])
    head = ["method", "where", "preprocessing", "training", "total"]
    return Table(f"Time on Pubmed, after the paper's {source}", head, cells, 2)
