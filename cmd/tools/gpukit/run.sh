#!/usr/bin/env bash
# Tries the CUDA device on a machine with an NVIDIA GPU. The machine needs a driver;
# PyTorch and compute-sanitizer are used where they are. Everything else lies beside
# this script, where `make gpu-kit` put it.
#
#   ./run.sh [RESULTS [PART...]]   all parts in turn, or those that are named
#   ./run.sh --list                the parts: name, most seconds, what is tried
#
# No part takes longer than 9 minutes, so that each fits into a loan of ten. No
# failure stops the others, and nothing that a part started is running after it.
# Each line is in RESULTS/table.tsv as soon as it is known, those of parts that were
# run earlier beside it: part, what was tried, PASS, FAIL or SKIP, time, and what
# there is to say. The output of each part is RESULTS/PART.log.
#
# PYTHON is the Python of PyTorch, TOOLS the folder of record_snapshots.py and
# record_allocator.py, which are not part of the kit. KIT_TESTS is a pattern of the
# tests that are run of kernels, device, racecheck and synccheck.
set -u
from=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
python=${PYTHON:-python3}
tools=${TOOLS:-../shared/tools}

readonly skip=77 # the exit code of a part that cannot be tried here

# row adds a line to the table: what was tried, the result, the time, a text.
row() {
	local line
	printf -v line '%s\t%s\t%s\t%s\t%s' "$part" "$1" "$2" "$3" "${4//$'\t'/ }"
	echo "$line" >>"$table"
	echo "$line"
}

source ./parts.sh

# The script calls itself for each part, which is then a process with a limit.
if [ "${1:-}" = --part ]; then
	part=$2 results=$3 table=$3/table.tsv
	command -v nvidia-smi >/dev/null && nvidia-smi -l 2 --format=csv,noheader,nounits \
		--query-gpu=clocks.sm,power.draw,temperature.gpu,index >"$results/$part.gpu.csv" 2>/dev/null &
	"part_$part"
	exit
fi

# left prints the processes of the part that are there, in whatever group or session:
# the mark is in their environment.
left() { grep -lzFx "MEMTOP_KIT=$mark" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3; }

# end_part ends the processes of the part, and fails if it cannot.
end_part() {
	local signal turn pids
	for signal in TERM KILL; do
		for turn in {1..20}; do
			pids=$(left)
			[ -n "$pids" ] || return 0
			kill -$signal $pids 2>/dev/null
			sleep 0.1
		done
	done
	return 1
}

# run_part runs a command as the part, and sets code as timeout does. It does not wait
# for a process that nothing ends.
run_part() {
	local seconds=$1 pid until
	shift
	mark=$$.$part.$RANDOM
	MEMTOP_KIT=$mark setsid timeout -k 3 "$seconds" "$@" </dev/null 3>&- &
	pid=$! until=$((SECONDS + seconds + 5)) code=137
	while kill -0 $pid 2>/dev/null && [ $SECONDS -le $until ]; do sleep 0.1; done
	kill -0 $pid 2>/dev/null || { wait $pid; code=$?; }
	end_part || unended=$(left | tr '\n' ' ')
}

# gpu_of_part says from what the GPU was asked during the part how it ran.
gpu_of_part() {
	awk -F', *' 'NF == 4 && $1 + 0 > 0 {
		if (!n++ || $1 + 0 < low) low = $1 + 0
		if ($1 + 0 > high) high = $1 + 0
		if ($2 + 0 > power) power = $2 + 0
		if ($3 + 0 > heat) heat = $3 + 0
	} END { if (n) printf "; GPU at %d to %d MHz, at most %.0f W and %d degrees", low, high, power, heat }' "$results/$part.gpu.csv" 2>/dev/null
}

# verdict makes the line of the whole part.
verdict() {
	local log=$results/$part.log took=$((SECONDS - start))s last during
	last=$(grep -v $'\t' "$log" | grep . | tail -1 | cut -c 1-200)
	during=$(cat "$results/$part.now" 2>/dev/null)
	case $code in
	0) row all PASS "$took" "$(gpu_of_part | cut -c 3-)" ;;
	$skip) row all SKIP "" "$last" ;;
	124 | 137) row all FAIL "$took" "it was stopped after $limit s${during:+, during $during}$(gpu_of_part)" ;;
	*) row all FAIL "$took" "exit code $code: $last$(gpu_of_part)" ;;
	esac
	[ -z "$unended" ] || row "processes that do not end" FAIL "" "$unended"
} >/dev/null

# summary prints the table and its sums, and fails if something has failed.
summary() {
	echo
	cat "$table"
	echo
	awk -F'\t' '{ n[$3]++ } END { printf "%d PASS, %d FAIL, %d SKIP\n", n["PASS"], n["FAIL"], n["SKIP"]; exit n["FAIL"] > 0 }' "$table"
}

# interrupted ends the part under way and says so: the lines so far stay.
interrupted() {
	trap '' INT TERM HUP
	end_part
	row all FAIL "$((SECONDS - start))s" "it was interrupted" >/dev/null
	summary >&3 # and not into the log of the part
	exit "$1"
}

limit_of() { awk -v part="$1" '$1 == part { print $2 }' <<<"$parts"; }

if [ "${1:-}" = --list ]; then
	echo "$parts"
	exit
fi
results=${1:-results-$(date -u +%Y%m%dT%H%M%SZ)}
shift 2>/dev/null
chosen=${*:-$(echo "$parts" | cut -d' ' -f1)}
for part in $chosen; do
	[ -z "$(limit_of "$part")" ] || continue
	echo "run.sh: there is no part $part; ./run.sh --list has them" >&2
	exit 2
done
if [ -n "$(limit_of "$results")" ]; then
	echo "run.sh: the folder of results comes before the parts: ./run.sh RESULTS $results" >&2
	exit 2
fi
results=$(cd "$from" && mkdir -p "$results" && cd "$results" && pwd) || exit 1
table=$results/table.tsv
touch "$table"
exec 3>&1
mark=none part=probe start=$SECONDS limit=${KIT_SECONDS:-30} unended=""
trap 'interrupted 130' INT
trap 'interrupted 143' TERM
trap 'interrupted 129' HUP
run_part "$limit" ./bench gpu >"$results/probe.log" 2>&1
gpu=$code
for part in $chosen; do
	limit=${KIT_SECONDS:-$(limit_of "$part")}
	log=$results/$part.log start=$SECONDS unended="" code=$skip
	rm -f "$results/$part.now" "$results/$part.gpu.csv"
	grep -v "^$part"$'\t' "$table" >"$table.before"
	mv "$table.before" "$table"
	echo "== $part, at most $limit s"
	if [ $gpu = $skip ]; then
		echo "there is no GPU: $(grep . "$results/probe.log" | tail -1)" >"$log"
	else
		run_part "$limit" bash ./run.sh --part "$part" "$results" >"$log" 2>&1
	fi
	verdict
done
summary
