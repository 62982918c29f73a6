package gpukit

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// good are stand-ins for everything that the script runs, all of which work.
var good = map[string]string{
	"gpucheck":          `[ "$1" = -probe ] && echo a GPU || printf 'gpucheck\tSoftmax\tPASS\t1.5\t900 GB/s\n'`,
	"kernels.test":      `printf '=== RUN TestSum\n    --- PASS: TestSum/float32 (0.10s)\n--- SKIP: TestCompiler (0.00s)\n--- PASS: TestSum (0.20s)\nPASS\n'`,
	"cuda.test":         `printf -- '--- PASS: TestMemory (0.01s)\nPASS\n'`,
	"benchengine":       `echo best 400000 tokens/s; echo peak of 5 GiB`,
	"memtrain":          `[ "$3" = --steps ] && [ "$4" = 0 ] && { echo '{}'; exec sleep 60; }; echo loss 3.2`,
	"memtop":            `[ "$1" = replay ] && echo '"reproduces": true' || echo a device`,
	"python3":           `[ "$1" = -c ] || { case $1 in *record_snapshots.py) touch "$2/plain.pickle";; esac; echo '{"median_ns": 5}'; }`,
	"compute-sanitizer": `echo ERROR SUMMARY: 0 errors`,
	"nvidia-smi":        `echo a driver`,
}

// tables runs the script with stand-ins, of which some are others, and returns the
// first three cells of its table, and its last line.
func table(t *testing.T, others map[string]string, environment ...string) (rows map[string]string, last string) {
	t.Helper()
	dir := t.TempDir()
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o700); err != nil {
		t.Fatal(err)
	}
	files := maps.Clone(good)
	maps.Copy(files, others)
	for name, text := range files {
		if text != "" {
			write(t, filepath.Join(dir, name), "#!/bin/bash\n"+text+"\n")
		}
	}
	write(t, filepath.Join(tools, "record_snapshots.py"), "")
	script, err := os.ReadFile("run.sh")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "run.sh"), string(script))
	p := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, "run.sh"), filepath.Join(dir, "results"))
	p.Env = append(os.Environ(), append(environment, "PATH="+dir+":"+os.Getenv("PATH"), "TOOLS="+tools, "PYTHON=python3")...)
	said, err := p.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	last = lines[len(lines)-1]
	if failed := !strings.Contains(last, " 0 FAIL"); failed != (err != nil) {
		t.Errorf("%v after\n%s", err, said)
	}
	content, err := os.ReadFile(filepath.Join(dir, "results", "table.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(said), string(content)) {
		t.Errorf("the table is not printed:\n%s", said)
	}
	rows = make(map[string]string)
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 5 {
			t.Fatalf("%d cells: %q", len(cells), line)
		}
		rows[cells[0]+": "+cells[1]] = cells[2]
		if cells[2] != "PASS" {
			rows[cells[0]+": "+cells[1]] += " " + strings.ReplaceAll(cells[4], dir, "")
		}
	}
	return rows, last
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
}

func TestEveryPartIsInTheTable(t *testing.T) {
	got, last := table(t, nil)
	want := map[string]string{
		"driver: three steps of memtrain": "PASS", "driver: all": "PASS",
		"kernels: TestSum": "PASS", "kernels: TestSum/float32": "PASS", "kernels: TestCompiler": "SKIP ", "kernels: all": "PASS",
		"device: TestMemory": "PASS", "device: all": "PASS",
		"gpucheck: Softmax": "PASS", "gpucheck: all": "PASS",
		"steps: GPT-2 124M, bf16, batch 16, cuBLASLt": "PASS", "steps: GPT-2 124M, bf16, batch 16, own products": "PASS",
		"steps: GPT-2 124M, bf16, batch 64, cuBLASLt": "PASS", "steps: GPT-2 124M, bf16, batch 64, own products": "PASS", "steps: all": "PASS",
		"allocator: recording snapshots": "PASS", "allocator: our allocator on plain.pickle": "PASS", "allocator: all": "PASS",
		"torch: GPT-2 124M, bf16, batch 16, PyTorch ": "PASS", "torch: GPT-2 124M, bf16, batch 64, PyTorch ": "PASS", "torch: all": "PASS",
		"sanitizer: all":        "PASS",
		"memtop: memtop attach": "PASS", "memtop: set checkpoint=block": "PASS", "memtop: set checkpoint=none": "PASS",
		"memtop: set amp=bf16": "PASS", "memtop: all": "PASS",
		"ranks: all": "SKIP two ranks need two GPUs, and there are 0",
		"compile: GPT-2 124M, bf16, batch 16, PyTorch --compile": "PASS", "compile: GPT-2 124M, bf16, batch 64, PyTorch --compile": "PASS", "compile: all": "PASS",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if last != "29 PASS, 0 FAIL, 2 SKIP" {
		t.Errorf("the last line is %q", last)
	}
}

func TestFailuresStopNothing(t *testing.T) {
	got, _ := table(t, map[string]string{
		"kernels.test":      `printf -- '--- FAIL: TestSum (0.20s)\nFAIL\n'; exit 1`,
		"cuda.test":         `echo it waits; exec sleep 60`,
		"gpucheck":          `[ "$1" = -probe ] && echo a GPU || { printf 'gpucheck\tSoftmax\tFAIL\t\ttwo runs differ\n'; kill -SEGV $$; }`,
		"benchengine":       `[[ "$*" == *-library* ]] && { echo there is no cuBLASLt; exit 1; }; echo best`,
		"memtop":            `[ "$1" = replay ] && echo '"reproduces": "at event 7"' || { echo no such process; exit 3; }`,
		"python3":           `[ "$1" = -c ] && exit 1`,
		"compute-sanitizer": `echo 'Invalid __global__ read'; exit 9`,
	}, "KIT_SECONDS=3")
	for name, want := range map[string]string{
		"kernels: TestSum": "FAIL ", "kernels: all": "FAIL exit code 1: FAIL",
		"device: all":       "FAIL it was stopped after 3 s",
		"gpucheck: Softmax": "FAIL two runs differ", "gpucheck: all": "FAIL exit code 139:",
		"steps: GPT-2 124M, bf16, batch 16, cuBLASLt": "FAIL there is no cuBLASLt", "steps: GPT-2 124M, bf16, batch 16, own products": "PASS",
		"allocator: all":        "SKIP PyTorch with CUDA is not there: PYTHON may name a Python that has it",
		"sanitizer: all":        "FAIL exit code 9: Invalid __global__ read",
		"memtop: memtop attach": "FAIL no such process", "memtop: all": "FAIL exit code 1:",
	} {
		if !strings.HasPrefix(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// TestTwoRanksAreComparedWithOne has two GPUs, and processes of which those with --shard
// gradients lose otherwise, and those with --shard parameters not at all.
func TestTwoRanksAreComparedWithOne(t *testing.T) {
	got, _ := table(t, map[string]string{
		"nvidia-smi": `printf 'GPU 0: one\nGPU 1: another\n'`,
		"mpirun":     `shift 2; RANKS=2 exec "$@"`,
		"memtrain": `[ "$3" = --steps ] && [ "$4" = 0 ] && { echo '{}'; exec sleep 60; }
case "$RANKS$*" in 2*gradients*) loss=3.3;; 2*parameters*) exit 1;; *) loss=3.2;; esac
printf '{"step": 1, "loss": %s}\n{"step": 2, "loss": %s}\n' $loss $loss`,
	})
	want := map[string]string{
		"ranks: two ranks as one, --shard none": "PASS", "ranks: two ranks as one, --shard optimizer": "PASS",
		"ranks: two ranks as one, --shard gradients":  "FAIL greatest difference of a loss 0.03125",
		"ranks: two ranks as one, --shard parameters": "FAIL one of them has no loss of step 1",
	}
	for name, row := range want {
		if got[name] != row {
			t.Errorf("%s: %q, want %q", name, got[name], row)
		}
	}
}

func TestASnapshotThatIsNotReproducedFails(t *testing.T) {
	got, _ := table(t, map[string]string{"memtop": `[ "$1" = replay ] && echo '"reproduces": "at event 7"' || echo a device`})
	const name = "allocator: our allocator on plain.pickle"
	if want := `FAIL "reproduces": "at event 7"`; got[name] != want {
		t.Errorf("got %q, want %q", got[name], want)
	}
}

func TestWithoutAGPUEveryPartIsSkippedWithTheReason(t *testing.T) {
	got, last := table(t, map[string]string{"gpucheck": "echo no NVIDIA driver is installed; exit 77"})
	if len(got) != 11 || last != "0 PASS, 0 FAIL, 11 SKIP" {
		t.Errorf("%d rows, and the last line is %q", len(got), last)
	}
	for name, row := range got {
		want := "SKIP there is no GPU: no NVIDIA driver is installed"
		if name == "driver: all" {
			want = "SKIP no NVIDIA driver is installed"
		}
		if row != want {
			t.Errorf("%s: %q, want %q", name, row, want)
		}
	}
}

// TestPyTorchTrainsTheSameModel runs a block of the script and looks at its
// activation, which in GPT-2 and in our engine is the approximation by tanh.
func TestPyTorchTrainsTheSameModel(t *testing.T) {
	python := os.Getenv("MEMTOP_TORCH_PYTHON")
	if python == "" {
		t.Skip("MEMTOP_TORCH_PYTHON names no Python with PyTorch")
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", `
import torch, torch_gpt2 as script
asked = []
gelu = script.F.gelu
script.F.gelu = lambda x, **how: asked.append(how) or gelu(x, **how)
script.Block()(torch.zeros(1, 2, script.WIDTH))
print(asked)
`).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(out)), "[{'approximate': 'tanh'}]"; got != want {
		t.Errorf("its activations are %s, want %s", got, want)
	}
}
