import argparse
from importlib import import_module

BENCHMARKS = ["engine", "classifier", "accuracy", "selection", "tables"]

parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
parser.add_argument("names", nargs="*", default=BENCHMARKS, help=", ".join(BENCHMARKS))
parser.add_argument("--rounds", type=int, default=3, help="turns that each peer takes (3)")
arguments = parser.parse_args()
for name in arguments.names:
    if name not in BENCHMARKS:
        parser.error(f"no benchmark called {name!r}: there are {', '.join(BENCHMARKS)}")
    import_module(f"benchmarks.{name}").run(arguments.rounds)
