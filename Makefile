# Two commands for a newcomer: `make demo` and `make test`. Everything lives in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Real datasets for the experiments, if they lie beside the checkout; tests that need them are skipped otherwise.
export CROWDVEIL_DATA ?= $(abspath $(wildcard ../shared/data))

.PHONY: help demo test check packages js js-packages audit mutants bench setup clean

help:
	@echo "make demo   set up .venv and make a release from simulated claims"
	@echo "make test   set up .venv, check style, types, layers and docs, run every test"
	@echo "make check  style, types, layers and docs only"
	@echo "make js     types and tests of the browser client; TypeScript goes into build/js"
	@echo "make audit  attack every mechanism and every planted bug twenty times, kill releases; for every night"
	@echo "make mutants  make known mistakes in a copy of the sources, and see that tests notice each of them"
	@echo "make bench  measure against peers, which are installed into the cache folder; takes a while"
	@echo "make clean  remove .venv and everything that was built"

$(VENV)/demo.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "crowdveil needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "python venv is missing: apt-get install python3-venv"; exit 2; }
	@echo "installing crowdveil into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[service]'
	@touch $@

$(VENV)/test.stamp: $(VENV)/demo.stamp
	@echo "installing what the tests need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

setup: $(VENV)/test.stamp

demo: $(VENV)/demo.stamp
	@$(BIN)/crowdveil demo --force
	@echo "Start a campaign in which people answer in their own browsers, with one command: $(BIN)/crowdveil serve --demo"

check: setup
	$(BIN)/ruff format --check src tests benchmarks docs examples deploy
	$(BIN)/ruff check src tests benchmarks docs examples deploy
	$(BIN)/mypy
	$(BIN)/lint-imports

# PostgreSQL, Node, Chromium, Java and curl: installed when root and missing; without them tests are skipped, and counted.
packages:
	@sh tests/system_packages.sh

# Coverage: the total is compared with the floor in pyproject.toml; build/coverage/pages shows it by line.
test: check packages js-packages
	$(BIN)/python -m pytest -n 2 --cov --cov-report=html

# The browser client is used as it is; only its checks need packages, which stay out of the sources.
build/js/stamp: clients/js/package.json
	@mkdir -p build/js && cp clients/js/package.json build/js/
	@echo "installing what the tests of the browser client need ..."
	@npm install --prefix build/js --silent --no-audit --no-fund
	@touch $@

js-packages: packages
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory build/js/stamp; \
	  else echo "npm is missing: types of the browser client are not checked (apt-get install nodejs npm)"; fi

js: setup js-packages
	$(BIN)/python -m pytest -n 2 tests/clients_js

audit: setup
	$(BIN)/python -m pytest -n 2 -m slow_audit tests/audit tests/engines tests/operations tests/planning tests/campaigns tests/service tests/client tests/clients_js

mutants: setup
	$(BIN)/python tests/mutants/run.py

$(VENV)/plots.stamp: $(VENV)/demo.stamp
	@echo "installing what pictures need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plots]'
	@touch $@

bench: $(VENV)/plots.stamp
	@$(BIN)/crowdveil bench

clean:
	rm -rf $(VENV) build dist crowdveil-demo crowdveil-demo-private .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
