package main

import (
	"bytes"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestCommittedAssemblyIsWhatTheGeneratorWrites(t *testing.T) {
	committed := fatal.Read(t, "../../../engine/device/cpu/simd/simd_amd64.s")
	if !bytes.Equal(committed, generate()) {
		t.Error("simd_amd64.s differs from the generator's output: run go generate ./engine/device/cpu/simd")
	}
}
