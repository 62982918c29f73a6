package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"memtop/probe/protocol"
	"memtop/snapshots/trace"
	"memtop/snapshots/wire"
)

const (
	contentFrames = "application/vnd.memtop.stream"
	contentNDJSON = "application/x-ndjson"
)

// watcher reads one stream and looks at each frame before a viewer's own reader
// takes it. It is owned by one goroutine.
type watcher struct {
	*ledger
	stream   *wire.Stream
	asked    time.Duration // the interval
	memory   map[int]*played
	seen     map[wire.Type]int
	counters []wire.Counters // of all batches
	steps    map[int]int64   // by device: the last step
	changes  map[int64]trace.ChangeState
	observed *observation
	version  error // that it is of another version
	bye      bool
	frames   int
	begun    func() // called with the first batch
}

// watchMemory bounds what is kept of one stream, in bytes.
const watchMemory = 32 << 20

func newWatcher(l *ledger, asked time.Duration) *watcher {
	return &watcher{
		ledger: l, asked: asked, memory: make(map[int]*played), seen: make(map[wire.Type]int),
		steps: make(map[int]int64), changes: make(map[int64]trace.ChangeState), observed: newObservation(),
	}
}

// watch reads a stream for so long from its first batch on, which must come within
// answerWithin.
func (e *examination) watch(ctx context.Context, query string, asked, long time.Duration) *watcher {
	w := newWatcher(e.ledger, asked)
	ctx, begun, end := window(ctx, long)
	defer end()
	w.begun = begun
	response, err := e.viewer.open(ctx, request{method: http.MethodGet, path: "/v1/stream" + query})
	if err != nil {
		e.broken("stream.answer", "a stream", "GET /v1/stream%s: %v", query, err)
		return w
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	kind := contentType(response.Header)
	e.check("stream.answer", response.StatusCode == http.StatusOK && kind == contentFrames, "status 200, Content-Type: "+contentFrames,
		"GET /v1/stream%s: status %d, Content-Type: %s", query, response.StatusCode, kind)
	if response.StatusCode != http.StatusOK {
		return w
	}
	w.stream = wire.NewStream(response.Body, wire.StreamOptions{Memory: watchMemory, Look: w.look})
	for !w.bye {
		if _, err = w.stream.Advance(); err != nil {
			break
		}
	}
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		w.ended(err)
	} else {
		w.passed("stream.goes-on")
	}
	if w.version == nil {
		w.judge()
	}
	return w
}

// window returns a context that ends so long after begun was called, or answerWithin
// from now when that is not.
func window(ctx context.Context, long time.Duration) (_ context.Context, begun, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	limit := time.AfterFunc(answerWithin, cancel)
	return ctx, func() { limit.Reset(long) }, func() { limit.Stop(); cancel() }
}

// ended notes how a stream ended that was not given up.
func (w *watcher) ended(err error) {
	var corrupt *wire.CorruptError
	switch {
	case errors.As(err, new(*wire.VersionError)):
		w.version = err
	case w.bye:
		w.passed("stream.bye")
	case errors.As(err, &corrupt) && corrupt.Rule == "": // the look at the frame has said it
	case errors.As(err, &corrupt):
		w.broken(corrupt.Rule, "a frame as the page describes it", "%v", corrupt)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		w.broken("stream.bye", "bye at the end, or no end while a viewer reads", "the stream ends without bye after %d frames", w.frames)
	case err != nil:
		w.broken("stream.goes-on", "a stream as long as the viewer reads", "%v", err)
	}
}

// look is called with each frame.
func (w *watcher) look(f *wire.Frame, names *trace.Tables) {
	w.frames++
	if w.frames == 1 {
		w.passed("stream.header")
		w.check("stream.hello-first", f.Type == wire.HelloFrame, "hello", "%v first", f.Type)
	}
	w.check("stream.bye", !w.bye, "nothing", "a frame of %v after bye", f.Type)
	w.seen[f.Type]++
	w.readable(f.Type)
	switch f.Type {
	case wire.HelloFrame:
		w.hello(f.Hello)
	case wire.BaseFrame:
		w.base(f, names)
	case wire.EventsFrame:
		w.events(f, names)
	case wire.StepFrame:
		w.step(f.Step)
	case wire.OptionsFrame:
		w.options(f.Options)
	case wire.ChangeFrame:
		w.change(f.Change)
	case wire.GaugesFrame:
		w.gauges(f.Gauges)
	case wire.CountersFrame:
		w.count(f.Counters)
	case wire.ByeFrame:
		w.bye = true
	}
}

// readable notes the rules that a frame keeps which could be read.
func (w *watcher) readable(t wire.Type) {
	for _, rule := range []string{"frame.type", "frame.length", "frame.checksum"} {
		w.passed(rule)
	}
	switch {
	case t == wire.BaseFrame:
		w.passed("base.layout")
		w.passed("table.numbers")
	case t == wire.EventsFrame:
		w.passed("events.layout")
	case t >= wire.StringTable && t <= wire.NoteTable:
		w.passed("table.entries")
	default:
		w.passed("message.json")
	}
}

func (w *watcher) hello(h *wire.Hello) {
	w.check("stream.hello-first", w.seen[wire.HelloFrame] == 1, "one hello", "a second one")
	w.check("hello.version", h.Version == wire.Version && h.Minor >= 0, "version 1", "version %d, minor version %d", h.Version, h.Minor)
	ascending := slices.IsSorted(h.Devices) && len(slices.Compact(slices.Clone(h.Devices))) == len(h.Devices)
	ok := ascending && len(h.Devices) > 0 && h.Devices[0] >= 0 && h.Devices[len(h.Devices)-1] < 1<<16
	w.check("hello.devices", ok, "devices, ascending, 0 to 65,535", "%v", h.Devices)
	w.check("hello.program", h.PID > 0 && plausible(h.Started), "a pid and when the program began, in microseconds since 1970",
		"pid %d, started_us %d", h.PID, h.Started)
	interval := min(max(w.asked, protocol.MinInterval), protocol.MaxInterval)
	w.check("stream.interval", h.Interval == int64(interval), fmt.Sprintf("interval_ns %d when %v is asked for", interval, w.asked),
		"interval_ns %d", h.Interval)
}

// plausible reports whether a time is microseconds since 1970 and not of the
// future.
func plausible(us int64) bool {
	const year2001 = 1e15
	return us > year2001/10 && us < time.Now().Add(time.Hour).UnixMicro()
}

func (w *watcher) step(s *trace.Step) {
	if last, known := w.steps[s.Device]; known {
		w.check("step.ascending", s.Number >= last, "steps ascending", "step %d after step %d", s.Number, last)
	}
	w.steps[s.Device] = s.Number
	w.check("step.fields", plausible(s.Time) && s.Duration >= 0, "the time of its end, in microseconds since 1970, and how long it took",
		"step %d: time_us %d, duration_ns %d", s.Number, s.Time, s.Duration)
	w.check("step.peaks", s.PeakAllocated >= s.Allocated && s.PeakReserved >= s.Reserved && s.Allocated >= 0 && s.Reserved >= s.Allocated,
		"0 <= allocated <= reserved, and peaks that are not less",
		"step %d: allocated %d, its peak %d, reserved %d, its peak %d", s.Number, s.Allocated, s.PeakAllocated, s.Reserved, s.PeakReserved)
	w.device("step.fields", s.Device)
}

// device looks whether hello has announced a device.
func (w *watcher) device(rule string, device int) {
	if h := w.stream.Hello(); h != nil {
		w.check(rule, slices.Contains(h.Devices, device), fmt.Sprint("a device of hello: ", h.Devices), "device %d", device)
	}
}

func (w *watcher) options(list []trace.Option) {
	keys := make(map[string]bool)
	for i := range list {
		o := &list[i]
		w.check("options.keys", o.Key != "" && !keys[o.Key], "each key once", "%q again, or empty", o.Key)
		keys[o.Key] = true
		w.check("options.value", o.Free || len(o.Choices) == 0 || slices.Contains(o.Choices, o.Value), "a value among its choices",
			"%s is %q, of %q", o.Key, o.Value, o.Choices)
	}
}

func (w *watcher) change(c *trace.Change) {
	w.check("change.fields", c.ID > 0 && c.Key != "" && plausible(c.Time), "an id from 1 on, a key, and when", "id %d, key %q, time_us %d", c.ID, c.Key, c.Time)
	w.check("change.states", c.State != trace.Refused || c.Reason != "", "a reason of what was refused", "change %d has none", c.ID)
	w.check("change.states", c.State != trace.Applied || c.Step > 0, "the first step that used it", "change %d has none", c.ID)
	if old, known := w.changes[c.ID]; known {
		w.check("change.states", old == trace.Pending || old == c.State, "pending, then applied or refused", "change %d is %v after it was %v", c.ID, c.State, old)
	}
	w.changes[c.ID] = c.State
}

func (w *watcher) gauges(list []trace.Gauge) {
	for i := range list {
		g := &list[i]
		w.check("gauges.fields", plausible(g.Time) && min(g.Total, g.Used, g.Process, g.Others, g.Utilisation, g.Power) >= -1,
			"when, in microseconds since 1970; -1 for what is not known", "time_us %d, %+v", g.Time, *g)
	}
}

func (w *watcher) count(c wire.Counters) {
	w.check("counters.fields", plausible(c.Time), "time_us: now, in microseconds since 1970", "%d", c.Time)
	if n := len(w.counters); n > 0 {
		last := w.counters[n-1]
		w.check("counters.fields", c.Dropped >= last.Dropped && c.DroppedSteps >= last.DroppedSteps && c.ProbeNS >= last.ProbeNS && c.Time >= last.Time,
			"sums that never shrink", "%+v, then %+v", last, c)
	}
	if w.counters = append(w.counters, c); len(w.counters) == 1 {
		w.begun()
	}
}

// judge looks at the stream as a whole.
func (w *watcher) judge() {
	if len(w.counters) == 0 {
		w.check("counters.cadence", w.bye, "counters at least every second", "none in %d frames", w.frames)
		return
	}
	most := max(time.Second, w.asked)
	for i := 1; i < len(w.counters); i++ {
		gap := time.Duration(w.counters[i].Time-w.counters[i-1].Time) * time.Microsecond
		w.check("counters.cadence", gap <= most+patience, fmt.Sprintf("counters at least every %v", most), "none for %v", gap)
	}
	t := w.stream.Trace()
	for _, notice := range t.Notices {
		w.broken("events.consistent", "events that fit the memory that they change", "%s", notice)
	}
	if w.seen[wire.EventsFrame] > 0 {
		w.passed("events.consistent")
	}
}

// patience is how much later than it should a busy machine may do something.
const patience = 2 * time.Second
