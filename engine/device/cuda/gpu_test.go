package cuda_test

import (
	"bytes"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cuda"
)

// gpu opens the first GPU of the machine. Without one it skips the test, with
// the reason.
func gpu(t *testing.T) *cuda.Device {
	t.Helper()
	d, err := cuda.Open(cuda.Options{OwnProducts: true}) // none multiplies
	if cuda.Unavailable(err) {
		t.Skip("no GPU: ", err)
	}
	fatal.If(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestAGPUHasExpandableSegments(t *testing.T) {
	d := gpu(t)
	a, err := alloc.New(d, alloc.Options{})
	fatal.If(t, err)
	fatal.If(t, a.Configure("expandable_segments:True"))
	for _, size := range []int64{1000, 3 * mib, 50 * mib} {
		block, err := a.Alloc(size, cuda.ComputeStream, alloc.Tag{})
		fatal.If(t, err)
		want := noise(1000)
		d.Upload(deviceBuffer(block), want)
		got := make([]byte, len(want))
		if err := d.Download(got, deviceBuffer(block)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %v", size, err)
		}
		a.Free(block)
	}
	a.EmptyCache()
}
