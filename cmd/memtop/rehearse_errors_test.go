package main

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/memtop/rehearse"
)

// TestABuildWithoutCUDAHasARemedy has the same release be named.
func TestABuildWithoutCUDAHasARemedy(t *testing.T) {
	code, line := describe(rehearse.CPUOnlyError{Release: "2.15.0+cpu"})
	if code != 1 || !strings.Contains(line, "this PyTorch (2.15.0+cpu) is a build without CUDA; install its build with CUDA") || !strings.HasSuffix(line, "--no-deps torch==2.15.0") {
		t.Errorf("code %d, %s", code, line)
	}
}
