# Every way in. The work itself is done by cargo and by scripts/.

PREFIX ?= /usr/local
BINARY = $(or $(CARGO_TARGET_DIR),target)/release/netfathom

# rustup puts cargo there; a shell that was open before does not know yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help demo test bench build install deb clean

help:
	@echo 'make demo      build, measure this machine for a minute, write a report'
	@echo 'make test      run every test that this machine can run, say what was skipped and why'
	@echo 'make bench     what the tap costs, and how fast load, join, transfers and messages are beside other'
	@echo '               programs, as ratios; as root, on a machine at rest'
	@echo 'make build     build $(BINARY)'
	@echo 'make install   copy it, its manual pages and completions below $(PREFIX) (PREFIX=DIR: elsewhere)'
	@echo 'make deb       build a Debian package in target/debian'
	@echo 'make clean     remove what was built'
	@echo
	@echo 'As root, demo, test, bench, build and deb install the Debian packages that they miss.'

demo:
	@scripts/demo

test:
	@scripts/test

bench:
	@scripts/bench

build:
	@scripts/prepare build
	cargo build --release --locked -p netfathom

install:
	@scripts/install '$(BINARY)' '$(DESTDIR)' '$(PREFIX)'

deb:
	@scripts/prepare deb
	cargo build --release --locked -p netfathom
	@scripts/deb '$(BINARY)'

clean:
	cargo clean
