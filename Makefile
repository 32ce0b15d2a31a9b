# Two commands do everything on a fresh machine with Python 3.11+, pip and (for some tests) apt as root:
#   make demo    runs the main job
#   make test    runs every test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The demo needs far less than the tests; where their environment is there already, it serves.
DEMO := $(if $(wildcard $(VENV)/ready),$(VENV),.venv-demo)

# Tests start hundreds of processes: each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs test suite quick coverage kills counterfeits executors check style types packages bench lock clean

demo: $(DEMO)/ready
	$(DEMO)/bin/reissue demo

# Side by side: installing waits for the network, and the tests often wait, for Spark or a browser.
test:
	$(MAKE) --no-print-directory -j 2 $(VENV)/ready packages
	$(MAKE) --no-print-directory -j 3 style types suite

suite: $(VENV)/ready packages
	$(BIN)/python -m pytest -n auto --dist loadscope

# What changes most, without Spark, databases, browsers and tests that start processes to compile in.
quick: $(VENV)/ready
	$(BIN)/python -m pytest -q -n auto --dist loadscope --ignore-glob='*spark*' --ignore-glob='*test_compiled*' \
		tests/arrays tests/model tests/partition tests/methods tests/utility tests/coding tests/hierarchy tests/schema tests/engine

# Branch coverage of src by package. Compiled kernels, and what workers of Spark run, are not seen.
coverage: $(VENV)/ready packages
	$(BIN)/python -m pytest -q -n auto --dist loadscope --cov --cov-report=json:.coverage.json
	$(BIN)/python scripts/coverage-by-package .coverage.json

# Kills at random moments, as many as the reliability target asks for; KILLS=200 REISSUE_KILLS_SEED=1 is a piece of them.
kills: $(VENV)/ready
	REISSUE_KILLS=$${KILLS:-1000} $(BIN)/python -m pytest -q tests/ledger/test_kills.py tests/series/test_kills.py

# Whether anything in the public files tells counterfeits from people: ten minutes, over 1,000 classes of each kind.
counterfeits: $(VENV)/ready
	REISSUE_COUNTERFEITS=$${CLASSES:-1000} $(BIN)/python -m pytest -q tests/series/test_counterfeits.py

# Clusters of Spark on this machine, one with killed executors: minutes, so not part of the tests.
executors: $(VENV)/ready
	$(BIN)/python -m pytest -q tests/series/executors_killed.py tests/series/standalone_cluster.py

check: style types
	$(BIN)/python -m pytest -q tests/test_layers.py

style: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

packages:
	scripts/prepare-tests

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks

lock: $(VENV)/ready
	$(BIN)/uv pip compile -q pyproject.toml --all-extras --group dev --universal --generate-hashes --no-header \
		--no-emit-index-url --python-version 3.11 -o requirements.lock
	$(BIN)/uv pip compile -q pyproject.toml --extra report --universal --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --python-version 3.11 -c requirements.lock -o requirements-demo.lock

docs: $(VENV)/ready
	$(BIN)/mkdocs build -q

.venv/ready: requirements.lock
.venv-demo/ready: requirements-demo.lock
.venv/ready .venv-demo/ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q --disable-pip-version-check uv
	$(@D)/bin/uv pip install -q --compile-bytecode --python $(@D)/bin/python --require-hashes -r $(filter %.lock,$^)
	$(@D)/bin/uv pip install -q --python $(@D)/bin/python --no-deps -e .
	$(@D)/bin/reissue warm-up $(if $(findstring demo,$@),standing static)
	touch $@

clean:
	rm -rf $(VENV) .venv-demo demo site .mypy_cache .ruff_cache .pytest_cache .coverage .coverage.*
