package probe

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

func TestAViewerIsToldOfEveryEventInOrder(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Writer: "a made program"})
	p.Run(100)
	s := newClient(t, probe, "").stream(t, "?interval=50ms")
	if h := s.next(t, wire.HelloFrame).Hello; h.Writer != "a made program" || !h.ReadOnly || len(h.Devices) != 1 {
		t.Errorf("hello: %+v", h)
	}
	base := s.next(t, wire.BaseFrame)
	if base.First != 100 || base.Missed != 0 {
		t.Errorf("the base is followed by event %d and %d are missing, want 100 and 0", base.First, base.Missed)
	}
	const more = 20_000
	p.Name("a name that came later")
	go p.Run(more)
	at := base.First
	for at < 100+more {
		f := s.next(t, wire.EventsFrame)
		if f.First != at {
			t.Fatalf("events begin with %d, want %d", f.First, at)
		}
		for i := range f.Events {
			e := &f.Events[i]
			if at++; e.Time != at {
				t.Fatalf("event %d is the program's %d", at-1, e.Time-1)
			}
		}
		last, tables := &f.Events[len(f.Events)-1], s.Tables()
		if got := tables.String(tables.Notes[last.Note].Category); got != "a name that came later" {
			t.Fatalf("an event's category is %q", got)
		}
	}
}

func TestStepsComeAfterTheirEvents(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{})
	s := newClient(t, probe, "").stream(t, "?interval=50ms")
	s.next(t, wire.CountersFrame)
	const steps = 50
	go func() {
		for range steps {
			p.Run(100)
			p.Finish(probe)
		}
	}()
	var told, finished int64
	for finished < steps {
		switch f, err := s.Next(); {
		case err != nil:
			t.Fatal(err)
		case f.Type == wire.EventsFrame:
			told += int64(len(f.Events))
		case f.Type == wire.StepFrame:
			if finished++; f.Step.Number != finished || told < finished*100 {
				t.Fatalf("step %d came as number %d, after %d events", f.Step.Number, finished, told)
			}
		}
	}
}

// wide is a program of so many devices that steps end while a batch looks at them.
type wide struct{ *probetest.Program }

func (wide) Devices() []int {
	devices := make([]int, 512)
	for i := range devices {
		devices[i] = i
	}
	return devices
}

// TestAStepThatEndsWithinABatchComesAfterItsEvents has a program end a step after each
// event of device 0.
func TestAStepThatEndsWithinABatchComesAfterItsEvents(t *testing.T) {
	probe := listening(t, wide{probetest.New()}, Options{Ring: 1 << 13})
	s := probe.newSession(httptest.NewRecorder(), wanted{interval: time.Second})
	s.minor = 2
	var program sync.WaitGroup
	ended := make(chan struct{}) // closed by the test
	program.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				probe.Record(0, trace.Event{Kind: trace.Snapshot})
				probe.Step(trace.Step{})
			}
		}
	})
	defer program.Wait()
	defer close(ended)
	for range 20_000 {
		_ = s.batch() // the recorder has no deadlines
		if s.step > s.at[0] {
			t.Fatalf("%d steps were sent, and the events of %d", s.step, s.at[0])
		}
	}
}

func TestAnEndingProgramSaysGoodbye(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{})
	s := newClient(t, probe, "").stream(t, "?interval=60s")
	s.next(t, wire.CountersFrame)
	p.Run(10)
	p.Finish(probe)
	fatal.If(t, probe.Close())
	if f := s.next(t, wire.EventsFrame); len(f.Events) != 10 {
		t.Errorf("the last %d events came, want 10", len(f.Events))
	}
	s.next(t, wire.StepFrame)
	if f := s.next(t, wire.ByeFrame); f.Reason == "" {
		t.Error("no reason for the end")
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the goodbye: %v, want the end", err)
	}
}

func TestAViewerHearsSomethingWhenNothingHappens(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	s := newClient(t, probe, "").stream(t, "?interval=50ms")
	first := s.next(t, wire.CountersFrame).Counters.Time
	second := s.next(t, wire.CountersFrame).Counters.Time
	if after := time.Duration(second-first) * time.Microsecond; after < protocol.Heartbeat-lookAt {
		t.Errorf("and again after %v: nothing had happened", after)
	}
}

// TestASlowViewerLosesNothingWhileItReads has a viewer that wants a batch a minute
// and a program that fills half a ring as soon as the viewer has read the last half.
func TestASlowViewerLosesNothingWhileItReads(t *testing.T) {
	const ring = 1 << 14
	p := probetest.New()
	probe := listening(t, p, Options{Ring: ring})
	s := newClient(t, probe, "").stream(t, "?interval=60s")
	at := s.next(t, wire.BaseFrame).First
	s.next(t, wire.CountersFrame)
	for at < 3*ring {
		if at == p.Events {
			p.Run(ring / 2)
		}
		f := s.until(t, "events", func(f *wire.Frame) bool { return f.Type == wire.EventsFrame || f.Type == wire.BaseFrame })
		if f.Type != wire.EventsFrame || f.First != at {
			t.Fatalf("a %v frame from event %d on, want events from %d on", f.Type, f.First, at)
		}
		at += int64(len(f.Events))
	}
}

// TestLinesOfJSON also has texts that a terminal would obey: whoever looks with
// curl is shown them escaped.
func TestWhatAProgramSaysOfItselfIsPrintable(t *testing.T) {
	const hostile = "a\u009b31m\u202e\u200b\U000e0041\x7f"
	p := probetest.New()
	p.Names.String(hostile)
	probe := listening(t, p, Options{Program: hostile, Writer: hostile})
	p.Run(5)
	if _, text := newClient(t, probe, "").ask(t, http.MethodGet, "/v1/info", ""); !allPrintable(text) {
		t.Errorf("it answers %q", text)
	}
}

func allPrintable(text string) bool { return text == trace.PrintableLines(text) }

func TestAViewerOfManyViewersSharesTheState(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{})
	c := newClient(t, probe, "")
	for range 100 {
		s := c.stream(t, "")
		s.next(t, wire.BaseFrame)
		s.close()
	}
	if asked := p.Asked(); asked != 1 {
		t.Errorf("a program in which nothing happened was asked for its state %d times, want once", asked)
	}
}

var _ trace.Recorder = (*Probe)(nil)

// TestSlackIsSentToWhoReadsIt records events whose blocks no rule knows: a viewer of
// minor version 0 gets them without, and a base.
func TestSlackIsSentToWhoReadsIt(t *testing.T) {
	for query, want := range map[string]uint32{"?interval=50ms&minor=1": 8, "?interval=50ms": 0} {
		probe := listening(t, probetest.New(), Options{})
		s := newClient(t, probe, "").stream(t, query)
		s.next(t, wire.CountersFrame)
		probe.Record(0, trace.Event{Kind: trace.Annotate, Slack: 8})
		f := s.next(t, wire.EventsFrame)
		if f.Events[0].Slack != want {
			t.Errorf("%s: slack %d, want %d", query, f.Events[0].Slack, want)
		}
		if want == 0 {
			if b := s.next(t, wire.BaseFrame); b.First != f.First+1 || b.Missed != 0 {
				t.Errorf("the base is of event %d and %d are missing", b.First, b.Missed)
			}
		}
	}
}

func TestAStreamHasTheChecksumThatIsAskedFor(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	for query, want := range map[string]byte{"": 0x02, "?checksum=crc32": 0x42, "?checksum=none": 0x82} {
		answer := newClient(t, probe, "").request(t.Context(), t, http.MethodGet, "/v1/stream"+query, "")
		header := make([]byte, 8)
		if _, err := io.ReadFull(answer.Body, header); err != nil || header[7] != want {
			t.Errorf("%q: the header is % x (%v), want it to end in %02x", query, header, err, want)
		}
		_ = answer.Body.Close()
	}
}

// TestWhoFellBehindGetsAllOfItsBatch has a viewer begin again with a state that was
// taken for another: the events since then come before the steps that they are of.
func TestWhoFellBehindGetsAllOfItsBatch(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Ring: 1 << 13})
	s := probe.newSession(httptest.NewRecorder(), wanted{interval: time.Second})
	p.Run(1 << 16)
	probe.base(0) // which another viewer has asked for
	p.Run(10)
	p.Finish(probe)
	s.events(0, probe.rings[0].end())
	if end := probe.rings[0].end(); s.at[0] != end {
		t.Errorf("the batch ends before event %d, and its step after event %d", s.at[0], end)
	}
}

// TestStepsComeInBatchesToWhoReadsThem ends steps before a viewer comes and while it
// watches: each comes once, in order, and only to who asks for it in a batch.
func TestStepsComeInBatchesToWhoReadsThem(t *testing.T) {
	for query, batched := range map[string]bool{"?interval=60s": false, "?interval=60s&minor=1": false, "?interval=60s&minor=2": true, "?interval=60s&minor=9": true} {
		probe := listening(t, probetest.New(), Options{})
		step := func(n int64) {
			s := trace.Step{Number: n, Time: 100_000 * n}
			if n%10 == 0 {
				s.Layers = make([]trace.Layer, 2)
			}
			probe.Step(s)
		}
		for n := range int64(20) {
			step(n + 1)
		}
		s := newClient(t, probe, "").stream(t, query)
		s.next(t, wire.BaseFrame)
		for n := range int64(20) {
			step(n + 21)
		}
		fatal.If(t, probe.Close())
		last, singles := int64(0), 0
		came := func(step *trace.Step) {
			if last++; step.Number != last {
				t.Fatalf("%s: step %d came as number %d", query, step.Number, last)
			}
		}
		for f, err := s.Next(); err == nil; f, err = s.Next() {
			if f.Step != nil {
				singles++
				came(f.Step)
			}
			for i := range f.Steps {
				came(&f.Steps[i])
			}
		}
		if want := map[bool]int{true: 3, false: 40}[batched]; last != 40 || singles != want {
			t.Errorf("%s: %d steps came, %d of them in messages; want 40 and %d", query, last, singles, want)
		}
	}
}

func TestAMinorVersionIsANumber(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	for query, want := range map[string]int{"?minor=x": http.StatusBadRequest, "?minor=-1": http.StatusBadRequest, "?minor=3": http.StatusOK} {
		answer := newClient(t, probe, "").request(t.Context(), t, http.MethodGet, "/v1/stream"+query, "")
		if _ = answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d", query, answer.StatusCode, want)
		}
	}
}
