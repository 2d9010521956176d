# Everything runs in a virtualenv of its own; nothing on the machine is changed.
PYTHON ?= python3
VENV ?= .venv
LOCK ?= requirements.lock
DEV_LOCK ?= requirements-dev.lock
BIN := $(VENV)/bin
HOURS ?= 2
# processes of tests: they wait, too, for servers and browsers
JOBS ?= $(shell echo $$(( $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) + 3 )))
ARGS ?=

DEV = --extra all --extra dev
COMPILE = uv pip compile --quiet --universal --no-header --no-annotate -c /dev/stdin

.PHONY: setup run demo-federation test test-long lint types licences dist deploy-check bench bench-against \
	bench-console bench-scale bench-capacity bench-cells screenshots fairness faults soak soak-durable drill-failover \
	drill-failover-quick drill-restore drill-upgrade lock \
	dev docs docs-serve clean

setup: $(VENV)/.installed

$(VENV)/.installed: $(LOCK)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r $(LOCK)
	touch $@

# what tests and checks need besides
$(VENV)/.dev: $(VENV)/.installed $(DEV_LOCK)
	$(BIN)/pip install --quiet --disable-pip-version-check -r $(DEV_LOCK)
	touch $@

# what the site of the manual needs besides
$(VENV)/.docs: $(VENV)/.installed requirements-docs.lock
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-docs.lock
	touch $@

run: setup
	$(BIN)/python manage.py quickstart --demo $(ARGS)

# as `run`, and its processes restart when a file of the code changes
dev: setup
	$(BIN)/python manage.py quickstart --demo --reload $(ARGS)

# three regions on 127.0.0.1, .2 and .3, each with its own PostgreSQL
demo-federation: setup
	$(BIN)/python manage.py demofederation $(ARGS)

# finds or gets a browser first; without one it leaves the browser tests out and says so
test: $(VENV)/.dev
	@browser="$$($(BIN)/python -m tests.browser)" && export OJS_TEST_BROWSER="$$browser" && set -x && \
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

# the tests that take minutes each, such as faults under load, and all examples of the others
test-long: $(VENV)/.dev
	OJS_TEST_THOROUGH=true $(BIN)/python -m pytest -n 2 --dist loadgroup -m "long or thorough" $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	OJS_BUILD=true $(BIN)/lint-imports
	$(BIN)/python -m tests.prose

types: $(VENV)/.dev
	OJS_BUILD=true $(BIN)/mypy .

# the site of the manual, into .manual/site: warnings are errors, such as a link without a target
docs: $(VENV)/.docs
	OJS_BUILD=true $(BIN)/python -m docs.site .manual/pages
	$(BIN)/zensical build --clean --strict

docs-serve: docs
	$(BIN)/python -m http.server 8001 --bind 127.0.0.1 --directory .manual/site

# of every package that is installed here
licences: $(VENV)/.dev
	$(BIN)/pip-licenses --summary

# wheel and sdist in dist/, checked: contents, metadata, and two builds that are equal byte by byte
dist: $(VENV)/.dev
	$(BIN)/python -m tests.package.dist

# the files in deploy/, by the tools of nginx, Caddy, systemd, Prometheus, Kubernetes and Compose
deploy-check: $(VENV)/.dev
	tests/deploy/tools.sh .deploy-tools
	$(BIN)/python -m tests.deploy.check .deploy-tools

bench: setup
	$(BIN)/python -m bench $(ARGS)

# this version against another, in turns: make bench-against BASE=v0.2.0 ARGS="--paths enqueue,get"
bench-against: setup
	$(BIN)/python -m bench.against $(BASE) $(ARGS)

# what each page of the console takes with ten million jobs
bench-console: $(VENV)/.dev
	$(BIN)/python -m bench.console $(ARGS)

# how each cost grows with processes, connections and jobs: tables, and pictures in docs/
bench-scale: setup
	$(BIN)/python -m bench.scale $(ARGS)

# CPU, connections, WAL, memory and disk for each path and for stored jobs
bench-capacity: setup
	$(BIN)/python -m bench.scale.capacity $(ARGS)

# CPU per job with 1, 2 and 4 cells, and a move of a tenant under load
bench-cells: setup
	$(BIN)/python -m bench.scale.cells $(ARGS)

# pictures of the console for docs/, from a running demo: make screenshots ARGS="http://127.0.0.1:8080 admin/PASSWORD"
screenshots: $(VENV)/.dev
	$(BIN)/python -m bench.console.pictures $(ARGS)

# what fair scheduling promises, against a real server
fairness: setup
	$(BIN)/python -m bench.fairness $(ARGS)

# what a server under load keeps of its promises while it is hurt: make faults ARGS="--seed 7 --minutes 5"
faults: $(VENV)/.dev
	$(BIN)/python -m bench.faults $(ARGS)

# durable jobs while processes are killed: make soak-durable ARGS="--jobs 200 --minutes 2 --seed 7"
soak-durable: $(VENV)/.dev
	$(BIN)/python -m bench.soak $(ARGS)

# a mixed load with faults, and what grows: make soak HOURS=2
soak: $(VENV)/.dev
	$(BIN)/python -m bench.soak.hours --hours $(HOURS) $(ARGS)

# what a failover of PostgreSQL costs clients: docs/high-availability.md
drill-failover: .drill-tools
	$(BIN)/python -m bench.drills.failover $(ARGS)

drill-failover-quick: .drill-tools
	$(BIN)/python -m bench.drills.failover --quick $(ARGS)

# Patroni, for the python of the system: the account of PostgreSQL may not reach another one; and
# etcd, HAProxy and PgBouncer if the system lacks them
.PHONY: .drill-tools
.drill-tools: $(VENV)/.dev
	bench/drills/tools.sh $@ $(BIN)/pip

# what is left of the jobs after a restore of PostgreSQL to a point in time
drill-restore: $(VENV)/.dev
	$(BIN)/python -m bench.drills.restore $(ARGS)

# an upgrade from the last release, process by process, under load
drill-upgrade: $(VENV)/.dev
	$(BIN)/python -m bench.drills.upgrade $(ARGS)

# needs uv; keeps what is pinned and still fits; uv writes no index address unless told to
lock:
	echo 'django<6' | $(COMPILE) --python-version 3.11 --extra all pyproject.toml -o requirements.lock
	echo 'django<6' | $(COMPILE) --python-version 3.11 --extra tasks $(DEV) pyproject.toml -o requirements-dev.lock
	echo 'django>=6' | $(COMPILE) --python-version 3.13 $(DEV) pyproject.toml -o requirements-dev-django6.lock
	$(COMPILE) --python-version 3.11 --extra docs pyproject.toml -o requirements-docs.lock < requirements-dev.lock

clean:
	rm -rf $(VENV) .venv313 .deploy-tools .drill-tools dist .ojs .ojs-federation .coverage htmlcov .manual .cache
