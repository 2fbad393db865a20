"""Time heatgraph against peers, and measure accuracies.

`before-after` times this checkout against another one; see its own --help.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import before_after
from benchmarks.benchmark import LIMIT, PERFORMANCE
from benchmarks.harness import ROOT, Options, run_benchmark
from benchmarks.registry import BENCHMARKS
from benchmarks.report import print_results, write_pages

REPORT = "report"
NAMES = [*BENCHMARKS, REPORT]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"{', '.join(NAMES)}; by default all")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each peer (3)")
    parser.add_argument("--scale", type=float, default=1.0, help="scale of synthetic data (1)")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help=f"seconds for one run ({LIMIT:g})"
    )
    parser.add_argument("--peers", default="", help="comma-separated parts of peer names; all")
    parser.add_argument("--data", default="", help="comma-separated parts of workload names; all")
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "benchmarks" / "results",
        help="folder of results and workloads",
    )
    parser.add_argument(
        "--page",
        type=Path,
        default=ROOT / "docs" / f"{PERFORMANCE}.md",
        help="where the report is written; benchmarks with a page of their own write beside it",
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"no benchmark called {name!r}: there are {', '.join(NAMES)}")
    return arguments


def main() -> None:
    if sys.argv[1:2] == ["before-after"]:
        before_after.main(sys.argv[2:])
        return
    arguments = read_arguments()
    names = arguments.names or NAMES
    options = Options(
        arguments.rounds, arguments.scale, arguments.limit, arguments.peers, arguments.data
    )
    for name in names:
        if name != REPORT:
            results = run_benchmark(BENCHMARKS[name], options, arguments.output / "workloads")
            results.save(arguments.output)
            print_results(BENCHMARKS[name], results)
    pages = write_pages(arguments.output, arguments.page, BENCHMARKS if REPORT in names else names)
    for page in pages:
        print(f"written to {page.name}")


if __name__ == "__main__":
    sys.exit(main())
