package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// programs are the scripts that prove the imitation, and what they need besides.
var programs = map[string]struct {
	flags    []string
	launcher []string // words between the interpreter and the script
	ranks    int
}{
	"ddp":         {[]string{"--gpus", "2"}, []string{"-m", "torch.distributed.run", "--nproc-per-node", "2"}, 2},
	"fsdp":        {[]string{"--gpus", "2"}, []string{"-m", "torch.distributed.run", "--nproc-per-node", "2"}, 2},
	"two_devices": {flags: []string{"--gpus", "2"}, ranks: 2},
	"forks":       {ranks: -1}, // it imports no PyTorch
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
			command := append(append([]string{python}, p.launcher...), path)
			r := rehearse(t, append(append(append([]string{"--steps", "1000"}, p.flags...), "--"), command...)...)
			if r.code != 0 || !r.Fits || len(r.Ranks) < p.ranks {
				t.Errorf("code %d, %d ranks, %s", r.code, len(r.Ranks), r.stderr)
			}
		})
	}
}

// TestARehearsedRankOfManyIsAsAmongMany has a rank alone take what it takes beside the others.
func TestARehearsedRankOfManyIsAsAmongMany(t *testing.T) {
	python := cudaPython(t)
	const script = "testdata/rehearse/sharded.py"
	together := rehearse(t, "--gpus", "2", "--", python, "-m", "torch.distributed.run", "--nproc-per-node", "2", script)
	alone := rehearse(t, "--world", "2", "--rank", "0,1", "--", python, script)
	if together.code != 0 || alone.code != 0 || len(together.Ranks) != 2 || len(alone.Ranks) != 2 {
		t.Fatalf("codes %d and %d, %s\n%s", together.code, alone.code, together.stderr, alone.stderr)
	}
	for i, want := range together.Ranks {
		got := alone.Ranks[i]
		if got.Rank != want.Rank || got.PeakAllocated != want.PeakAllocated || got.PeakReserved != want.PeakReserved {
			t.Errorf("rank %d alone takes %d and %d, and among two %d and %d", want.Rank, got.PeakAllocated, got.PeakReserved, want.PeakAllocated, want.PeakReserved)
		}
	}
	many := rehearse(t, "--world", "64", "--rank", "63", "--", python, script)
	if many.code != 0 || len(many.Ranks) != 1 || many.Ranks[0].Rank != 63 || many.Ranks[0].PeakAllocated >= alone.Ranks[0].PeakAllocated {
		t.Errorf("of 64: code %d, %+v, %s", many.code, many.Ranks, many.stderr)
	}
}
