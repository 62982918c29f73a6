package imitation_test

import (
	"errors"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// TestTheTwoImitationsOfADriverAgree opens the engine's CUDA device over the
// library, and over the driver of the engine's own tests. The device must report
// the same GPU, and grant and refuse the same memory.
func TestTheTwoImitationsOfADriverAgree(t *testing.T) {
	const total, context = 1 << 30, 64 << 20
	a100, _ := imitation.Find("a100-80gb")
	a100.Total, a100.Context = total, context
	if _, inside := onGPU(t, a100.Variable(1, false)); !inside {
		return
	}
	library, err := cuda.Open(cuda.Options{OwnProducts: true})
	fatal.If(t, err)
	ofTests, err := cuda.Open(cuda.Options{OwnProducts: true, Driver: cudatest.New(cudatest.Options{Capacity: total - context})})
	fatal.If(t, err)
	a, b := library.Info(), ofTests.Info()
	if a.Name != a100.Title || a.Memory != total {
		t.Errorf("the engine sees %+v", a)
	}
	if a.Major != b.Major || a.Minor != b.Minor || a.VirtualMemory != b.VirtualMemory {
		t.Errorf("by the library %+v, by the driver for tests %+v", a, b)
	}
	for _, d := range []*cuda.Device{library, ofTests} {
		allocates(t, d)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// allocates takes memory that is available, and is refused memory that is not.
func allocates(t *testing.T, d *cuda.Device) {
	t.Helper()
	const half = 512 << 20
	before, _ := d.MemInfo()
	at, err := d.Malloc(half)
	fatal.If(t, err)
	if left, _ := d.MemInfo(); before-left != half {
		t.Errorf("%d bytes are gone", before-left)
	}
	if _, err := d.Malloc(before); !errors.Is(err, alloc.ErrNoMemory) {
		t.Errorf("more than there is: %v", err)
	}
	d.Free(at)
	if left, _ := d.MemInfo(); left != before {
		t.Errorf("%d bytes are left, before there were %d", left, before)
	}
}
