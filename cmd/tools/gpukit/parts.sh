# What the parts of run.sh do, a function part_NAME each, in a process of its own.
# They make their lines of the table by row as soon as these are known. They need not
# end what they start.

# The parts in their order, and the most seconds of each.
parts="driver    60  what the driver is, and three steps of memtrain
kernels   420 the kernels against the processor, a process for each test
device    120 memory, queue and libraries, a process for each test
products  240 products at the sizes of GPT-2 124M, by each means to multiply: right, the same twice, and how fast
losses    240 losses of 50 steps: GPU and processor
steps     240 steps of GPT-2 124M in bf16, by cuBLASLt and by our kernels
torch     150 the same steps in PyTorch
compile   420 the same steps in PyTorch, compiled
ranks     240 two GPUs: losses as on one, and tokens a second
memtop    60  memtop beside a run on the GPU, and settings that change
calls     120 who has the GPU's memory by the calls that a PyTorch program makes, and by the driver
allocator 180 our allocator on what PyTorch's did
racecheck 480 the kernels under compute-sanitizer's racecheck
synccheck 300 … its synccheck"

# skip ends a part that cannot be tried here, with the reason.
skip() {
	echo "$*"
	exit $skip
}

# trying notes what is tried, for the line of a part that is stopped.
trying() { echo "$1" >"$results/$part.now"; }

# of_tests makes lines of the table of what a test prints, with the line before as what
# there is to say. It reads line by line: awk may hold lines back.
of_tests() {
	local line before="" verdict='^ *--- (PASS|FAIL|SKIP): ([^ ]+) \(([0-9.]+s)\)$'
	while IFS= read -r line; do
		line=${line#$'\x16'}
		if [[ $line =~ $verdict ]]; then
			[[ ${BASH_REMATCH[1]} != PASS || $before == *FLOP/s* ]] || before=""
			row "${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}" "${BASH_REMATCH[3]}" "${before#"${before%%[! ]*}"}"
			before=""
			continue
		fi
		echo "$line"
		[[ $line =~ ^\ *(===|---) ]] || before=$line
	done
}

# each_test runs the tests of a program, but those that match a pattern, each in a
# process of its own: the first fault of a kernel fails whatever follows it in its
# process. Before the program may come a command that runs it. The form test2json has a
# case's line when it ends, and not when its test does.
each_test() {
	local without=$1 program=${*: -1} most=${KIT_TEST_SECONDS:-90} failed=0 name code
	shift
	for name in $("$program" -test.list "${KIT_TESTS:-.}" | grep '^Test' | grep -Ev "$without"); do
		trying "$name"
		timeout -k 2 "$most" "$@" -test.v=test2json -test.run "^$name\$" 2>&1 | of_tests
		code=${PIPESTATUS[0]}
		[ "$code" != 0 ] || continue
		failed=1
		case $code in
		1) ;; # it has its own line
		124 | 137) row "$name" FAIL "" "it was stopped after $most s" ;;
		*) row "$name" FAIL "" "exit code $code" ;;
		esac
	done
	return $failed
}

# tried runs a command and makes a line of the table of it, with those lines of its
# output that match.
tried() {
	local name=$1 lines=$2 start=$SECONDS output=$results/$part.output code
	shift 2
	trying "$name"
	"$@" >"$output" 2>&1
	code=$?
	cat "$output"
	if [ $code = 0 ]; then
		row "$name" PASS "$((SECONDS - start))s" "$(grep -E "$lines" "$output" | tr -s ' \t\n' ' ')"
	else
		row "$name" FAIL "$((SECONDS - start))s" "$(grep . "$output" | tail -1)"
	fi
	return $code
}

has_torch() {
	"$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || skip "PyTorch with CUDA is not there: PYTHON may name a Python that has it"
}

memtrain() { ./memtrain --device "$1" --steps "$2" --black-box off "${@:3}"; }

part_driver() {
	command -v nvidia-smi >/dev/null && nvidia-smi
	ldconfig -p 2>/dev/null | grep -E 'libcuda\.|libcublasLt|libnccl|libnvidia-ml'
	./bench gpu || return
	tried "three steps of memtrain" "products|loss" memtrain cuda:0 3
}

# What the tests of kernels look at beside kernels.
readonly sources='Manifest|GeneratingAgain|TheSameModules'

part_kernels() { MEMTOP_GPU=1 each_test "$sources" ./kernels.test; }

# The test of products at their real sizes, a part of its own.
readonly multiplies=AGPUMultiplies

part_device() { each_test "$multiplies" ./cuda.test; }

part_products() { KIT_TESTS=$multiplies KIT_TEST_SECONDS=${KIT_TEST_SECONDS:-230} each_test '^$' ./cuda.test; }

# losses_of prints the losses of a run.
losses_of() { "$@" --probe off --json --batch 16 | grep -oE '"loss": *[^,}]+' | grep -oE '[0-9.e+-]+$'; }

# same_losses takes the losses of two runs, a line each, and fails where one differs by
# more than is allowed, as a part of it.
same_losses() {
	awk -v allowed="$1" '
		NF != 2 { print "one of them has no loss of step " NR; exit bad = 1 }
		{ d = ($1 - $2) / $1; if (d < 0) d = -d; if (d > most) most = d }
		END { if (bad || NR == 0) exit 1; print "greatest difference of a loss " most + 0 " in " NR " steps"; exit most > allowed }'
}

gpu_as_processor() { paste <(losses_of memtrain cpu:0 50 "$@") <(losses_of memtrain cuda:0 50 "$@") | same_losses 0.001; }

with_host() { paste <(losses_of memtrain cuda:0 50) <(losses_of memtrain cuda:0 50 "$@") | same_losses 0.001; }

part_losses() {
	local failed=0 host
	tried "the GPU as the processor, --amp off" greatest gpu_as_processor || failed=1
	for host in wte+wpe+lm_head+loss h.1; do
		tried "the GPU with its host as alone, --host $host" greatest with_host --host $host || failed=1
	done
	tried "the GPU with its host as alone, --offload optimizer" greatest with_host --offload optimizer || failed=1
	return $failed
}

part_steps() {
	local failed=0 batch
	for batch in 16 64; do
		tried "GPT-2 124M, bf16, batch $batch, cuBLASLt" 'best|peak' ./bench engine -device cuda:0 -length 1024 -batch $batch -steps 20 -amp bf16 -library || failed=1
		tried "GPT-2 124M, bf16, batch $batch, own products" 'best|peak' ./bench engine -device cuda:0 -length 1024 -batch $batch -steps 20 -amp bf16 -own-products || failed=1
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
		tried "GPT-2 124M, bf16, batch $batch, PyTorch $*" median_ns "$python" torch_gpt2.py --batch $batch --steps 20 --amp bf16 "$@" || failed=1
	done
	return $failed
}

part_torch() { torch_steps; }

part_compile() { torch_steps --compile; }

# sanitized runs the tests of kernels under a tool of compute-sanitizer.
sanitized() {
	local sanitizer
	sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) || skip "compute-sanitizer is not there"
	each_test "$sources" "$sanitizer" --tool "$1" --error-exitcode 9 ./kernels.test
}

part_racecheck() { MEMTOP_GPU=1 sanitized racecheck; }

part_synccheck() { MEMTOP_GPU=1 sanitized synccheck; }

part_memtop() {
	local failed=0 trainer change
	./memtrain --device cuda:0 --steps 0 --black-box off --json >"$results/memtrain.json" 2>&1 &
	trainer=$! # it has no end: end_part ends it
	trying "a first step"
	until grep -q '"step"' "$results/memtrain.json"; do
		kill -0 $trainer 2>/dev/null || { cat "$results/memtrain.json"; return 1; }
		sleep 0.2
	done
	tried "memtop attach" 'GPU|device|driver' ./memtop attach $trainer --once || failed=1
	for change in checkpoint=block checkpoint=none amp=bf16 host=h.1 host=none; do
		tried "set $change" . ./memtop set $trainer $change --wait || failed=1
	done
	return $failed
}

part_calls() {
	has_torch
	tried "memtop run --driver-calls" "of the driver" ./memtop run --driver-calls -- "$python" driver_calls.py ./memtop
}

# two_ranks runs a program in two processes with a GPU each.
two_ranks() {
	if command -v mpirun >/dev/null; then
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 "$@"
	else
		"$python" -m torch.distributed.run --standalone --nproc-per-node 2 --no-python "$@"
	fi
}

two_as_one() { paste <(losses_of memtrain auto 10) <(losses_of two_ranks ./memtrain --device auto --steps 10 --black-box off --shard "$@") | same_losses 0.001; }

# speed prints the tokens a second of the median of a run's steps, but the first three.
speed() {
	"$@" --device auto --steps 15 --black-box off --probe off --json --model gpt2 --seq 1024 --batch 16 --amp bf16 |
		sed -nE 's/.*"tokens": *([0-9]+), *"step_time_ns": *([0-9]+).*/\1 \2/p' | tail -n +4 |
		awk '{ print $1 / $2 * 1e9 }' | sort -n |
		awk '{ all[NR] = $1 } END { if (NR == 0) exit 1; printf "median of %d steps: %.0f tokens/s\n", NR, all[int((NR + 1) / 2)] }'
	return $((PIPESTATUS[0] | PIPESTATUS[5]))
}

part_ranks() {
	local gpus failed=0 stage
	gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
	[ "$gpus" -ge 2 ] || skip "two ranks need two GPUs, and there are $gpus"
	command -v mpirun >/dev/null || "$python" -c 'import torch' 2>/dev/null || skip "neither mpirun nor PyTorch's torchrun is there to start two processes"
	tried "GPT-2 124M, bf16, batch 16, one GPU" median speed ./memtrain || failed=1
	tried "GPT-2 124M, bf16, batch 16 each, two GPUs" median speed two_ranks ./memtrain || failed=1
	for stage in none optimizer gradients parameters; do
		tried "two ranks as one, --shard $stage" greatest two_as_one $stage || failed=1
	done
	tried "two ranks as one, --host wte+lm_head+loss" greatest two_as_one none --host wte+lm_head+loss || failed=1
	return $failed
}
