# The commands of this project. `make check` is what to run before pushing.

GO       ?= go
GOFUMPT  ?= $(GO) run mvdan.cc/gofumpt@v0.9.2
FUZZTIME ?= 10m
BENCHTIME ?= 1s
COPIES   ?= 64,256
RUNS     ?= 5
# Parts of the GPU kit, as its run.sh --list has them; none are all.
PARTS    ?=
# Programs whose answers are compared with the truth, of cmd/testing/truthtest/programs.
PROGRAMS ?= all
KILLS    ?= 100
LISTS    ?= 5000
ATTACHES ?= 1000
MINUTES  ?= 0
# Jobs that must not notice memtop: a folder, names of programs in it or none for all, and the seconds of each.
JOBS     ?= probe/python/tests/jobs
NAMES    ?=
SECONDS  ?= 12
# A Python that has PyTorch, for the agent's tests.
TORCH_PYTHON ?= $(or $(MEMTOP_TORCH_PYTHON),python3)
# 1 has memtop read gauges from the driver's library, and needs a C compiler.
CGO_ENABLED ?= 0
PAIRS    ?= 200
ROUNDS   ?= 20
SOAK     ?= 10m
RANDOM_PROGRAMS ?= 2000
REHEARSALS ?= Rehears
SEED     ?= 1
MUTATIONS ?= 30
# goreleaser of PATH, else the one that is fetched once.
GORELEASER ?= $(or $(shell command -v goreleaser),bin/tools/goreleaser)
# What takes the network away from a command, where that is allowed.
OFFLINE  := $(shell unshare --net true 2>/dev/null && echo unshare --net)
# Labelled snapshots, and the table of their labels when it lies elsewhere.
SNAPSHOTS ?= ../shared/snapshots
LABELS   ?=
# Repositories of others with their recordings, see cmd/memtop/rehearse_recordings_test.go.
RECORDINGS ?=
# Packages of others beside PyTorch, see cmd/memtop/rehearse_programs_test.go.
PACKAGES ?=

.PHONY: help build book release release-tools release-parts release-notes release-check release-dry repositories publish package-check fresh-check action-check install-check demo-recording demo-picture wheel test lint vet fmt race golden bench bench-open bench-engine count-launches bench-attach bench-live bench-ranks bench-peers bench-parallel predictions soak gpu gpu-kit ptx ptxas imitation imitation-check alloc-differential rehearsals rehearse-recordings rehearse-published rehearse-packages fuzz fuzz-mutate long-files mutations looks jobs truth agent-real agent-cuda bench-agent soak-agent kill deadcode test-busy check check-categories

help: ## list the targets
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "%-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/memtop, one static file, and bin/memtrain, which needs the C library to find a GPU's driver
	CGO_ENABLED=$(CGO_ENABLED) $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	CGO_ENABLED=$(CGO_ENABLED) $(GO) build -trimpath -o bin/memtrain ./cmd/memtrain

bin/tools/goreleaser:
	GOFLAGS=-mod=mod GOBIN=$(CURDIR)/bin/tools $(GO) install -trimpath github.com/goreleaser/goreleaser/v2@v2.13.1

release-tools: $(GORELEASER) ## fetch what a release is made with and of, so that no later step needs a network
	$(GO) mod download

release: release-tools ## dist/release: programs, packages, wheels, container images, parts lists and a formula; publishes nothing
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/memtop/memtop \
	MEMTOP_CHANGES=$$(git diff --quiet HEAD || echo +changes) GOFLAGS="$${GOFLAGS:-} -mod=mod" GOPROXY=off $(GORELEASER) release --snapshot --clean --skip=publish
	$(MAKE) release-parts

release-parts: ## what goreleaser leaves beside or out of dist/release: images, wheels, the formula
	bin/release/release formula -version "$$(ls dist/release/*_checksums.txt | sed 's/.*memtop_//; s/_checksums.txt//')" dist/release/*_checksums.txt dist/release/memtop.rb
	cp bin/release/*.oci.tar bin/release/*.whl dist/release/

release-notes: ## dist/notes.md: what CHANGELOG.md says of the newest release, and the commits since the tag before this one
	mkdir -p dist && awk '/^## /{n++} n<2' CHANGELOG.md >dist/notes.md
	previous=$$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null) && { \
		printf '\n## Commits since %s\n\n' "$$previous"; git log --no-merges --invert-grep --grep='^wip:' --format='- %s' "$$previous..HEAD" | sort; } >>dist/notes.md || true

repositories: ## dist/repositories, which apt and dnf install from, of dist/release; MEMTOP_KEY is gpg's key that signs
	cmd/tools/release/repositories.sh dist/release dist/repositories

publish: ## hand dist/release of the tag $(VERSION) to the release's page and the registry; only the workflow does
	cmd/tools/release/publish.sh $(VERSION)

release-check: release-tools ## make release and repositories twice, without a network if root can take it away, and compare the bytes
	OFFLINE="$(OFFLINE)" cmd/tools/release/twice.sh

release-dry: release-check release-notes ## all that the workflow of a tag does, as far as it needs nobody's leave
	DRY=1 cmd/tools/release/publish.sh "$$(ls dist/release/*_checksums.txt | sed 's/.*memtop_//; s/_checksums.txt//')"

package-check: ## install the packages of dist/release where nothing else is, and use them; root only
	cmd/tools/release/packages.sh dist/release cmd/memtop/testdata/tiny_training.pickle

fresh-check: ## from a fresh Debian, an empty folder for dnf and a container to the first answer, out of dist/release: keys and seconds; root only
	cmd/tools/release/fresh.sh dist/release cmd/memtop/testdata/tiny_training.pickle

action-check: ## the steps of the action on two files, without GitHub: dist/action has the comment and the page
	.github/action/steps.sh $(wildcard $(addprefix $(SNAPSHOTS)/step_,fp32.torch2.5.pickle amp.torch2.5.pickle))

install-check: ## go install of this commit, from a proxy that is a folder
	OFFLINE="$(OFFLINE)" cmd/tools/release/install.sh

demo-recording: build ## record docs/demo.cast, the session at the top of the README, and draw its picture
	$(GO) run ./cmd/tools/picture -memtop bin/memtop -width 100 -height 28 -script cmd/tools/picture/demo.script -o docs/demo.cast cmd/memtop/testdata/tiny_training.pickle
	$(MAKE) demo-picture

demo-picture: ## draw docs/demo.svg from docs/demo.cast
	$(GO) run ./cmd/tools/picture -cast docs/demo.cast -o docs/demo.svg

book: ## dist/book: the pages of docs as a site; fails on a broken link, a page that is not listed, and anything loaded from elsewhere
	docs/book/build.sh

wheel: ## dist/memtop-*.whl, memtop and the agent for pip: made twice, compared, installed once
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
	$(GO) test ./tui ./snapshots/export -update

bench: ## every Go benchmark
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...

bench-open: build ## open large files, beside CPython's pickle.load in one run
	$(GO) run ./cmd/tools/bench open -copies $(COPIES) -runs $(RUNS)

bench-live: build ## a live screen: bytes to the terminal, processor time, latency
	$(GO) run ./cmd/tools/bench live

bench-ranks: build ## a screen of 64 ranks that are asked ten times a second; a key among a thousand ranks
	$(GO) run ./cmd/tools/bench live -only ranks
	$(GO) test -run '^$$' -bench Ranks -benchtime $(BENCHTIME) ./tui

soak: build ## memtop's memory by minute while programs run for $(SOAK)
	$(GO) run ./cmd/tools/bench soak -for $(SOAK)

bench-engine: ## training steps in the shape of GPT-2 124M, beside the rate of the matrix product
	$(GO) run ./cmd/tools/bench engine

count-launches: ## what a step of GPT-2 124M launches and moves on a GPU; needs no GPU
	@$(GO) run ./cmd/tools/bench launches -batch 16 -length 1024 -amp bf16

bench-attach: ## what a probe and a viewer cost a training run
	$(GO) run ./cmd/tools/bench attach -runs $(PAIRS)

gpu-kit: ## dist/gpu-kit.tar.gz: tries the CUDA device on a machine with only a driver, by ./run.sh
	rm -rf dist/gpu-kit && mkdir -p dist/gpu-kit
	for command in memtop memtrain tools/bench; do \
		CGO_ENABLED=$(CGO_ENABLED) $(GO) build -trimpath -ldflags '-s -w' -o dist/gpu-kit/ ./cmd/$$command || exit 1; \
	done
	for tests in cuda cuda/kernels; do \
		CGO_ENABLED=$(CGO_ENABLED) $(GO) test -c -trimpath -ldflags '-s -w' -o dist/gpu-kit/$${tests##*/}.test ./engine/device/$$tests || exit 1; \
	done
	cp cmd/tools/gpukit/run.sh cmd/tools/gpukit/parts.sh cmd/tools/gpukit/torch_gpt2.py cmd/tools/gpukit/driver_calls.py dist/gpu-kit/
	tar -C dist -czf dist/gpu-kit.tar.gz gpu-kit
	@size=$$(($$(wc -c <dist/gpu-kit.tar.gz) >> 20)); echo "dist/gpu-kit.tar.gz has $$size MiB"; [ $$size -lt 60 ] || { echo "which is too much: 60 are allowed"; exit 1; }

gpu: gpu-kit ## run the kit, or its $(PARTS), on this machine's NVIDIA GPU; the table is in dist/gpu
	TOOLS=$(abspath ../shared/tools) dist/gpu-kit/run.sh $(CURDIR)/dist/gpu $(PARTS)

ptx: ## run all tests of the kernels, and those that train on a GPU, on the shipped PTX without a GPU
	MEMTOP_GPU=ptx $(GO) test -count 1 -timeout 60m -v ./engine/device/cuda/kernels
	MEMTOP_GPU=ptx $(GO) test -count 1 -timeout 60m -run 'GPU|PTX' ./cmd/memtrain/program

ptxas: ## make the GPU kernels' machine code again and compare, without spills; MEMTOP_PTXAS names the assembler
	MEMTOP_PTXAS=$${MEMTOP_PTXAS:-ptxas} $(GO) test -count 1 -v -run MachineCode ./cmd/tools/modulegen

predictions: ## the table of errors: predicted and measured peaks of five models in all settings
	MEMTOP_LONG=1 $(GO) test ./engine/train -count 1 -timeout 30m -v -run PredictionsOfManyModels

bench-peers: ## training steps on the processor beside PyTorch, in turn, in $(ROUNDS) rounds
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtrain ./cmd/memtrain
	$(TORCH_PYTHON) cmd/tools/bench/peers.py $(CURDIR)/bin/memtrain --rounds $(ROUNDS)

bench-parallel: ## two processes of one core beside one on two cores: step time and overlap, $(RUNS) turns
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtrain ./cmd/memtrain
	$(GO) run ./cmd/tools/bench parallel -runs $(RUNS)

bench-agent: ## what the agent costs a job, in $(ROUNDS) turns with a viewer and without
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	OMP_NUM_THREADS=1 $(TORCH_PYTHON) probe/python/bench/agent.py $(CURDIR)/bin/memtop --turns $(ROUNDS)

soak-agent: ## a job's memory by minute while it is attached for $(SOAK), in minutes: 30m
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	OMP_NUM_THREADS=1 $(TORCH_PYTHON) probe/python/bench/agent.py $(CURDIR)/bin/memtop --soak $(SOAK:m=)

looks: ## programs that train while they are looked at, $(LISTS) ls and $(ATTACHES) attach each: none ends, losses equal
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/imitate ./cmd/tools/imitate
	OMP_NUM_THREADS=1 MEMTOP_IMITATE=$(CURDIR)/bin/imitate $(TORCH_PYTHON) probe/python/tests/looked/looks.py $(CURDIR)/bin/memtop $(KINDS) --lists $(LISTS) --attaches $(ATTACHES) --minutes $(MINUTES)

jobs: ## jobs of unusual habits, of $(JOBS): alone, watched by nobody and looked at all the time they print the same
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	OMP_NUM_THREADS=1 SECONDS=$(SECONDS) $(TORCH_PYTHON) probe/python/tests/looked/notice.py bin/memtop $(JOBS) $(NAMES)

agent-real: ## the agent beside models that people train, compared with the tests' own counts
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/imitate ./cmd/tools/imitate
	cd probe/python && PATH=$(CURDIR)/bin:$$PATH OMP_NUM_THREADS=1 MEMTOP=$(CURDIR)/bin/memtop MEMTOP_TEST_KILLS=$(KILLS) MEMTOP_TEST_STILL=60 MEMTOP_IMITATE=$(CURDIR)/bin/imitate \
		$(TORCH_PYTHON) -m pytest -p no:cacheprovider -m "real or not real" -rs tests/real tests/test_interrupts.py tests/test_control.py tests/test_cuda.py

agent-cuda: ## the agent in CUDA jobs on the imitated GPU, those of $(NAMES), compared with the jobs' own counts
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/memtop ./cmd/memtop
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/imitate ./cmd/tools/imitate
	cd probe/python && PATH=$(CURDIR)/bin:$$PATH OMP_NUM_THREADS=1 MEMTOP_BINARY=$(CURDIR)/bin/memtop MEMTOP_IMITATE=$(CURDIR)/bin/imitate \
		$(CURDIR)/bin/imitate -- $(TORCH_PYTHON) -m pytest -q -p no:cacheprovider -rs --durations 10 -k '$(NAMES)' tests/imitated

truth: ## what memtop says of $(PROGRAMS), beside what they know and what the changes that it proposes really save
	MEMTOP_TRUTH="$(PROGRAMS)" MEMTOP_TORCH_PYTHON=$(TORCH_PYTHON) $(GO) test -count 1 -timeout 60m -v ./cmd/testing/truthtest

imitation: ## build the libraries in C that programs load: the imitated GPU, and what sees calls of the driver; MEMTOP_ZIG names the compiler
	$(GO) generate ./engine/device/cuda/imitation ./engine/device/cuda/callers

imitation-check: ## build them again and compare
	MEMTOP_ZIG=$${MEMTOP_ZIG:-zig} $(GO) test -count 1 -v -run BuiltAgain ./engine/device/cuda/prebuilt

alloc-differential: ## $(RANDOM_PROGRAMS) random programs for each of ten settings on PyTorch's own allocator and ours; TORCH_PYTHON may be several, by commas
	$(GO) run ./cmd/tools/differential -python $(TORCH_PYTHON) -programs $(RANDOM_PROGRAMS) -seed $(SEED)

rehearsals: ## rehearse programs of the tests $(REHEARSALS), but for $(SKIPPED), with the PyTorch of $(TORCH_PYTHON)
	MEMTOP_REHEARSALS=all MEMTOP_TORCH_PYTHON=$(TORCH_PYTHON) $(GO) test -count 1 -timeout 30m -v -run '$(REHEARSALS)' $(if $(SKIPPED),-skip '$(SKIPPED)') ./cmd/memtop

rehearse-recordings: ## rehearse what others recorded on GPUs: repositories in $(RECORDINGS), PyTorch of $(TORCH_PYTHON)
	MEMTOP_REHEARSALS=all MEMTOP_RECORDINGS=$(abspath $(RECORDINGS)) MEMTOP_TORCH_PYTHON=$(TORCH_PYTHON) $(GO) test -count 1 -timeout 60m -v -run 'Recordings' ./cmd/memtop

rehearse-published: ## rehearse published measurements of the PyTorch of $(TORCH_PYTHON): the table of differences
	MEMTOP_REHEARSALS=all MEMTOP_PUBLISHED=all MEMTOP_TORCH_PYTHON=$(TORCH_PYTHON) $(GO) test -count 1 -timeout 60m -v -run 'Published' ./cmd/memtop

rehearse-packages: ## rehearse programs of the packages that are in $(PACKAGES), a folder of pip install --target, with the PyTorch of $(TORCH_PYTHON)
	PYTHONPATH=$(abspath $(PACKAGES)) MEMTOP_REHEARSALS=all MEMTOP_TORCH_PYTHON=$(TORCH_PYTHON) $(GO) test -count 1 -timeout 60m -v -run 'RehearsedLibraries' ./cmd/memtop

fuzz: ## every fuzz target in turn, $(FUZZTIME) each
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			GOMEMLIMIT=256MiB $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package || exit 1; \
		done; \
	done

fuzz-mutate: ## fuzz whole files of every kind for $(FUZZTIME)
	GOMEMLIMIT=256MiB $(GO) test -run '^$$' -fuzz '^FuzzFile$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./cmd/memtop

mutations: ## change $(MUTATIONS) lines of the product, drawn by $(SEED), one at a time: do the tests notice?
	$(GO) run ./cmd/tools/mutate -seed $(SEED) -count $(MUTATIONS) -python $(TORCH_PYTHON)

long-files: ## files that cost more than their size if something is searched for each of many, and all that ask for much memory
	MEMTOP_LONG=1 $(GO) test -count 1 -timeout 30m -run 'TimeFollows|BombsStay' ./cmd/memtop

check-categories: ## for each file of $(SNAPSHOTS), the share of the bytes at the peak with a wrong category
	MEMTOP_SNAPSHOTS=$(abspath $(SNAPSHOTS)) MEMTOP_LABELS=$(if $(LABELS),$(abspath $(LABELS))) \
		$(GO) test -count 1 -v -run '^TestCategoriesOfLabelledFiles$$' ./snapshots/report

kill: ## kill -9 $(KILLS) times each: memtrain while saving, writers, a program with a black box
	MEMTOP_TEST_KILLS=$(KILLS) $(GO) test -v -count 1 -run '^TestKillingA' ./cmd/output ./cmd/memtrain/program ./probe/engine

deadcode: ## functions that neither a program nor a test reaches
	@dead=$$($(GO) run golang.org/x/tools/cmd/deadcode@v0.40.0 -test ./...) && [ -z "$$dead" ] || { echo "$$dead"; exit 1; }

test-busy: ## all tests three times, beside two busy loops
	for loop in 1 2; do (while :; do :; done) & loops="$$loops $$!"; done; trap 'kill $$loops' EXIT; trap 'exit 130' INT TERM; \
		for turn in 1 2 3; do $(GO) test -count 1 ./... || exit 1; done

check: build vet lint test race deadcode ## what must hold before a push
	$(GO) build ./...
