# A thin wrapper around CMake for people in a hurry; everything it does is a preset in
# CMakePresets.json or a script.

.DEFAULT_GOAL := help
stages := checks release python js library clang asan tsan aarch64 musl gcc11
.PHONY: help demo test test-long build dev fuzz fuzz-nightly bench install clean deps web $(stages)

help:
	@echo 'make demo      install missing packages, build, train on real images, draw and classify'
	@echo '               (results in demo/)'
	@echo 'make test      install missing packages, build every configuration and run its tests: about'
	@echo '               fifteen minutes on two cores; tests/run-all.sh describes the stages'
	@echo '               (PYTHON=1: also installs torch, for the tests of the Python package)'
	@echo 'make test-long the same with every test repeated for every instruction set in every stage,'
	@echo '               an older compiler, and longer fuzzing'
	@echo 'make build     the release build without tests, in build/release'
	@echo 'make dev       the developer build, warnings are errors, in build/dev; then its tests'
	@echo 'make checks    the rules of the source tree: columns, format, includes, names'
	@echo 'make release   the release build and its tests; make python: those of the Python package'
	@echo 'make js        the package for browsers and Node.js, in build/js, and its tests'
	@echo 'make web       the browser page with the models of models/ (MODELS=..), in build/web'
	@echo 'make clang     the build with clang and its numeric tests'
	@echo 'make asan      the tests under the address and undefined-behaviour sanitizers'
	@echo 'make tsan      the threaded tests under the thread sanitizer'
	@echo 'make aarch64   the library for 64-bit ARM, its tests under qemu'
	@echo 'make musl      the library with musl instead of glibc'
	@echo 'make fuzz      the fuzz targets, a minute each (SECONDS=..)'
	@echo '               (LONG=1 with one of these: as in test-long)'
	@echo 'make fuzz-nightly'
	@echo '               the fuzz targets, ten minutes each, with a table of runs and coverage'
	@echo 'make bench     the benchmark of the layer, and FFTW on the same convolution'
	@echo 'make install   installs the release build (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make clean     removes build/ and demo/'

deps:
	@scripts/install-deps.sh

# CMake's cache keeps the last configuration, so every target says whether it wants tool and tests.
build: deps
	cmake --preset release -DSSM2D_TOOL=ON -DSSM2D_TESTS=OFF
	cmake --build --preset release

demo: deps
	cmake --preset release -DSSM2D_TOOL=ON -DSSM2D_TESTS=OFF
	cmake --build --preset release
	@examples/demo.sh build/release demo

# PYTHON=1 also installs the packages for the tests of the Python package; without it these tests
# run if the packages are installed.
export PYTHON LONG

test:
	@scripts/install-deps.sh checks release js library aarch64 musl
	@tests/run-all.sh

test-long:
	@scripts/install-deps.sh all
	@tests/run-all.sh --long

$(stages):
	@scripts/install-deps.sh $@
	@tests/run-all.sh $@

js: release-build

# The tests of js compare with the tool of the release build.
.PHONY: release-build
release-build: deps
	cmake --preset release
	cmake --build --preset release --target ssm2d_tool ssm2d

web:
	@scripts/install-deps.sh js
	@js/build.sh
	@node web/build.mjs $(MODELS)

dev: deps
	@tests/run-all.sh dev

fuzz: deps
	@FUZZ_SECONDS=$(or $(SECONDS),60) tests/run-all.sh fuzz

fuzz-nightly: deps
	@SECONDS_EACH=$(or $(SECONDS),600) tests/fuzz/nightly.sh

bench: build
	build/release/tools/ssm2d bench layer
	cmake --preset release -DSSM2D_PEERS=ON
	cmake --build --preset release --target fftw_peer
	build/release/bench/fftw_peer

# Does not depend on `build`, which installs packages: users often install as root.
install:
	cmake --preset release -DSSM2D_TOOL=ON -DSSM2D_TESTS=OFF
	cmake --build --preset release
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(or $(PREFIX),/usr/local)"

clean:
	rm -rf build demo
