# Plain `make` lists the targets. Each only calls cargo or creel.

PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
CREEL := $(TARGET)/release/creel
INIT := $(TARGET)/init/init/creel-init
RUNNER := $(if $(shell cargo nextest --version 2>/dev/null),nextest run,test --lib --bins --tests)

.DEFAULT_GOAL := help
.PHONY: help engine images init build run test lint audit bench bench-quick fuzz docs install ci

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

engine: build ## Find a container engine, or install and start one
	"$(CREEL)" engine up

images: engine ## Build creel's images, without a registry
	"$(CREEL)" images build

init: ## Build the static PID 1 of sandboxes
	cargo rustc --profile init --no-default-features --bin creel-init --target-dir "$(TARGET)/init" -- -C target-feature=+crt-static

build: init ## Build creel and creel-init
	cargo build --release

run: engine ## Show what creel does
	"$(CREEL)" demo

test: engine ## Run every test, against the real engine
	"$(CREEL)" images build minimal
	cargo $(RUNNER)
	cargo test --doc

lint: ## Check formatting and lints, for both binaries
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --no-default-features --bin creel-init -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

audit: ## Check licences, sources, bans and advisories of the dependencies
	bash .ci/audit

bench: build ## Measure against the bounds of docs/specification.md
	cargo bench --bench creel --

bench-quick: build ## The same rows in under a minute
	cargo bench --bench creel -- --quick

fuzz: ## Fuzz what takes hostile input, FUZZ_SECONDS (30) for each target
	bash tests/fuzz/run

docs: ## Build the API documentation
	cargo doc --no-deps

install: build ## Install below PREFIX (/usr/local)
	install -D -m 755 "$(CREEL)" "$(DESTDIR)$(PREFIX)/bin/creel"
	install -D -m 755 "$(INIT)" "$(DESTDIR)$(PREFIX)/libexec/creel/creel-init"

ci: ## What continuous integration runs
	bash .ci/run
