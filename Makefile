# The two commands of the README and the ones of a developer's day. Everything real is in CMake.

BUILD_TYPE ?= release
BUILD := build/$(BUILD_TYPE)
JOBS ?= $(shell nproc)
UP_FLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help up test test-long build bench format lint clean packages asan tsan fuzz

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

packages: ## install the Debian packages that are missing
	@scripts/install-packages.sh

up: packages ## build, start the cluster on this machine and run the co-location demo
	@scripts/build.sh $(BUILD) $(JOBS) programs
	@exec $(BUILD)/bin/koordctl up --demo $(UP_FLAGS)

test: packages ## build everything and run every test
	@scripts/build.sh $(BUILD) $(JOBS) all
	@cd $(BUILD) && ctest --output-on-failure -j $(JOBS) $(CTEST_FLAGS)

test-long: packages ## the tests that take minutes each: 1,000 simulated clusters
	@scripts/build.sh $(BUILD) $(JOBS) all
	@cd $(BUILD) && ctest -C Long -L long --output-on-failure

build: packages ## build every program into build/release/bin
	@scripts/build.sh $(BUILD) $(JOBS) all

bench: packages ## run every benchmark; one JSON object per line
	@scripts/build.sh $(BUILD) $(JOBS) all
	@for bench in $(BUILD)/bin/bench_*; do $$bench $(BENCH_FLAGS) || exit 1; done

asan: packages ## build and test with the address and undefined behaviour sanitizers
	@scripts/build.sh build/asan $(JOBS) all
	@cd build/asan && ctest --output-on-failure -j $(JOBS) -LE integration

tsan: packages ## build and test with the thread sanitizer
	@scripts/build.sh build/tsan $(JOBS) all
	@cd build/tsan && TSAN_OPTIONS=suppressions=$(CURDIR)/cmake/tsan_suppressions.txt ctest --output-on-failure -j $(JOBS) -LE integration

format: ## format the sources
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

lint: ## clang-tidy, include directions and file sizes
	@scripts/lint.sh build/dev

clean: ## remove everything that was built
	@rm -rf build
