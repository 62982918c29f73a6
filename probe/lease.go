package probe

import (
	"sync"
	"time"

	"github.com/memtop/memtop/probe/protocol"
)

// The lease
//
// One viewer at a time may change settings: two viewers that experiment at once
// would measure each other's changes. The first viewer that asks while the lease
// is free holds it. The lease ends at once when the holder's last stream ends, so
// that a killed viewer blocks no other. It also ends some time after the holder's
// last change, sooner for a holder without a stream.

const (
	leaseAlone     = 2 * time.Second // without a stream: it does not measure what its changes do
	leaseStreaming = time.Minute
)

// lease is the right of one viewer to change settings. Safe for concurrent use.
type lease struct {
	mu      sync.Mutex
	now     func() time.Time
	holder  string
	last    time.Time      // of the holder's last change
	streams map[string]int // open ones by viewer
}

func newLease() *lease {
	return &lease{now: time.Now, streams: make(map[string]int)}
}

// take gives the lease to viewer, or returns a *HeldError.
func (l *lease) take(viewer string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != "" && l.holder != viewer && l.now().Before(l.ends()) {
		return &protocol.HeldError{Holder: l.holder}
	}
	l.holder, l.last = viewer, l.now()
	return nil
}

func (l *lease) ends() time.Time {
	if l.streams[l.holder] > 0 {
		return l.last.Add(leaseStreaming)
	}
	return l.last.Add(leaseAlone)
}

// held returns the viewer that holds the lease, "" when it is free.
func (l *lease) held() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == "" || !l.now().Before(l.ends()) {
		return ""
	}
	return l.holder
}

// open notes that viewer has one more stream.
func (l *lease) open(viewer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams[viewer]++
}

// close notes that one of viewer's streams has ended.
func (l *lease) close(viewer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams[viewer]--; l.streams[viewer] > 0 {
		return
	}
	delete(l.streams, viewer)
	if l.holder == viewer {
		l.holder = ""
	}
}
