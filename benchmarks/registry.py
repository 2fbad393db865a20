"""The benchmarks by name. To add one, write its module in `suite` and enter it here."""

from __future__ import annotations

from benchmarks.benchmark import Benchmark
from benchmarks.suite.accuracy import ACCURACY
from benchmarks.suite.diffusion import DIFFUSION
from benchmarks.suite.fit import FIT
from benchmarks.suite.growth import GROWTH
from benchmarks.suite.head import HEAD
from benchmarks.suite.heterophily import HETEROPHILY
from benchmarks.suite.product import PRODUCT
from benchmarks.suite.search import SEARCH
from benchmarks.suite.selection import SELECTION
from benchmarks.suite.shift import SHIFT
from benchmarks.suite.start import START
from benchmarks.suite.tables import TABLES

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        PRODUCT, DIFFUSION, FIT, SEARCH, HEAD, GROWTH, START, ACCURACY, HETEROPHILY, SELECTION,
        SHIFT, TABLES,
    )
}  # fmt: skip
