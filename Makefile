# Everything runs in a virtualenv of its own; nothing on the machine is changed.
PYTHON ?= python3
VENV ?= .venv
LOCK ?= requirements.lock
BIN := $(VENV)/bin
JOBS ?= 4
ARGS ?=

.PHONY: setup run test lint types bench clean

setup: $(VENV)/.installed

$(VENV)/.installed: $(LOCK)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r $(LOCK)
	touch $@

run: setup
	$(BIN)/python manage.py quickstart --demo $(ARGS)

test: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	OJS_BUILD=true $(BIN)/lint-imports

types: setup
	OJS_BUILD=true $(BIN)/mypy .

bench: setup
	$(BIN)/python -m bench $(ARGS)

clean:
	rm -rf $(VENV) .venv313 .ojs .coverage htmlcov
