"""Tables 5, 9 and 10: how long preprocessing and training take, on Pubmed.

Four ways to the diffused features are timed, in turns so that a busy machine slows all alike:

    steps       K literal steps on all features, as the paper does
    Chebyshev   the same response as a short series, on all features
    rows        the same at the training nodes alone, which is what `fit` does
    SIGN        the K + 1 blocks of SIGN on all features, by literal steps

Training is the paper's, 100 epochs of Adam on the diffused features of the training nodes.
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
from heatgraph.experiments.paper.comparison import NOTHING
from heatgraph.experiments.paper.experiment import Experiment, Materials, Scope
from heatgraph.experiments.paper.fits import row_scaled
from heatgraph.experiments.paper.published import published
from heatgraph.experiments.paper.settings import AUTHORS, EPOCHS, LEARNING_RATE
from heatgraph.experiments.results import Entry, Records, describe_machine
from heatgraph.learning._softmax_regression import SoftmaxRegression
from heatgraph.report.document import Chart, Panel, Part, Series, Table
from heatgraph.schemes import SGC, Euler

STEPS = (2, 10, 20, 50, 100)
ROUNDS, QUICK_ROUNDS, GCN_ROUNDS = 7, 2, 3
WAYS = {
    "steps": "DGC, literal steps",
    "Chebyshev": "DGC, Chebyshev",
    "rows": "DGC, Chebyshev at training nodes",
    "SIGN": "SIGN, literal steps",
}
# SIGN at all nodes may take this share of the machine's memory.
MOST_OF_MEMORY = 0.5


def _scheme(K: int) -> Euler:
    """K steps to the authors' T; with two it would be unstable, and the paper's DGC is SGC."""
    T = AUTHORS["pubmed"].T
    return Euler(T, K) if K > T else SGC(K)


def _ways(data: Dataset, K: int) -> dict[str, Callable[[], Any]]:
    """Ways to diffuse, by name; each gives features of the training nodes, (1, n, p)."""
    graph, train = row_scaled(data), data.split.train
    scheme = _scheme(K)
    X, n, d = graph.features, graph.num_nodes, graph.num_features

    def sign() -> Any:
        blocks = np.empty((K + 1, n, d), dtype=np.float32)
        blocks[0] = X.toarray() if sp.issparse(X) else X
        for step in range(K):
            last = graph.with_features(blocks[step])
            diffuse(last, scheme=SGC(1), method="steps", out=blocks[step + 1])
        return np.concatenate(list(blocks[:, train]), axis=1)[np.newaxis]

    ways: dict[str, Callable[[], Any]] = {
        "steps": lambda: diffuse(graph, scheme=scheme, method="steps")[np.newaxis, train],
        "Chebyshev": lambda: diffuse(graph, scheme=scheme)[np.newaxis, train],
        "rows": lambda: diffuse(graph, scheme=scheme, rows=train)[np.newaxis],
    }
    if 4 * (K + 1) * n * d < MOST_OF_MEMORY * memory_budget_bytes(None):
        ways["SIGN"] = sign
    return ways


def entry(K: int, rounds: int) -> Entry:
    """Milliseconds of preprocessing and of training, for every way, in turns."""

    def run(materials: Materials) -> dict[str, Any]:
        data = materials.data("pubmed")
        codes = np.unique(np.asarray(data.labels)[data.split.train], return_inverse=True)[1]
        head, ways = SoftmaxRegression("adam", EPOCHS, 0), _ways(data, K)
        taken: dict[str, dict[str, list[float]]] = {
            way: {"preprocessing": [], "training": []} for way in ways
        }
        for turn in range(rounds + 1):
            for way, make in ways.items():
                started = time.perf_counter()
                X = make()
                between = time.perf_counter()
                head.fit(X, codes, int(codes.max()) + 1, [1e-5], [LEARNING_RATE])
                ended = time.perf_counter()
                if turn:  # the first turn compiles, and fills caches
                    taken[way]["preprocessing"].append(round(1000 * (between - started), 3))
                    taken[way]["training"].append(round(1000 * (ended - between), 3))
        return {"milliseconds": taken, "products": _products(data, K)}

    setting = {"what": "times", "dataset": "pubmed", "K": K, "rounds": rounds, "seed": 0}
    # Times of another machine do not count here.
    return Entry(setting, run, describe_machine() | {"T": AUTHORS["pubmed"].T})


def gcn_entry(rounds: int) -> Entry:
    """Milliseconds of fitting GCN and DGC as their authors do, in turns (extra: gnn)."""

    def run(materials: Materials) -> dict[str, Any]:
        data = materials.data("pubmed")
        fits: dict[str, Callable[[], Any]] = {
            "GCN": lambda: authors_network("gcn", "pubmed", random_state=0),
            "DGC": lambda: AUTHORS["pubmed"].classifier(0),
        }
        taken: dict[str, list[float]] = {method: [] for method in fits}
        for make in fits.values():
            short = make().set_params(epochs=2)  # compiles, and fills caches
            short.fit(data.graph, data.labels, data.split.train)
        for _ in range(rounds):
            for method, make in fits.items():
                model = make()
                started = time.perf_counter()
                model.fit(data.graph, data.labels, data.split.train)
                taken[method].append(round(1000 * (time.perf_counter() - started), 3))
        return {"milliseconds": taken}

    setting = {"what": "GCN times", "dataset": "pubmed", "rounds": rounds, "seed": 0}
    return Entry(setting, run, describe_machine() | {"recipe": asdict(recipe_for("gcn", "pubmed"))})


def gcn_milliseconds(records: Records, method: str = "GCN") -> float | None:
    """Milliseconds that fitting GCN (or DGC beside it) took; None if it was not run."""
    done = records.where(what="GCN times")
    return statistics.median(done[0].result["milliseconds"][method]) if done else None


def _products(data: Dataset, K: int) -> dict[str, int]:
    """Products with S, which do not depend on how busy a machine is."""
    return {"steps": K, "Chebyshev": plan(data.graph, scheme=_scheme(K)).products}


def _entries(scope: Scope, steps: Sequence[int]) -> list[Entry]:
    rounds = QUICK_ROUNDS if scope.quick else ROUNDS
    return [entry(K, rounds) for K in steps]


def _entries_with_gcn(scope: Scope) -> list[Entry]:
    return [*_entries(scope, (2, 100)), gcn_entry(1 if scope.quick else GCN_ROUNDS)]


def median(records: Records, K: int, way: str, stage: str) -> float | None:
    """Milliseconds that a stage took; None if it was not run."""
    done = records.where(what="times", K=K)
    taken = done[0].result["milliseconds"].get(way) if done else None
    return statistics.median(taken[stage]) if taken else None


def total(records: Records, K: int, way: str) -> float | None:
    """Milliseconds of preprocessing and training together."""
    stages = [median(records, K, way, stage) for stage in ("preprocessing", "training")]
    return None if None in stages else sum(filter(None, stages))


def milliseconds(value: float | None) -> str:
    """A time as people read it."""
    return NOTHING if value is None else format_seconds(value / 1000)


def _stages(source: str, rows: Sequence[tuple[str, str, str, int, str]], records: Records) -> Table:
    """Preprocessing, training and total; a row is title, method, printed setting, K and way."""
    cells: list[list[str]] = []
    for title, method, setting, K, way in rows:
        printed = published(source=source, method=method, setting=setting)
        cells.append([title, "the paper, GPU", *(milliseconds(stage.value) for stage in printed)])
        ways = {"": [], "steps": ["steps", "Chebyshev", "rows"]}.get(way, [way])
        for one in ways:
            stages = [median(records, K, one, stage) for stage in ("preprocessing", "training")]
            where = f"here,{WAYS[one].partition(',')[2]}"
            cells.append([title, where, *map(milliseconds, [*stages, total(records, K, one)])])
        taken = gcn_milliseconds(records) if method == "GCN" else None
        if taken is not None:
            where = f"here, PyTorch Geometric, {recipe_for('gcn').epochs} epochs"
            cells.append([title, where, NOTHING, *[milliseconds(taken)] * 2])
    head = ["method", "where", "preprocessing", "training", "total"]
    return Table(f"Time on Pubmed, after the paper's {source}", head, cells, 2)


def _table_5(records: Records) -> Sequence[Part]:
    rows = [
        ("SGC (K = 2)", "SGC", "K=2", 2, "steps"),
        ("DGC (K = 100)", "DGC", "K=100", 100, "steps"),
        ("GCN", "GCN", "", 0, ""),
    ]
    return [_stages("Table 5", rows, records), *_ratio(records)]


def _ratio(records: Records) -> list[Part]:
    """GCN to DGC, each fitted as its authors do, in one run."""
    gcn, dgc = (gcn_milliseconds(records, method) for method in ("GCN", "DGC"))
    if gcn is None or dgc is None:
        return []
    training = median(records, 100, "rows", "training")
    said = (
        f" Training alone is {gcn / training:,.0f} times faster ({milliseconds(training)} at K = "
        "100)." if training else ""
    )  # fmt: skip
    return [
        f"Fitted in turns, with their authors' settings: GCN {milliseconds(gcn)}, DGC "
        f"{milliseconds(dgc)} (T = {AUTHORS['pubmed'].T}, {AUTHORS['pubmed'].K} steps), so that "
        f"DGC is **{gcn / dgc:,.0f} times faster**.{said} The paper says more than 100 times."
    ]


def _table_9(records: Records) -> Sequence[Part]:
    rows = [
        ("SGC / DGC (K = 2)", "SGC", "K=2", 2, "steps"),
        ("SIGN (r = 2)", "SIGN", "r=2", 2, "SIGN"),
        ("DGC (K = 100)", "DGC", "K=100", 100, "steps"),
        ("SIGN (r = 100)", "SIGN", "r=100", 100, "SIGN"),
        ("GCN", "GCN", "", 0, ""),
    ]
    return [_stages("Table 9", rows, records)]


def _table_10(records: Records) -> Sequence[Part]:
    rows: list[list[str]] = []
    for method, letter in (("DGC", "K"), ("SIGN", "r")):
        numbers = [
            published(source="Table 10", method=method, setting=f"{letter}={K}")[0] for K in STEPS
        ]
        rows.append([method, "the paper, GPU", *(milliseconds(n.value) for n in numbers)])
    lines = []
    for way, title in WAYS.items():
        values = [median(records, K, way, "preprocessing") for K in STEPS]
        rows.append(
            [title.split(",")[0], f"here,{title.partition(',')[2]}", *map(milliseconds, values)]
        )
        here = [(K, value) for K, value in zip(STEPS, values, strict=True) if value is not None]
        if here:
            lines.append(Series.through(title, here))
    for way in ("steps", "Chebyshev"):
        done = [records.where(K=K) for K in STEPS]
        counts = [str(r[0].result["products"][way]) if r else NOTHING for r in done]
        rows.append(["DGC", f"products with S: {WAYS[way][5:]}", *counts])
    head = ["method", "where", *(f"{K} steps" for K in STEPS)]
    parts: list[Part] = [
        Table("Preprocessing on Pubmed, after the paper's Table 10", head, rows, 2)
    ]
    if lines:
        panel = Panel("Pubmed", lines, "steps K or r", "preprocessing (ms)", "xy")
        parts.append(
            Chart("table10", "Time of preprocessing over the number of steps.", [panel], 1)
        )
    return parts


_MACHINES = (
    "The paper's times are from an RTX 3090, these from the processor named above: compare ratios "
    "within a machine, not across. The paper takes K literal steps on all features; *Chebyshev* is "
    "the same response as a short series, and *at training nodes* that at the nodes which are "
    "learned from, which is what `fit` does. Each stage is the median of several turns, in which "
    "all ways take part one after the other; the total is the sum of both."
)
TABLE_5 = Experiment(
    "table5",
    "Table 5: time of the stages",
    _entries_with_gcn,
    _table_5,
    [_MACHINES],
)
TABLE_9 = Experiment(
    "table9",
    "Table 9: time of the stages, with SIGN",
    _entries_with_gcn,
    _table_9,
    [
        "SIGN with r = 100 keeps 101 copies of all features. It is left out where they would take "
        "more than half of the machine's memory.",
    ],
)
TABLE_10 = Experiment(
    "table10",
    "Table 10: time of preprocessing over the number of steps",
    lambda scope: _entries(scope, STEPS),
    _table_10,
    [
        "A Chebyshev series of the same response needs no more than about a dozen products, so "
        "that beyond K = 20 or so its time no longer grows with the number of steps.",
    ],
)
