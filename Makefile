# Needs only python3 (3.11 or later), make and git; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed
PYTEST := $(VENV)/bin/python -m pytest --numprocesses auto --dist loadgroup --durations 25 --durations-min 5
QUICK := tests/house tests/unit tests/properties tests/claims

.PHONY: help demo check test test-slow wheel clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

demo: $(INSTALLED) ## 16 peers in 4 clusters, each a process; two of them are killed while 500 events pass
	$(VENV)/bin/p2psub demo

check: $(INSTALLED) ## linters, types, units, properties and the papers' claims: while you edit
	$(PYTEST) -m "not slow" $(QUICK)

test: $(INSTALLED) ## every claim this project makes: before you commit
	$(PYTEST) -m "not slow"

test-slow: $(INSTALLED) ## the rest: more seeds, the compiled wheel, a Spark cluster, peers by hand; needs a C compiler, too
	$(PYTEST) -m slow

wheel: $(INSTALLED) ## a wheel in dist/ with the hot modules compiled; needs a C compiler, too
# `pip wheel --no-deps --wheel-dir dist .` makes the pure one.
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true $(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "p2psub needs Python 3.11 or later; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

clean: ## remove .venv, dist and caches
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
