package kernels_test

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

func TestArgumentsLieAsTheKernelsReadThem(t *testing.T) {
	address, err := hostbuild.Table(t.Context(), kernels.LayoutTable(), "memtop_layout")
	if errors.Is(err, hostbuild.ErrNoCompiler) {
		t.Skip(err)
	}
	fatal.If(t, err)
	want, meanings := kernels.Layout()
	for i, got := range unsafe.Slice((*uint32)(pointer(uint64(address))), len(want)) {
		if got != want[i] {
			t.Errorf("%s: %d in C++, %d in Go", meanings[i], got, want[i])
		}
	}
}
