package gpukit

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

// good are stand-ins for everything that the script runs, all of which work.
var good = map[string]string{
	"kernels.test": `[ "$1" = -test.list ] && { printf 'TestSum\nTestCompiler\nTestManifest\nok\n'; exit; }
case $3 in
^TestSum$) printf '=== RUN TestSum\n    --- PASS: TestSum/float32 (0.10s)\n--- PASS: TestSum (0.20s)\nPASS\n';;
*) printf '    sum_test.go:12: no compiler\n--- SKIP: TestCompiler (0.00s)\nPASS\n';;
esac`,
	"cuda.test": `[ "$1" = -test.list ] && { printf 'TestMemory\nTestAGPUMultiplies\n' | grep "$2"; exit; }
[ "$3" = ^TestMemory$ ] && printf -- '    memory_test.go:3: nothing of interest\n--- PASS: TestMemory (0.01s)\nPASS\n' ||
	printf -- '    products_test.go:9: 700.0 TFLOP/s\n--- PASS: TestAGPUMultiplies (0.01s)\nPASS\n'`,
	"bench":             aGPU + `echo best 400000 tokens/s; echo peak of 5 GiB`,
	"memtrain":          endless + `printf '{"step":1,"loss":3.2,"tokens":9,"step_time_ns":1000}\n%.0s' {1..9}`,
	"memtop":            `[ "$1" = replay ] && echo '"reproduces": true' || echo a device`,
	"python3":           `[ "$1" = -c ] || { case $1 in *record_snapshots.py) touch "$2/plain.pickle";; esac; echo '{"median_ns": 5}'; }`,
	"compute-sanitizer": `shift 4; exec "$@"`,
	"nvidia-smi":        `case $* in *query-gpu*) printf '1980, 650.5, 61, 0\n345, 70, 30, 0\n'; exec sleep 60;; esac; echo a driver`,
}

// aGPU is the part of a stand-in for bench that says what the GPU is.
const aGPU = `[ "$1" = gpu ] && { echo a GPU; exit; }
`

// endless is the part of a stand-in for memtrain that has no end, as the real one has
// none then.
const endless = `[ "$3" = --steps ] && [ "$4" = 0 ] && { echo '{"step":1}'; exec sleep 600; }
`

// kit is a folder with the scripts and stand-ins, some of which are others.
type kit struct {
	t           *testing.T
	dir         string
	environment []string
}

func newKit(t *testing.T, others map[string]string, environment ...string) *kit {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the kit is for Linux")
	}
	k := &kit{t: t, dir: t.TempDir()}
	tools := filepath.Join(k.dir, "tools")
	fatal.If(t, os.Mkdir(tools, 0o700))
	files := maps.Clone(good)
	maps.Copy(files, others)
	for name, text := range files {
		if text != "" {
			write(t, filepath.Join(k.dir, name), "#!/bin/bash\n"+text+"\n")
		}
	}
	write(t, filepath.Join(tools, "record_snapshots.py"), "")
	for _, name := range []string{"run.sh", "parts.sh"} {
		script := fatal.Read(t, name)
		write(t, filepath.Join(k.dir, name), string(script))
	}
	k.environment = append(os.Environ(), append(environment, "PATH="+k.dir+":"+os.Getenv("PATH"), "TOOLS="+tools, "PYTHON=python3")...)
	return k
}

// command is the script with arguments.
func (k *kit) command(args ...string) *exec.Cmd {
	p := exec.CommandContext(k.t.Context(), "bash", append([]string{filepath.Join(k.dir, "run.sh")}, args...)...)
	p.Env, p.Dir = k.environment, k.dir
	return p
}

// table runs parts, all if none is named, and returns the first three cells of the
// table, and the last line of what is printed.
func (k *kit) table(parts ...string) (rows map[string]string, last string) {
	k.t.Helper()
	said, err := k.command(append([]string{"results"}, parts...)...).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	last = lines[len(lines)-1]
	if failed := !strings.Contains(last, " 0 FAIL"); failed != (err != nil) {
		k.t.Errorf("%v after\n%s", err, said)
	}
	rows, content := k.rows()
	if !strings.Contains(string(said), content) {
		k.t.Errorf("the table is not printed:\n%s", said)
	}
	return rows, last
}

// rows reads the table.
func (k *kit) rows() (rows map[string]string, content string) {
	k.t.Helper()
	file, err := os.ReadFile(filepath.Join(k.dir, "results", "table.tsv"))
	fatal.If(k.t, err)
	rows = make(map[string]string)
	for line := range strings.Lines(string(file)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 5 {
			k.t.Fatalf("%d cells: %q", len(cells), line)
		}
		rows[cells[0]+": "+cells[1]] = cells[2]
		if cells[2] != "PASS" {
			rows[cells[0]+": "+cells[1]] += " " + strings.ReplaceAll(cells[4], k.dir, "")
		}
	}
	return rows, string(file)
}

// nothingLeft fails if a process runs that has the kit's folder in its environment, and
// ends it.
func (k *kit) nothingLeft() {
	k.t.Helper()
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, folder := range folders {
		environment, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil || !strings.Contains(string(environment), "TOOLS="+k.dir) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline")) // it may have ended
		k.t.Errorf("%s runs: %q", folder, line)
		if number, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			if p, err := os.FindProcess(number); err == nil {
				_ = p.Kill() // it may have ended
			}
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	fatal.If(t, os.WriteFile(name, []byte(text), 0o700)) //nolint:gosec // it is run
}

func TestEveryPartIsInTheTable(t *testing.T) {
	t.Parallel()
	k := newKit(t, nil)
	got, last := k.table()
	want := map[string]string{
		"driver: three steps of memtrain": "PASS", "driver: all": "PASS",
		"device: TestMemory": "PASS", "device: all": "PASS",
		"products: TestAGPUMultiplies": "PASS", "products: all": "PASS",
		"losses: the GPU as the processor, --amp off": "PASS", "losses: all": "PASS",
		"losses: the GPU with its host as alone, --host wte+wpe+lm_head+loss": "PASS", "losses: the GPU with its host as alone, --host h.1": "PASS",
		"losses: the GPU with its host as alone, --offload optimizer": "PASS",
		"steps: GPT-2 124M, bf16, batch 16, cuBLASLt":                 "PASS", "steps: GPT-2 124M, bf16, batch 16, own products": "PASS",
		"steps: GPT-2 124M, bf16, batch 64, cuBLASLt": "PASS", "steps: GPT-2 124M, bf16, batch 64, own products": "PASS", "steps: all": "PASS",
		"allocator: recording snapshots": "PASS", "allocator: our allocator on plain.pickle": "PASS", "allocator: all": "PASS",
		"torch: GPT-2 124M, bf16, batch 16, PyTorch ": "PASS", "torch: GPT-2 124M, bf16, batch 64, PyTorch ": "PASS", "torch: all": "PASS",
		"memtop: memtop attach": "PASS", "memtop: set checkpoint=block": "PASS", "memtop: set checkpoint=none": "PASS",
		"memtop: set amp=bf16": "PASS", "memtop: set host=h.1": "PASS", "memtop: set host=none": "PASS", "memtop: all": "PASS",
		"calls: memtop run --driver-calls": "PASS", "calls: all": "PASS",
		"ranks: all": "SKIP two ranks need two GPUs, and there are 0",
		"compile: GPT-2 124M, bf16, batch 16, PyTorch --compile": "PASS", "compile: GPT-2 124M, bf16, batch 64, PyTorch --compile": "PASS", "compile: all": "PASS",
	}
	for _, part := range []string{"kernels", "racecheck", "synccheck"} {
		want[part+": TestSum"], want[part+": TestSum/float32"], want[part+": all"] = "PASS", "PASS", "PASS"
		want[part+": TestCompiler"] = "SKIP sum_test.go:12: no compiler"
	}
	equal.Values(t, "the result", want, got)
	if last != "43 PASS, 0 FAIL, 4 SKIP" {
		t.Errorf("the last line is %q", last)
	}
	if _, content := k.rows(); !strings.Contains(content, "\tGPU at 345 to 1980 MHz, at most 650 W and 61 degrees\n") {
		t.Errorf("no part says how the GPU ran:\n%s", content)
	} else if !strings.Contains(content, "\tproducts_test.go:9: 700.0 TFLOP/s\n") || strings.Contains(content, "of interest") {
		t.Errorf("of tests that pass, rates are to be told and nothing else:\n%s", content)
	}
	k.nothingLeft()
}

func TestFailuresStopNothing(t *testing.T) {
	got, _ := newKit(t, map[string]string{
		"kernels.test":      `[ "$1" = -test.list ] && { printf 'TestFault\nTestSum\n'; exit; }; [ "$3" = ^TestSum$ ] || kill -SEGV $$; printf -- '    sum_test.go:3: 2, want 1\n--- FAIL: TestSum (0.20s)\nFAIL\n'; exit 1`,
		"cuda.test":         `[ "$1" = -test.list ] && { echo TestWaits; exit; }; [ "$1" = -test.v=test2json ] && printf '\x16--- PASS: TestWaits/once (0.10s)\n'; exec sleep 60`,
		"bench":             aGPU + `[[ "$*" == *-library* ]] && { echo there is no cuBLASLt; exit 1; }; echo best`,
		"memtrain":          endless + `case "$*" in *cpu:0*) loss=3.3;; *'--host h.1'*) loss=3.25;; *) loss=3.2;; esac; echo '{"loss":'$loss'}'`,
		"memtop":            `[ "$1" = replay ] && echo '"reproduces": "at event 7"' || { echo no such process; exit 3; }`,
		"python3":           `[ "$1" = -c ] && exit 1`,
		"compute-sanitizer": `echo 'Invalid __global__ read'; exit 9`,
	}, "KIT_SECONDS=3").table("kernels", "device", "steps", "losses", "allocator", "calls", "racecheck", "memtop")
	for name, want := range map[string]string{
		"kernels: TestFault": "FAIL exit code 139", "kernels: TestSum": "FAIL sum_test.go:3: 2, want 1", "kernels: all": "FAIL exit code 1: FAIL",
		"device: TestWaits/once": "PASS", "device: all": "FAIL it was stopped after 3 s, during TestWaits",
		"losses: the GPU as the processor, --amp off":        "FAIL greatest difference of a loss 0.030303 in 1 steps",
		"losses: the GPU with its host as alone, --host h.1": "FAIL greatest difference of a loss 0.015625 in 1 steps",
		"steps: GPT-2 124M, bf16, batch 16, cuBLASLt":        "FAIL there is no cuBLASLt", "steps: GPT-2 124M, bf16, batch 16, own products": "PASS",
		"calls: all":           "SKIP PyTorch with CUDA is not there: PYTHON may name a Python that has it",
		"allocator: all":       "SKIP PyTorch with CUDA is not there: PYTHON may name a Python that has it",
		"racecheck: TestFault": "FAIL exit code 9", "racecheck: TestSum": "FAIL exit code 9",
		"memtop: memtop attach": "FAIL no such process", "memtop: all": "FAIL exit code 1:",
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// TestNothingIsLeftRunning has a part start processes that hear no request to end, of
// a session of their own, and one that keeps its output open.
func TestNothingIsLeftRunning(t *testing.T) {
	t.Parallel()
	k := newKit(t, map[string]string{
		"nvidia-smi": "",
		"cuda.test": `[ "$1" = -test.list ] && { echo TestMemory; exit; }
trap '' TERM
setsid bash -c 'trap "" TERM; echo $$ >deaf.pid; while :; do sleep 1; done' &
bash -c 'echo $$ >heir.pid; exec sleep 600' &
until [ -s deaf.pid ] && [ -s heir.pid ]; do sleep 0.1; done
echo '--- PASS: TestMemory (0.01s)'
while :; do sleep 1; done`,
	}, "KIT_SECONDS=3")
	got, _ := k.table("device")
	want := map[string]string{"device: TestMemory": "PASS", "device: all": "FAIL it was stopped after 3 s, during TestMemory"}
	equal.Values(t, "the result", want, got)
	k.nothingLeft()
}
