package conformance

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/wire"
)

// Options say how long to examine a probe. The zero value is useful.
type Options struct {
	// For is how long to watch its streams, 0 for five seconds.
	For time.Duration

	most time.Duration // how long a test waits for an answer, 0 for the time of the page
}

// within returns how long to wait for an answer with that limit in the page.
func (e *examination) within(long time.Duration) time.Duration {
	if e.o.most > 0 {
		return min(e.o.most, long)
	}
	return long
}

// DefaultFor is how long streams are watched by default.
const DefaultFor = 5 * time.Second

// examination is one examination of one program.
type examination struct {
	*ledger
	o      Options
	viewer *viewer
	info   *protocol.Info // the first answer
}

// Examine checks a program's probe. The target and the errors are those of
// [attach.Dial]. The report has the faults of the probe.
func Examine(ctx context.Context, target string, o Options) (*Report, error) {
	place, err := attach.Locate(ctx, target)
	if err != nil {
		return nil, err
	}
	o.For = cmp.Or(o.For, DefaultFor)
	e := &examination{ledger: newLedger(), o: o, viewer: newViewer(place, "conformance-"+strconv.Itoa(os.Getpid()))}
	defer e.viewer.close()
	e.examinePlace()
	if e.info, err = e.askInfo(ctx); err != nil {
		return nil, fmt.Errorf("%v: %w", place, err)
	}
	if err := e.examineVersion(ctx); err != nil {
		return nil, err
	}
	if e.info.PID != 0 { // an unreadable answer does not say what to ask next
		e.examineAll(ctx)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return e.report(), nil
}

// examineVersion returns an error when the program speaks another version.
func (e *examination) examineVersion(ctx context.Context) error {
	if e.info.Version != 0 && e.info.Version != wire.Version {
		return &wire.VersionError{Theirs: e.info.Version, Ours: wire.Version}
	}
	return e.watch(ctx, asking{interval: protocol.DefaultInterval}, 0, ignore).version
}

// examineAll watches streams and meanwhile sends requests. The first two streams
// are open during all requests, and until batches have come that are later by some time.
func (e *examination) examineAll(ctx context.Context) {
	var all sync.WaitGroup
	var main, past, newer *watcher
	var moments []moment
	var enough atomic.Int64 // the time of the last batch that is needed, microseconds since 1970; 0 when not yet known
	watched, begin := context.WithCancel(ctx)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	all.Go(func() {
		defer begin()
		main = e.watch(watching, asking{interval: protocol.DefaultInterval}, longest, func(w *watcher) {
			if len(w.counters) == 1 {
				e.examineOpen(ctx, w)
				begin()
			}
			if last := enough.Load(); last > 0 && w.counters[len(w.counters)-1].Time > last {
				stop()
			}
		})
	})
	all.Go(func() {
		past = e.watch(ctx, asking{interval: protocol.DefaultInterval, past: true}, e.o.For, ignore)
	})
	all.Go(func() {
		newer = e.watch(ctx, asking{interval: protocol.DefaultInterval, minor: wire.Minor, checksum: "none"}, e.o.For, ignore)
	})
	all.Go(func() { e.examineIntervals(ctx) })
	all.Go(func() {
		<-watched.Done()
		moments = e.examineAnswers(ctx)
		enough.Store(time.Now().Add(e.o.For).UnixMicro())
		time.AfterFunc(e.o.For+e.within(answerWithin), stop)
	})
	all.Wait()
	e.compare([]*watcher{main, past, newer})
	e.remember(main, moments)
	e.examineAfter(ctx)
}

// longest is how long to watch a stream that something else should end.
const longest = time.Hour

// ignore is for streams without requests at their begin.
func ignore(*watcher) {}

// examineIntervals asks for streams with too short and too long intervals, and
// with the other checksums.
func (e *examination) examineIntervals(ctx context.Context) {
	for _, asked := range []asking{{interval: time.Millisecond, checksum: "crc32"}, {interval: 2 * time.Hour, checksum: "crc32c"}} {
		w := e.watch(ctx, asked, min(e.o.For, time.Second), ignore)
		if asked.interval < protocol.MinInterval {
			n, long := len(w.counters), w.long()
			e.check("stream.interval", n <= 30 || long/time.Duration(n) > protocol.MinInterval/2, "at most a batch every 50ms", "%d within %v", n, long)
		}
	}
}

// examineAnswers makes all requests that have an immediate answer.
func (e *examination) examineAnswers(ctx context.Context) []moment {
	e.examineCapabilities(ctx)
	e.examineRefusals(ctx)
	e.examineSettings(ctx)
	var moments []moment
	for range 3 {
		moments = append(moments, e.infoMoment(ctx))
		moments = append(moments, e.examineSnapshot(ctx)...)
	}
	e.examineInfo(ctx)
	return moments
}

// examineAfter checks that the program still works as before.
func (e *examination) examineAfter(ctx context.Context) {
	_, err := e.askInfo(ctx)
	e.check("http.survives", err == nil, "answers after requests that make no sense", "%v", err)
	e.examineEnd(ctx)
}
