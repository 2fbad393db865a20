"""Softmax regression on given rows, against scikit-learn's at the same objective and tolerance."""

from __future__ import annotations

import numpy as np

from benchmarks.benchmark import OURS, Benchmark, Figure, Job, Outcome, Task
from benchmarks.results import Results
from heatgraph._io.formatting import format_seconds
from heatgraph.learning._lbfgs import cross_entropy
from heatgraph.learning._softmax_regression import FEW_NODES, SoftmaxRegression

SKLEARN = "scikit-learn"
# Rows, features and classes.
SIZES = (
    (60, 500, 3),
    (120, 3_703, 6),
    (500, 100, 6),
    (600, 600, 6),
    (1_600, 64, 400),
    (2_000, 1_433, 7),
    (10_000, 100, 10),
    (13_500, 4_700, 4),
    (50_000, 600, 40),
    (50_000, 5_000, 40),
)
# Weight decays, relative to the mean squared norm of the rows over their number. A search chooses
# among values from 1e-4 to 1e2.
RELATIVE_DECAYS = (1e-3, 1e-1, 1e1)
# Features are combinations of factors of decreasing scale, and noise.
FACTORS, NOISE = 200, 0.05
MAX_ITERATIONS, LIMIT = 5000, 900.0


def make_rows(n: int, p: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features (n, p) in float32, as diffused ones are, and classes (n,)."""
    random = np.random.default_rng(0)
    y = np.arange(n) % classes
    k = min(FACTORS, p)
    factors = random.standard_normal((n, k), dtype=np.float32)
    factors += random.standard_normal((classes, k), dtype=np.float32)[y]
    factors /= np.sqrt(np.arange(1, k + 1, dtype=np.float32))
    X = factors @ random.standard_normal((k, p), dtype=np.float32)
    X /= np.sqrt(np.mean(np.square(X), dtype=np.float64)).astype(np.float32)
    X += NOISE * random.standard_normal((n, p), dtype=np.float32)
    X /= np.float32(np.sqrt(p))
    return X, y


def solve(job: Job, data: None) -> Task:
    """Minimise J; scikit-learn stops where the gradient is as small as in our solution."""
    n, p, classes = job.settings["size"]
    X, y = make_rows(n, p, classes)
    decay = job.settings["relative_decay"] * np.square(X).sum() / n**2
    regression = SoftmaxRegression("lbfgs", 0, 0)

    def run() -> Outcome:
        fit = regression.fit(X, y, classes, decay, 0.0)
        return Outcome(np.vstack([fit.Theta, fit.bias]).T)

    if job.peer == OURS:
        return Task(run, self_limiting=False)
    tolerance = largest_gradient(X, y, run().value, decay)
    # float32 would end scikit-learn's line search far from the precision of our few nodes.
    rows = X.astype(np.float64) if n <= FEW_NODES else X
    return Task(_scikit_learn(rows, y, decay, tolerance), self_limiting=False)


def _scikit_learn(X: np.ndarray, y: np.ndarray, decay: float, tolerance: float):
    """The same objective has the bias as a weight of a column of ones."""
    from sklearn.linear_model import LogisticRegression

    rows = np.ones((X.shape[0], X.shape[1] + 1), dtype=X.dtype)
    rows[:, :-1] = X
    model = LogisticRegression(
        C=1 / (len(y) * decay), fit_intercept=False, tol=tolerance, max_iter=MAX_ITERATIONS
    )
    return lambda: Outcome(model.fit(rows, y).coef_)


def largest_gradient(X: np.ndarray, y: np.ndarray, weights: np.ndarray, decay: float) -> float:
    """The largest absolute entry of the gradient of J at weights (C, p + 1)."""
    scores = weights[:, :-1] @ X.T + weights[:, -1:]
    _, residuals = cross_entropy(scores.astype(np.float64), y)
    gradient = decay * weights.astype(np.float64)
    gradient[:, :-1] += residuals @ X
    gradient[:, -1] += residuals.sum(axis=1)
    return float(np.abs(gradient).max())


def _work(size: tuple[int, int, int], decay: float) -> str:
    return "{:,} x {:,} x {}".format(*size) + f", {decay:g}"


def jobs(scale: float) -> list[Job]:
    sizes = [size for size in SIZES if scale >= 1 or size[0] <= 10_000 * scale]
    return [
        Job(
            _work(size, decay),
            solve,
            peer,
            settings={"size": list(size), "relative_decay": decay},
            limit=LIMIT,
            checked=False,
        )
        for size in sizes
        for decay in RELATIVE_DECAYS
        for peer in (OURS, SKLEARN)
    ]


def figures(results: Results) -> list[Figure]:
    return [
        Figure(f"{work}: heatgraph / scikit-learn", results.ratio(work, OURS, SKLEARN), "<= 1.2")
        for work in results.works
    ]


def text(results: Results) -> str:
    head = f"{'rows x features x classes':<28}"
    lines = [head + "".join(f"{f'weight decay {decay:g}':>30}" for decay in RELATIVE_DECAYS)]
    for size in SIZES:
        works = [_work(size, decay) for decay in RELATIVE_DECAYS]
        cells = "".join(f"{_cell(results, work):>30}" for work in works)
        lines.append(f"{'{:,} x {:,} x {}'.format(*size):<28}{cells}")
    return "\n".join(lines)


def _cell(results: Results, work: str) -> str:
    ratio = results.ratio(work, OURS, SKLEARN)
    rows = [results.find(work, peer) for peer in (OURS, SKLEARN)]
    if ratio is None:
        return next((row.failed for row in rows if row is not None and row.failed), "not run")
    ours, theirs = (format_seconds(row.seconds) for row in rows)
    return f"{ratio:.2f} ({ours} / {theirs})"


HEAD = Benchmark(
    "head",
    "Softmax regression against scikit-learn",
    [
        'Time of heatgraph\'s fit over that of `LogisticRegression(solver="lbfgs")` on the same '
        "rows, with the same objective, both on all cores; below 1, heatgraph is faster. Both are "
        f"in float64 up to {FEW_NODES} rows and in float32 beyond. scikit-learn stops where its "
        "gradient is as small as that of heatgraph's solution, or where it no longer improves. "
        "Weight decays are relative to the mean squared norm of the rows over their number, as in "
        "a search.",
    ],
    jobs,
    figures,
    page="head-benchmark",
    text=text,
)
