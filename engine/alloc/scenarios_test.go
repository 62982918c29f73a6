package alloc

import (
	"errors"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// The tests of this file are what PyTorch's own tests (test/test_cuda.py) check
// of its allocator, by their names there.

// kinds returns the kinds of the last n events of the history.
func kinds(a *Allocator, n int) []trace.Kind {
	events := a.history.all()
	var list []trace.Kind
	for i := max(0, events.Len()-n); i < events.Len(); i++ {
		list = append(list, events.At(i).Kind)
	}
	return list
}

// failure asks for memory that there is not, and returns what is said of it.
func failure(t *testing.T, a *Allocator, n int64) *OOMError {
	t.Helper()
	_, err := a.Alloc(n, 0, Tag{})
	var oom *OOMError
	if !errors.As(err, &oom) || !errors.Is(err, ErrNoMemory) {
		t.Fatalf("%d bytes: got %v, want an OOMError", n, err)
	}
	return oom
}

func mustFail(t *testing.T, a *Allocator, n int64) {
	t.Helper()
	if oom := failure(t, a, n); oom.Requested != n {
		t.Errorf("the error is about %d bytes, want %d", oom.Requested, n)
	}
}

// test_out_of_memory and test_raises_oom: the failure changes nothing.
func TestOutOfMemory(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{})
	b := must(t, a, 4096)
	if oom := failure(t, a, 800000000*gib); oom.TooLarge {
		t.Error("800,000,000 GiB are refused unseen")
	}
	if oom := failure(t, a, 8000000000*gib); !oom.TooLarge {
		t.Error("8,000,000,000 GiB are not refused unseen")
	}
	stats := a.Stats()
	if stats.OOMs != 1 || stats.AllocRetries != 1 || stats.SyncAllStreams != 1 {
		t.Errorf("got %d failures, %d retries, %d waits; want one of each", stats.OOMs, stats.AllocRetries, stats.SyncAllStreams)
	}
	a.Free(b)
	checkRecount(t, a)
}
