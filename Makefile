# Two commands on a fresh machine with python3, pip and make: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --disable-pip-version-check --quiet --constraint constraints.txt
NATIVE := pyproject.toml CMakeLists.txt constraints.txt $(wildcard src/fabula/_kernels/*.cpp src/fabula/_kernels/*.hpp)

.PHONY: demo test lint bench reproduce clean

demo: $(VENV)/.installed
	$(BIN)/fabula demo --out demo-report

test: $(VENV)/.test-ready lint
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test-ready
	$(PIP) --editable '.[bench]'
	for script in bench/[!_]*.py; do $(BIN)/python $$script || exit 1; done

# The matcher ablation on simulated features, written to docs/reproduction.md; DATA holds the PSS splits of YouCook2.
DATA ?= ../shared/data/youcook2_pss
reproduce: $(VENV)/.test-ready
	$(PIP) --editable '.[simulate]'
	$(BIN)/python reproduce/pss.py --data $(DATA)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Editable: a changed .py is live at once, a changed .cpp reinstalls.
$(VENV)/.installed: $(NATIVE) | $(VENV)/bin/python
	$(PIP) --editable .
	touch $@

# torch first and by itself, as constraints.txt says: what comes after must not choose another build of it.
$(VENV)/.test-ready: $(NATIVE) | $(VENV)/bin/python
	if $(PIP) torch; then $(PIP) --editable '.[test,learn]'; \
	else echo "no torch for this machine: the tests of fabula.learn will be skipped"; $(PIP) --editable '.[test]'; fi
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build demo-report
