"""Timings against peers, and accuracies."""

from __future__ import annotations

import argparse
import shlex
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import before_after
from benchmarks.jobs import LIMIT
from benchmarks.report import BENCHMARKS, show, write_report
from benchmarks.rounds import chosen, run_benchmark
from benchmarks.turns import DOCS, RESULTS

# With pages of their own.
OTHERS = ["accuracy", "selection", "tables"]
NAMES = [*BENCHMARKS, *OTHERS, "report"]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"{', '.join(NAMES)}; by default all")
    parser.add_argument("--rounds", type=int, default=3, help="turns that each peer takes (3)")
    parser.add_argument("--scale", type=float, default=1.0, help="of synthetic graphs (1)")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds a turn ({LIMIT:g})")
    parser.add_argument("--peers", default="", help="parts of names of peers, with commas; all")
    parser.add_argument("--data", default="", help="parts of names of graphs, with commas; all")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of results")
    parser.add_argument(
        "--page", type=Path, default=DOCS / "performance.md", help="where the report is written"
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
    for name in names:
        if name in OTHERS:
            import_module(f"benchmarks.{name}").run(arguments.rounds)
        elif name in BENCHMARKS:
            run_one(name, arguments)
    if not set(names) <= set(OTHERS):
        write_report(arguments.output, arguments.page)
        print(f"written to {arguments.page.name}")


def run_one(name: str, arguments: argparse.Namespace) -> None:
    benchmark = BENCHMARKS[name]
    jobs = chosen(benchmark.jobs(arguments.scale), arguments.peers, arguments.data, arguments.limit)
    command = shlex.join(["python", "-m", "benchmarks", name])
    command += f" --rounds {arguments.rounds}"
    for option, plain in (("scale", 1.0), ("limit", LIMIT), ("peers", ""), ("data", "")):
        value = getattr(arguments, option)
        if value != plain:
            command += f" --{option} {shlex.quote(f'{value:g}' if plain != '' else value)}"
    results = run_benchmark(
        benchmark,
        jobs,
        arguments.output / "workloads",
        command,
        arguments.rounds,
        arguments.scale,
        arguments.limit,
    )
    results.save(arguments.output)
    show(benchmark, results)


if __name__ == "__main__":
    sys.exit(main())
