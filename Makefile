# Everything a contributor runs. Needs only Python 3.11-3.13 (with its venv module) and make; the rest goes into .venv.
#
#   make tour                      the guided demonstration
#   make test                      every check, the tests last
#   make test PYTHON=python3.12    the same with an interpreter of your choice

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help tour test notebooks lab bench lint format constraints clean python venv venv-bench

# Paths stay relative, so that a checkout may lie in a folder with spaces in its name.
BIN := .venv/bin
# Named interpreter; empty means: look for one.
PYTHON ?=
# Extra options for the pytest run of `make test`.
PYTEST_ARGS ?=
# `make constraints UPGRADE=--upgrade` moves every pin to its newest release.
UPGRADE ?=
export PYTHON

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

tour: venv ## Run the guided demonstration
	@$(BIN)/diagnosis tour

test: lint ## Run all checks: style, types, imports, then the tests with coverage
	$(BIN)/python -m pytest -n auto --dist loadfile --cov=diagnosis --cov-config=pyproject.toml $(PYTEST_ARGS)

lint: venv ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: venv ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

notebooks: venv ## Run the notebooks and store their outputs
	$(BIN)/python -m diagnosis.views.notebooks notebooks

lab: venv ## Open the notebooks in JupyterLab
	@$(BIN)/diagnosis lab

bench: venv-bench ## Measure speed, LangGraph beside it
	$(BIN)/python -m benchmarks

constraints: ## Pin every dependency anew in constraints.txt
	@$(find_python); $(make_venv); \
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv || exit 1; \
	printf '%s\n' hatchling uv | $(BIN)/uv pip compile --quiet pyproject.toml - --extra dev --extra bench \
		--universal --python-version 3.11 --no-header --no-annotate $(UPGRADE) -o constraints.txt
	@echo "constraints.txt is up to date; the next make target installs it."

clean: ## Remove the environment, builds and caches
	rm -rf .venv build dist .coverage .coverage.* htmlcov
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name .git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -prune -exec rm -rf {} +

python: # Print the interpreter that a new .venv would use (.ci/run asks)
	@$(find_python); echo "$$python"

venv:
	@$(call ensure,dev)

venv-bench: venv
	@$(call ensure,bench)

# --- how .venv comes about ----------------------------------------------------------------------------------------

# Sets $python to the first interpreter that really runs (a pyenv shim may exist and still fail), has the right version
# and can make environments. Inside an activated environment it is the interpreter beneath, since ours may be rebuilt.
define find_python
python= unusable=; \
if [ -n "$$PYTHON" ]; then set -- "$$PYTHON"; else set -- python3.13 python3.12 python3.11 python3; fi; \
for candidate do \
	found=$$("$$candidate" -c 'import sys; \
		ok = (3, 11) <= sys.version_info[:2] < (3, 14); \
		print(getattr(sys, "_base_executable", "") or sys.executable) if ok else sys.exit(1)' 2>/dev/null) || continue; \
	if "$$found" -c 'import ensurepip, venv' 2>/dev/null; then python=$$found; break; fi; \
	unusable=$${unusable:-$$found}; \
done; \
if [ -z "$$python" ]; then \
	if [ -n "$$unusable" ]; then \
		echo "$$unusable cannot make virtual environments: its venv module is missing." >&2; \
		echo "On Debian and Ubuntu: apt-get install python3-venv" >&2; \
	else \
		echo "No working Python from 3.11 to 3.13 found (tried: $$*)." >&2; \
		echo "Install one, or name one: make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3.12" >&2; \
	fi; \
	exit 1; \
fi
endef

# Makes .venv unless it is there, runs, is whole, and was made in this very folder (its scripts hold its path). With
# PYTHON named, it must also be of that interpreter. The file .venv/.home is absent while anything is being installed.
define make_venv
here=$$(pwd -P); whose='import sys; print(sys.base_prefix, sys.version)'; \
if ! $(BIN)/python -c 'import pip' 2>/dev/null || [ "$$(cat .venv/.home 2>/dev/null)" != "$$here" ] || \
	{ [ -n "$$PYTHON" ] && [ "$$("$$python" -c "$$whose")" != "$$($(BIN)/python -c "$$whose")" ]; }; then \
	echo "Making .venv with $$("$$python" --version) ($$python)" >&2; \
	rm -rf .venv && "$$python" -m venv .venv && printf '%s\n' "$$here" > .venv/.home || \
		{ rm -rf .venv; echo "Could not make .venv with $$python." >&2; exit 1; }; \
fi
endef

# Installs the project with one extra. A stamp per extra holds what it was installed from (the folder, and checksums of
# the two files that say what to install); it is written last, so a run that failed half-way starts over. The lock on
# file descriptor 9 lasts as long as this shell: two runs at once take turns.
define ensure
stamp=.venv/.installed-$(1); \
state() { pwd -P; cksum pyproject.toml constraints.txt; }; \
fresh() { [ "$$(state)" = "$$(cat "$$stamp" 2>/dev/null)" ] && $(BIN)/python -c '' 2>/dev/null; }; \
if [ -z "$$PYTHON" ] && fresh; then exit 0; fi; \
$(find_python); \
exec 9<Makefile && "$$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' || exit 1; \
$(make_venv); \
if fresh; then exit 0; fi; \
echo "Installing the project into .venv (half a minute the first time) ..." >&2; \
rm -f "$$stamp" .venv/.home && \
$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv && \
$(BIN)/uv pip install --quiet --python $(BIN)/python \
	-c constraints.txt --build-constraints constraints.txt -e '.[$(1)]' && \
state > "$$stamp.new" && mv -f "$$stamp.new" "$$stamp" && printf '%s\n' "$$here" > .venv/.home || \
	{ echo "The installation failed. Mend the cause above and run make again: it starts over." >&2; exit 1; }
endef
