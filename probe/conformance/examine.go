package conformance

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"memtop/probe/attach"
	"memtop/probe/protocol"
	"memtop/snapshots/wire"
)

// Options say how long and how hard a probe is examined. The zero value is useful.
type Options struct {
	// For is how long its streams are watched, 0 for five seconds.
	For time.Duration
	// Change has a setting changed to another of its values and back. Otherwise one
	// is set to the value that it has.
	Change bool
	// Crowd takes all places that the probe has: other viewers are turned away for
	// that moment.
	Crowd bool
	// Quick leaves out what takes ten seconds: viewers that do not read, and requests
	// that do not end.
	Quick bool
}

// DefaultFor is how long streams are watched when nothing else is said.
const DefaultFor = 5 * time.Second

// examination is one examination of one program.
type examination struct {
	*ledger
	o      Options
	viewer *viewer
	info   *protocol.Info // as it was first
}

// Examine checks a program's probe. The target and the errors are those of
// [attach.Dial]; what the probe does wrong is in the report.
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
	if e.info.PID != 0 { // what cannot be read says nothing of what to ask next
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
	return e.watch(ctx, asking{interval: protocol.DefaultInterval}, 0, func(*watcher) {}).version
}

// examineAll watches streams, and asks meanwhile.
func (e *examination) examineAll(ctx context.Context) {
	var all sync.WaitGroup
	var lines *lineReader
	var moments []moment
	streams := make([]*watcher, 3)
	for i, asked := range []asking{
		{interval: protocol.DefaultInterval},
		{interval: protocol.DefaultInterval, past: true},
		{interval: protocol.DefaultInterval, minor: wire.Minor, checksum: "none"},
	} {
		begun := func(*watcher) {}
		if i == 0 {
			begun = func(w *watcher) { e.examineOpen(ctx, w) }
		}
		all.Go(func() { streams[i] = e.watch(ctx, asked, e.o.For, begun) })
	}
	if e.can(protocol.CapabilityNDJSON) {
		all.Go(func() { lines = e.lines(ctx, e.o.For) })
	}
	all.Go(func() { e.examineIntervals(ctx) })
	if !e.o.Quick {
		all.Go(func() { e.examineIdler(ctx) })
		all.Go(func() { e.examineSlow(ctx) })
	}
	all.Go(func() { moments = e.examineAnswers(ctx) })
	all.Wait()
	e.compare(streams, lines)
	e.remember(streams[0], moments)
	e.examineAfter(ctx)
}

// examineIntervals asks for streams that are too quick and too slow, with the other
// checksums.
func (e *examination) examineIntervals(ctx context.Context) {
	for _, asked := range []asking{{interval: time.Millisecond, checksum: "crc32"}, {interval: 2 * time.Hour, checksum: "crc32c"}} {
		w := e.watch(ctx, asked, min(e.o.For, time.Second), func(*watcher) {})
		if asked.interval < protocol.MinInterval {
			e.check("stream.interval", len(w.counters) <= 30, "at most a batch every 50ms", "%d within a second", len(w.counters))
		}
	}
}

// examineAnswers asks for everything that is answered at once.
func (e *examination) examineAnswers(ctx context.Context) []moment {
	e.examineCapabilities(ctx)
	e.examineRefusals(ctx)
	e.examineSettings(ctx)
	e.examineMetrics(ctx)
	var moments []moment
	for range 3 {
		moments = append(moments, e.infoMoment(ctx))
		moments = append(moments, e.examineSnapshot(ctx)...)
	}
	e.examineInfo(ctx)
	return moments
}

// examineAfter looks whether everything is as it was before.
func (e *examination) examineAfter(ctx context.Context) {
	if e.o.Crowd {
		e.examineCrowd(ctx)
	}
	_, err := e.askInfo(ctx)
	e.check("http.survives", err == nil, "answers after requests that make no sense", "%v", err)
	e.examineEnd(ctx)
}
