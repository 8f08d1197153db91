# `make` alone lists the targets. Each prepares what it needs and repeats nothing that is up to date.

PYTHON ?= python3
PORT ?= 8000
BASE ?= /
VENV := .venv
PY := $(VENV)/bin/python
# Material's notice about its successor is known; the site stays inside what both build.
export NO_MKDOCS_2_WARNING := 1
export CHROME_PATH ?= $(firstword $(wildcard /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome))

# What `generator build` writes. The built site depends on everything else.
GENERATED := $(addprefix docs/,models cards api/v1 assets/pyodide assets/core assets/generated llms.txt robots.txt)
SITE_SOURCES := mkdocs.yml $(shell find catalog generator docs tools \
	$(foreach each,$(GENERATED),-path $(each) -prune -o) -type f -not -name '*.pyc' -print 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

##@ Use

.PHONY: help
help:  ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: serve
serve: free-port build  ## Build the site and serve it on localhost (PORT=8000, BASE=/)
	@exec $(PY) tools/serve.py --port $(PORT) --base $(BASE)

.PHONY: build
build: site/index.html  ## Generate pages and JSON, build the site into site/

.PHONY: accuracy
accuracy: venv  ## Score the estimates against measurements (FILE=...csv, ROWS=all or 20 or an id)
	@$(PY) -m generator accuracy $(FILE) $(if $(ROWS),--rows "$(ROWS)")

##@ Check

NO_TEST := ARGS chose no test; it takes what pytest does, as ARGS=tests/cli or ARGS="-k lora"
# Many tests at a time; what measures time has the machine to itself. The build uses one processor,
# so what needs no site is tested meanwhile, on what that leaves.
MANY := --numprocesses auto --maxprocesses 4 --dist worksteal

.PHONY: test
test:  ## All tests, the browser's included (ARGS=... goes to pytest)
	@$(MAKE) --no-print-directory --jobs=3 venv npm chromium
	@$(MAKE) --no-print-directory build & site=$$!; \
	tests() { $$nice $(PY) -m pytest "$$@"; case $$? in 0) any=1 ;; 5) ;; *) any=1 failed=1 ;; esac; }; \
	nice=nice; tests -m "not site and not browser" $(MANY) $(ARGS); nice=; \
	wait $$site || { echo 'the site could not be built: its tests did not run'; exit 1; }; \
	tests -m alone $(or $(ARGS),tests/browser); \
	tests -m "(site or browser) and not alone" $(MANY) $(or $(ARGS),tests/site tests/browser); \
	[ "$$any" ] || { echo '$(NO_TEST)'; exit 1; }; \
	[ -z "$$failed" ]

.PHONY: test-firefox
test-firefox: venv npm firefox build  ## All browser tests that Firefox can run; `make test` has a few of them
	@FIREFOX=all $(PY) -m pytest tests/browser -k "[firefox" $(ARGS)

.PHONY: test-quick
test-quick: venv  ## The tests that need neither a built site nor a browser (ARGS=tests/cli)
	@$(PY) -m pytest -m "not browser and not site" $(ARGS); \
	case $$? in 0) ;; 5) echo '$(NO_TEST)'; exit 1 ;; *) exit 1 ;; esac

.PHONY: test-tools
test-tools: venv .venv-tools/.installed  ## Exported launch files against the tools' own parsers (5 GB)
	@$(PY) -m pytest tests/export $(ARGS)

.PHONY: check
check: checked  ## Check the catalog, its schemas, the golden cases and the ledger of addresses
	@$(PY) -m generator permalinks

.PHONY: links
links: venv  ## Ask every cited address whether it still answers (needs the network)
	@$(PY) tools/links.py

.PHONY: stale
stale: venv  ## List sources that were last read more than 18 months ago
	@found=$$($(PY) -m generator check) || { printf '%s\n' "$$found"; exit 1; }; \
	! printf '%s\n' "$$found" | grep stale-source

.PHONY: lint
lint: venv  ## Formatting and lint rules, workflows included
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/zizmor --offline --quiet .github

.PHONY: format
format: venv  ## Format the code and mend what can be mended by machine
	@$(VENV)/bin/ruff check --fix-only --exit-zero .
	@$(VENV)/bin/ruff format .

.PHONY: types
types: venv  ## Type check
	@$(VENV)/bin/mypy

.PHONY: coverage
coverage: venv  ## Branch coverage of the core, which must be complete
	@$(PY) -m pytest tests/core tests/property tests/export tests/oracle tests/accuracy \
		--cov --cov-report=term-missing

.PHONY: mutation
mutation: $(VENV)/.mutation  ## Break memory, params and fit in every small way; tests must notice (ten minutes)
	@$(VENV)/bin/mutmut run $(ARGS)
	@$(PY) tools/mutation.py

.PHONY: bench
bench: venv npm chromium build  ## Time the estimator, the matrix, the build and the browser
	@$(PY) tools/bench.py

.PHONY: audit
audit: venv npm  ## Known vulnerabilities in what is installed
	@$(VENV)/bin/pip-audit --strict --requirement requirements/dev.txt --require-hashes --disable-pip
	@npm audit --omit=dev

##@ Add and regenerate

.PHONY: new-model
new-model: venv  ## Draft a model's file from its config.json (CONFIG=... NAME=owner/name)
	@test -n "$(CONFIG)" || { echo "which config? make new-model CONFIG=config.json NAME=owner/name"; exit 2; }
	@$(PY) -m generator new model "$(CONFIG)" --name "$(NAME)"

.PHONY: new-card
new-card: venv  ## Draft a card's file (ID=name-form-size, as h100-sxm-80gb)
	@test -n "$(ID)" || { echo "which id? make new-card ID=h100-sxm-80gb"; exit 2; }
	@$(PY) -m generator new card "$(ID)"

.PHONY: schema
schema: venv  ## Write catalog/schema/*.schema.json from the record types
	@$(PY) -m generator schema

.PHONY: golden
golden: venv  ## Write tests/golden/cases.json from the present core; explain each change
	@$(PY) -m generator golden

.PHONY: permalinks
permalinks: checked  ## Append newly published addresses to catalog/permalinks.txt
	@$(PY) -m generator permalinks --write

.PHONY: verify-models
verify-models: .venv-oracle/.installed  ## Count parameters with the real Transformers classes (ARGS=id; 1 GB)
	@.venv-oracle/bin/python -m generator.verify_models $(ARGS)

.PHONY: oracle
oracle: .venv-oracle/.installed  ## Run the PyTorch fake-tensor cases that have no stored result
	@.venv-oracle/bin/python -m generator.oracle.refresh $(ARGS)

.PHONY: requirements
requirements: venv  ## Compile requirements/*.txt from *.in
	@$(PY) -m pip install --quiet uv
	@for name in site dev mutation; do \
		$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
			--no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements" \
			--output-file requirements/$$name.txt requirements/$$name.in || exit 1; done
	@# Without CUDA libraries and hashes: requirements/oracle.in says why.
	@for name in oracle tools; do \
		$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
			--no-emit-index-url --no-emit-find-links \
			--custom-compile-command "make requirements" requirements/$$name.in \
			| grep -v -E '^(nvidia|cuda|triton)' > requirements/$$name.txt || exit 1; done

.PHONY: clean
clean:  ## Remove what was generated, built and cached (not .venv and node_modules)
	rm -rf site mutants .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache .coverage htmlcov $(GENERATED)
	find generator tests tools -name __pycache__ -prune -exec rm -rf {} +

# What the targets above stand on

# All of `check` but the ledger, which takes in only what has passed.
.PHONY: checked
checked: venv
	@$(PY) -m generator check
	@$(PY) -m generator schema --check
	@$(PY) -m generator golden --check

# Told before the build, not after it.
.PHONY: free-port
free-port: venv
	@$(PY) tools/serve.py --port $(PORT) --try

.PHONY: venv
venv: $(VENV)/.installed

$(VENV)/.installed: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "trainfit needs Python 3.11 or newer; name one with PYTHON=python3.12"; exit 1; }
	@echo "Installing Python packages into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

$(VENV)/.mutation: requirements/mutation.txt $(VENV)/.installed
	@echo "Installing mutmut into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.venv-oracle/.installed: requirements/oracle.txt
	@echo "Installing PyTorch and Transformers into .venv-oracle"
	@$(PYTHON) -m venv .venv-oracle
	@.venv-oracle/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv-tools/.installed: requirements/tools.txt requirements/tools-alone.txt
	@echo "Installing the training tools' parsers into .venv-tools"
	@$(PYTHON) -m venv .venv-tools
	@.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check setuptools wheel
	@.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@DS_BUILD_OPS=0 .venv-tools/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --no-build-isolation -r requirements/tools-alone.txt
	@touch $@

.PHONY: npm
npm: node_modules/.package-lock.json

node_modules/.package-lock.json: package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer"; exit 1; }
	@echo "Installing npm packages"
	@npm ci --loglevel=error
	@touch $@

.PHONY: chromium
chromium:
	@tools/need_browser.sh chromium

# Tests skip what needs it where the system's packages have none.
.PHONY: firefox
firefox:
	@tools/need_browser.sh firefox

# Built beside the present site and exchanged when complete: a failed build leaves the old one.
site/index.html: $(SITE_SOURCES) $(VENV)/.installed node_modules/.package-lock.json
	@echo "Building the site, a minute or a few"
	@$(PY) -m generator build
	@rm -rf .cache/site && mkdir -p .cache
	@echo "mkdocs: all pages, about a minute"
	@# Quiet, the macros plugin keeps the reason of a failure to itself.
	@$(PY) -m mkdocs --quiet build --strict --site-dir .cache/site || { \
		$(PY) -m mkdocs build --strict --site-dir .cache/site; exit 1; }
	@rm -rf site && mv .cache/site site
	@touch $@
