package replay

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// script makes calls on an allocator over a driver that counts.
type script struct {
	t *testing.T
	a *alloc.Allocator
}

func newScript(t *testing.T, total int64, o alloc.Options) *script {
	t.Helper()
	a, err := alloc.New(newCounted(total), o)
	fatal.If(t, err)
	return &script{t, a}
}

func (s *script) alloc(size int64) alloc.Allocation {
	s.t.Helper()
	b, err := s.a.Alloc(size, 0, alloc.Tag{})
	fatal.If(s.t, err)
	return b
}

func (s *script) fails(size int64) {
	s.t.Helper()
	if _, err := s.a.Alloc(size, 0, alloc.Tag{}); !errors.Is(err, alloc.ErrNoMemory) {
		s.t.Fatalf("the request succeeds: %v", err)
	}
}

// TestSizesFromBeforeRecordingAreKnown has a block that got the rest of a free
// one before recording began, is followed by a wide gap, and is freed later.
func TestSizesFromBeforeRecordingAreKnown(t *testing.T) {
	s := newScript(t, plenty, alloc.Options{History: 4})
	p, q := s.alloc(3*mib), s.alloc(3*mib)
	s.alloc(3 * mib)
	s.a.Free(p)
	b := s.alloc(5 * mib / 2) // in 3 MiB
	s.a.Free(q)
	s.alloc(5 * mib / 2) // recording begins; in the 3 MiB after b
	s.a.Free(b)
	s.alloc(29 * mib / 10) // fits where b was
	tr := s.a.Snapshot()
	if got := ask(t, whatif.Question{Trace: tr}).Recorded.WhyNot; got != "" {
		t.Error(got)
	}
}

// TestTheProcessHasWhatItHad reserves more than was to be had when memory ran out,
// because other processes had taken some by then.
func TestTheProcessHasWhatItHad(t *testing.T) {
	s := newScript(t, 64*mib, alloc.Options{History: 100})
	s.a.Free(s.alloc(60 * mib))
	s.a.EmptyCache()
	s.alloc(20 * mib)
	s.fails(50 * mib)
	tr := changed(s.a.Snapshot(), func(_ int, e *trace.Event) {
		if e.Kind == trace.OOM {
			e.Addr = 4 * mib
		}
	})
	a := ask(t, whatif.Question{Trace: tr, Settings: []string{"", "expandable_segments:True"}})
	if a.Recorded.OOM.Capacity != 24*mib {
		t.Errorf("the process could have %d", a.Recorded.OOM.Capacity)
	}
	for _, r := range a.Runs {
		if r.Ends || !r.OOM || r.OOMEvent != a.Recorded.OOM.Event || r.PeakReserved != 60*mib {
			t.Errorf("run %+v", r)
		}
	}
}

// TestWhatTheAllocatorGaveBackItselfIsKept has a segment go back because the device
// was full, or because the program emptied the cache. With more memory only the
// program does it again.
func TestWhatTheAllocatorGaveBackItselfIsKept(t *testing.T) {
	for name, test := range map[string]struct {
		config string
		calls  func(s *script)
		want   int64 // reserved at most, with 1 GiB
	}{
		"the device was full, as a later failure shows": {"", func(s *script) {
			s.a.Free(s.alloc(40 * mib))
			s.alloc(70 * mib)
			s.fails(70 * mib)
		}, 180 * mib},
		"the request failed all the same": {"", func(s *script) {
			s.alloc(50 * mib)
			s.a.Free(s.alloc(40 * mib))
			s.fails(60 * mib)
		}, 150 * mib},
		"the settings have it give back oversize blocks": {"max_split_size_mb:21", func(s *script) {
			s.a.Free(s.alloc(40 * mib))
			s.alloc(70 * mib)
		}, 110 * mib},
		"the program emptied the cache": {"", func(s *script) {
			s.a.Free(s.alloc(40 * mib))
			s.a.EmptyCache()
			s.alloc(70 * mib)
		}, 70 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 100*mib, alloc.Options{Config: test.config, History: 100})
			test.calls(s)
			a := ask(t, whatif.Question{Trace: s.a.Snapshot(), Settings: []string{test.config}, Memory: 1 << 30})
			if got := a.Runs[0].PeakReserved; a.Recorded.WhyNot != "" || got != test.want {
				t.Errorf("reserved at most %d, want %d; recorded %+v", got, test.want, a.Recorded)
			}
		})
	}
}

// TestPrivatePoolsStayApart replays requests that went to a MemPool: they use none
// of the default pool's memory.
func TestPrivatePoolsStayApart(t *testing.T) {
	s := newScript(t, plenty, alloc.Options{History: 100})
	s.a.Free(s.alloc(40 * mib))
	fatal.If(t, s.a.BeginPool(trace.Pool{0, 1}, nil))
	s.alloc(30 * mib)
	fatal.If(t, s.a.EndPool(trace.Pool{0, 1}))
	s.alloc(40 * mib)
	a := ask(t, whatif.Question{Trace: s.a.Snapshot(), Settings: []string{""}})
	if a.Recorded.WhyNot != "" || a.Recorded.PeakReserved != 70*mib || a.Runs[0].PeakReserved != 70*mib {
		t.Errorf("recorded %+v, run %+v", a.Recorded, a.Runs[0])
	}
}

// TestRecordingsOfPoolsAndFailuresAreReproduced has what programs do with pools, and what
// a replay has to guess.
func TestRecordingsOfPoolsAndFailuresAreReproduced(t *testing.T) {
	mem := trace.Pool{0, 7}
	within := func(s *script, id trace.Pool, do func()) {
		fatal.If(s.t, s.a.BeginPool(id, nil))
		do()
		fatal.If(s.t, s.a.EndPool(id), s.a.ReleasePool(id))
	}
	for name, test := range map[string]struct {
		config string
		calls  func(*script)
	}{
		"a pool is dropped": {"", func(s *script) {
			within(s, mem, func() { s.a.Free(s.alloc(30 * mib)) })
			s.a.EmptyPool(mem)
			s.alloc(40 * mib)
		}},
		"a pool goes back with the cache": {"", func(s *script) {
			s.a.Free(s.alloc(20 * mib))
			within(s, mem, func() { s.a.Free(s.alloc(30 * mib)) })
			s.a.EmptyCache()
			s.alloc(90 * mib)
		}},
		"a pool goes back when memory runs out": {"", func(s *script) {
			s.a.Free(s.alloc(20 * mib))
			within(s, mem, func() { s.a.Free(s.alloc(30 * mib)) })
			s.alloc(90 * mib)
		}},
		"memory runs out in a capture": {"", func(s *script) {
			s.a.Free(s.alloc(60 * mib))
			within(s, trace.Pool{7, 0}, func() { s.alloc(mib); s.fails(50 * mib) })
			s.alloc(60 * mib)
		}},
		"memory runs out while another stream is captured": {"", func(s *script) {
			s.a.Free(s.alloc(60 * mib))
			s.alloc(mib)
			fatal.If(s.t, s.a.BeginPool(mem, func(alloc.Stream) bool { return false }))
			s.fails(70 * mib)
			fatal.If(s.t, s.a.EndPool(mem))
			s.alloc(60 * mib)
		}},
		"a pool hands out whole blocks": {"", func(s *script) {
			fatal.If(s.t, s.a.MakePool(mem, alloc.PoolOptions{NoSplit: true}))
			within(s, mem, func() { s.alloc(512); s.alloc(512) })
		}},
		"the first request finds no memory": {"expandable_segments:True", func(s *script) {
			s.fails(110 * mib)
			s.alloc(60 * mib)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 100*mib, alloc.Options{Config: test.config, History: 100})
			test.calls(s)
			tr := s.a.Snapshot()
			notePools(tr)
			if got := ask(t, whatif.Question{Trace: tr}).Recorded.WhyNot; got != "" {
				t.Error(got)
			}
		})
	}
}

// notePools lets all events in a pool's segment name the pool, as later releases of
// PyTorch do. Failures are in the last pool before.
func notePools(tr *trace.Trace) {
	events := tr.Devices[0].Events
	for i := range events.Len() {
		segment := events.At(i)
		if segment.Kind != trace.SegmentAlloc || tr.Tables.Notes[segment.Note].Pool == 0 {
			continue
		}
		for k := i; k < events.Len(); k++ {
			if e := events.At(k); e.Kind == trace.OOM || e.Addr-segment.Addr < uint64(segment.Size) {
				e.Note = segment.Note
			}
		}
	}
}

// TestAFloodOfFailuresEnds has a file say that requests fail, and that the cache is
// emptied, more often than can be looked at.
func TestAFloodOfFailuresEnds(t *testing.T) {
	for name, calls := range map[string]func(*script){
		"failures": func(s *script) { s.fails(30 * mib) },
		"emptied caches": func(s *script) {
			s.a.Free(s.alloc(10 * mib))
			s.a.EmptyCache()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 20*mib, alloc.Options{History: 1000})
			calls(s)
			tr := s.a.Snapshot()
			base := startOf(tr, &tr.Devices[0])
			r, err := newRecording(tr, &tr.Devices[0], "", alloc.Rules{}, &base.state, nil)
			fatal.If(t, err)
			r.spent = enough
			if err := r.run(t.Context()); err != nil || r.wrong != errEffort.Error() {
				t.Errorf("it ends with %q (%v)", r.wrong, err)
			}
		})
	}
}

// TestARecordingShowsWhatWasRefused has requests that its settings refuse on a
// smaller device than its own, whose size it does not say.
func TestARecordingShowsWhatWasRefused(t *testing.T) {
	s := newScript(t, plenty, alloc.Options{History: 100, Config: rejects + ":True"})
	s.alloc(deviceBytes)
	s.alloc(20 * mib)
	if got := ask(t, whatif.Question{Trace: s.a.Snapshot()}).Recorded.WhyNot; got != "" {
		t.Error(got)
	}
}

// addressed returns a trace of a block that was asked for at an address, after a
// block that led there. The events from the leading block on are noted.
func addressed(t *testing.T, change func(i int, e *trace.Event)) *trace.Trace {
	t.Helper()
	s := newScript(t, plenty, alloc.Options{History: 100})
	s.a.Free(s.alloc(40 * mib))
	s.alloc(12 * mib)
	leading := s.alloc(12 * mib)
	s.alloc(5 * mib)
	s.a.Free(leading)
	tr, tables := s.a.Snapshot(), trace.Tables{}
	tables = *tr.Tables
	tables.Strings = append(slices.Clip(tables.Strings), trace.AtAddress)
	tables.Notes = append(slices.Clip(tables.Notes), trace.Note{Internal: trace.StringID(len(tables.Strings) - 1)})
	tr.Tables = &tables
	return changed(tr, func(i int, e *trace.Event) {
		if i > 4 {
			e.Note = trace.NoteID(len(tables.Notes) - 1)
		}
		change(i, e)
	})
}

func TestABlockThatLedToAnAddressIsNotRepeated(t *testing.T) {
	tr := addressed(t, func(int, *trace.Event) {})
	a := ask(t, whatif.Question{Trace: tr, Settings: []string{"max_split_size_mb:21"}})
	if got := a.Runs[0].PeakReserved; got != 72*mib {
		t.Errorf("%d reserved, want segments of 40, 12 and 20 MiB: the leading block would need another", got)
	}
}

func TestMemoryAtAnAddressExplainsADifference(t *testing.T) {
	tr := addressed(t, func(i int, e *trace.Event) {
		if i > 4 && e.Kind != trace.Alloc || i == 5 {
			e.Addr += uint64(8 * mib) // to where our allocator would not go
		}
	})
	if got := ask(t, whatif.Question{Trace: tr}).Recorded.WhyNot; !strings.Contains(got, trace.AtAddress) {
		t.Errorf("why not: %q", got)
	}
}

// TestNoRunGetsMoreThanWasRefused has a driver refuse a segment before the cache was
// given back: the stack of the segments shows it.
func TestNoRunGetsMoreThanWasRefused(t *testing.T) {
	s := newScript(t, 100*mib, alloc.Options{History: 100})
	s.a.Free(s.alloc(40 * mib))
	s.alloc(70 * mib)
	for name, test := range map[string]struct {
		stack             trace.StackID
		memory            int64
		capacity, refused int64
		want, rounded     int64 // reserved at most under the recorded settings and with a larger block, 0 if it runs out
	}{
		"with stacks":          {2, 0, 70 * mib, 110 * mib, 70 * mib, 0},
		"without stacks":       {trace.EmptyStack, 0, 0, 0, 70 * mib, 96 * mib},
		"on a larger device":   {2, 1 << 30, 70 * mib, 110 * mib, 110 * mib, 144 * mib},
		"without, on a larger": {trace.EmptyStack, 1 << 30, 0, 0, 70 * mib, 96 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			tr := changed(s.a.Snapshot(), func(_ int, e *trace.Event) { e.Stack = test.stack })
			a := ask(t, whatif.Question{Trace: tr, Settings: []string{"", "roundup_power2_divisions:2"}, Memory: test.memory})
			if r := a.Recorded; r.WhyNot != "" || r.Capacity != test.capacity || r.Refused != test.refused {
				t.Errorf("recorded %+v", r)
			}
			if r := a.Runs[0]; r.PeakReserved != test.want || r.Ends {
				t.Errorf("the recorded settings: %+v", r)
			}
			if r := a.Runs[1]; r.Ends != (test.rounded == 0) || !r.Ends && r.PeakReserved != test.rounded {
				t.Errorf("with a larger block: %+v", r)
			}
		})
	}
}
