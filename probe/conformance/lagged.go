package conformance

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/snapshots/wire"
)

// lagged reads a stream, and notes how long this machine was too busy to read. A
// program waits for a late reader, so its own delay meanwhile is not its fault.
type lagged struct {
	from    io.Reader
	last    time.Time     // when the last Read returned
	most    time.Duration // the longest time between two of them
	away    time.Duration // all time between them
	stalled atomic.Int64  // nanoseconds for which this process did not run
	stop    chan struct{}
}

// newLagged returns a reader. close stops its watch.
func newLagged(from io.Reader) *lagged {
	l := &lagged{from: from, last: time.Now(), stop: make(chan struct{})}
	go l.watch()
	return l
}

func (l *lagged) close() { close(l.stop) }

// watch notes how late this process runs its timer, beyond one tick.
func (l *lagged) watch() {
	const turn = 100 * time.Millisecond
	clock := time.NewTicker(turn)
	defer clock.Stop()
	for last := time.Now(); ; last = time.Now() {
		select {
		case <-clock.C:
			l.stalled.Add(max(0, int64(time.Since(last)-turn)))
		case <-l.stop:
			return
		}
	}
}

// Read reads.
func (l *lagged) Read(p []byte) (int, error) {
	away := time.Since(l.last)
	l.away += away
	l.most = max(l.most, away)
	n, err := l.from.Read(p)
	l.last = time.Now()
	return n, err
}

// late returns how long in total this process did not read available data.
func (l *lagged) late() time.Duration {
	return l.away + time.Since(l.last) + time.Duration(l.stalled.Load())
}

// batchEnd is the counters message that ends a batch.
type batchEnd struct {
	wire.Counters
	late time.Duration // of the reader, until then
}

// since returns how much the program's time advanced since the last batch, and
// for how long of that this machine was late.
func (b batchEnd) since(last batchEnd) (gap, late time.Duration) {
	return time.Duration(b.Time-last.Time) * time.Microsecond, b.late - last.late
}
