# What there is to run; CONTRIBUTING.md says more.

SWIFT ?= swift
export SWIFT

.PHONY: help deps build run test bench format lint fixtures simulate test-kills test-mounts test-sanitize fuzz

help:
	@echo "make run          install what is needed, build, and show two people sharing photos"
	@echo "make test         install what is needed, build, and run all tests"
	@echo "make build        build the release executables"
	@echo "make deps         install the Debian packages that building needs"
	@echo "make bench        measure beside cp and rsync (BENCH_SCALE=0.01 for a short form)"
	@echo "make simulate     whole engines from seeds (SEEDS=1000 FIRST=1000 WEATHER=everything THOROUGH=1)"
	@echo "make test-kills   kill -9 real processes at random moments (KILLS=1000 SEED=n)"
	@echo "make test-mounts  the scenario over real mounts (MOUNTS=\"plain sshfs nfs4 ...\"; needs root)"
	@echo "make test-sanitize   the tests under the thread and address sanitizers"
	@echo "make fuzz         mutated files for every parser (SHOEBOX_FUZZ_RUNS=1000 for a short form)"
	@echo "make lint         check format and fixtures       make format    format the sources"
	@echo "make fixtures     make fixtures/photos again"

deps:
	@scripts/deps.sh

build:
	$(SWIFT) build -c release

run: deps build
	@scripts/demo.sh

# The slow suites in their short forms first: the runner's closing line is the last.
test: deps
	@scripts/build-tests.sh
	KILLS=40 SHOEBOX_BIN=.build/tests/debug python3 Tests/Processes/kills.py
	MOUNTS=plain MOUNTS_OPTIONAL=1 SHOEBOX_BIN=.build/tests/debug python3 Tests/Processes/mounts.py
	BENCH_SCALE=0.003 BENCH_ROUNDS=1 SHOEBOX_BIN=.build/tests/debug python3 Benchmarks/benchmark.py
	@scripts/test.sh

test-kills: deps build
	@python3 Tests/Processes/kills.py

test-mounts: deps build
	@python3 Tests/Processes/mounts.py

test-sanitize: deps
	@scripts/sanitize.sh

bench: deps build
	@Benchmarks/run.sh

format:
	$(SWIFT) format -i -r Package.swift Sources Tests

lint:
	@scripts/lint.sh

fixtures:
	fixtures/generate.py

simulate: deps
	@SEEDS="$(SEEDS)" FIRST="$(FIRST)" WEATHER="$(WEATHER)" THOROUGH="$(THOROUGH)" scripts/simulate.sh

fuzz: deps
	@scripts/fuzz.sh
