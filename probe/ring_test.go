package probe

import (
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestReadersOfARingSeeEventsInOrderOrKnowWhatTheyMissed(t *testing.T) {
	const events, readers = 400_000, 4
	r := newRing(4 * chunkLen)
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			var at, lost int64
			for at < events {
				got, ok := r.read(at)
				if !ok {
					now := r.end()
					if now <= at {
						t.Errorf("event %d is lost and there are only %d", at, now)
						return
					}
					lost += now - at
					at = now
				}
				for i := range got {
					if got[i].Time != at {
						t.Errorf("event %d is number %d", at, got[i].Time)
						return
					}
					at++
				}
			}
			t.Logf("a reader missed %d of %d", lost, events)
		})
	}
	for i := range int64(events) {
		r.record(&trace.Event{Time: i})
	}
	all.Wait()
}

func TestARingKeepsWhatItPromises(t *testing.T) {
	for _, n := range []int{1, chunkLen - 1, chunkLen, 3*chunkLen + 1} {
		r := newRing(n)
		for i := range int64(10*n + 7) {
			r.record(&trace.Event{Time: i})
			if first := max(0, i+1-int64(n)); i%17 == 0 {
				if got, ok := r.read(first); !ok || len(got) == 0 || got[0].Time != first {
					t.Fatalf("ring of %d: after %d events the one of number %d cannot be read", n, i+1, first)
				}
			}
			if _, ok := r.read(max(0, i+1-r.kept())); !ok {
				t.Fatalf("ring of %d: after %d events the last %d are not kept", n, i+1, r.kept())
			}
		}
	}
}

func TestAStepRingIsReadInOrder(t *testing.T) {
	var r stepRing
	for i := range int64(stepsKept + 10) {
		r.add(trace.Step{Number: i})
	}
	if s, lost := r.read(5); s != nil || !lost {
		t.Errorf("step 5: got %v, lost %v", s, lost)
	}
	if s, lost := r.read(stepsKept); s == nil || lost || s.Number != stepsKept {
		t.Errorf("step %d: got %v, lost %v", stepsKept, s, lost)
	}
	if s, lost := r.read(stepsKept + 10); s != nil || lost {
		t.Errorf("a step that has not been: got %v, lost %v", s, lost)
	}
	if s := r.last(); s == nil || s.Number != stepsKept+9 {
		t.Errorf("the last step is %v", s)
	}
}

func BenchmarkRecord(b *testing.B) {
	p, err := newProbe(Options{}, probetest.New())
	fatal.If(b, err)
	e := trace.Event{Addr: 1 << 30, Size: 4096, Kind: trace.Alloc}
	b.ReportAllocs()
	for b.Loop() {
		p.Record(0, e)
	}
}

func BenchmarkStep(b *testing.B) {
	p, err := newProbe(Options{}, probetest.New())
	fatal.If(b, err)
	step := trace.Step{Settings: []trace.Value{{Key: "amp", Value: "off"}}}
	b.ReportAllocs()
	for b.Loop() {
		step.Number++
		p.Step(step)
	}
}
