# Everything runs in a virtualenv of its own; nothing on the machine is changed.
PYTHON ?= python3
VENV ?= .venv
LOCK ?= requirements.lock
DEV_LOCK ?= requirements-dev.lock
BIN := $(VENV)/bin
JOBS ?= 4
ARGS ?=

.PHONY: setup run test lint types bench clean

setup: $(VENV)/.installed

$(VENV)/.installed: $(LOCK)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r $(LOCK)
	touch $@

# what tests and checks need besides
$(VENV)/.dev: $(VENV)/.installed $(DEV_LOCK)
	$(BIN)/pip install --quiet --disable-pip-version-check -r $(DEV_LOCK)
	touch $@

run: setup
	$(BIN)/python manage.py quickstart --demo $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	OJS_BUILD=true $(BIN)/lint-imports

types: $(VENV)/.dev
	OJS_BUILD=true $(BIN)/mypy .

bench: $(VENV)/.dev
	$(BIN)/python -m bench $(ARGS)

clean:
	rm -rf $(VENV) .venv313 .ojs .coverage htmlcov
