# The two commands of the README and the ones of a developer's day. Everything real is in CMake.

BUILD_TYPE ?= release
BUILD := build/$(BUILD_TYPE)
JOBS ?= $(shell nproc)
UP_FLAGS ?=

.DEFAULT_GOAL := help
.PHONY: docs screenshots images deb tarball sources reference help up test test-long build bench format lint clean packages asan tsan fuzz

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

packages: ## install the Debian packages that are missing
	@scripts/install-packages.sh

up: packages ## build, start the cluster on this host and run the co-location demo
	@scripts/build.sh $(BUILD) $(JOBS) programs
	@exec $(BUILD)/bin/koordctl up --demo $(UP_FLAGS)

test: packages ## check the sources, build everything and run every test
	@scripts/lint.sh
	@scripts/build.sh $(BUILD) $(JOBS) all
	@cd $(BUILD) && ctest --output-on-failure -j $(JOBS) $(CTEST_FLAGS)

test-long: packages ## the tests that take minutes each: 1,000 simulated clusters, koordlet in a virtual machine; benchmarks are compiled
	@scripts/build.sh $(BUILD) $(JOBS) all
	@scripts/build.sh $(BUILD) $(JOBS) benches
	@cd $(BUILD) && ctest -C Long -L long --output-on-failure

build: packages ## build every program into build/release/bin
	@scripts/build.sh $(BUILD) $(JOBS) all

IMAGE_TAG ?= latest
images: packages ## make OCI images of the programs, in build/images
	@scripts/build.sh $(BUILD) $(JOBS) programs
	@while read -r name user; do packaging/make-image.py $(BUILD)/bin/$$name build/images/$$name.tar --user $$user \
	  --tag koordinator-sh/$$name:$(IMAGE_TAG) || exit 1; done < $(BUILD)/packaging/images.txt

deb: packages ## make Debian packages, in build/deb
	@scripts/install-packages.sh debhelper
	@packaging/build.sh $(BUILD) $(JOBS)
	@packaging/make-deb.sh $(BUILD) build/deb

tarball: packages ## make a tar archive that runs on Debian 12 and 13, Ubuntu 22.04 and 24.04, in build
	@scripts/install-packages.sh patchelf
	@packaging/build.sh $(BUILD) $(JOBS)
	@packaging/make-tarball.py $(BUILD) build/koordinator-$$(scripts/version.sh)-linux-amd64.tar.gz --date $$(packaging/date.sh)

sources: tarball ## download the sources of the archive's libraries under the GPL or LGPL, to offer them with it, in build/sources
	@tar -xzOf build/koordinator-$$(scripts/version.sh)-linux-amd64.tar.gz --wildcards '*/doc/koordinator/libraries' > build/libraries
	@packaging/sources.sh build/libraries build/sources

bench: packages ## run every benchmark; one JSON object per line
	@scripts/build.sh $(BUILD) $(JOBS) benches
	@scripts/build.sh $(BUILD) $(JOBS) programs
	@for bench in $(BUILD)/bin/bench_*; do $$bench $(BENCH_FLAGS) || exit 1; done
	@if [ -x /usr/bin/chromium ] && [ -d web/node_modules ]; then node bench/console.mjs $(BUILD)/web; fi
	@if command -v kubectl >/dev/null; then bench/one_cluster.py --programs $(BUILD)/bin; fi

asan: packages ## build and test with the address and undefined behaviour sanitizers
	@scripts/build.sh build/asan $(JOBS) all
	@cd build/asan && ctest --output-on-failure -j $(JOBS) -LE integration

tsan: packages ## build and test with the thread sanitizer
	@scripts/build.sh build/tsan $(JOBS) all
	@cd build/tsan && TSAN_OPTIONS=suppressions=$(CURDIR)/cmake/tsan_suppressions.txt ctest --output-on-failure -j $(JOBS) -LE integration

reference: packages ## write the reference pages of docs/reference
	@scripts/build.sh $(BUILD) $(JOBS) programs
	@scripts/build.sh $(BUILD) $(JOBS) describe_config
	@scripts/reference.py --programs $(BUILD)/bin

screenshots: ## take the pictures of the console with Chromium
	@scripts/build.sh $(BUILD) $(JOBS) programs
	@node scripts/screenshots.mjs $(BUILD)/bin

docs: ## build the site of these pages in build/docs
	@scripts/install-packages.sh mkdocs
	@command -v npm >/dev/null || scripts/install-packages.sh npm
	@scripts/make-docs.py

format: ## format the sources
	@find src cmd tests bench \( -name "*.h" -o -name "*.cc" \) -print0 | xargs -0 -P $(JOBS) -n 64 clang-format-19 -i

lint: ## all checks of the sources, with clang-tidy; `make test` has those that take seconds
	@scripts/lint.sh build/dev

clean: ## remove everything that was built
	@rm -rf build
