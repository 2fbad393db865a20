# The README's two commands are `make demo` and `make test`; both start from a bare Python.
PYTHON ?= python3
TORCH ?= torch==2.13.0
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
# A worker per core, up to eight: each worker compiles the kernels once.
PYTEST := $(BIN)/pytest --numprocesses logical --maxprocesses 8 --dist worksteal
# OpenBLAS core types, each with its own kernels, to emulate other processors.
CORETYPES := Nehalem Sandybridge Haswell
# Tests whose results depend on the kernels of the BLAS.
NUMERICAL := tests/learning tests/baselines/test_schemes.py tests/baselines/test_stacked.py \
	tests/baselines/test_label_propagation.py tests/test_theory.py tests/test_diffusion.py

.PHONY: demo test test-fast test-extras test-processors test-browser lint web bench docs format clean

demo: .venv/core
	$(BIN)/heatgraph demo

# Everything that runs without torch and without downloaded data.
test: .venv/dev lint
	$(PYTEST) --cov

test-fast: .venv/dev
	@echo "Leaving out: lint, types, coverage, doctests; tests of baselines, cli, experiments, benchmarks, report, explorer,"
	@echo "memory, documents and scikit-learn's checks; tests marked slow, signals, torch or planetoid; most random examples."
	$(PYTEST) -m "not slow and not signals and not torch and not planetoid" --hypothesis-profile=fast \
	  --ignore=tests/learning/test_estimator_checks.py --ignore=tests/learning/test_reproducibility.py \
	  --ignore=tests/engine/test_memory_estimate.py \
	  tests/encoding tests/engine tests/graph tests/io tests/learning tests/datasets \
	  tests/tables tests/exchange $(filter-out tests/test_documents.py,$(wildcard tests/test_*.py))

# What `make test` skips: tests that need torch or the Planetoid files. Coverage of the networks is
# counted without the code that PyTorch Geometric generates for them.
test-extras: .venv/extras
	$(BIN)/mypy
	COVERAGE_OMIT="*heatgraph.baselines.gnn.*.py" $(PYTEST) -m "torch or planetoid" --cov=heatgraph.baselines.gnn

# Tests of pages in a browser: Chromium, through Playwright.
test-browser: .venv/browser
	$(PYTEST) -m browser tests/explorer

# The numerical tests with the BLAS kernels of other processors.
test-processors: .venv/dev
	for coretype in $(CORETYPES); do \
	  echo "OPENBLAS_CORETYPE=$$coretype"; \
	  OPENBLAS_CORETYPE=$$coretype $(PYTEST) -m "not slow and not signals" $(NUMERICAL) || exit 1; \
	done

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The script and style of the explorer page, from their sources in web/; needs Node, and only who changes
# these sources needs it.
web:
	npm ci --silent --prefix web
	npm run --silent --prefix web check
	npm run --silent --prefix web build

# Timings against peers, in separate processes, and accuracies; writes docs/performance.md. BENCH picks:
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
	@echo "Installing heatgraph into .venv ..."
	@$(PYTHON) -m venv .venv
	@$(INSTALL) --editable .
	@touch $@

.venv/dev: .venv/core
	@echo "Installing the tools for tests and lint into .venv ..."
	@$(INSTALL) --editable ".[dev]"
	@touch $@

.venv/extras: .venv/dev
	@echo "Installing $(TORCH) and the extra gnn into .venv ..."
	@$(INSTALL) "$(TORCH)"
	@$(INSTALL) --editable ".[gnn]"
	@touch $@

# Chromium is taken from Debian if the system has none; other systems have to install it themselves.
.venv/browser: .venv/dev
	@echo "Installing Playwright into .venv ..."
	@$(INSTALL) --editable ".[browser]"
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || \
	  { apt-get update -qq && apt-get install -qq --no-install-recommends chromium; }
	@touch $@

.venv/bench: .venv/core
	@echo "Installing $(TORCH) and the peers of the benchmarks into .venv ..."
	@$(INSTALL) "$(TORCH)"
	@$(INSTALL) --editable ".[bench]"
	@touch $@

.venv/docs: .venv/core
	@echo "Installing the documentation's tools into .venv ..."
	@$(INSTALL) --editable ".[docs]"
	@touch $@
