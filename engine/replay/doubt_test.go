package replay

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// changed returns a trace whose events a function has changed.
func changed(tr *trace.Trace, change func(i int, e *trace.Event)) *trace.Trace {
	var log trace.EventLog
	d := tr.Devices[0]
	for i := range d.Events.Len() {
		e := *d.Events.At(i)
		change(i, &e)
		log.Append(e)
	}
	d.Events = log.Events()
	copied := *tr
	copied.Devices = []trace.Device{d}
	return &copied
}

func TestWhatIsNotReproducedHasItsReason(t *testing.T) {
	record := func(config string) *trace.Trace {
		return newRandom(t, 4, plenty, alloc.Options{Config: config, History: 1 << 20}).trace(2000)
	}
	for name, test := range map[string]struct {
		tr   *trace.Trace
		want string
	}{
		"an address that PyTorch would not have taken": {changed(record(""), func(i int, e *trace.Event) {
			if e.Kind == trace.Alloc && i > 500 && i < 510 {
				e.Addr += 512
			}
		}), "contradicts itself"},
		"a segment of another size": {changed(record(""), func(i int, e *trace.Event) {
			if e.Kind == trace.SegmentAlloc && i > 100 {
				e.Size += 2 * mib
			}
		}), "contradicts itself"},
		"settings that were not recorded": {func() *trace.Trace {
			tr := *record("roundup_power2_divisions:2")
			tr.Settings = nil
			return &tr
		}(), "does not say its settings"},
		"settings of another allocator": {func() *trace.Trace {
			tr := *record("")
			tr.Settings = []trace.Setting{{Key: "PYTORCH_CUDA_ALLOC_CONF", Value: "backend:cudaMallocAsync"}}
			return &tr
		}(), `this allocator is native, not "cudaMallocAsync"`},
		"a reserve of which the file says half": {func() *trace.Trace {
			tr := newRandom(t, 4, 200*mib, alloc.Options{Config: "expandable_segments:True,expandable_segments_reserve:0.2", History: 1 << 20}).trace(2000)
			return tr
		}(), "the reserve of expandable segments depends on"},
		"events that were lost": {func() *trace.Trace {
			tr := *record("roundup_power2_divisions:2")
			tr.Settings, tr.Live = nil, &trace.Live{Gaps: []trace.Gap{{Missed: 3}}}
			return &tr
		}(), "events were lost in 1 place: event"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, whatif.Question{Trace: test.tr}).Recorded.WhyNot; !strings.Contains(got, test.want) {
				t.Errorf("why not: %q, want %q", got, test.want)
			}
		})
	}
}

// TestNonsenseIsAnsweredWithoutHarm replays events that no allocator made.
func TestNonsenseIsAnsweredWithoutHarm(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		size := func() int64 {
			return []int64{0, -1, 1, 512, 2 * mib, 3 * mib, 20 * mib, 1 << 61, -1 << 63, 1<<63 - 1}[rnd.IntN(10)]
		}
		addr := func() uint64 { return []uint64{0, 512, 1 << 40, 1<<40 + 512, 1<<40 + 2*mib, 1<<64 - 512}[rnd.IntN(6)] }
		in := trace.NewInterner()
		for handle := range uint64(3) {
			in.Stream(handle)
		}
		pool := in.Note(trace.Note{Pool: in.Pool(trace.Pool{0, 1})})
		var log trace.EventLog
		for range 100 {
			e := trace.Event{Kind: trace.Kind(rnd.IntN(trace.KindCount)), Addr: addr(), Size: size(), Stream: trace.StreamID(rnd.IntN(3))}
			if rnd.IntN(5) == 0 {
				e.Note = pool
			}
			log.Append(e)
		}
		d := trace.Device{Events: log.Events()}
		for range rnd.IntN(4) {
			s := trace.Segment{Addr: addr(), Size: size(), SegmentFacts: trace.SegmentFacts{Expandable: rnd.IntN(2) == 0, Stream: trace.StreamID(rnd.IntN(3))}}
			s.Blocks = []trace.Block{{Addr: s.Addr, Size: s.Size, State: trace.BlockState(rnd.IntN(4)), Requested: size()}}
			d.Final.Segments = append(d.Final.Segments, s)
		}
		if rnd.IntN(2) == 0 {
			d.Base = &d.Final
		}
		tr := &trace.Trace{Tables: &in.Tables, Devices: []trace.Device{d}}
		ask(t, whatif.Question{Trace: tr, Memory: int64(rnd.IntN(2)) << 30, Settings: []string{
			"", "expandable_segments:True", "max_split_size_mb:21", "roundup_power2_divisions:4",
		}})
	}
}

func TestSettingsOfAnyLengthAreRead(t *testing.T) {
	tr := newRandom(t, 4, plenty, alloc.Options{History: 1000}).trace(50)
	long := strings.Repeat("x", 1<<20)
	tr.Settings = []trace.Setting{{Key: "PYTORCH_ALLOC_CONF", Value: long}}
	a := ask(t, whatif.Question{Trace: tr})
	if len(a.Runs) < 5 || a.Runs[0].Settings != "expandable_segments:True" {
		t.Errorf("what is worth trying: %.1000v", a.Runs)
	}
	if got := a.Recorded.WhyNot; !strings.Contains(got, "unknown setting") || len(got) > 1000 {
		t.Errorf("why not: %.1000q", got)
	}
	tr.Settings[0].Value = strings.Repeat("expandable_segments:False,", 1<<15)
	if a = ask(t, whatif.Question{Trace: tr}); a.Recorded.WhyNot != "" {
		t.Errorf("why not: %.1000q", a.Recorded.WhyNot)
	}
	for _, r := range a.Rows() {
		if len(r.Name) > 1000 || len(r.Variable()) > 1000 {
			t.Errorf("a row of %d and %d bytes", len(r.Name), len(r.Variable()))
		}
	}
}
