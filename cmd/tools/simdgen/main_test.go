package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestCommittedAssemblyIsWhatTheGeneratorWrites(t *testing.T) {
	committed, err := os.ReadFile("../../../engine/device/cpu/simd/simd_amd64.s")
	fatal.If(t, err)
	if !bytes.Equal(committed, generate()) {
		t.Error("simd_amd64.s differs from the generator's output: run go generate ./engine/device/cpu/simd")
	}
}
