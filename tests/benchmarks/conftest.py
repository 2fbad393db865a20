import sys
from pathlib import Path

# The package `benchmarks` is not installed: it lies beside `tests`.
sys.path.insert(0, str(Path(__file__).parents[2]))
