# make demo    builds everything and runs the example
# make test    C tests and Python tests
# make test-aarch64  C tests built for aarch64, where qemu's user mode is installed
# make lint    formatters, linters, type checker
# make bench   measurements
# make fuzz    the fuzzers, for a while
# make mutants that the tests notice when a check is taken out of the core
# make wheel   a wheel built with a profile of a training run, in dist/
# make clean   removes what was built; the cache of pinned downloads stays

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
BUILD := build/dev
NATIVE := build/native/modebox-native

# All files that are compiled into the extension module, or decide how.
SOURCES := $(wildcard guest/*.[ch] core/*.[chS] ext/*.[ch] tests/c/*.[ch] tests/c/guests/*.c tests/aarch64/*.c tools/*.py tools/engine/*.h) CMakeLists.txt

.PHONY: demo test test-sdist test-aarch64 lint bench fuzz mutants wheel clean

demo: $(BUILD)/installed
	$(BIN)/python examples/demo.py

test: $(BUILD)/installed $(NATIVE)
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure
	$(BIN)/python -m pytest

# Builds an sdist, installs it where neither the toolchain nor the network is at hand, and runs a program.
test-sdist: $(VENV)/installed
	$(BIN)/python tools/try_sdist.py

test-aarch64: $(BUILD)/installed
	$(BIN)/python tools/test_aarch64.py $(BUILD)/outcomes

lint: $(BUILD)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(wildcard guest/*.[ch] core/*.[ch] ext/*.[ch] tests/c/*.[ch] tests/*/*/*.c tests/native/*.c tests/aarch64/*.c fuzz/*.c bench/*.c)

bench: $(BUILD)/installed
	$(BIN)/python -m bench

mutants: $(BUILD)/installed
	$(BIN)/python tests/mutants/run.py

fuzz: $(BUILD)/installed
	$(BIN)/python fuzz/run.py

wheel: $(VENV)/installed
	$(BIN)/python tools/build_wheel.py

clean:
	rm -rf build dist generated $(VENV)

$(VENV)/installed: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(PIP) install "scikit-build-core>=1.1" "cmake>=3.26" "ninja>=1.11"
	touch $@

# The guest's sources compiled natively: what the translated guest is compared with.
$(NATIVE): $(VENV)/installed $(wildcard guest/*.[ch] tools/*.py tools/engine/*.h) tests/native/harness.c
	mkdir -p $(@D)
	$(BIN)/python tools/build_native.py $@

# Without build isolation the build folder stays valid, and only what changed is compiled again.
$(BUILD)/installed: $(VENV)/installed $(SOURCES)
	$(PIP) install --no-build-isolation --editable ".[test]" \
	  --config-settings=build-dir=$(BUILD) --config-settings=cmake.define.MODEBOX_TESTS=ON
	touch $@
