# Two commands: `make demo` and `make test`. Each does all the set-up itself, on a machine that has
# python3 (3.11 or newer), make and g++.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test check unit setup lean tmux clean help
.DEFAULT_GOAL := help

help:            ## list the targets
	@sed -nE 's/^([a-z]+):.*##(.*)/\1\t\2/p' $(MAKEFILE_LIST)

setup: $(VENV)/.ready lean    ## virtual environment, locked dependencies, Lean (idempotent, quick when done)

$(VENV)/.ready: requirements.lock constraints.txt pyproject.toml
	@echo "[setup] virtual environment and locked dependencies (one to three minutes the first time)" >&2
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit("kshell needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --progress-bar off -r requirements.lock -c constraints.txt \
	  | awk '/^Collecting/ { n++; if (n % 10 == 1) print "[setup] " n " packages ..." > "/dev/stderr" } /^Installing/ { print "[setup] installing" > "/dev/stderr" }'
	@$(PIP) install -q --no-deps -e .
	@$(BIN)/kshell --help > /dev/null
	@touch $@

lean: $(VENV)/.ready    ## a Lean toolchain (embedded if none is on PATH) and the built proof package
	@$(BIN)/kshell lean install

# One test walks through the app in tmux, as people use it; without tmux it uses a terminal of its own.
tmux:
	@command -v tmux > /dev/null || test "$$(id -u)" != 0 || ! command -v apt-get > /dev/null || { \
	  echo "[setup] tmux, for the tests of the terminal app" >&2; \
	  { timeout 120 apt-get -q update; DEBIAN_FRONTEND=noninteractive timeout 240 apt-get -q install -y \
	    --no-install-recommends -o DPkg::Lock::Timeout=60 tmux; } < /dev/null > /dev/null 2>&1 || true; }
	@command -v tmux > /dev/null || echo "[setup] no tmux: the app is tested in the tests' own terminal alone;" \
	  "to test it in tmux too, install it (apt install tmux, dnf install tmux, brew install tmux)" >&2

demo: setup    ## evolve, prove, promote and export kernels on this machine
	@$(BIN)/kshell run relu softmax gemm --rounds 3 --group 4 --device cpu --seed 1

test: setup check unit    ## everything CI runs

check: $(VENV)/.ready    ## formatting, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests of time limits and of the terminal can fail when the machine is short of processors; what failed
# beside other tests is run once more alone, and a second failure counts.
unit: setup tmux    ## the tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup --durations 15 \
	  || { echo "[test] running what failed once more, alone" >&2; \
	       $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

clean:    ## remove what set-up and runs made in this folder
	rm -rf $(VENV) build .pytest_cache .hypothesis .mypy_cache .ruff_cache *.egg-info
