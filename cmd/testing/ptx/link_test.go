package ptx_test

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// module returns a shipped module.
func module(t *testing.T, m kernels.Module) *ptx.Module {
	t.Helper()
	for code := range m.Codes(0, 0) {
		parsed, err := ptx.Parse(string(code.Bytes))
		fatal.If(t, err)
		return parsed
	}
	panic("no PTX")
}

func TestEveryShippedEntryLinks(t *testing.T) {
	entries := 0
	for m := range kernels.ModuleCount {
		parsed := module(t, m)
		for _, name := range parsed.Entries() {
			if _, err := parsed.Link(name); err != nil {
				t.Errorf("%v: %v", m, err)
			}
			entries++
		}
	}
	if entries != int(kernels.Count) {
		t.Errorf("%d entries, want %d", entries, kernels.Count)
	}
}
