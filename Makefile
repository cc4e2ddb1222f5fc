# Nothing is needed beforehand but Python 3.11 or later, make, and the package registry.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
OLDEST = $(VENV)-oldest
RELEASE = $(VENV)-release
# The Pythons that are supported and can be had: on the path, or of pyenv.
PYTHONS ?= $(shell for v in 3.11 3.12 3.13; do for p in python$$v $$HOME/.pyenv/versions/$$v.*/bin/python3; do \
	$$p -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$v')" 2>/dev/null && echo $$p && break; done; done)

.PHONY: help setup reproduce test tests docs dist release oldest pythons lint faults oracles stability bench league picture demo clean

help:
	@echo "make reproduce   set everything up, run the paper's evaluation, and write out/report.html"
	@echo "make test        set everything up and run every check"
	@echo "make docs        build the site in site/html, every warning an error"
	@echo "make dist        build the wheel and the source archive in dist/"
	@echo "make release     install the wheel into an empty environment, and use it there"
	@echo "make oldest      run the tests with the oldest versions of everything that are allowed"
	@echo "make pythons     run the tests on every supported Python that is found"
	@echo "make bench       measure speed beside other libraries, and how the cost grows"
	@echo "make league      play every strategy in every kind of world, and write docs/league.md; a stopped one continues"
	@echo "make demo        serve made-up films to made-up viewers, with a dashboard, until stopped"
	@echo "make faults      kill, cut, fill and damage stores of ledgers, and see what is left"
	@echo "make oracles     compare simulations and deciders with frozen numbers, in full"
	@echo "make stability   measure the ridge estimate's round-off over ten million updates"
	@echo "make picture     run make reproduce and put its figures into the documents"
	@echo "make clean       remove what the other targets made"

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "projbandits needs Python 3.11 or later; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	# The data of examples/fashion.py; only its files are read, so what it needs to run is left out.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps obp==0.4.1
	@touch $@

reproduce: setup
	MPLBACKEND=agg $(BIN)/projbandits reproduce --out out

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: setup
	@$(MAKE) --no-print-directory -j 2 lint docs  # each takes one core
	@$(MAKE) --no-print-directory tests

tests: setup
	MPLBACKEND=agg $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

docs: setup
	$(BIN)/python -m sphinx -W --keep-going -q -j 2 docs site/html
	$(BIN)/python docs/links.py site/html

dist: setup
	rm -rf dist
	$(BIN)/python -m build --quiet

release: dist
	$(PYTHON) -m venv --clear $(RELEASE)
	rm -rf build/release && mkdir -p build/release
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/release && ../../$(RELEASE)/bin/python ../../tests/extras.py
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[wine,postgresql]"
	cd build/release && ../../$(RELEASE)/bin/python ../../tests/installed.py

oldest:
	$(PYTHON) -m tests.oldest > constraints/oldest.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints/oldest.txt --editable ".[test]"
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps obp==0.4.1
	MPLBACKEND=agg $(OLDEST)/bin/python -m pytest --numprocesses 2 --dist worksteal

pythons:
	set -e; for p in $(PYTHONS); do \
		v=$$($$p -c "import sys; print('%d.%d' % sys.version_info[:2])"); \
		echo "Python $$v: $$p"; $(MAKE) tests PYTHON=$$p VENV=$(VENV)-$$v; done

picture: reproduce
	cp $(addprefix out/,$(addsuffix .png,fig-verdicts fig-a fig-tie fig-long fig-return)) docs/images/

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	MPLBACKEND=agg $(BIN)/python -m benchmarks.speed --out benchmarks/out

league: setup
	MPLBACKEND=agg $(BIN)/python -m benchmarks.league

faults: setup
	$(BIN)/python -m tests.faults all --store sqlite
	$(BIN)/python -m tests.faults all --store postgresql

oracles: setup
	$(BIN)/python -m tests.oracles

demo: setup
	$(BIN)/python examples/service_demo.py out/demo

stability: setup
	$(BIN)/python -m benchmarks.ridge_stability

clean:
	rm -rf $(VENV) $(OLDEST) $(RELEASE) $(VENV)-3.* out out-quick site dist docs/reference/generated benchmarks/out build src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
