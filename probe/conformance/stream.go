package conformance

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// watcher looks at each frame of a stream before memtop's own reader takes it. What
// that reader refuses by itself is not asked again here.
type watcher struct {
	*Report
	stream   *wire.Stream
	seen     map[wire.Type]int
	step     map[int]int64               // the last one by device
	changes  map[int64]trace.ChangeState // by id
	time     map[int]int64               // of the last event by device, microseconds since 1970
	next     map[int]int64               // the number of the next event by device, once it had a base
	counters wire.Counters               // the last ones
	batched  func()
}

// watchMemory bounds what is kept of the stream, in bytes.
const watchMemory = 32 << 20

// watch reads a stream for some time from its first batch on. Its error is that of
// another version of the protocol.
func (e *examination) watch(ctx context.Context, long time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := time.AfterFunc(answerWithin, cancel)
	defer limit.Stop()
	response, err := e.open(ctx, get("/v1/stream?interval="+protocol.Duration(protocol.DefaultInterval)))
	if !e.check("R2", err == nil && response.StatusCode == http.StatusOK, "no stream: %v", err) {
		return nil
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	w := &watcher{
		Report: e.Report, seen: make(map[wire.Type]int), step: make(map[int]int64),
		changes: make(map[int64]trace.ChangeState), time: make(map[int]int64), next: make(map[int]int64),
		batched: func() { limit.Reset(long) },
	}
	w.stream = wire.NewStream(response.Body, wire.StreamOptions{Memory: watchMemory, Look: w.look})
	for err == nil {
		_, err = w.stream.Advance()
	}
	return w.ended(ctx, err)
}

// ended notes how the stream ended, unless the examination ended it.
func (w *watcher) ended(ctx context.Context, err error) error {
	var corrupt *wire.CorruptError
	switch {
	case errors.As(err, new(*wire.VersionError)):
		return err
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		w.check("O4", w.seen[wire.CountersFrame] > 0, "none within %v", answerWithin)
	case errors.As(err, &corrupt):
		w.check(cmp.Or(corrupt.Rule, "F2"), false, "%v", corrupt)
	default:
		w.check("O6", w.seen[wire.ByeFrame] > 0 && errors.Is(err, io.EOF), "the stream ends without bye: %v", err)
	}
	if h := w.stream.Hello(); h != nil {
		own := make(map[string]bool)
		for _, notice := range h.Notices {
			own[trace.Printable(notice)] = true
		}
		for _, notice := range w.stream.Trace().Notices { // of what did not fit
			w.check("E3", own[notice], "%s", notice)
		}
	}
	return nil
}

// look checks a frame.
func (w *watcher) look(f *wire.Frame, _ *trace.Tables) {
	w.check("O6", w.seen[wire.ByeFrame] == 0, "a frame of %v after bye", f.Type)
	w.seen[f.Type]++
	w.check("F2", true, "")
	switch f.Type {
	case wire.HelloFrame:
		w.hello(f.Hello)
	case wire.BaseFrame:
		w.base(f)
	case wire.EventsFrame:
		w.events(f)
	case wire.StepFrame:
		w.ends(f.Step)
	case wire.StepsFrame:
		w.check("K1", false, "steps in batches, for which nobody asked")
	case wire.OptionsFrame:
		w.options(f.Options)
	case wire.ChangeFrame:
		w.change(f.Change)
	case wire.CountersFrame:
		w.count(f.Counters)
	case wire.SnapshotFrame:
		w.check("P1", true, "")
	default: // the reader takes the others as they are
		if f.Type < wire.BaseFrame {
			w.check("T1", true, "")
		}
	}
}

func (w *watcher) hello(h *wire.Hello) {
	w.check("O1", w.seen[wire.HelloFrame] == 1, "a second hello")
	ascending := slices.IsSorted(h.Devices) && len(slices.Compact(slices.Clone(h.Devices))) == len(h.Devices)
	w.check("M3", ascending && len(h.Devices) > 0, "devices %v", h.Devices)
	w.check("M3", h.PID > 0 && plausible(h.Started), "pid %d, started_us %d", h.PID, h.Started)
}

// plausible reports whether a time is microseconds since 1970, and not in the future.
// Seconds, milliseconds, nanoseconds and the time since boot are not.
func plausible(us int64) bool {
	const in2010 = 1_262_304_000_000_000 // no program with a probe is older
	return us > in2010 && us < time.Now().Add(time.Hour).UnixMicro()
}

// base checks a base, and compares it with what the events before it led to.
func (w *watcher) base(f *wire.Frame) {
	w.check("B1", slices.Contains(w.stream.Hello().Devices, f.Device), "device %d", f.Device)
	w.layout(&f.State)
	if next, based := w.next[f.Device]; !based {
		w.check("B3", f.Missed == 0, "%d missed in the first base of device %d", f.Missed, f.Device)
	} else if f.First == next {
		played := live(&w.stream.Trace().Device(f.Device).Final)
		w.check("B2", played == live(&f.State), "device %d has %+v, and the events led to %+v", f.Device, live(&f.State), played)
	}
	w.next[f.Device] = f.First
}

// totals sum a memory up.
type totals struct{ segments, reserved, blocks, requested int64 }

// live sums up the memory of a state.
func live(s *trace.State) (t totals) {
	for i := range s.Segments {
		g := &s.Segments[i]
		t.segments++
		t.reserved += g.Size
		for k := range g.Blocks {
			if b := &g.Blocks[k]; b.State.Live() {
				t.blocks++
				t.requested += b.LiveRequested()
			}
		}
	}
	return t
}

// layout checks that segments and blocks lie where they may.
func (w *watcher) layout(s *trace.State) {
	var end uint64
	for i := range s.Segments {
		g := &s.Segments[i]
		w.check("B4", g.Addr >= end && g.Size > 0, "a segment of %d bytes at %#x after one that ends at %#x", g.Size, g.Addr, end)
		end = g.End()
		at := g.Addr
		for k := range g.Blocks {
			b := &g.Blocks[k]
			w.check("B5", b.Addr >= at && b.Size > 0 && b.Addr+uint64(b.Size) <= end && b.LiveRequested() <= b.Size,
				"a block of %d bytes, %d of them asked for, at %#x in the segment of %d bytes at %#x", b.Size, b.LiveRequested(), b.Addr, g.Size, g.Addr)
			at = b.Addr + uint64(b.Size)
		}
	}
}

func (w *watcher) events(f *wire.Frame) {
	next, based := w.next[f.Device]
	w.check("O3", based && f.First == next, "device %d: event %d where %d is next", f.Device, f.First, next)
	w.next[f.Device] = f.First + int64(len(f.Events))
	for i := range f.Events {
		e := &f.Events[i]
		w.check("E2", e.Time >= w.time[f.Device] && plausible(e.Time), "an event at %d after one at %d", e.Time, w.time[f.Device])
		w.time[f.Device] = e.Time
		if e.Kind == trace.StepEnd && w.seen[wire.CountersFrame] > 0 {
			w.check("O5", w.step[f.Device] < e.Size, "step %d of device %d came before the event of its end", e.Size, f.Device)
		}
	}
}

func (w *watcher) ends(s *trace.Step) {
	w.check("M5", s.Number > w.step[s.Device] && plausible(s.Time) && s.Duration >= 0, "step %d after step %d, time_us %d, duration_ns %d",
		s.Number, w.step[s.Device], s.Time, s.Duration)
	w.step[s.Device] = s.Number
	w.check("M5", s.PeakAllocated >= s.Allocated && s.PeakReserved >= s.Reserved && s.Allocated >= 0 && s.Reserved >= s.Allocated,
		"step %d: allocated %d, its peak %d, reserved %d, its peak %d", s.Number, s.Allocated, s.PeakAllocated, s.Reserved, s.PeakReserved)
}

func (w *watcher) options(list []trace.Option) {
	keys := make(map[string]bool)
	for i := range list {
		o := &list[i]
		w.check("M7", o.Key != "" && !keys[o.Key] && (o.Free || len(o.Choices) > 0), "%q again or empty, or without choices", o.Key)
		keys[o.Key] = true
	}
}

func (w *watcher) change(c *trace.Change) {
	old, known := w.changes[c.ID]
	w.check("C2", !known || old == trace.Pending || old == c.State, "change %d is %v after it was %v", c.ID, c.State, old)
	w.check("C2", c.ID > 0 && c.Key != "" && (c.State != trace.Refused || c.Reason != "") && (c.State != trace.Applied || c.Step > 0),
		"change %d of %q is %v, step %d, reason %q", c.ID, c.Key, c.State, c.Step, c.Reason)
	w.changes[c.ID] = c.State
}

// patience is how late a batch may be: this machine may be busy too.
const patience = 5 * time.Second

func (w *watcher) count(c wire.Counters) {
	last := w.counters
	w.check("M6", plausible(c.Time) && c.Time >= last.Time && c.Dropped >= last.Dropped && c.DroppedSteps >= last.DroppedSteps && c.ProbeNS >= last.ProbeNS,
		"%+v, then %+v", last, c)
	if w.seen[wire.CountersFrame] > 1 {
		gap := time.Duration(c.Time-last.Time) * time.Microsecond
		w.check("O4", gap <= time.Second+patience, "none for %v", gap)
	} else {
		for _, device := range w.stream.Hello().Devices {
			_, based := w.next[device]
			w.check("O7", based || w.seen[wire.SnapshotFrame] > 0, "device %d has no base in the first batch", device)
		}
		w.batched()
	}
	w.counters = c
}
