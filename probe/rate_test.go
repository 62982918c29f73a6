package probe

import (
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/snapshots/wire"
)

// TestTwoHundredThousandEventsASecondWithoutLoss has a program make that many
// for two seconds and a viewer at the usual pace read them from the socket.
func TestTwoHundredThousandEventsASecondWithoutLoss(t *testing.T) {
	const rate, seconds = 200_000, 2
	p := probetest.New()
	probe := listening(t, p, Options{})
	s := newClient(t, probe, "").stream(t, "")
	at := s.next(t, wire.BaseFrame).First
	took := make(chan time.Duration, 1)
	go func() { took <- p.RunAt(rate, rate*seconds) }()
	for at < rate*seconds {
		f := s.until(t, "events", func(f *wire.Frame) bool { return f.Type == wire.EventsFrame || f.Type == wire.BaseFrame })
		if f.Type == wire.BaseFrame {
			t.Fatalf("%d events were lost", f.Missed)
		}
		if f.First != at {
			t.Fatalf("events begin with %d, want %d", f.First, at)
		}
		at += int64(len(f.Events))
	}
	ns, dropped := probe.Cost()
	if dropped != 0 {
		t.Errorf("%d events dropped", dropped)
	}
	all := <-took
	t.Logf("%.0f events a second for %d s, none lost; %d ns an event, and %.1f %% of a core for the viewer",
		rate*seconds/all.Seconds(), seconds, ns/(rate*seconds), 100*float64(probe.meter.busy.Load())/float64(all))
}

// BenchmarkStream is how many events go from a program that makes them as
// quickly as its viewer takes them, over the socket, into the viewer's frames.
func BenchmarkStream(b *testing.B) {
	p := probetest.New()
	probe := listening(b, p, Options{Ring: 1 << 20})
	s := newClient(b, probe, "").stream(b, "?interval=50ms")
	s.next(b, wire.CountersFrame)
	const batch = 1 << 19
	b.ResetTimer()
	b.ReportAllocs()
	var at int64
	for range b.N {
		p.Run(batch)
		for want := at + batch; at < want; {
			f := s.next(b, wire.EventsFrame)
			at += int64(len(f.Events))
		}
	}
	b.ReportMetric(float64(b.N)*batch/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkDelay is how long an event takes to a viewer at the usual pace, the
// longest of all: it waits for the next batch.
func BenchmarkDelay(b *testing.B) {
	p := probetest.New()
	probe := listening(b, p, Options{})
	s := newClient(b, probe, "").stream(b, "")
	s.next(b, wire.CountersFrame)
	var longest time.Duration
	for b.Loop() {
		began := time.Now()
		p.Run(1)
		s.next(b, wire.EventsFrame)
		longest = max(longest, time.Since(began))
	}
	b.ReportMetric(float64(longest.Microseconds())/1e3, "longest-ms")
}
