package cuda_test

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// product is one of 8×8 matrices in a buffer.
func product(b device.Buffer) device.MatMulPlan {
	x := device.ArrayOf(b, device.Float32, 64)
	return device.MatMul{C: x, A: x, B: x, M: 8, N: 8, K: 8}.Plan()
}

func TestAProductThatTheLibraryFailsIsAFailureOfTheQueue(t *testing.T) {
	const executionFailed = 13
	d, _ := open(t, cudatest.Options{})
	d.Find(cuda.StandIn{Path: "libcublasLt.so.13", Fails: map[string]int32{"cublasLtMatmul": executionFailed}})
	if _, err := d.Library(); err != nil {
		t.Fatal(err)
	}
	d.MatMul(product(buffer(t, d, 256)))
	var status *cuda.BLASError
	if err := d.Synchronize(); !errors.As(err, &status) || status.Status != executionFailed {
		t.Errorf("got %v, want the library's status %d", err, executionFailed)
	}
	if err := d.Synchronize(); err != nil {
		t.Errorf("the failure is returned twice: %v", err)
	}
}

func TestTheFirstLibraryThatStartsMultiplies(t *testing.T) {
	start := map[string]int32{"cublasLtCreate": 1}
	tests := map[string]struct {
		found     []cuda.StandIn
		want, not string // of the line about products
	}{
		"the first":                           {[]cuda.StandIn{{Path: "/a/13"}, {Path: "/b/12"}}, "cuBLASLt 13.2.5 of /a/13", "not"},
		"the second, as the first is refused": {[]cuda.StandIn{{Path: "/a/13", Fails: start}, {Path: "/b/12"}}, "cuBLASLt 13.2.5 of /b/12; not /a/13: cublasLtCreate: status 1", ""},
		"one for this GPU":                    {[]cuda.StandIn{{Path: "/a/13", Refuses: true}, {Path: "/b/12"}}, "of /b/12; not /a/13: it has no product for this GPU", ""},
		"one that loads":                      {[]cuda.StandIn{{Path: "/a/13", Err: errors.New("bad ELF")}, {Path: "/b/12"}}, "of /b/12; not /a/13: bad ELF", ""},
		"none that starts":                    {[]cuda.StandIn{{Path: "/a/13", Fails: start}}, "own, by mma.sync; no cuBLASLt starts: /a/13: cublasLtCreate: status 1", ""},
		"none at all":                         {nil, "own, by mma.sync; there is no cuBLASLt", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, _ := open(t, cudatest.Options{}) // which checks that what is refused leaves nothing behind
			d.Find(test.found...)
			got := d.Products()
			if !strings.Contains(got, test.want) || strings.Contains(got, "\n") || test.not != "" && strings.Contains(got, test.not) {
				t.Errorf("the products are %q, want %q", got, test.want)
			}
			if _, err := d.Library(); (err == nil) != strings.HasPrefix(got, "cuBLASLt") {
				t.Errorf("the products are %q, and of the library it says: %v", got, err)
			}
		})
	}
}

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
	fatal.If(t, b.Close()) // which has the stream's work done before that of the compute stream
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
