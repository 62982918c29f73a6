package cuda_test

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// copier is a library that copies a byte on the stream it is given.
func copier(t *testing.T, driver *cudatest.Driver, b *cuda.Beside, dst, src device.Buffer) *cuda.Point {
	t.Helper()
	p, err := b.Queue(func(stream uintptr) error {
		driver.Queue(stream, func() cuda.Result {
			*(*byte)(at(dst.Addr)) = *(*byte)(at(src.Addr))
			return 0
		})
		return nil
	})
	fatal.If(t, err)
	return p
}

func beside(t *testing.T, d *cuda.Device) *cuda.Beside {
	t.Helper()
	b, err := d.OpenBeside()
	fatal.If(t, err)
	return b
}

func TestWorkOfAnotherLibraryComesAfterWhatWasQueued(t *testing.T) {
	d, driver := open(t, cudatest.Options{})
	x, y := buffer(t, d, 1), buffer(t, d, 1)
	b := beside(t, d)
	d.Upload(x, []byte{7})
	p := copier(t, driver, b, y, x)
	if err := b.Close(); err != nil { // which has the stream's work done before that of the compute stream
		t.Fatal(err)
	}
	got := make([]byte, 1)
	if err := errors.Join(p.Await(), d.Download(got, y)); err != nil || got[0] != 7 {
		t.Errorf("it read %d (%v), want 7", got[0], err)
	}
}

func TestWhatIsQueuedLaterComesAfterWorkOfAnotherLibrary(t *testing.T) {
	d, driver := open(t, cudatest.Options{})
	x, y := buffer(t, d, 1), buffer(t, d, 1)
	b := beside(t, d)
	d.Upload(x, []byte{7})
	p := copier(t, driver, b, y, x)
	waits := driver.Calls("cuEventSynchronize") + driver.Calls("cuStreamSynchronize")
	for range 2 {
		fatal.If(t, p.Await())
	}
	if n := driver.Calls("cuEventSynchronize") + driver.Calls("cuStreamSynchronize") - waits; n != 0 {
		t.Errorf("the host waited %d times", n)
	}
	d.Upload(x, []byte{8})
	got := make([]byte, 1)
	if err := d.Download(got, y); err != nil || got[0] != 7 {
		t.Errorf("it is %d (%v), want 7", got[0], err)
	}
	fatal.If(t, b.Close())
}

// TestADeviceThatIsFailedFromOutsideReturnsNothing has it failed while a download waits,
// as one who watches does before ending work that never would end.
func TestADeviceThatIsFailedFromOutsideReturnsNothing(t *testing.T) {
	d, driver := open(t, cudatest.Options{})
	x := buffer(t, d, 1)
	b := beside(t, d)
	lost := errors.New("a peer is lost")
	p, err := b.Queue(func(stream uintptr) error {
		driver.Queue(stream, func() cuda.Result { d.Fail(lost); return 0 })
		return nil
	})
	fatal.If(t, err)
	fatal.If(t, p.Await())
	if err := d.Download(make([]byte, 1), x); !errors.Is(err, lost) {
		t.Errorf("a download that waited for it returns %v", err)
	}
	for name, err := range map[string]error{"what was awaited": p.Await(), "the device": d.Failed(), "a call": d.Synchronize()} {
		if !errors.Is(err, lost) {
			t.Errorf("%s: %v, want the failure", name, err)
		}
	}
}

func at(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
