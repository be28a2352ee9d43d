# `make demo` and `make test` do everything from a fresh clone; `make help` lists the rest.
# All paths are relative, so the project may lie under a directory with spaces in its name.

VENV := .venv
RUN := $(VENV)/bin/python -m
LINTED := src tests bench experiments examples scripts
# Tests that share a Spark go to one worker (tests/conftest.py). They often wait, so three workers keep two cores busy.
PARALLEL := -n 3

# Compiled modules are kept even where the environment asks not to (many container images do): hundreds of processes
# would otherwise compile what they import, each for itself.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-oldest test-packages test-pythons test-cluster checks lint types imports packages prepared unit conformance search negation docs notebooks format lock java install clean

help:
	@echo "make demo         install into $(VENV) and run the main job"
	@echo "make test         install into $(VENV) and run every check: lint, types, imports, packages, unit"
	@echo "make test-all     the same plus the slow tests: a cluster with separate executors, the oldest Spark, and the"
	@echo "                  comparisons with the real FlinkCEP (downloads 500 MB of jars)"
	@echo "make test-oldest  batch and streams on the oldest supported Spark, in a separate environment under build/"
	@echo "make test-packages the same as packages, and a job on Spark"
	@echo "make test-pythons a selection with Python 3.12, 3.13 and 3.14, in separate environments under build/; PYTHONS='3.12' for one"
	@echo "make test-cluster a standalone Spark with two workers on this machine: batch, streams, Connect, executors that die"
	@echo "make lint         ruff: format and rules"
	@echo "make types        mypy --strict"
	@echo "make imports      rooms import one way; pyspark only in cepheid.spark"
	@echo "make packages     wheel and sdist, each installed into an empty environment under build/ and tried in memory"
	@echo "make unit         pytest; ARGS='tests/syntax -k window' selects tests"
	@echo "make conformance  all corpora through the reference evaluator; ENGINE=<name> for another"
	@echo "make search       look for new cases on which kernel and reference differ; CASES=50000, ARGS='--seed 1' to repeat"
	@echo "make negation     the experiment of docs/negation-experiment.md, about twenty minutes; ARGS=--smoke for a tiny run"
	@echo "make docs         build the documentation into build/site; a broken link is an error"
	@echo "make notebooks    make and run the notebooks of the examples again"
	@echo "make format       format and fix with ruff"
	@echo "make lock         resolve the versions from pyproject.toml and write requirements.lock"
	@echo "make clean        remove $(VENV) and everything else built here"
	@echo
	@echo "PYTHON=/path/to/python3 selects the Python for $(VENV) (3.11 or newer)."

demo: java install
	@$(VENV)/bin/cepheid demo

# The checks of the sources take one core, and what tests need first the other.
test: java install
	@$(MAKE) --no-print-directory -j 2 --output-sync checks prepared
	@$(MAKE) --no-print-directory unit

checks: lint types imports packages

# What needs minutes, another Spark or FlinkCEP's jars is not part of continuous integration.
test-all: test test-oldest test-packages test-pythons test-cluster
	$(RUN) pytest -m slow
	CEPHEID_WITH_FLINK=1 $(RUN) pytest tests/evidence/test_against_flink.py

test-oldest: java
	@scripts/test-oldest.sh

test-packages: install
	@scripts/test-packages.sh $(VENV)

test-pythons: java
	@scripts/test-pythons.sh $(PYTHONS)

test-cluster: java install
	$(RUN) pytest -m cluster tests/cluster $(ARGS)

lint: install
	$(RUN) ruff format --check $(LINTED)
	$(RUN) ruff check $(LINTED)

types: install
	$(RUN) mypy --strict src

imports: install
	$(VENV)/bin/lint-imports

# What is installed elsewhere is neither a clone nor editable; `make test-packages` tries it on Spark, too.
packages: install
	@scripts/test-packages.sh $(VENV) without-spark

unit: prepared
	$(RUN) pytest $(PARALLEL) $(ARGS)

# The kernel is compiled first, once: the tests' processes would otherwise all do it at the same time.
prepared: install
	@$(VENV)/bin/python -c "from cepheid.engine.warming import warm_up; warm_up('compact')" & \
	$(VENV)/bin/python -c "from cepheid.engine.warming import warm_up; warm_up('rows')" & \
	$(VENV)/bin/python tests/spark_processes.py & \
	$(VENV)/bin/python -c "from cepheid.engine.warming import warm_up; warm_up()" && wait

ENGINE := reference
conformance: install
	$(VENV)/bin/python tests/conformance/run.py --engine $(ENGINE) $(wildcard tests/conformance/*.jsonl tests/conformance/*.jsonl.gz)

# Other cases each time: for every night, beside the tests, whose examples are always the same.
CASES := 50000
search: install
	$(VENV)/bin/python tests/conformance/search.py --cases $(CASES) $(ARGS)

negation: java install
	$(RUN) experiments.negation $(ARGS)

# Strict: see mkdocs.yml.
docs: install
	NO_MKDOCS_2_WARNING=true $(RUN) mkdocs build --quiet
	@echo "build/site/index.html"

notebooks: install
	$(VENV)/bin/python scripts/make_notebooks.py

format: install
	$(RUN) ruff format $(LINTED)
	$(RUN) ruff check --fix $(LINTED)

# Needs no working install, so that it can repair a lock that no longer installs.
lock:
	@scripts/make-venv.sh $(VENV)
	$(RUN) pip install --quiet uv
	$(RUN) uv pip compile pyproject.toml --extra spark --extra cli --extra connect --extra studio --group dev --universal --upgrade --generate-hashes \
		--no-annotate --custom-compile-command "make lock" --quiet --output-file requirements.lock

java:
	@scripts/require-java.sh

# Always asked, cheap when there is nothing to do.
install:
	@scripts/install.sh $(VENV)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
