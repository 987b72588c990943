# Two commands do everything: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PEERS := $(VENV)/peers
PEERS_INSTALLED := $(PEERS)/.installed

.PHONY: demo test check ray bench clean

demo: $(INSTALLED)  ## learn to search with RL + imitation, and print the result beside the paper's and against the teachers
	$(BIN)/surpass learn search --method rl+imitation --set updates=60 --set episodes=1024 --out runs/demo --resume
	$(BIN)/surpass reproduce table3 --quick --stand-in zoo:search/rl+imitation-binary_search=runs/demo
	@echo "The table above counts the steps before the answer. Those below count the answer too, and draw other queries."
	$(BIN)/surpass evaluate runs/demo --against teacher:linear_search --sizes 5,10,20,30,50,100,200,500,1000
	$(BIN)/surpass evaluate runs/demo --against teacher:binary_search --sizes 5,10,20,30,50,100,200,500,1000
	@echo "What was learned, as a page for your browser: $(CURDIR)/runs/demo/report.html"

test: $(INSTALLED)  ## every test
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(INSTALLED)  ## lint, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

ray: $(INSTALLED)  ## Ray, for --on ray and its tests
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[ray]'

bench: $(INSTALLED)  ## speed, as ratios in one run; without its peers if they do not install
	-$(MAKE) --no-print-directory $(PEERS_INSTALLED)
	$(BIN)/python -m bench

clean:  ## remove the environment
	rm -rf $(VENV)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV), which takes some minutes the first time"
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

# The peers, but for Stable-Baselines3, need versions that ours exclude, so they have an environment of their own.
$(PEERS_INSTALLED): bench/peers.txt
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet -r bench/peers.txt
	touch $@
