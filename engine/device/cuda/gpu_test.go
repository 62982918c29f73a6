package cuda_test

import (
	"bytes"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
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

func TestAGPUReturnsWhatItWasGiven(t *testing.T) {
	d := gpu(t)
	for _, n := range []int{1, 4096, 9*mib + 3} {
		want, b := noise(n), buffer(t, d, int64(n))
		d.Upload(b, want)
		got := make([]byte, n)
		fatal.If(t, d.Download(got, b))
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back changed", n)
		}
	}
}

func TestAGPUComputesAndTellsLater(t *testing.T) {
	d := gpu(t)
	b := buffer(t, d, 4)
	x := device.ArrayOf(b, device.Float32, 1)
	var values []device.Fetched
	for i := range 10 {
		d.Fill(x, float64(i))
		values = append(values, d.Fetch(b))
	}
	for i, v := range values {
		var got [4]byte
		fatal.If(t, v.Wait(got[:]))
		if f := device.BFloat16ToFloat32(uint16(got[2]) | uint16(got[3])<<8); f != float32(i) {
			t.Errorf("value %d is %v", i, f)
		}
	}
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
