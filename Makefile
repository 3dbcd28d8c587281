# Two commands: `make demo` and `make test`. Each does all the set-up itself (python3 3.11+, make, g++).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := kshell agents semantics insights_db scaffolds
export PYTHONDONTWRITEBYTECODE := 1
unexport PYTHONPATH

.PHONY: demo test check unit setup lean clean help

help:            ## list the targets
	@grep -E '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/'

setup: $(VENV)/.ready lean    ## virtual environment, locked dependencies, embedded Lean (idempotent)

$(VENV)/.ready: requirements.lock constraints.txt pyproject.toml
	@echo "[setup] virtual environment and locked dependencies (a minute or two the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -r requirements.lock -c constraints.txt | grep -Ev '^(Requirement already|Looking in)' || true
	@$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps -e .
	@$(BIN)/python -c "import kshell, torch, textual, lark, pydantic, sqlite_utils, litellm" 
	@touch $@

lean: $(VENV)/.ready    ## install the embedded Lean if no Lean is on PATH, build the package (cached by hash)
	@$(BIN)/kshell lean install

demo: setup    ## evolve, prove, promote and export on this machine
	@$(BIN)/kshell run relu softmax gemm --rounds 3 --group 4 --device cpu --seed 1

test: setup check unit    ## everything CI runs

check: $(VENV)/.ready    ## formatting, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(VENV)/.ready lean    ## the tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup --durations 15

clean:    ## remove what set-up and runs made in this folder
	rm -rf $(VENV) build .hypothesis .mypy_cache .ruff_cache *.egg-info
