# `make run` starts the workbench, `make test` checks and tests it; both set up .venv by themselves.
# PYTHON=python3.12 picks an interpreter; TORCH_INDEX_URL=… picks another source of torch builds (see README).
SHELL := /bin/bash
VENV := .venv
PY := $(VENV)/bin/python
ARGS ?=

.PHONY: run test check pure browser clean
run: $(VENV)/.ready-run
	$(PY) app.py $(ARGS)

test: check pure browser

check: $(VENV)/.ready-test
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports
	$(PY) -m mypy

pure: $(VENV)/.ready-test
	HF_HUB_OFFLINE=1 GRADIO_ANALYTICS_ENABLED=False $(PY) -m pytest -m "not browser" $(ARGS)

browser: $(VENV)/.ready-test
	@if bash tools/chromium.sh; then \
	  HF_HUB_OFFLINE=1 GRADIO_ANALYTICS_ENABLED=False $(PY) -m pytest -m browser $(ARGS); \
	else echo "SKIPPED: the browser tests, because no Chromium was found and none could be installed."; fi

$(VENV)/.ready-run: requirements.txt tools/setup.sh
	bash tools/setup.sh run

$(VENV)/.ready-test: requirements.txt requirements-dev.txt tools/setup.sh
	bash tools/setup.sh test

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
