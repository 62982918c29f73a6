package alloc

import (
	"errors"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// sizes returns the sizes of the events of one kind.
func sizes(a *Allocator, k trace.Kind) []int64 {
	events := a.history.all()
	var list []int64
	for i := range events.Len() {
		if e := events.At(i); e.Kind == k {
			list = append(list, e.Size)
		}
	}
	return list
}

// errOther is a failure that has nothing to do with memory.
var errOther = errors.New("the device fell off the bus")

func TestOtherFailuresOfTheDriverAreNotRetried(t *testing.T) {
	for name, config := range map[string]string{
		"segments": "", "expandable segments": "expandable_segments:True",
	} {
		t.Run(name, func(t *testing.T) {
			d := newMemory(t, gib)
			a := newAllocator(t, d, Options{Config: config, Name: "cuda:3"})
			d.fail = errOther
			_, err := a.Alloc(mib, 0, Tag{})
			if !errors.Is(err, errOther) || errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "cuda:3") {
				t.Errorf("got %v", err)
			}
			stats := a.Stats()
			if stats.OOMs != 0 || stats.AllocRetries != 0 {
				t.Errorf("%d failures, %d retries", stats.OOMs, stats.AllocRetries)
			}
			d.fail = nil
			a.Free(must(t, a, mib))
			checkRecount(t, a)
		})
	}
}

func TestTheErrorNamesTheRequestAndTheHolders(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{Name: "cpu:0", Stacks: true, Limit: 900 * mib})
	weights := a.Tag(Label{Category: trace.Parameter, Layer: "blocks.0", Role: "weight"})
	probs := a.Tag(Label{trace.Activation, "blocks.0.attn", "softmax probs", "[4, 12, 64, 64]", "bf16"})
	for range 3 {
		if _, err := a.Alloc(200*mib, 0, probs); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Alloc(100*mib, 0, weights); err != nil {
		t.Fatal(err)
	}
	must(t, a, 1000)
	_, err := a.Alloc(250*mib+3, 0, a.Tag(Label{Category: trace.Gradient, Layer: "head"}))
	if err == nil {
		t.Fatal("no error")
	}
	got := err.Error()
	for _, want := range []string{
		"cpu:0: out of memory: 262144003 bytes requested for gradient head (262144512 rounded, in a segment of 252.00 MiB)",
		"the device has 322.00 MiB free of 1024.00 MiB, 900.00 MiB allowed",
		"reserved 702.00 MiB, of it in use 700.00 MiB (activation 600.00 MiB, parameter 100.00 MiB, other 1000 bytes)",
		"most by activation blocks.0.attn softmax probs [4, 12, 64, 64] bf16: 600.00 MiB in 3 blocks, parameter blocks.0 weight: 100.00 MiB in 1 blocks",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the message lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\n") {
		t.Errorf("more than one line: %s", got)
	}
	var e *OOMError
	if !errors.As(err, &e) || len(e.Holders) != 3 {
		t.Fatalf("holders are not kept: %#v", err)
	}
	if other := e.Holders[2].String(); !strings.Contains(other, "other: 1000 bytes in 1 blocks (at ") ||
		!strings.Contains(other, "oom_test.go:") && !strings.Contains(other, "_test.go:") {
		t.Errorf("a holder without a layer is told as %q", other)
	}
	checkRecount(t, a)
}

func TestObserversMayLookAtTheFailure(t *testing.T) {
	a := newAllocator(t, newMemory(t, 10*mib), Options{History: 10})
	told := 0
	a.NotifyOOM(func(e *OOMError) {
		told++
		tr := a.Snapshot()
		events := tr.Devices[0].Events
		if last := events.At(events.Len() - 1); last.Size != e.Rounded || last.Addr != uint64(e.Free) {
			t.Errorf("the last event is %s of %d bytes with %d free", last.Kind, last.Size, last.Addr)
		}
	})
	mustFail(t, a, 20*mib)
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// TestRequestsBeyondTheDeviceMayFailEarly has what PyTorch 2.15 does with
// throw_on_cudamalloc_oom: the cache stays full, and no event is recorded.
func TestRequestsBeyondTheDeviceMayFailEarly(t *testing.T) {
	for _, config := range []string{"throw_on_cudamalloc_oom:True", "throw_on_cudamalloc_oom:True,expandable_segments:True"} {
		a := newAllocator(t, newMemory(t, 1000*mib), Options{Config: config, History: 100})
		must(t, a, 400*mib)
		a.Free(must(t, a, 200*mib))
		_, err := a.Alloc(500*mib, 0, Tag{})
		var e *OOMError
		if !errors.As(err, &e) || !e.Rejected || !strings.Contains(err.Error(), "throw_on_cudamalloc_oom") {
			t.Errorf("%s: error %v, want that the settings refuse it", config, err)
		}
		stats := a.Stats()
		if stats.Reserved() != 600*mib || stats.OOMs != 0 || stats.AllocRetries != 0 || len(sizes(a, trace.OOM)) != 0 {
			t.Errorf("%s: %d reserved after %d failures and %d retries, want a full cache and none",
				config, stats.Reserved(), stats.OOMs, stats.AllocRetries)
		}
		must(t, a, 400*mib) // just fits
		configure(t, a, "throw_on_cudamalloc_oom:False")
		mustFail(t, a, 500*mib)
	}
}
