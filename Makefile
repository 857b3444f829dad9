# Every target prepares .venv by itself; see scripts/setup.sh.
.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash
# Whatever the environment says: without bytecode, every process that a test starts would compile all of Rota anew.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
CODE := $(wildcard src tests scripts bench examples)
FAST_TESTS := $(wildcard tests/unit tests/properties tests/scenarios)
KUBE_TESTS := tests/unit/kube tests/unit/kube_objects tests/real/kube
# Databases and files of the fast tests need not outlast a power cut.
IN_MEMORY := $(if $(wildcard /dev/shm),PYTEST_DEBUG_TEMPROOT=/dev/shm)
PYTEST := $(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal

.PHONY: help
help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup setup-run
setup: ## Prepare .venv for development (every target does it when needed)
	@scripts/setup.sh dev
setup-run:
	@scripts/setup.sh run

.PHONY: demo
demo: setup-run ## Start a server, run a mixed workload on it and show it live, a minute
	@PATH="$(CURDIR)/$(BIN):$$PATH" scripts/demo.sh

.PHONY: test
test: lint types coverage-check ## Check everything: lint, types, requirements, all tests
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} $(PYTEST) -m "not pods"

.PHONY: test-pods
test-pods: setup ## Run the tests of jobs as pods, on two real nodes of Kubernetes on this machine
	@$(PYTEST) -m pods tests/backends tests/real/kube_node

.PHONY: conformance
conformance: setup ## Run the cases about GitHub Actions that others wrote
	@$(BIN)/pytest -q tests/conformance

.PHONY: quick
quick: setup ## Run the fast tests, in seconds, while you work
	@$(IN_MEMORY) HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-quick} $(PYTEST) -q -p no:schemathesis -m "not slow" $(FAST_TESTS)

.PHONY: test-python
test-python: setup ## Install the wheel for each supported Python and try it there (PYTHONS="3.12 3.13" for some)
	@PYTHONS="$(PYTHONS)" scripts/test_python.sh

.PHONY: lint
lint: setup ## Check style, format and who imports whom
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/lint-imports --no-logo

.PHONY: format
format: setup ## Rewrite the code in the house style
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

.PHONY: types
types: setup ## Check types, strictly
	@$(BIN)/mypy $(CODE)

.PHONY: coverage-map coverage-check
coverage-map: setup-run ## Print for every requirement the tests that show it
	@$(BIN)/python scripts/coverage_map.py
coverage-check: setup-run
	@$(BIN)/python scripts/coverage_map.py --check

.PHONY: docs docs-tables screenshots
docs: docs-tables ## Build the documentation as a site, with references made from the code (build/docs/site)
	@scripts/setup.sh docs
	@$(BIN)/python -m scripts.site.build
docs-tables: setup-run ## Write the tables of README and docs/benchmarks.md from bench/results
	@$(BIN)/python -m bench.tables
screenshots: setup-run ## Take the pictures of the README from a real server, a minute (docs/images)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m scripts.site.screenshots

.PHONY: tutorials
tutorials: setup ## Run every command of docs/tutorials and write what it prints (PAGES="developer slurm" for some)
	@$(BIN)/python -m tests.first_hour $(PAGES)

.PHONY: bench bench-engine
bench: bench-engine bench-growth bench-openb bench-sim bench-server bench-cli bench-agents bench-isolation bench-kube bench-pods ## Run all benchmarks, each beside its peer
bench-engine: setup-run ## Measure the engine beside a bare scan
	@$(BIN)/python -m bench.engine

.PHONY: bench-growth
bench-growth: setup-run ## Check that nothing costs more than n log n of its input, 5 min (CASES="why groups" for some)
	@CASES="$(CASES)" $(BIN)/python -m bench.growth

.PHONY: bench-openb
bench-openb: setup-run ## Pack GPUs on the openb trace beside FGD, 15 min (SEEDS="42 43" for fewer)
	@SEEDS="$(SEEDS)" $(BIN)/python -m bench.openb

.PHONY: bench-sim
bench-sim: setup-run ## Replay public workloads: makespans, waits, promises, estimates (CASES="waits speed" for some)
	@CASES="$(CASES)" $(BIN)/python -m bench.sim

.PHONY: bench-server
bench-server: setup-run ## Measure the server beside HyperQueue and Slurm (CASES="array submit" for some)
	@CASES="$(CASES)" $(BIN)/python -m bench.server

.PHONY: bench-cli
bench-cli: setup-run ## Measure commands from prompt to prompt, on an idle server and on a full store
	@$(BIN)/python -m bench.cli

.PHONY: bench-agents
bench-agents: setup-run ## Measure agents: lost ones, busy ones, many, their logs, 20 min (CASES="many logs" for some)
	@CASES="$(CASES)" DURATION="$(or $(DURATION),600)" $(BIN)/python -m bench.agents

.PHONY: bench-isolation
bench-isolation: setup-run ## Measure what it costs to keep jobs apart, in each way (as root: all of them)
	@$(BIN)/python -m bench.isolation

.PHONY: bench-kube
bench-kube: setup ## Measure the Kubernetes scheduler beside kube-scheduler, 15 min (CASES="plain spread" for some)
	@CASES="$(CASES)" $(BIN)/python -m bench.kube

.PHONY: bench-pods
bench-pods: setup ## Measure jobs as pods of real nodes beside kubectl create of the same pods, 10 min (PODS=50 for fewer)
	@PODS="$(or $(PODS),200)" RUNS="$(or $(RUNS),1)" $(BIN)/python -m bench.pods

.PHONY: faults planted-bugs
faults: setup ## Simulate a cluster on which everything goes wrong (SEEDS=2000 FIRST_SEED=1)
	@$(BIN)/python -m tests.faults --seeds $(or $(SEEDS),2000) --first $(or $(FIRST_SEED),1)
planted-bugs: setup ## Plant bugs, and see which harness catches which (HARNESS=simulation or crash, ROUNDS=4 SEEDS=1000)
	@$(BIN)/python -m tests.planting --harness $(or $(HARNESS),both) \
		--rounds $(or $(ROUNDS),4) --seeds $(or $(SEEDS),1000)

.PHONY: hostile
hostile: setup ## Attack a real server, all readers and the client with seeded nonsense, 10 min (HOSTILE_SECONDS=600 SEED=1)
	@$(BIN)/python -m tests.hostile --seconds $(or $(HOSTILE_SECONDS),600) --seed $(or $(SEED),1) --keep

.PHONY: torture
torture: setup ## Kill and freeze real servers, schedulers, agents and databases (N=1000 FIRST_SEED=1)
	@$(BIN)/python -m tests.crash --points $(or $(N),60) --first $(or $(FIRST_SEED),1)

.PHONY: test-kube
test-kube: setup ## Test the Kubernetes scheduler alone, on the real API server of a release (KUBE_VERSION=1.27.4)
	@$(PYTEST) -p no:schemathesis $(KUBE_TESTS)

.PHONY: differential
differential: setup ## Compare with kube-scheduler on random clusters, pod by pod (N=300 FIRST_SEED=1)
	@$(BIN)/python -m tests.real.kube.differential --clusters $(or $(N),60) --first-seed $(or $(FIRST_SEED),1)

.PHONY: torture-kube soak-kube
torture-kube: setup ## Kill and freeze the leading replica of the Kubernetes scheduler under load (N=50 FIRST_SEED=1)
	@$(BIN)/python -m tests.real.kube.torture --strikes $(or $(N),50) --first-seed $(or $(FIRST_SEED),1)
soak-kube: setup ## See whether the Kubernetes scheduler needs more memory the longer it runs (N=200000 pods)
	@$(BIN)/python -m tests.real.kube.soak --pods $(or $(N),200000)

.PHONY: wire
wire: setup ## Make the Python modules of src/rota/wire/*.proto anew
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m grpc_tools.protoc -I src \
		--python_out=src --grpc_python_out=src --mypy_out=quiet:src --mypy_grpc_out=quiet:src \
		$(wildcard src/rota/wire/*.proto)

.PHONY: lock
lock: setup ## Pin all dependencies anew (ARGS=--upgrade for the newest)
	@scripts/lock.sh $(ARGS)

.PHONY: clean
clean: ## Remove .venv, caches and build results
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find $(CODE) -name __pycache__ -prune -exec rm -rf {} +
