package cuda_test

import (
	"errors"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda"
)

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
