package nccl_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/nccltest"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/collective/nccl"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// rank is one process of a test, which is a goroutine.
type rank struct {
	collective.Group
	device  *cuda.Device
	driver  *cudatest.Driver
	library *nccltest.Library
}

// openDevice opens a GPU of a driver of its own.
func openDevice(t *testing.T) (*cuda.Device, *cudatest.Driver) {
	t.Helper()
	driver := cudatest.New(cudatest.Options{Capacity: 1 << 26})
	d, err := cuda.Open(cuda.Options{Driver: driver})
	fatal.If(t, err)
	return d, driver
}

// sharing is how the id of the first of so many goroutines comes to all.
func sharing(n int) func(rank int) func([]byte) error {
	ids := make(chan []byte, n)
	return func(rank int) func([]byte) error {
		return func(id []byte) error {
			if rank == 0 {
				for range n - 1 {
					ids <- slices.Clone(id)
				}
				return nil
			}
			copy(id, <-ids)
			return nil
		}
	}
}

// together runs f in so many ranks that have met, and returns their errors.
func together(t *testing.T, n int, f func(r *rank) error) []error {
	t.Helper()
	share := sharing(n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		d, driver := openDevice(t)
		r := &rank{device: d, driver: driver, library: nccltest.New(driver)}
		all.Go(func() {
			g, err := nccl.Open(nccl.Options{Device: d, Rank: i, Size: n, Share: share(i), Library: r.library})
			if err == nil {
				r.Group = g
				err = f(r)
			}
			errs[i] = errors.Join(err, d.Close())
			if left := driver.Left(); d.Failed() == nil && len(left) > 0 {
				errs[i] = errors.Join(errs[i], fmt.Errorf("left behind: %v", left))
			}
		})
	}
	all.Wait()
	return errs
}

// on returns an array of the device with values.
func on(r *rank, values ...float32) (device.Array, error) {
	addr, err := r.device.Malloc(int64(4 * len(values)))
	a := device.Array{Addr: addr, Len: len(values), DType: device.Float32}
	if err == nil {
		r.device.Upload(a.Buffer(), bytes(values))
	}
	return a, err
}

// holds reports as an error that an array has other values, and frees it.
func holds(r *rank, a device.Array, want ...float32) error {
	got := make([]float32, a.Len)
	err := r.device.Download(bytes(got), a.Buffer())
	r.device.Free(a.Addr)
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("rank %d has %v, want %v", r.Rank(), got, want)
	}
	return err
}

func bytes(f []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f)) }

// kept are arrays of the host, on the heap: what a function has may move with its
// stack.
var kept sync.Map

func hosted(f []float32) device.Array {
	kept.Store(&f[0], f)
	return device.Array{Addr: uint64(uintptr(unsafe.Pointer(&f[0]))), Len: len(f), DType: device.Float32}
}

// exercises are what every rank does.
var exercises = map[string]func(r *rank) error{
	"sums": func(r *rank) error {
		a, err := on(r, float32(r.Rank()), 1)
		if err != nil {
			return err
		}
		n := float32(r.Size())
		return errors.Join(r.AllReduce(a).Wait(), holds(r, a, n*(n-1)/2, n))
	},
	"parts, in the order of the calls": func(r *rank) error {
		src, err := on(r, 1, 2, 3, 4, 5, 6)
		part, errPart := on(r, make([]float32, 6/r.Size())...)
		whole, errWhole := on(r, make([]float32, 6)...)
		if err := errors.Join(err, errPart, errWhole); err != nil {
			return err
		}
		scattered := r.ReduceScatter(part, src)
		gathered := r.AllGather(whole, part)
		n, want := float32(r.Size()), []float32{1, 2, 3, 4, 5, 6}
		for i := range want {
			want[i] *= n
		}
		own := want[r.Rank()*part.Len:][:part.Len]
		return errors.Join(gathered.Wait(), scattered.Wait(), holds(r, part, own...), holds(r, whole, want...), holds(r, src, 1, 2, 3, 4, 5, 6))
	},
	"a broadcast": func(r *rank) error {
		a, err := on(r, float32(r.Rank()))
		if err != nil {
			return err
		}
		return errors.Join(r.Broadcast(a, r.Size()-1).Wait(), r.Barrier(), holds(r, a, float32(r.Size()-1)))
	},
	"what lies on the host": func(r *rank) error {
		n := r.Size()
		whole, sums, part := make([]float32, 2*n), make([]float32, n), make([]float32, 1)
		copy(whole[2*r.Rank():], []float32{float32(r.Rank()), 5})
		for i := range sums {
			sums[i] = float32(i)
		}
		h := r.Host()
		err := errors.Join(h.AllGather(hosted(whole), hosted(whole[2*r.Rank():][:2])).Wait(),
			h.ReduceScatter(hosted(part), hosted(sums)).Wait(), h.AllReduce(hosted(sums)).Wait(), h.Broadcast(hosted(whole[1:2]), n-1).Wait())
		for i := range n {
			if whole[2*i] != float32(i) || whole[2*i+1] != 5 || sums[i] != float32(i*n) || part[0] != float32(r.Rank()*n) {
				return errors.Join(err, fmt.Errorf("rank %d: %v %v %v", r.Rank(), whole, sums, part))
			}
		}
		return err
	},
	"more on the host than goes through the device at once": func(r *rank) error {
		const n = 3<<18 + 5
		a, all := make([]float32, n), make([]float32, n*r.Size())
		for i := range a {
			a[i] = float32(i % 1000)
		}
		copy(all[r.Rank()*n:], a)
		h := r.Host()
		err := errors.Join(h.AllReduce(hosted(a)).Wait(), h.AllGather(hosted(all), hosted(all[r.Rank()*n:][:n])).Wait())
		for i := range a {
			if want := float32(i % 1000); a[i] != want*float32(r.Size()) || all[i] != want || all[len(all)-n+i] != want {
				return errors.Join(err, fmt.Errorf("rank %d: element %d is %v, %v", r.Rank(), i, a[i], all[i]))
			}
		}
		return err
	},
}

func TestGPUsMeetByNCCL(t *testing.T) {
	for name, exercise := range exercises {
		for _, n := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s, %d ranks", name, n), func(t *testing.T) {
				for _, err := range together(t, n, func(r *rank) error { return errors.Join(exercise(r), r.Close()) }) {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestTheHostWaitsForNoOperation counts what the host has waited for.
func TestTheHostWaitsForNoOperation(t *testing.T) {
	for _, err := range together(t, 2, func(r *rank) error {
		a, err := on(r, 1, 2)
		if err != nil {
			return err
		}
		waits := func() int { return r.driver.Calls("cuEventSynchronize") + r.driver.Calls("cuStreamSynchronize") }
		before := waits()
		err = r.AllReduce(a).Wait()
		if n := waits() - before; n > 0 {
			err = fmt.Errorf("rank %d waited %d times", r.Rank(), n)
		}
		return errors.Join(err, holds(r, a, 2, 4), r.Close())
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAFailureThatIsReportedLaterEndsWaiting has one rank wait for a sum that the other
// never joins.
func TestAFailureThatIsReportedLaterEndsWaiting(t *testing.T) {
	over := make(chan struct{})
	began := time.Now()
	errs := together(t, 2, func(r *rank) error {
		if r.Rank() == 1 {
			<-over
			return nil
		}
		defer close(over)
		a, err := on(r, 1)
		if err != nil {
			return err
		}
		sum := r.AllReduce(a)
		r.library.Report(nccl.RemoteError)
		err = errors.Join(sum.Wait(), r.device.Download(bytes(make([]float32, 1)), a.Buffer()))
		if calls := r.library.Calls(); calls[len(calls)-1] != "ncclCommAbort" {
			err = errors.Join(err, fmt.Errorf("the last call is not the abort: %v", calls))
		}
		if again := r.AllReduce(a).Wait(); again == nil || r.Close() == nil {
			err = errors.Join(err, errors.New("the group goes on"))
		}
		return err
	})
	const want = "a rank has ended or cannot be reached: NCCL: remote process exited or there was a network error (6)"
	if errs[0] == nil || !strings.HasPrefix(errs[0].Error(), want) {
		t.Errorf("it returned %v, want %q", errs[0], want)
	}
	if strings.Contains(fmt.Sprint(errs[0]), "last call") || strings.Contains(fmt.Sprint(errs[0]), "goes on") {
		t.Error(errs[0])
	}
	t.Logf("after %v", time.Since(began))
}

func TestACallThatFailsIsOneLine(t *testing.T) {
	tests := map[string]struct {
		function string
		want     string
		ends     bool // the use of the device: the processes would no longer do the same
	}{
		"an id":               {"ncclGetUniqueId", "ncclGetUniqueId: an error of a test (2)", false},
		"the meeting":         {"ncclCommInitRank", "ncclCommInitRank: an error of a test (2)", false},
		"the first operation": {"ncclAllGather", "ncclAllGather: an error of a test (2)", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, driver := openDevice(t)
			defer d.Close() //nolint:errcheck // it may have failed
			l := nccltest.New(driver)
			l.Fail(test.function, 2)
			_, err := nccl.Open(nccl.Options{Device: d, Size: 1, Share: func([]byte) error { return nil }, Library: l})
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if failed := d.Failed() != nil; failed != test.ends {
				t.Errorf("the device has failed: %v, want %v", failed, test.ends)
			}
		})
	}
}
