# A fresh machine needs git, make and Python 3.11 or newer. `make demo` and `make test` do all set-up themselves.
#
#   PYTHON=python3.13   the Python that the environment is made from
#   VENV=.venv          where the environment lies
#   WORKERS=2           how many processes run the tests
#   ARGS=…              handed to pytest

SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
ARGS ?=

BIN := $(VENV)/bin
DONE := $(VENV)/done
MODELS := $(or $(DISSENSUS_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dissensus)
STEP := $(PYTHON) tools/step.py
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

.PHONY: help demo test check cover bench docs lock format clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    set up, fetch a small model, let five agents decide the questions in examples/"
	@echo "make test    set up and run all tests"
	@echo "make check   linters, types, import floors, documentation, examples"
	@echo "make cover   all tests, and which lines and branches they miss"
	@echo "make bench   the benchmarks; results go to benchmarks/results/"
	@echo "make docs    write the generated pages anew (docs/cli.md, docs/log-formats.md)"
	@echo "make lock    write the lock files anew; UPGRADE=1 takes newer releases"
	@echo "make format  let the formatter and the linter's safe fixes loose"
	@echo "make clean   remove the environment and everything built"

demo: $(DONE)/run
	@$(STEP) "fetching the model" --grows "$(MODELS)" -- $(BIN)/dissensus model install qwen2.5-coder-0.5b
	@# exit status 1 says that some question found no winner: a result, and no failure of the demonstration
	@$(STEP) "deciding" --grows runs -- sh -c '"$$@" || [ $$? -eq 1 ]' decide \
		$(BIN)/dissensus decide --file examples/questions.jsonl --agents 5 --record runs/

test: $(DONE)/dev
	@$(STEP) "fetching the test model" --grows "$(MODELS)" -- $(BIN)/dissensus model install smollm2-135m
	@$(STEP) "tests" -- $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(DONE)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_house.py tests/test_docs.py tests/test_examples.py

cover: $(DONE)/dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term $(ARGS)

bench: $(DONE)/bench
	@for bench in benchmarks/bench_*.py; do \
		$(STEP) "$$bench" -- $(BIN)/python "$$bench" || exit 1; \
	done

docs: $(DONE)/dev
	$(BIN)/python tools/cli_help.py --write
	$(BIN)/python tools/log_formats.py --write

lock: $(DONE)/dev
	$(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

format: $(DONE)/dev
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# The environment. A file in $(DONE) says that a step is complete; an interrupted step is done again.

$(DONE)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than Python 3.11. Name a newer one: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(STEP) "making the environment" --grows "$(VENV)" -- $(PYTHON) -m venv --clear "$(VENV)"
	@mkdir -p "$(DONE)" && touch "$@"

# --no-build-isolation: the build backend is locked too, and nothing unlocked is fetched to build this package
$(DONE)/run $(DONE)/dev $(DONE)/bench: $(DONE)/%: requirements/%.txt pyproject.toml | $(DONE)/venv
	@$(STEP) "installing packages ($*)" --grows "$(VENV)" -- $(PIP) install --require-hashes -r requirements/$*.txt
	@$(STEP) "installing dissensus" --grows "$(VENV)" -- $(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch "$@"
