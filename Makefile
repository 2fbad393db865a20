# The two commands of the README are `make demo` and `make test`; both start from a bare Python.
PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin

.PHONY: demo test lint bench docs format clean

demo: .venv/core
	$(BIN)/heatgraph demo

test: .venv/dev lint
	$(BIN)/pytest --cov

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Against peers, a process for each turn, and accuracies; writes docs/performance.md. BENCH picks:
# make bench BENCH=product, or BENCH="product --rounds 1 --scale 0.01 --page trial.md" to try it out.
bench: .venv/bench
	$(BIN)/python -m benchmarks $(BENCH)

docs: .venv/docs
	$(BIN)/mkdocs build --strict

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

.venv/core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/docs: .venv/core
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $@

# In CI, tests that need torch run too; elsewhere they are skipped unless it is there.
.venv/dev: .venv/core
ifdef CI
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable ".[gnn]"
endif
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

.venv/bench: .venv/core
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	@touch $@
