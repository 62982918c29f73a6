package kernels_test

import (
	"testing"
	"unsafe"

	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

func TestArgumentsLieAsTheKernelsReadThem(t *testing.T) {
	address, err := hostLibrary(t).Symbol("memtop_layout")
	if err != nil {
		t.Fatal(err)
	}
	want, meanings := kernels.Layout()
	for i, got := range unsafe.Slice((*uint32)(pointer(uint64(address))), len(want)) {
		if got != want[i] {
			t.Errorf("%s: %d in C++, %d in Go", meanings[i], got, want[i])
		}
	}
}
