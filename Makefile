# One word a chore. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup run build test lint format bench fuzz docs clean

SANITIZE ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing
	@scripts/setup

run: setup ## build, start a server with everything simulated, and print a tour
	@swift build --product bramley
	@exec .build/debug/bramley dev

build: setup ## the optimized executable, which holds its Swift runtime
	@swift build -c release --static-swift-stdlib --product bramley
	@echo "built $$(swift build -c release --show-bin-path)/bramley"

test: setup ## lint, build, every test; SANITIZE=thread adds the thread sanitizer
	@SANITIZE=$(SANITIZE) scripts/test

lint: ## formatting and the rules of the map
	@swift format lint --strict --recursive --parallel Sources Tests Fuzz Benchmarks Package.swift
	@scripts/check-architecture --self-test
	@scripts/check-architecture

format: ## format all Swift files in place
	@swift format --in-place --recursive --parallel Sources Tests Fuzz Benchmarks Package.swift

bench: setup ## benchmarks: ratios taken in one run
	@scripts/bench

fuzz: setup ## every fuzz target for a bounded time
	@scripts/fuzz

docs: ## check the links of the documents, and build the reference of the libraries
	@scripts/docs

clean: ## remove everything that was built
	@rm -rf .build .build-* .venv
