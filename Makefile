# Needs only python3 (3.11 or later), make and git; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed

.PHONY: demo test clean

demo: $(INSTALLED)
	@echo "Peers do not run as processes yet: this is the same node code in a simulated overlay, with crashes, cuts and loss."
	$(VENV)/bin/p2psub sim overlay --clusters 4 --members 6 --seconds 150 --seeds 0..1 --faults crash,partition,loss

test: $(INSTALLED)
	$(VENV)/bin/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "p2psub needs Python 3.11 or later; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
