# The commands of this project. `make check` is what to run before pushing.

GO       ?= go
GOFUMPT  ?= $(GO) run mvdan.cc/gofumpt@v0.9.2
FUZZTIME ?= 10m
BENCHTIME ?= 1s
COPIES   ?= 64,256
RUNS     ?= 5
# The GPU whose launches are counted: ampere, or hopper with its own products.
ARCHITECTURE ?= ampere
# Parts of the GPU kit, as its run.sh --list has them; none are all.
PARTS    ?=
KILLS    ?= 100
LISTS    ?= 5000
ATTACHES ?= 1000
MINUTES  ?= 0
# A Python that has PyTorch, for the agent's tests.
TORCH_PYTHON ?= $(or $(MEMTOP_TORCH_PYTHON),python3)
# 1 has memtop read gauges from the driver's library, and needs a C compiler.
CGO_ENABLED ?= 0
PAIRS    ?= 200
ROUNDS   ?= 20
SOAK     ?= 10m
# PyTorch's viewer, which is not part of its packages: a file of its source.
MEMORYVIZ ?=
FILES    ?= 2000
SEED     ?= 1
GORELEASER ?= $(shell command -v goreleaser || echo $(GO) run github.com/goreleaser/goreleaser/v2@v2.13.1)
# What takes the network away from a command, where that is allowed.
OFFLINE  := $(shell unshare --net true 2>/dev/null && echo unshare --net)
# Repositories of others with their recordings, see cmd/memtop/rehearse_recordings_test.go.
RECORDINGS ?=
# Labelled snapshots, and the table of their labels when it lies elsewhere.
SNAPSHOTS ?= ../shared/snapshots
LABELS   ?=

.PHONY: help build release release-check package-check install-check demo-recording demo-picture wheel test lint vet fmt race golden bench bench-open bench-engine count-launches bench-attach bench-live bench-ranks bench-peers bench-parallel predictions soak gpu gpu-kit ptxas imitation imitation-check rehearsals rehearse-recordings rehearse-published fuzz fuzz-mutate viewer looks agent-real bench-agent soak-agent kill deadcode test-busy check check-categories

help: ## this list
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "%-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/memtop, a static file, and bin/memtrain, which needs the C library to look for a GPU's driver
	CGO_ENABLED=$(CGO_ENABLED) $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	CGO_ENABLED=$(CGO_ENABLED) $(GO) build -trimpath -o bin/memtrain ./cmd/memtrain

release: ## dist/release: programs for all systems, packages, images of containers, parts lists and a formula; nothing is fetched or published
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/memtop/memtop \
	MEMTOP_CHANGES=$$(git diff --quiet HEAD || echo +changes) GOFLAGS="$${GOFLAGS:-} -mod=mod" GOPROXY=off $(GORELEASER) release --snapshot --clean --skip=publish
	bin/release/release formula -version "$$(ls dist/release/*_checksums.txt | sed 's/.*memtop_//; s/_checksums.txt//')" dist/release/*_checksums.txt dist/release/memtop.rb
	cp bin/release/*.oci.tar dist/release/

release-check: ## a release made twice, without a network where root can take it away: the same bytes
	$(OFFLINE) $(MAKE) release
	cd dist/release && sha256sum -c --quiet *_checksums.txt && sha256sum *_checksums.txt memtop.rb >../release.sums
	$(OFFLINE) $(MAKE) release
	cd dist/release && sha256sum -c ../release.sums

package-check: ## dist/release's packages installed where nothing else is, and used; root only
	cmd/tools/release/packages.sh dist/release cmd/memtop/testdata/tiny_training.pickle

install-check: ## go install of this commit, from a proxy that is a folder
	OFFLINE="$(OFFLINE)" cmd/tools/release/install.sh

demo-recording: build ## docs/demo.cast: the session at the top of the README anew, and its picture
	$(GO) run ./cmd/tools/picture -memtop bin/memtop -width 100 -height 28 -script cmd/tools/picture/demo.script -o docs/demo.cast cmd/memtop/testdata/tiny_training.pickle
	$(MAKE) demo-picture

demo-picture: ## docs/demo.svg from docs/demo.cast
	$(GO) run ./cmd/tools/picture -cast docs/demo.cast -o docs/demo.svg

wheel: ## dist/memtop-*.whl: the command and the agent for pip, made twice and installed once
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/wheel/memtop ./cmd/memtop
	rm -rf dist/memtop-*.whl bin/wheel/again && $(GO) run ./cmd/tools/wheel -memtop bin/wheel/memtop -o dist
	$(GO) run ./cmd/tools/wheel -memtop bin/wheel/memtop -o bin/wheel/again
	cmp dist/memtop-*.whl bin/wheel/again/memtop-*.whl
	MEMTOP_WHEEL=$$(ls -d $(CURDIR)/dist/memtop-*.whl) $(GO) test -count 1 -v -run Installed ./cmd/tools/wheel

test: ## all tests
	$(GO) test ./...

lint: ## golangci-lint, and what go fix would change
	golangci-lint run
	$(GO) fix -diff ./...

vet: ## go vet
	$(GO) vet ./...

fmt: ## gofumpt over the tree
	$(GOFUMPT) -w .

race: ## all tests under the race detector
	$(GO) test -race ./...

golden: ## rewrite the golden files; review the diff like code
	$(GO) test ./tui ./snapshots/export ./cmd/testing/pytorchtest -update

bench: ## every Go benchmark
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...

bench-open: build ## side by side with CPython's pickle.load, in one run
	$(GO) run ./cmd/tools/bench open -copies $(COPIES) -runs $(RUNS)

bench-live: build ## bytes to the terminal, processor time and latency of a live screen
	$(GO) run ./cmd/tools/bench live

bench-ranks: build ## a screen of 64 ranks that are asked ten times a second, and what it takes to draw; a thousand ranks and a key
	$(GO) run ./cmd/tools/bench live -only ranks
	$(GO) test -run '^$$' -bench Ranks -benchtime $(BENCHTIME) ./tui

soak: build ## memtop's memory, by minute, while programs run for $(SOAK)
	$(GO) run ./cmd/tools/bench soak -for $(SOAK)

bench-engine: ## training steps in the shape of GPT-2 124M, beside the matrix product's own rate
	$(GO) run ./cmd/tools/bench engine

count-launches: ## what a step of GPT-2 124M launches on a GPU of $(ARCHITECTURE), and the bytes that it reads and writes beside products and attention; no GPU is needed
	@$(GO) run ./cmd/tools/bench launches -architecture $(ARCHITECTURE) -batch 16 -length 1024 -amp bf16

bench-attach: ## what it costs a training run to have a probe, and a viewer
	$(GO) run ./cmd/tools/bench attach -runs $(PAIRS)

gpu-kit: ## dist/gpu-kit.tar.gz: what tries the CUDA device on a machine with a driver and nothing else, by ./run.sh
	rm -rf dist/gpu-kit && mkdir -p dist/gpu-kit
	for command in memtop memtrain tools/bench; do \
		CGO_ENABLED=$(CGO_ENABLED) $(GO) build -trimpath -ldflags '-s -w' -o dist/gpu-kit/ ./cmd/$$command || exit 1; \
	done
	for tests in cuda cuda/kernels; do \
		CGO_ENABLED=$(CGO_ENABLED) $(GO) test -c -trimpath -ldflags '-s -w' -o dist/gpu-kit/$${tests##*/}.test ./engine/device/$$tests || exit 1; \
	done
	cp cmd/tools/gpukit/run.sh cmd/tools/gpukit/parts.sh cmd/tools/gpukit/torch_gpt2.py dist/gpu-kit/
	tar -C dist -czf dist/gpu-kit.tar.gz gpu-kit
	@size=$$(($$(wc -c <dist/gpu-kit.tar.gz) >> 20)); echo "dist/gpu-kit.tar.gz has $$size MiB"; [ $$size -lt 60 ] || { echo "which is too much: 60 are allowed"; exit 1; }

gpu: gpu-kit ## the kit on this machine, which has an NVIDIA GPU, or those $(PARTS) of it: the table is in dist/gpu
	TOOLS=$(abspath ../shared/tools) dist/gpu-kit/run.sh $(CURDIR)/dist/gpu $(PARTS)

ptxas: ## the machine code of the GPU kernels made again and compared, without spills; MEMTOP_PTXAS may name the assembler
	MEMTOP_PTXAS=$${MEMTOP_PTXAS:-ptxas} $(GO) test -count 1 -v -run MachineCode ./cmd/tools/modulegen

viewer: ## our snapshots in PyTorch's own viewer; MEMORYVIZ is torch/utils/viz/MemoryViz.js of its source, d3 comes from npm
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
		npm install --silent --no-save --prefix "$$folder" d3v5@npm:d3@5.16.0 d3v7@npm:d3@7.9.0 && \
		MEMTOP_MEMORYVIZ=$(abspath $(MEMORYVIZ)) MEMTOP_D3="$$folder/node_modules" \
		$(GO) test -count 1 -v -run PyTorchViewer ./cmd/memtop

predictions: ## predicted and measured peaks and step times of five models in all settings: the table of errors
	MEMTOP_LONG=1 $(GO) test ./engine/train -count 1 -timeout 30m -v -run PredictionsOfManyModels

bench-peers: ## training steps on the processor beside PyTorch, in turn, by $(ROUNDS) rounds
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtrain ./cmd/memtrain
	$(TORCH_PYTHON) cmd/tools/bench/peers.py $(CURDIR)/bin/memtrain --rounds $(ROUNDS)

bench-parallel: ## training in two processes of one core beside one on two cores: time of a step, and what of the communication is overlapped; $(RUNS) turns
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtrain ./cmd/memtrain
	$(GO) run ./cmd/tools/bench parallel -runs $(RUNS)

bench-agent: ## what the agent costs a job, by $(ROUNDS) turns with a viewer and without
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	OMP_NUM_THREADS=1 $(TORCH_PYTHON) probe/python/bench/agent.py $(CURDIR)/bin/memtop --turns $(ROUNDS)

soak-agent: ## the memory of a job by minute, while it is attached for $(SOAK), which is in minutes: 30m
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	OMP_NUM_THREADS=1 $(TORCH_PYTHON) probe/python/bench/agent.py $(CURDIR)/bin/memtop --soak $(SOAK:m=)

looks: ## programs that train as fast as they can and are looked at, $(LISTS) ls and $(ATTACHES) attach each: none ends, losses equal
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	OMP_NUM_THREADS=1 $(TORCH_PYTHON) probe/python/tests/looked/looks.py $(CURDIR)/bin/memtop $(KINDS) --lists $(LISTS) --attaches $(ATTACHES) --minutes $(MINUTES)

agent-real: ## the agent beside models that people train, held against counts of the tests' own
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	cd probe/python && OMP_NUM_THREADS=1 MEMTOP=$(CURDIR)/bin/memtop MEMTOP_TEST_ATTACHES=$(KILLS) \
		$(TORCH_PYTHON) -m pytest -p no:cacheprovider -m "real or not real" -rs tests/real

imitation: ## the imitated GPU's libraries, from their sources; MEMTOP_ZIG may name the compiler
	cd engine/device/cuda/imitation && $(GO) run ../../../../cmd/tools/librarygen

imitation-check: ## they are built again and compared
	MEMTOP_ZIG=$${MEMTOP_ZIG:-zig} $(GO) test -count 1 -v -run BuiltAgain ./engine/device/cuda/imitation

rehearsals: ## programs rehearsed with the PyTorch of $(TORCH_PYTHON)
	MEMTOP_REHEARSALS=all MEMTOP_TORCH_PYTHON=$(TORCH_PYTHON) $(GO) test -count 1 -timeout 30m -v -run 'Rehears' ./cmd/memtop

rehearse-recordings: ## snapshots that others recorded on GPUs, whose repositories are in $(RECORDINGS), rehearsed with the release of PyTorch that $(TORCH_PYTHON) has
	MEMTOP_REHEARSALS=all MEMTOP_RECORDINGS=$(abspath $(RECORDINGS)) MEMTOP_TORCH_PYTHON=$(TORCH_PYTHON) $(GO) test -count 1 -timeout 60m -v -run 'Recordings' ./cmd/memtop

rehearse-published: ## published measurements of the release of PyTorch that $(TORCH_PYTHON) has, rehearsed: the table of differences
	MEMTOP_REHEARSALS=all MEMTOP_PUBLISHED=all MEMTOP_TORCH_PYTHON=$(TORCH_PYTHON) $(GO) test -count 1 -timeout 60m -v -run 'Published' ./cmd/memtop

fuzz: ## every fuzz target in turn, $(FUZZTIME) each
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			GOMEMLIMIT=256MiB $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package || exit 1; \
		done; \
	done

fuzz-mutate: ## damaged files of every kind opened, reported and exported for $(FUZZTIME), then $(FILES) of them, from number $(SEED) on, by the real program
	GOMEMLIMIT=256MiB $(GO) test -run '^$$' -fuzz '^FuzzFile$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./cmd/memtop
	MEMTOP_MUTATED=$(FILES),$(SEED) $(GO) test -count 1 -timeout 60m -run MutatedFiles ./cmd/memtop

check-categories: ## by file, the share of the bytes at the peak of $(SNAPSHOTS) that has a wrong category
	MEMTOP_SNAPSHOTS=$(abspath $(SNAPSHOTS)) MEMTOP_LABELS=$(if $(LABELS),$(abspath $(LABELS))) \
		$(GO) test -count 1 -v -run '^TestCategoriesOfLabelledFiles$$' ./snapshots/report

conformance: ## probes against every rule of docs/protocol.md, those that take the seconds of the page too
	MEMTOP_CONFORMANCE_SLOW=1 $(GO) test -v -count 1 ./probe/conformance

kill: ## kill -9 $(KILLS) times each: memtrain while saving, memtop export, a writer with and without a name, and a program with a black box
	MEMTOP_TEST_KILLS=$(KILLS) $(GO) test -v -count 1 -run '^TestKillingA' ./cmd/output ./cmd/memtop ./cmd/memtrain/program ./probe/engine

deadcode: ## functions that neither a program nor a test reaches
	@dead=$$($(GO) run golang.org/x/tools/cmd/deadcode@v0.40.0 -test ./...) && [ -z "$$dead" ] || { echo "$$dead"; exit 1; }

test-busy: ## all tests three times, beside two busy loops
	for loop in 1 2; do (while :; do :; done) & loops="$$loops $$!"; done; trap 'kill $$loops' EXIT; trap 'exit 130' INT TERM; \
		for turn in 1 2 3; do $(GO) test -count 1 ./... || exit 1; done

check: build vet lint test race deadcode ## what must hold before a push
	$(GO) build ./...
