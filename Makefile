# A thin wrapper around CMake for people in a hurry; everything it does is a preset in CMakePresets.json or a script.

.DEFAULT_GOAL := help
.PHONY: help demo test build dev asan tsan fuzz bench install clean deps

help:
	@echo 'make demo      install what is missing, build, train on real images, draw and classify (results in demo/)'
	@echo 'make test      install what is missing, build in every way and run every test'
	@echo '               (PYTHON=1: installs torch, too, for the tests of the Python package)'
	@echo 'make build     the release build without tests, in build/release'
	@echo 'make dev       the developers'"'"' build, warnings are errors, in build/dev; then its tests'
	@echo 'make asan      the tests under the address and undefined-behaviour sanitizers'
	@echo 'make tsan      the threaded tests under the thread sanitizer'
	@echo 'make fuzz      the fuzz targets, a minute each (SECONDS=..)'
	@echo 'make bench     the benchmark of the layer, and FFTW on the same convolution'
	@echo 'make install   installs the release build (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make clean     removes build/ and demo/'

deps:
	@scripts/install-deps.sh

# The cache keeps what was configured last, so that everybody says whether tests are wanted.
build: deps
	cmake --preset release -DSSM2D_TESTS=OFF
	cmake --build --preset release

demo: deps
	cmake --preset release -DSSM2D_TESTS=OFF
	cmake --build --preset release --target ssm2d_tool make_picture save_images
	@examples/demo.sh build/release demo

# PYTHON=1 also installs what the tests of the Python package need; without it they are run when that is there.
export PYTHON

test: deps
	@tests/run-all.sh

dev: deps
	@tests/run-all.sh dev

asan: deps
	@tests/run-all.sh asan

tsan: deps
	@tests/run-all.sh tsan

fuzz: deps
	@FUZZ_SECONDS=$(or $(SECONDS),60) tests/run-all.sh fuzz

bench: build
	build/release/tools/ssm2d bench layer
	cmake --preset release -DSSM2D_PEERS=ON
	cmake --build --preset release --target fftw_peer
	build/release/bench/fftw_peer

# Not through `build`: installing is often done as root, by people who do not want packages installed on the way.
install:
	cmake --preset release -DSSM2D_TESTS=OFF
	cmake --build --preset release
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(or $(PREFIX),/usr/local)"

clean:
	rm -rf build demo
