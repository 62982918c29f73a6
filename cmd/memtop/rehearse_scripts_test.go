package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/snapshots/report"
)

// scriptStart is how a script that proves the imitation is started.
type scriptStart struct {
	flags    []string
	launcher []string // words between the interpreter and the script
	ranks    int
}

var twoRanks = scriptStart{[]string{"--gpus", "2"}, []string{"-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"}, 2}

var programs = map[string]scriptStart{
	"ddp":               twoRanks,
	"fsdp":              twoRanks,
	"groups":            twoRanks,
	"lengths":           twoRanks,
	"objects":           twoRanks,
	"tensor_parallel":   twoRanks,
	"pipeline_parallel": twoRanks,
	"eight_workers":     {ranks: 9}, // that is all of its processes
	"two_devices":       {flags: []string{"--gpus", "2"}, ranks: 2},
	"sizes":             {flags: []string{"--values", "upper"}},
	"forks":             {ranks: -1}, // it imports no PyTorch
}

// TestRehearsedProgramsProveTheImitation runs every script: each checks what it says itself.
func TestRehearsedProgramsProveTheImitation(t *testing.T) {
	python := cudaPython(t)
	paths, err := filepath.Glob("../../engine/device/cuda/imitation/testdata/scripts/*.py")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".py")
		t.Run(name, func(t *testing.T) {
			p := programs[name]
			if p.ranks < 0 {
				t.Skip("it is no program of PyTorch's")
			}
			t.Parallel()
			command := append(append([]string{python}, p.launcher...), path)
			flags := append(append([]string{"--steps", "1000", "--caught", "fits", "--no-advice"}, p.flags...), valuesIn(t, path)...)
			r := rehearseWith(t, append(append(flags, "--"), command...)...)
			if r.code != 0 || !r.Fits || len(r.Ranks) < p.ranks || len(r.NotImitated) > 0 {
				t.Errorf("code %d, %d ranks, not imitated %v, %s", r.code, len(r.Ranks), r.NotImitated, r.stderr)
			}
		})
	}
}

// valuesIn returns the flags for the values that a script gives its lines in comments.
func valuesIn(t *testing.T, path string) (flags []string) {
	t.Helper()
	text := fatal.Read(t, path)
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if _, value, found := strings.Cut(line, "# --set "); found {
			flags = append(flags, "--set", fmt.Sprintf("%s:%d=%s", filepath.Base(path), number, strings.TrimSpace(value)))
		}
	}
	return flags
}

// TestARehearsedRankAnswersForTheOthers has ranks that do not run send what this one does.
func TestARehearsedRankAnswersForTheOthers(t *testing.T) {
	const script = "../../engine/device/cuda/imitation/testdata/scripts/objects.py"
	r := rehearseWith(t, "--world", "64", "--rank", "3", "--", besideOthers(t), script)
	if r.code != 0 || len(r.Ranks) != 1 || r.Bound != "modelled" {
		t.Errorf("code %d, %d ranks, bound %s: %v, %s", r.code, len(r.Ranks), r.Bound, r.Because, r.stderr)
	}
}

// TestARehearsedProgramWhoseSizesDependOnData has a count be the least, the most, and what is said.
func TestARehearsedProgramWhoseSizesDependOnData(t *testing.T) {
	python := besideOthers(t)
	path := filepath.Join(t.TempDir(), "masked.py")
	const script = "import torch\nx = torch.randn(1 << 20, device='cuda')\ny = x[x > 0]\nprint(y.shape[0])\n"
	fatal.If(t, os.WriteFile(path, []byte(script), 0o600))
	for name, test := range map[string]struct {
		flags []string
		rows  string
		bound string
	}{
		"zeros":     {nil, "0", "lower"},
		"upper":     {[]string{"--values", "upper"}, "1048576", "upper"},
		"set":       {[]string{"--set", "masked.py:3=1000"}, "1000", "branches"},
		"set above": {[]string{"--set", "masked.py:3=5000000"}, "1048576", "branches"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rehearseWith(t, append(test.flags, "--", python, path)...)
			if r.code != 0 || r.Bound != test.bound || !strings.HasPrefix(r.stderr, test.rows+"\n") {
				t.Fatalf("code %d, %s, %s", r.code, r.Bound, r.stderr)
			}
			if len(r.DependsOnData) != 1 || r.DependsOnData[0].Line != "masked.py:3" || r.DependsOnData[0].AtMost == nil || *r.DependsOnData[0].AtMost != 8<<20 {
				t.Errorf("what depends on data: %+v", r.DependsOnData)
			}
		})
	}
}

// TestWhatARehearsalSaysOfReads has programs that read values, and what is said of their sizes.
func TestWhatARehearsalSaysOfReads(t *testing.T) {
	python := besideOthers(t)
	const far = "y = torch.empty(20000, dtype=torch.long, device='cuda')\nfor v in y: v.item()\n"
	for name, test := range map[string]struct {
		script string
		flags  []string
		bound  string
		ended  string
	}{
		"many numbers":              {"w = torch.randn(99999, device='cuda').cpu()", nil, "exact", "exit"},
		"a few numbers":             {"w = torch.randn(9, device='cuda').tolist()", nil, "exact", "exit"},
		"many numbers, given":       {"w = torch.randn(9, device='cuda').cpu(); assert w.sum() == 18", []string{"--set", "reads.py:2=2"}, "branches", "exit"},
		"many conditions":           {"w = (torch.randn(99999, device='cuda') > 0).cpu()", nil, "exact", "exit"},
		"one after another":         {far, nil, "exact", "exit"},
		"not run again":             {far, []string{"--no-advice"}, "lower", "exit"},
		"a length":                  {"y = torch.randn(9, device='cuda')\nz = torch.empty(1000 * int(y.argmax()) + 9, device='cuda')", nil, "lower", "exit"},
		"a branch":                  {"y = torch.randn(9, device='cuda')\nif y.sum() > 0: z = torch.empty(9, device='cuda')", nil, "branches", "exit"},
		"the same again":            {"y = torch.randn(9, device='cuda')\nwhile y[3].item() < 1: pass", nil, "branches", "waits"},
		"steps before a device has": {"w = torch.nn.Linear(3, 3)\nstep = torch.optim.SGD(w.parameters())\nfor _ in range(9): step.step()\nw.cuda()", nil, "exact", "exit"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "reads.py")
			fatal.If(t, os.WriteFile(path, []byte("import torch; torch.cuda.init()\n"+test.script+"\n"), 0o600))
			r := rehearseWith(t, append(test.flags, "--", python, path)...)
			if r.code != 0 || r.Bound != test.bound || r.Ended != test.ended || len(r.Ranks) != 1 {
				t.Errorf("code %d, %d ranks, %s, %s: %+v, %s", r.code, len(r.Ranks), r.Bound, r.Ended, r.DependsOnData, r.stderr)
			}
		})
	}
}

// TestASecondRunLeavesTheProgramsSnapshot has a program whose sizes depend on what it reads write its own snapshot.
func TestASecondRunLeavesTheProgramsSnapshot(t *testing.T) {
	python, own := besideOthers(t), filepath.Join(t.TempDir(), "own.pickle")
	script := fmt.Sprintf(`import torch
torch.cuda.memory._record_memory_history()
y = torch.empty(1 << 20 << int(torch.randn(9, device="cuda").argmax()), dtype=torch.uint8, device="cuda")
torch.cuda.memory._dump_snapshot(%q)
`, own)
	r := rehearseWith(t, "--", python, "-c", script)
	if r.code != 0 || r.OtherValues == nil || r.OtherValues.Same || r.OtherValues.PeakAllocated < 2<<20 {
		t.Fatalf("code %d, %+v, %s", r.code, r.OtherValues, r.stderr)
	}
	if got := report.New(onfile.Trace(t, own)).Devices[0].PeakRequested; got >= 2<<20 {
		t.Errorf("the program's snapshot has %d bytes, which are those of the second run", got)
	}
}

// TestRehearsedOperations calls every operation that PyTorch's own tests know.
func TestRehearsedOperations(t *testing.T) {
	python := besideOthers(t)
	if exec.CommandContext(t.Context(), python, "-c", "import numpy").Run() != nil {
		t.Skip("PyTorch's own tests need numpy")
	}
	r := rehearseWith(t, "--steps", "all", "--caught", "fits", "--", python, "../../engine/device/cuda/imitation/testdata/operations.py")
	if r.code != 0 || len(r.NotImitated) > 0 {
		t.Errorf("code %d, not imitated %v, %s", r.code, r.NotImitated, r.stderr)
	}
}

// TestARehearsedProgramWhoseFreesWait has blocks that another stream uses.
func TestARehearsedProgramWhoseFreesWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "waits.py")
	const script = `import torch
side = torch.cuda.Stream()
for _ in range(2):
    x = torch.empty(1 << 20, device="cuda")
    x.record_stream(side)
    del x
`
	fatal.If(t, os.WriteFile(path, []byte(script), 0o600))
	r := rehearseWith(t, "--", besideOthers(t), path)
	if r.code != 0 || r.Bound != report.BoundTiming || len(r.Timing) != 1 || !strings.Contains(r.Timing[0], "waits.py:5") {
		t.Errorf("code %d, %s: %v, %s", r.code, r.Bound, r.Timing, r.stderr)
	}
}

// TestARehearsedRankOfManyIsAsAmongMany has a rank alone take what it takes beside the others.
func TestARehearsedRankOfManyIsAsAmongMany(t *testing.T) {
	python := besideOthers(t)
	const script = "testdata/rehearse/sharded.py"
	together := rehearseWith(t, "--gpus", "2", "--", python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script)
	alone := rehearseWith(t, "--world", "2", "--rank", "0,1", "--", python, script)
	if together.code != 0 || alone.code != 0 || len(together.Ranks) != 2 || len(alone.Ranks) != 2 {
		t.Fatalf("codes %d and %d, %s\n%s", together.code, alone.code, together.stderr, alone.stderr)
	}
	for i, want := range together.Ranks {
		got := alone.Ranks[i]
		if got.Rank != want.Rank || got.PeakAllocated != want.PeakAllocated || got.PeakReserved != want.PeakReserved {
			t.Errorf("rank %d alone takes %d and %d, and among two %d and %d", want.Rank, got.PeakAllocated, got.PeakReserved, want.PeakAllocated, want.PeakReserved)
		}
	}
	many := rehearseWith(t, "--world", "64", "--rank", "63", "--", python, script)
	if many.code != 0 || len(many.Ranks) != 1 || many.Ranks[0].Rank != 63 || many.Ranks[0].PeakAllocated >= alone.Ranks[0].PeakAllocated {
		t.Errorf("of 64: code %d, %+v, %s", many.code, many.Ranks, many.stderr)
	}
}

// TestARehearsedRankThatEndsKeepsNoOtherWaiting has a rank whose peak stays, and another whose peak grows for ever.
func TestARehearsedRankThatEndsKeepsNoOtherWaiting(t *testing.T) {
	const script = `import os, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
o = torch.optim.SGD([torch.ones(9, device="cuda", requires_grad=True)])
kept = []
while True:
    ranks = torch.tensor([1], device="cuda")
    dist.all_reduce(ranks)
    assert ranks.item() == 2
    kept.append(torch.empty(rank << 20, device="cuda"))
    o.step()
`
	path := fatal.Write(t, "grows.py", []byte(script))
	r := rehearseWith(t, append(append(append(twoRanks.flags, "--", cudaPython(t)), twoRanks.launcher...), path)...)
	if r.code != 0 || r.Ended != "settled" || len(r.Ranks) != 2 || r.Bound != report.BoundModelled {
		t.Errorf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
}

// TestARehearsedRankMakesAMesh has a rank of 32 that runs alone, of which 8 have its part.
func TestARehearsedRankMakesAMesh(t *testing.T) {
	const script = `import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
mesh = init_device_mesh("cuda", (4, 8), mesh_dim_names=("copies", "parts"))
dist.all_gather_into_tensor(torch.empty(800, device="cuda"), torch.empty(100, device="cuda"), group=mesh["parts"].get_group())
`
	r := rehearseWith(t, "--world", "32", "--rank", "3", "--", besideOthers(t), "-c", script)
	if r.code != 0 || len(r.Ranks) != 1 || r.Ranks[0].Rank != 3 {
		t.Errorf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
}

// TestRehearsedPinnedMemoryIsWhatPyTorchCounts compares with PyTorch's own counters, and with what the script asked for.
func TestRehearsedPinnedMemoryIsWhatPyTorchCounts(t *testing.T) {
	const script = "../../engine/device/cuda/imitation/testdata/scripts/pinned.py"
	python := cudaPython(t)
	r := rehearseWith(t, "--steps", "all", "--", python, script)
	var held, used, asked int64
	_, said, _ := strings.Cut(r.stderr, "pinned ")
	if _, err := fmt.Sscan(said, &held, &used, &asked); err != nil {
		t.Fatalf("%v in %q", err, r.stderr)
	}
	if r.code != 0 || len(r.Hosts) != 1 || r.Unrounded == nil {
		t.Fatalf("code %d, %+v, %+v, %s", r.code, r.Hosts, r.Unrounded, r.stderr)
	}
	h := r.Hosts[0]
	if h.Pinned != held || h.PinnedUsed != used || h.PinnedUsed-h.Rounding != asked {
		t.Errorf("%d pinned, %d in use, %d asked for; the script says %d, %d, %d", h.Pinned, h.PinnedUsed, h.PinnedUsed-h.Rounding, held, used, asked)
	}
	if len(h.Lines) == 0 || !strings.Contains(h.Lines[0].Line, "pinned.py:11") {
		t.Errorf("the lines that pin are %+v", h.Lines)
	}
	name, value, _ := strings.Cut(r.Unrounded.Setting, "=")
	t.Setenv(name, value)
	if changed := rehearseWith(t, "--steps", "all", "--", python, script); changed.Hosts[0].Pinned != r.Unrounded.Pinned || changed.Hosts[0].Rounding != 0 {
		t.Errorf("with %s it pins %+v, said were %+v", r.Unrounded.Setting, changed.Hosts[0], r.Unrounded)
	}
}
