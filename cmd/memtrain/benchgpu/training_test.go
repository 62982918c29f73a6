package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPyTorchTrainsTheSameModel runs a block of the script and looks at its
// activation, which in GPT-2 and in our engine is the approximation by tanh.
func TestPyTorchTrainsTheSameModel(t *testing.T) {
	python := os.Getenv("MEMTOP_TORCH_PYTHON")
	if python == "" {
		t.Skip("MEMTOP_TORCH_PYTHON names no Python with PyTorch")
	}
	p := exec.Command(python, "-c", `
import sys, types
script = types.ModuleType("script")
exec(sys.stdin.read(), script.__dict__)
import torch
asked = []
gelu = script.F.gelu
script.F.gelu = lambda x, **how: asked.append(how) or gelu(x, **how)
script.Block()(torch.zeros(1, 2, script.WIDTH))
print(asked)
`)
	p.Stdin = strings.NewReader(torchScript)
	out, err := output(p)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(out)), "[{'approximate': 'tanh'}]"; got != want {
		t.Errorf("its activations are %s, want %s", got, want)
	}
}
