# Two commands do everything on a fresh machine with Python 3.11+, pip and (for some tests) apt as root:
#   make demo    runs the main job
#   make test    runs every test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test quick coverage kills executors check bench lock clean

demo: $(VENV)/ready
	$(BIN)/reissue demo

test: $(VENV)/ready check
	scripts/prepare-tests
	$(BIN)/python -m pytest -n auto --dist loadscope

# What changes most, without Spark, databases and browsers.
quick: $(VENV)/ready
	$(BIN)/python -m pytest -q -n auto --dist loadscope --ignore-glob='*spark*' \
		tests/arrays tests/model tests/partition tests/methods tests/utility tests/coding tests/hierarchy tests/schema tests/engine

# Branch coverage of src by package. Compiled kernels, and what workers of Spark run, are not seen.
coverage: $(VENV)/ready
	scripts/prepare-tests
	$(BIN)/python -m pytest -q -n auto --dist loadscope --cov --cov-report=json:.coverage.json
	$(BIN)/python scripts/coverage-by-package .coverage.json

# Kills at random moments, as many as the reliability target asks for.
kills: $(VENV)/ready
	REISSUE_KILLS=$${KILLS:-400} $(BIN)/python -m pytest -q tests/ledger/test_kills.py tests/series/test_kills.py

# Killed executors of a Spark cluster on this machine: minutes, so not part of the tests.
executors: $(VENV)/ready
	$(BIN)/python -m pytest -q tests/series/executors_killed.py

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks

lock: $(VENV)/ready
	$(BIN)/uv pip compile -q pyproject.toml --all-extras --group dev --universal --generate-hashes --no-header \
		--no-emit-index-url --python-version 3.11 -o requirements.lock

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
	$(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	touch $@

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .coverage .coverage.*
