package probe

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// apart is a program that keeps to the rules of PyTorch's allocator: each of its
// blocks fills a segment.
type apart struct{ *probetest.Program }

func (p apart) State(device int, at func()) trace.State {
	whole := p.Program.State(device, at)
	var s trace.State
	for _, b := range whole.Segments[0].Blocks {
		segment := whole.Segments[0]
		segment.Addr, segment.Size, segment.Blocks = b.Addr, b.Size, []trace.Block{b}
		s.Segments = append(s.Segments, segment)
	}
	return s
}

func TestAPastThatDoesNotLeadToTheStateIsNotTold(t *testing.T) {
	tests := map[string]struct {
		wrong trace.Event
		first int64
	}{
		"nothing wrong, though blocks do not join": {trace.Event{Kind: trace.Snapshot}, 0},
		"memory that is handed out twice":          {trace.Event{Kind: trace.Alloc, Addr: probetest.Address(3), Size: probetest.Block}, probetest.Slots + 1},
		"memory that nobody had is given back":     {trace.Event{Kind: trace.Free, Addr: 1 << 40, Size: probetest.Block}, probetest.Slots + 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := probetest.New()
			probe := listening(t, p, Options{})
			p.Run(probetest.Slots)
			probe.Record(0, test.wrong)
			base := newClient(t, probe, "").stream(t, "?interval=50ms&past").next(t, wire.BaseFrame)
			if base.First != test.first {
				t.Errorf("the first base is before event %d, want %d", base.First, test.first)
			}
		})
	}
}

func TestAViewerMayBeginWithThePast(t *testing.T) {
	p := probetest.New()
	probe := listening(t, apart{p}, Options{})
	p.Run(100)
	s := newClient(t, probe, "").stream(t, "?interval=50ms&past")
	old := s.next(t, wire.BaseFrame)
	if old.First != 0 || live(&old.State) != 0 {
		t.Fatalf("the first base is before event %d with %d blocks in use, want 0 and none", old.First, live(&old.State))
	}
	events := s.next(t, wire.EventsFrame)
	if events.First != 0 || len(events.Events) != 100 {
		t.Fatalf("%d events from %d on, want 100 from 0 on", len(events.Events), events.First)
	}
	now := s.next(t, wire.BaseFrame)
	if now.First != 100 || now.Missed != 0 || live(&now.State) != 28 {
		t.Errorf("then a base before event %d, %d missing, with %d blocks in use; want 100, 0 and 28", now.First, now.Missed, live(&now.State))
	}
}

func TestThePastBeginsWithAStep(t *testing.T) {
	var log trace.EventLog
	for i := range 1000 {
		kind := trace.Snapshot
		if i%10 == 7 {
			kind = trace.StepBegin
		}
		log.Append(trace.Event{Kind: kind})
	}
	a := past{events: log.Events()}
	if got, want := a.begin(), 997-10*(pastSteps-1); got != want {
		t.Errorf("it begins with event %d, want %d: that of the step %d steps ago", got, want, pastSteps)
	}
}

func TestAPastThatIsNotKeptIsNotTold(t *testing.T) {
	r := newRing(4 * chunkLen)
	for range 40 * chunkLen {
		r.record(&trace.Event{})
	}
	if _, _, ok := r.last(10 * chunkLen); ok {
		t.Error("events that were overwritten are told")
	}
	log, first, ok := r.last(r.end())
	if !ok || int64(log.Len()) != r.kept()/2 || first != r.end()-r.kept()/2 {
		t.Errorf("%d events from %d on, %v; want half of what is kept, %d", log.Len(), first, ok, r.kept()/2)
	}
}

// live counts the blocks in use.
func live(s *trace.State) int {
	n := 0
	for i := range s.Segments {
		for b := range s.Segments[i].Blocks {
			if s.Segments[i].Blocks[b].State.Live() {
				n++
			}
		}
	}
	return n
}
