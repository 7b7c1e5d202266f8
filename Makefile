# Every command goes through bootstrap.py, which needs only a Python: without make, say
# `python3 bootstrap.py test` instead. Options go in ARGS: make test ARGS="-k rules -x"

PYTHON ?= python3
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test lint docs bench verify league clean

help:    ## show this list
	@sed -n 's/^\([a-z]*\): *## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST)
run:     ## play one whole game of 32 bots (installs the core only)
	@$(PYTHON) bootstrap.py run $(ARGS)
test:    ## all core tests on two cores: five minutes at first, then three
	@$(PYTHON) bootstrap.py test $(ARGS)
lint:    ## ruff, mypy and the layers
	@$(PYTHON) bootstrap.py lint $(ARGS)
docs:    ## build the documentation, build/docs/index.html
	@$(PYTHON) bootstrap.py docs $(ARGS)
bench:   ## time the benchmarks
	@$(PYTHON) bootstrap.py bench $(ARGS)
verify:  ## the long checks, hours; the same command goes on where it was stopped
	@$(PYTHON) bootstrap.py verify $(ARGS)
league:  ## train a league with RLlib at full size, in .venv-rllib: 3 to 10 minutes, 2.3 GB; `ARGS=--resume` goes on
	@$(PYTHON) bootstrap.py league $(ARGS)
clean:   ## remove .venv, builds and tool caches
	@rm -rf .venv .venv-rllib build dist .benchmarks .hypothesis .*_cache
