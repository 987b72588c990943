# Two commands do everything: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BENCH_INSTALLED := $(VENV)/.bench-installed

.PHONY: demo test check bench clean

demo: $(INSTALLED)  ## the teachers' tables beside the paper's
	$(BIN)/surpass reproduce teachers

test: $(INSTALLED)  ## every test
	$(BIN)/python -m pytest -n 2

check: $(INSTALLED)  ## lint, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH_INSTALLED)  ## speed, as ratios in one run
	$(BIN)/python -m bench

clean:  ## remove the environment
	rm -rf $(VENV)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

$(BENCH_INSTALLED): $(INSTALLED)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,bench]'
	touch $@
