# Needs only python3 (3.11 or later), make and git; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed

.PHONY: demo test wheel clean

demo: $(INSTALLED)
	$(VENV)/bin/p2psub demo

test: $(INSTALLED)
	$(VENV)/bin/python -m pytest --numprocesses auto --dist loadgroup --durations 25 --durations-min 5

# The compiled wheel; needs a C compiler, too. `pip wheel --no-deps --wheel-dir dist .` makes the pure one.
wheel: $(INSTALLED)
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true $(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "p2psub needs Python 3.11 or later; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
