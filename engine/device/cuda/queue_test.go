package cuda_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

func deviceBuffer(b alloc.Allocation) device.Buffer {
	return device.Buffer{Addr: b.Addr(), Bytes: b.Requested()}
}

// buffer returns n bytes of the device, given back when the test ends.
func buffer(t *testing.T, d *cuda.Device, n int64) device.Buffer {
	t.Helper()
	addr, err := d.Malloc(n)
	fatal.If(t, err)
	t.Cleanup(func() { d.Free(addr) })
	return device.Buffer{Addr: addr, Bytes: n}
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b) // it cannot fail
	return b
}

func TestBytesComeBackAsTheyWent(t *testing.T) {
	d, _ := open(t, cudatest.Options{})
	for _, n := range []int{0, 1, 15, 4096, mib - 1, mib + 1, 9*mib + 3} {
		dst, want := buffer(t, d, int64(max(n, 1))), noise(n)
		src := bytes.Clone(want)
		d.Upload(dst, src)
		clear(src) // may be used again when the call returns
		got := make([]byte, n)
		fatal.If(t, d.Download(got, dst))
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back changed", n)
		}
	}
}

func TestStagingIsNotUsedAgainBeforeItWasRead(t *testing.T) {
	d, _ := open(t, cudatest.Options{})
	const each, n = 700_000, 40 // ten times the ring
	var places []device.Buffer
	for i := range n {
		b := buffer(t, d, each)
		d.Upload(b, bytes.Repeat([]byte{byte(i)}, each))
		places = append(places, b)
	}
	for i, b := range places {
		got := make([]byte, each)
		fatal.If(t, d.Download(got, b))
		if !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, each)) {
			t.Fatalf("upload %d was overwritten by a later one", i)
		}
	}
}

func TestTheFirstFailureIsKeptUntilSomebodyWaits(t *testing.T) {
	d, driver := open(t, cudatest.Options{})
	b := buffer(t, d, 1024)
	driver.Fail("cuMemcpyHtoDAsync_v2", 0, 1)
	d.Upload(b, make([]byte, 1024))
	before := driver.Calls("cuMemcpyHtoDAsync_v2")
	d.Upload(b, make([]byte, 1024))
	if driver.Calls("cuMemcpyHtoDAsync_v2") != before {
		t.Error("something was queued behind a failure")
	}
	err := d.Synchronize()
	if err == nil || !strings.Contains(err.Error(), "cuMemcpyHtoDAsync_v2: CUDA_ERROR_INVALID_VALUE (1): invalid argument") {
		t.Errorf("%v, want the driver's own error", err)
	}
	if err := d.Synchronize(); err != nil {
		t.Errorf("the failure is returned twice: %v", err)
	}
}

func TestAFailureThatEndsTheContextIsToldByEverythingAfterIt(t *testing.T) {
	d, driver := open(t, cudatest.Options{})
	b, err := d.Malloc(1024)
	fatal.If(t, err)
	driver.Fail("cuStreamSynchronize", 0, 700)
	var e *cuda.Error
	for range 2 {
		if err := d.Synchronize(); !errors.As(err, &e) || e.Name != "CUDA_ERROR_ILLEGAL_ADDRESS" {
			t.Errorf("%v, want the failure that ended the context", err)
		}
	}
	if _, err := d.Malloc(1024); !errors.As(err, &e) || e.Name != "CUDA_ERROR_ILLEGAL_ADDRESS" {
		t.Errorf("memory afterwards: %v", err)
	}
	d.Free(b) // gone with the context; must not panic
	if free, total := d.MemInfo(); free != 0 || total != 1<<30 {
		t.Errorf("%d free of %d", free, total)
	}
}

func TestAFetchedValueIsTheOneOfItsTurn(t *testing.T) {
	d, _ := open(t, cudatest.Options{})
	b := buffer(t, d, 8)
	var values []device.Fetched
	const n = 100 // more than there are slots
	for i := range n {
		d.Upload(b, []byte{byte(i), 1, 2, 3, 4, 5, 6, 7})
		values = append(values, d.Fetch(b))
	}
	for i, v := range values {
		var got [8]byte
		if err := v.Wait(got[:]); err != nil || got != [8]byte{byte(i), 1, 2, 3, 4, 5, 6, 7} {
			t.Fatalf("value %d is %v, %v", i, got, err)
		}
	}
}

func TestFetchingDoesNotWait(t *testing.T) {
	d, driver := open(t, cudatest.Options{})
	b := buffer(t, d, 8)
	d.Upload(b, make([]byte, 8))
	waits := driver.Calls("cuStreamSynchronize") + driver.Calls("cuEventSynchronize")
	v := d.Fetch(b)
	if v.Ready() {
		t.Error("the value is there before anything has run")
	}
	if got := driver.Calls("cuStreamSynchronize") + driver.Calls("cuEventSynchronize"); got != waits {
		t.Errorf("it waited %d times", got-waits)
	}
	for !v.Ready() { // each call lets the device go on
	}
	fatal.If(t, v.Wait(make([]byte, 8)))
}

func TestSharedMemoryIsGivenBackOnce(t *testing.T) {
	d, _ := open(t, cudatest.Options{})
	memory := make([]byte, 4096)
	release, err := d.Share(memory)
	fatal.If(t, err)
	if _, err := d.Share(memory); err == nil {
		t.Error("the same memory was shared twice")
	}
	fatal.If(t, release())
	if err := release(); err == nil {
		t.Error("memory that is not shared was given back")
	}
}

func TestCopiesMayOverlap(t *testing.T) {
	d, _ := open(t, cudatest.Options{})
	const pieces = own + 3*mib // more than one
	for name, c := range map[string]struct{ from, to, n int64 }{
		"not at all": {0, 3 * mib, 2 * mib}, "forwards": {0, mib, pieces}, "backwards": {mib, 0, pieces}, "by a byte": {0, 1, mib}, "onto itself": {5, 5, mib},
	} {
		t.Run(name, func(t *testing.T) {
			size := max(c.from, c.to) + c.n + 100
			b, want := buffer(t, d, size), noise(int(size))
			d.Upload(b, want)
			d.Copy(device.Buffer{Addr: b.Addr + uint64(c.to), Bytes: c.n}, device.Buffer{Addr: b.Addr + uint64(c.from), Bytes: c.n})
			copy(want[c.to:c.to+c.n], want[c.from:c.from+c.n])
			got := make([]byte, len(want))
			fatal.If(t, d.Download(got, b))
			if !bytes.Equal(got, want) {
				t.Error("the bytes are not those of before the copy")
			}
		})
	}
}

// TestAContextEndsWithTheResultsThatEndIt has each result of the driver's documentation
// that a caller may meet.
func TestAContextEndsWithTheResultsThatEndIt(t *testing.T) {
	ends := map[cuda.Result]bool{
		4: true, 214: true, 220: true, 226: true, 700: true, 702: true, 709: true, 710: true, 714: true, 715: true, 716: true,
		717: true, 718: true, 719: true, 721: true, 810: true, 911: true,
	}
	for _, r := range []cuda.Result{
		1, 2, 3, 4, 100, 101, 200, 201, 209, 214, 218, 219, 220, 221, 222, 223, 224, 225, 226, 300, 304, 400, 500, 600,
		700, 701, 702, 703, 704, 705, 708, 709, 710, 711, 712, 713, 714, 715, 716, 717, 718, 719, 720, 721,
		800, 801, 802, 803, 804, 805, 806, 807, 808, 809, 810, 811, 900, 901, 906, 910, 911, 912, 913, 999,
	} {
		if got := r.EndsContext(); got != ends[r] {
			t.Errorf("%d ends the context: %v, want %v", r, got, ends[r])
		}
	}
	for _, r := range []cuda.Result{1, 700} { // the others are as one of them
		d, driver := open(t, cudatest.Options{})
		driver.Fail("cuStreamSynchronize", 0, r)
		var e *cuda.Error
		if err := d.Synchronize(); !errors.As(err, &e) || e.Result != r {
			t.Errorf("%d: got %v", r, err)
		}
		if err := d.Synchronize(); (err != nil) != ends[r] || (d.Failed() != nil) != ends[r] {
			t.Errorf("%d: the next call: %v", r, err)
		}
	}
}

// TestMemoryThatCannotBeGivenBack fails calls that have no error to return.
func TestMemoryThatCannotBeGivenBack(t *testing.T) {
	tests := map[string]struct {
		result cuda.Result
		bug    bool
	}{
		"an address of no memory":       {1, true},
		"a handle of no object":         {400, true},
		"out of memory":                 {2, false},
		"a failure without a name":      {999, false},
		"one that ends the context":     {719, false},
		"one that is not yet heard of":  {12345, false},
		"the system is not ready":       {802, false},
		"a client of MPS that is ended": {810, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, driver := open(t, cudatest.Options{})
			addr, err := d.Malloc(1024)
			fatal.If(t, err)
			driver.Fail("cuMemFree_v2", 0, test.result)
			panicked := func() (got any) {
				defer func() { got = recover() }()
				d.Free(addr)
				return nil
			}()
			if (panicked != nil) != test.bug {
				t.Fatalf("it panics with %v", panicked)
			}
			if test.bug {
				d.Free(addr)
				return
			}
			var e *cuda.Error
			if err := d.Synchronize(); !errors.As(err, &e) || e.Result != test.result {
				t.Errorf("the next call returns %v, want the failure %d", err, test.result)
			}
		})
	}
}
