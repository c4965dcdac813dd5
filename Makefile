# Every way in. The work itself is done by cargo and by scripts/.

PREFIX ?= /usr/local
TARGET = $(or $(CARGO_TARGET_DIR),target)
BINARY = $(TARGET)/release/netfathom
# Who builds kernels may have one in the environment.
CROSS = $(if $(filter command,$(origin ARCH)),$(ARCH))

# rustup puts cargo there; a shell that was open before does not know yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help demo test test-kernels bench build install deb docs release clean

help:
	@echo 'make demo      build, measure this machine for half a minute, write a report'
	@echo 'make test      run every test that this machine can run, say what was skipped and why'
	@echo 'make test-kernels   boot other kernels in an emulator, run every command there, write docs/kernels.md'
	@echo 'make bench     overhead of the tap and of watch, speed of load, transfers, messages and join beside others, as'
	@echo '               ratios, into docs/benchmarks.md; as root, on an idle machine'
	@echo 'make build     build $(BINARY)'
	@echo 'make install   copy it, its manual pages and completions below $(PREFIX) (PREFIX=DIR: elsewhere)'
	@echo 'make deb       build a Debian package in target/debian (ARCH=aarch64: for arm64)'
	@echo 'make docs      build the documentation as a site in target/site'
	@echo 'make release   check, build and package a version into target/release-VERSION; publishes nothing'
	@echo 'make clean     remove what was built'
	@echo
	@echo 'As root, demo, test, bench, build and deb install the Debian packages that they miss.'

demo:
	@scripts/demo

test:
	@scripts/test

test-kernels:
	@scripts/test-kernels

bench:
	@scripts/bench

build:
	@scripts/prepare build
	cargo build --release --locked -p netfathom

install:
	@scripts/install '$(BINARY)' '$(DESTDIR)' '$(PREFIX)'

deb:
	@scripts/prepare $(if $(CROSS),release,deb)
	cargo build --release --locked -p netfathom
	$(if $(CROSS),scripts/cross $(CROSS) build --release --locked -p netfathom)
	@scripts/deb '$(TARGET)/$(CROSS:%=%-unknown-linux-gnu/)release/netfathom'

docs:
	@scripts/docs

release:
	@scripts/release

clean:
	cargo clean
