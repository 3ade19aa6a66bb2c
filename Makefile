# Every target sets up what it needs: the first one run makes .venv and installs the pinned versions into it.

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The first interpreter that is there and new enough; `make PYTHON=...` overrules it.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

# Engines that the extra `cpu` leaves out have an environment of their own: the first one stays what a user has.
MORE := .venv-more
MORE_STAMP := $(MORE)/.installed
DIST := dist

# Tests and benchmarks start hundreds of processes: without bytecode on the disk, each would compile our sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test more large check lint types unit proto docs dist engines bench vulkan opencl browser boards postgres clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 14

demo: $(STAMP) ## compile a real network over all engines and print the table (at most 5 minutes)
	$(BIN)/python -m benchmarks.demo

test: $(STAMP) vulkan browser boards postgres ## run every test: unit, conformance on the real engines, whole networks (at most 15 minutes)
	$(BIN)/python -m pytest -n 2 --dist worksteal
	$(MAKE) more

more: $(MORE_STAMP) opencl ## hold the engines that the extra `cpu` leaves out to the contract and a sample of the operators; torch.compile; Ray; the design threads
	$(MORE)/bin/python -m pytest -n 2 --dist worksteal -k "xla or torch or iree or tvm or litert or tinygrad or ethos" \
		tests/conformance/test_contract.py tests/conformance/test_node_cases.py \
		tests/conformance/test_side_effects.py tests/conformance/test_in_one_process.py tests/conformance/test_options.py \
		tests/e2e/test_torch_compile.py tests/e2e/test_python_page.py tests/e2e/test_ethos_u.py
	$(MORE)/bin/python -m pytest -n 2 --dist worksteal tests/e2e/test_programs_of_other_compilers.py
	$(MORE)/bin/python -m pytest tests/e2e/test_ray.py tests/e2e/test_serve_ray.py
	POCL_DEVICES="basic pthread" $(MORE)/bin/python -m pytest -n 2 tests/golden/test_thread_outcomes.py

large: $(STAMP) ## run the tests that `make test` leaves out: more networks, longer searches
	$(BIN)/python -m pytest -m large
	$(MAKE) $(MORE_STAMP)
	$(MORE)/bin/python -m pytest -m large tests/fuzz/test_manifests.py tests/e2e/test_programs_of_other_compilers.py

check: lint types unit ## what to run before a commit: lint, types, unit tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/python -m pytest tests/unit tests/golden

proto: $(STAMP) ## compile the messages of src/intarsia/remote/worker.proto
	cd src/intarsia/remote && $(abspath $(BIN))/python -m grpc_tools.protoc -I. --descriptor_set_out=worker.binpb worker.proto

docs: $(STAMP) ## build the pages of docs/ as a site, in build/docs; a warning is an error
	$(BIN)/python -m sphinx -q -E -W --keep-going docs build/docs
	@echo "built: build/docs/index.html"

# Nothing is downloaded: hatchling builds in the environment that is there, not in one of its own.
dist: $(STAMP) ## build the release in dist/: the sdist, a wheel for any machine, one for Linux with our kernels built
	rm -rf $(DIST)
	$(BIN)/python -m hatchling build -d $(DIST) -t sdist -t wheel
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true $(BIN)/python -m hatchling build -d $(DIST) -t wheel
	@for wheel in $(DIST)/*_x86_64.whl; do \
		tag=$${wheel##*-none-}; tag=$${tag%.whl}; \
		$(BIN)/python -m auditwheel show $$wheel | tr '\n' ' ' | grep -q "platform tag: *\"$$tag\"" || { \
			echo "error: auditwheel does not find $$tag in what $$wheel needs:" >&2; \
			$(BIN)/python -m auditwheel show $$wheel >&2; exit 1; }; done
	@ls -sh $(DIST)

engines: $(MORE_STAMP) vulkan opencl ## run every ONNX operator case on every engine and write docs/engines.md (an hour)
	$(MORE)/bin/python -m tests.conformance

bench: $(STAMP) ## reproduce the figures in the README (long; wants a quiet machine)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks.suite
	$(BIN)/python -m benchmarks.fixed_plans
	$(BIN)/python -m benchmarks.write_tables

# A Vulkan device in software, for the tests that want a device beside the CPU: as root on Debian or Ubuntu, where it is
# not there yet. Elsewhere those tests skip, and `intarsia devices` says what to install.
vulkan:
	@ls /usr/share/vulkan/icd.d/*.json >/dev/null 2>&1 || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
		echo "installing Mesa's Vulkan device in software"; \
		timeout 600 sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
			--no-install-recommends libvulkan1 mesa-vulkan-drivers' </dev/null >/dev/null 2>&1 || \
		echo "it cannot be installed here; the tests that want it skip"; }

# PoCL, an OpenCL device that is the CPU, for the tests that want one: as root on Debian or Ubuntu, where no driver is
# there yet. Elsewhere those tests skip, and `intarsia devices` says what to install.
opencl:
	@ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
		echo "installing PoCL, an OpenCL device in software"; \
		timeout 900 sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
			--no-install-recommends ocl-icd-libopencl1 pocl-opencl-icd' </dev/null >/dev/null 2>&1 || \
		echo "it cannot be installed here; the tests that want it skip"; }

# Chromium, for the tests that open a report in a browser: as root on Debian, where it is not there yet. Elsewhere those
# tests skip, and say what to install.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || [ "$$(id -u)" != 0 ] || \
		! command -v apt-get >/dev/null || { \
		echo "installing Chromium"; \
		timeout 600 sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
			--no-install-recommends chromium' </dev/null >/dev/null 2>&1 || \
		echo "it cannot be installed here; the tests that want it skip"; }

# Compilers for other processors and their emulators, for the tests that run C on boards: as root on Debian or Ubuntu,
# where one of them is not there yet. Elsewhere those tests skip, and say what to install.
boards:
	@{ command -v cc && command -v arm-none-eabi-gcc && command -v qemu-system-arm && command -v qemu-aarch64 && \
		command -v aarch64-linux-gnu-gcc && command -v riscv64-linux-gnu-gcc && \
		command -v arm-linux-gnueabihf-gcc; } >/dev/null || \
		[ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || { \
		echo "installing compilers for microcontrollers and other processors, and their emulators"; \
		timeout 900 sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
			--no-install-recommends gcc libc6-dev gcc-arm-none-eabi libnewlib-arm-none-eabi libnewlib-dev \
			qemu-system-arm qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu \
			libc6-dev-riscv64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross' </dev/null >/dev/null 2>&1 || \
		echo "they cannot be installed here; the tests that want them skip"; }

# PostgreSQL, for the tests of a record store in one, which start a server of their own: as root on Debian, where it is
# not there yet. Elsewhere those tests skip, and say what to install.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || [ "$$(id -u)" != 0 ] || \
		! command -v apt-get >/dev/null || { \
		echo "installing PostgreSQL"; \
		timeout 600 sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
			--no-install-recommends postgresql' </dev/null >/dev/null 2>&1 || \
		echo "it cannot be installed here; the tests that want it skip"; }

clean: ## remove the environment and every cache
	rm -rf $(VENV) $(MORE) build dist .hypothesis .mypy_cache .ruff_cache .pytest_cache .demo
	find src tests benchmarks networks -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): EXTRAS := cpu,dev
$(MORE_STAMP): EXTRAS := all,dev
$(STAMP) $(MORE_STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: Intarsia needs Python 3.11 or newer; install it, or say make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: $(PYTHON) lacks the venv module; on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@
