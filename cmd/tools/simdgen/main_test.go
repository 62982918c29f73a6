package main

import (
	"bytes"
	"os"
	"testing"
)

func TestCommittedAssemblyIsWhatTheGeneratorWrites(t *testing.T) {
	committed, err := os.ReadFile("../../../engine/device/cpu/simd/simd_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, generate()) {
		t.Error("simd_amd64.s differs from the generator's output: run go generate ./engine/device/cpu/simd")
	}
}
