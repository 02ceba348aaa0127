# A thin wrapper around CMake for people in a hurry; everything it does is a preset in
# CMakePresets.json or a script.

.DEFAULT_GOAL := help
stages := checks release python js library clang asan tsan aarch64 musl gcc11
.PHONY: help demo test test-long test-packages build dev fuzz fuzz-nightly bench site web install \
	deb bundle clean deps $(stages)

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
	@echo 'make site      the documentation as a site to read offline: build/site/index.html'
	@echo 'make install   installs the release build (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make deb       Debian packages, in build/deb; make bundle: a .tar.gz of the tool and all'
	@echo '               that it needs, for any Linux, in build/bundle (docs/install.md)'
	@echo 'make test-packages'
	@echo '               builds packages and bundle, and uses them in clean Debian 11, 12, 13 and sid'
	@echo '               systems made by debootstrap; needs root, part of test-long'
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
	@scripts/install-deps.sh checks release library aarch64 musl
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

# The tool writes the pages of its commands; tests may stay on.
site: deps
	@scripts/install-deps.sh site
	cmake --preset release -DSSM2D_TOOL=ON
	cmake --build --preset release --target ssm2d_tool
	@python3 scripts/site/make_site.py build/release/tools/ssm2d build/site

# Does not depend on `build`, which installs packages: users often install as root.
install:
	cmake --preset release -DSSM2D_TOOL=ON -DSSM2D_TESTS=OFF
	cmake --build --preset release
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(or $(PREFIX),/usr/local)"

deb:
	@scripts/install-deps.sh deb
	@packaging/deb.sh build/deb

bundle:
	@scripts/install-deps.sh bundle
	cmake --preset release -DSSM2D_TOOL=ON -DSSM2D_TESTS=OFF
	cmake --build --preset release
	@packaging/bundle.sh build/release build/bundle

test-packages:
	@scripts/install-deps.sh packages
	@tests/run-all.sh packages

clean:
	rm -rf build demo
