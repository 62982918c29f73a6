package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

const contentFrames = "application/vnd.memtop.stream"

// asking has the parameters of a request for a stream.
type asking struct {
	interval time.Duration
	past     bool
	minor    int
	checksum string // "" for none in particular
}

func (a asking) path() string {
	path := "/v1/stream?interval=" + protocol.Duration(a.interval)
	if a.past {
		path += "&past"
	}
	if a.minor > 0 {
		path += fmt.Sprintf("&minor=%d", a.minor)
	}
	if a.checksum != "" {
		path += "&checksum=" + a.checksum
	}
	return path
}

// watcher reads one stream and looks at each frame before a viewer's own reader
// takes it. It is owned by one goroutine.
type watcher struct {
	*ledger
	asked    asking
	batched  func() // called with each batch, while the stream is open
	stream   *wire.Stream
	memory   map[int]*played // by device
	seen     map[wire.Type]int
	counters []batchEnd // of all batches
	steps    map[stepOf]trace.Step
	lastStep map[int]int64 // by device
	changes  map[int64]trace.ChangeState
	unbased  map[int]bool // devices whose base must follow settings
	parts    int          // of the snapshot that is coming, to come
	opened   int64        // when the stream was asked for, microseconds since 1970
	latest   int64        // a time that is still to come, microseconds since 1970
	reading  *lagged
	version  error // that it is of another version
	bye      bool
	frames   int
}

// stepOf is a step of a device.
type stepOf struct {
	device int
	number int64
}

// watchMemory bounds what is kept of one stream, in bytes.
const watchMemory = 32 << 20

func newWatcher(l *ledger, asked asking) *watcher {
	return &watcher{
		ledger: l, asked: asked, batched: func() {}, memory: make(map[int]*played),
		seen: make(map[wire.Type]int), steps: make(map[stepOf]trace.Step), lastStep: make(map[int]int64),
		changes: make(map[int64]trace.ChangeState), unbased: make(map[int]bool), latest: latestNow(), opened: time.Now().UnixMicro(),
	}
}

// watch reads a stream for the given time from its first batch on, and calls
// batched at every batch. The first must come within answerWithin.
func (e *examination) watch(ctx context.Context, asked asking, long time.Duration, batched func(*watcher)) *watcher {
	w := newWatcher(e.ledger, asked)
	ctx, start, end := window(ctx, e.within(answerWithin), long)
	defer end()
	first := sync.OnceFunc(start)
	w.batched = func() { batched(w); first() }
	response, err := e.viewer.open(ctx, get(asked.path()))
	if err != nil {
		e.broken("stream.answer", "a stream", "GET %s: %v", asked.path(), err)
		return w
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	kind := contentType(response.Header)
	e.check("stream.answer", response.StatusCode == http.StatusOK && kind == contentFrames, "status 200, Content-Type: "+contentFrames,
		"GET %s: status %d, Content-Type: %s", asked.path(), response.StatusCode, kind)
	if response.StatusCode == http.StatusOK {
		w.read(ctx, response.Body)
	}
	return w
}

// window returns a context that ends the time long after begun was called or, if
// begun is not called, the time within from now.
func window(ctx context.Context, within, long time.Duration) (_ context.Context, begun, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	limit := time.AfterFunc(within, cancel)
	return ctx, func() { limit.Reset(long) }, func() { limit.Stop(); cancel() }
}

// read reads a stream until ctx is done, or it ends.
func (w *watcher) read(ctx context.Context, from io.Reader) {
	w.reading = newLagged(from)
	defer w.reading.close()
	w.stream = wire.NewStream(w.reading, wire.StreamOptions{Memory: watchMemory, Look: w.look})
	var err error
	for err == nil {
		_, err = w.stream.Advance()
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		w.passed("stream.goes-on")
	} else {
		w.ended(err)
	}
	if w.version == nil {
		w.judge()
	}
}

// tooBusy is how long this machine may be too busy to read. After a longer delay
// it cannot judge whether a program acts in time.
const tooBusy = 2 * time.Second

// ended notes how a stream ended, unless the examination closed it.
func (w *watcher) ended(err error) {
	var corrupt *wire.CorruptError
	switch {
	case errors.As(err, new(*wire.VersionError)):
		w.version = err
	case w.bye && errors.Is(err, io.EOF):
		w.passed("stream.bye")
	case w.reading.most > tooBusy && err != nil && !errors.As(err, &corrupt): // the program may have cut this viewer off, as it should
	case errors.As(err, &corrupt) && corrupt.Rule == "": // the check of the frame has reported it
	case errors.As(err, &corrupt):
		w.broken(labelled(corrupt.Rule), "a stream as the page describes it", "%v", corrupt)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		w.broken("stream.bye", "bye at the end, or no end while a viewer reads", "the stream ends without bye after %d frames", w.frames)
	default:
		w.broken("stream.goes-on", "a stream as long as the viewer reads", "%v", err)
	}
}

// look checks a frame. The stream calls it with each frame.
func (w *watcher) look(f *wire.Frame, names *trace.Tables) {
	if w.frames++; w.frames == 1 {
		w.first(f)
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
	case wire.SettingsFrame:
		w.resettled()
	case wire.StepFrame:
		w.step(f.Step)
	case wire.StepsFrame:
		w.check("steps.asked", w.asked.minor >= 2, "no steps in batches to who does not ask for minor version 2", "a frame of %d steps", len(f.Steps))
		for i := range f.Steps {
			w.step(&f.Steps[i])
		}
	case wire.OptionsFrame:
		w.options(f.Options)
	case wire.ChangeFrame:
		w.change(f.Change)
	case wire.GaugesFrame:
		w.gauges(f.Gauges)
	case wire.CountersFrame:
		w.count(f.Counters)
	case wire.SnapshotFrame:
		w.part(f)
	case wire.TagsFrame:
		w.device("parts.tags", f.Device)
	case wire.ByeFrame:
		w.bye = true
	default: // tables, which are checked together with the frames that refer to them
	}
}

// first checks how a stream begins.
func (w *watcher) first(f *wire.Frame) {
	w.passed("stream.header")
	w.check("stream.hello-first", f.Type == wire.HelloFrame, "hello", "%v first", f.Type)
	asked, _ := wire.ChecksumNamed(w.asked.checksum)
	got := w.stream.Checksum()
	w.check("stream.checksum", got == asked || got == wire.CRC32C, "the checksum that was asked for, or CRC-32C",
		"number %d in the header, asked for %q", got, w.asked.checksum)
}

// sides are the rules that a frame keeps which could be read, by its type.
var sides = map[wire.Type][]string{
	wire.BaseFrame: {"base.layout", "table.numbers"}, wire.EventsFrame: {"events.layout", "events.most", "table.numbers"},
	wire.SnapshotFrame: {"parts.order"}, wire.TagsFrame: {"parts.tags"}, wire.StepsFrame: {"steps.layout", "steps.most"},
}

// readable notes the rules that a frame keeps which could be read.
func (w *watcher) readable(t wire.Type) {
	names := sides[t]
	switch {
	case t >= wire.StringTable && t <= wire.NoteTable:
		names = []string{"table.entries"}
	case names == nil:
		names = []string{"message.json", "message.most"}
	}
	for _, name := range append([]string{"frame.form", "frame.checksum"}, names...) {
		w.passed(name)
	}
}

// judge looks at the stream as a whole.
func (w *watcher) judge() {
	switch {
	case len(w.counters) == 0 && w.tooLate():
		w.unseen("stream.counters", tooLateText)
		return
	case len(w.counters) == 0:
		w.check("stream.counters", w.bye, fmt.Sprintf("counters within %v", answerWithin), "none in %d frames", w.frames)
		return
	}
	w.rhythm()
	for _, notice := range w.stream.Trace().Notices {
		w.broken("events.play", "events that fit the memory that they change", "%s", notice)
	}
	if w.seen[wire.EventsFrame] > 0 {
		w.passed("events.play")
	}
}

// tooLateText is why a stream is not judged that had no time to come.
const tooLateText = "this machine was too busy to read a batch in time"

// tooLate reports whether this process was busy for so much of the time in which the first
// batch was to come that it says nothing of the program that it did not.
func (w *watcher) tooLate() bool { return w.reading != nil && w.reading.late() > answerWithin/2 }

// rhythm looks at how often batches ended.
func (w *watcher) rhythm() {
	most := max(time.Second, w.asked.interval)
	for i := 1; i < len(w.counters); i++ {
		gap, late := w.counters[i].since(w.counters[i-1])
		w.check("stream.counters", gap <= most+patience+2*late, fmt.Sprintf("counters at least every %v", most), "%s: none for %v", w.asked.path(), gap)
	}
}

// long returns how long the batches took by the program's own clock.
func (w *watcher) long() time.Duration {
	if len(w.counters) == 0 {
		return 0
	}
	return time.Duration(w.counters[len(w.counters)-1].Time-w.counters[0].Time) * time.Microsecond
}

// patience is how much later than it should a busy machine may do something.
const patience = 2 * time.Second
