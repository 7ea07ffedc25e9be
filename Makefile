# Every target sets up what it needs: a local virtual environment in .venv, made once and made again when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
JOBS ?= 2

.PHONY: demo test check bench fuzz docs generate format clean

demo: $(STAMP)
	@$(BIN)/python examples/rope.py

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -q

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright
	$(BIN)/python -m pytest -q docs README.md examples
	$(BIN)/pypto check --explore 200 examples/*.py

bench: $(STAMP)
	@$(BIN)/python -m benchmarks

fuzz: $(STAMP)
	PYPTO_FUZZ=1 $(BIN)/python -m pytest -n $(JOBS) -q -m fuzz

docs: $(DOCS_STAMP)
	$(BIN)/mkdocs build --strict

generate: $(STAMP)
	$(BIN)/python tools/generate.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

$(DOCS_STAMP): $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $(DOCS_STAMP)

clean:
	rm -rf $(VENV) build dist site
