#!/usr/bin/env bash
# Tries the CUDA device on a machine with an NVIDIA GPU, in about ten minutes. The
# machine needs a driver; PyTorch and compute-sanitizer are used where they are.
# Everything else lies beside this script, where `make gpu-kit` put it.
#
#   ./run.sh [RESULTS]
#
# No failure stops it. Each part has a time limit, its log in RESULTS, and one line
# or more in RESULTS/table.tsv, which is printed at the end: part, what was tried,
# PASS, FAIL or SKIP, time, and what there is to say. PYTHON is the Python of
# PyTorch, TOOLS the folder of record_snapshots.py and record_allocator.py, which
# are not part of the kit.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
python=${PYTHON:-python3}
tools=${TOOLS:-../shared/tools}

# The parts and their seconds; the first says whether there is a GPU.
parts="driver:60 kernels:90 device:60 gpucheck:150 steps:120 allocator:120 torch:90 sanitizer:90 memtop:60 ranks:120 compile:300"

readonly skip=77 # the exit code of a part that cannot be tried here
skip() {
	echo "$*"
	exit $skip
}

# row prints a line of the table: what was tried, the result, the time, a text.
row() { printf '%s\t%s\t%s\t%s\t%s\n' "$part" "$1" "$2" "$3" "$4"; }

# of_tests makes lines of the table of what `test -v` prints, and keeps its result.
of_tests() {
	"$@" | tee "$results/$part.tests" | awk -v part="$part" -F'--- ' '
		/^ *--- (PASS|FAIL|SKIP): / {
			n = split($2, w, " "); sub(":", "", w[1]); gsub(/[()]/, "", w[3])
			print part "\t" w[2] "\t" w[1] "\t" w[3] "\t"
		}
		!/^ *(---|===)/ { print }'
	return "${PIPESTATUS[0]}"
}

# tried runs a command and makes a line of the table of it, with those lines of its
# output that match.
tried() {
	local name=$1 lines=$2 start=$SECONDS code output
	shift 2
	output=$("$@" 2>&1)
	code=$?
	echo "$output"
	if [ $code = 0 ]; then
		row "$name" PASS "$((SECONDS - start))s" "$(echo "$output" | grep -E "$lines" | tr -s ' \t\n' ' ')"
	else
		row "$name" FAIL "$((SECONDS - start))s" "$(echo "$output" | grep . | tail -1 | tr '\t' ' ')"
	fi
	return $code
}

has_torch() {
	"$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || skip "PyTorch with CUDA is not there: PYTHON may name a Python that has it"
}

part_driver() {
	command -v nvidia-smi >/dev/null && nvidia-smi
	ldconfig -p 2>/dev/null | grep -E 'libcuda\.|libcublasLt|libnccl|libnvidia-ml'
	./gpucheck -probe || return
	tried "three steps of memtrain" "products|loss" ./memtrain --device cuda:0 --steps 3
}

part_kernels() {
	MEMTOP_GPU=1 of_tests ./kernels.test -test.v -test.skip 'Manifest|GeneratingAgain|NVRTC|TheSameModules'
}

part_device() { of_tests ./cuda.test -test.v; }

part_gpucheck() { ./gpucheck; }

part_steps() {
	local failed=0 batch
	for batch in 16 64; do
		tried "GPT-2 124M, bf16, batch $batch, cuBLASLt" 'best|peak' ./benchengine -device cuda:0 -length 1024 -batch $batch -steps 10 -amp bf16 -library || failed=1
		tried "GPT-2 124M, bf16, batch $batch, own products" 'best|peak' ./benchengine -device cuda:0 -length 1024 -batch $batch -steps 10 -amp bf16 -own-products || failed=1
	done
	return $failed
}

part_allocator() {
	has_torch
	[ -f "$tools/record_snapshots.py" ] || skip "$tools has no record_snapshots.py: TOOLS may name its folder"
	local failed=0 file
	mkdir -p "$results/snapshots" "$results/allocator"
	tried "recording snapshots" . "$python" "$tools/record_snapshots.py" "$results/snapshots" || failed=1
	for file in "$results"/snapshots/*.pickle; do
		[ -f "$file" ] || continue
		tried "our allocator on $(basename "$file")" '"reproduces": *true' reproduces "$file" || failed=1
	done
	[ ! -f "$tools/record_allocator.py" ] || tried "recording the allocator" . "$python" "$tools/record_allocator.py" "$results/allocator" || failed=1
	return $failed
}

# reproduces replays a snapshot through our allocator and fails where the reserved
# memory is not the recorded one at every event.
reproduces() {
	local said
	said=$(./memtop replay "$1" --json) || return
	echo "$said" | grep -E '"reproduces"'
	echo "$said" | grep -Eq '"reproduces": *true'
}

torch_steps() {
	has_torch
	local failed=0 batch
	for batch in 16 64; do
		tried "GPT-2 124M, bf16, batch $batch, PyTorch $*" median_ns "$python" torch_gpt2.py --batch $batch --steps 10 --amp bf16 "$@" || failed=1
	done
	return $failed
}

part_torch() { torch_steps; }

part_compile() { torch_steps --compile; }

part_sanitizer() {
	local sanitizer
	sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) || skip "compute-sanitizer is not there"
	MEMTOP_GPU=1 "$sanitizer" --error-exitcode 9 ./kernels.test -test.run 'HopperProducts|Flash'
}

part_memtop() {
	local failed=0 pid
	./memtrain --device cuda:0 --steps 0 --json >"$results/memtrain.json" 2>&1 &
	pid=$!
	trap 'kill $pid 2>/dev/null' EXIT
	until [ -s "$results/memtrain.json" ]; do
		kill -0 $pid 2>/dev/null || return 1
		sleep 0.2
	done
	tried "memtop attach" 'GPU|device|driver' ./memtop attach $pid --once || failed=1
	for change in checkpoint=block checkpoint=none amp=bf16; do
		tried "set $change" . ./memtop set $pid $change --wait || failed=1
	done
	return $failed
}

# two_ranks runs a program in two processes with a GPU each.
two_ranks() {
	if command -v mpirun >/dev/null; then
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 "$@"
	else
		"$python" -m torch.distributed.run --standalone --nproc-per-node 2 --no-python "$@"
	fi
}

# losses prints the losses of ten steps in fp32.
losses() {
	"$@" --probe off --device auto --json --batch 16 --steps 10 | grep -oE '"loss": *[^,}]+' | grep -oE '[0-9.e+-]+$'
}

# same_losses trains in two processes and in one, and fails where a loss differs by more
# than a thousandth.
same_losses() {
	paste <(losses ./memtrain) <(losses two_ranks ./memtrain --shard "$1") | awk '
		NF != 2 { print "one of them has no loss of step " NR; exit bad = 1 }
		{ d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > most) most = d }
		END { if (bad || NR == 0) exit 1; print "greatest difference of a loss " most; exit most > 0.001 }'
}

part_ranks() {
	local gpus failed=0 stage
	gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
	[ "$gpus" -ge 2 ] || skip "two ranks need two GPUs, and there are $gpus"
	command -v mpirun >/dev/null || "$python" -c 'import torch' 2>/dev/null || skip "neither mpirun nor PyTorch's torchrun is there to start two processes"
	for stage in none optimizer gradients parameters; do
		tried "two ranks as one, --shard $stage" greatest same_losses $stage || failed=1
	done
	return $failed
}

# The script calls itself for each part, so that a time limit ends all of it.
if [ "${1:-}" = --part ]; then
	part=$2 results=$3
	"part_$part"
	exit
fi

results=${1:-results-$(date -u +%Y%m%dT%H%M%SZ)}
mkdir -p "$results" && results=$(cd "$results" && pwd) || exit 1
table=$results/table.tsv
: >"$table"
gpu=0
for entry in $parts; do
	part=${entry%:*} limit=${KIT_SECONDS:-${entry#*:}}
	log=$results/$part.log start=$SECONDS
	echo "== $part, at most $limit s"
	if [ $gpu = $skip ]; then
		echo "there is no GPU: $(grep . "$results/driver.log" | tail -1)" >"$log"
		code=$skip
	else
		timeout -k 5 "$limit" bash ./run.sh --part "$part" "$results" >"$log" 2>&1 </dev/null
		code=$?
	fi
	[ "$part" = driver ] && gpu=$code
	awk -F'\t' 'NF == 5 && $3 ~ /^(PASS|FAIL|SKIP)$/' "$log" >>"$table"
	last=$(awk -F'\t' 'NF && !(NF == 5 && $3 ~ /^(PASS|FAIL|SKIP)$/) { l = $0 } END { gsub(/\t/, " ", l); print substr(l, 1, 200) }' "$log")
	case $code in
	0) row all PASS "$((SECONDS - start))s" "" ;;
	$skip) row all SKIP "" "$last" ;;
	124 | 137) row all FAIL "$((SECONDS - start))s" "it was stopped after $limit s" ;;
	*) row all FAIL "$((SECONDS - start))s" "exit code $code: $last" ;;
	esac >>"$table"
done
echo
cat "$table"
echo
awk -F'\t' '{ n[$3]++ } END { printf "%d PASS, %d FAIL, %d SKIP\n", n["PASS"], n["FAIL"], n["SKIP"]; exit n["FAIL"] > 0 }' "$table"
