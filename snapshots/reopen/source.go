package reopen

import (
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// Source is a snapshot with the indexes of its devices. Safe for concurrent use.
type Source struct {
	// Made is when the entry was made that it is from; zero for one that was decoded.
	Made time.Time
	// Known says that the entry knows the very file. An entry that was found by its
	// content alone is worth making again.
	Known bool

	from    trace.Source // nil for one from an entry
	trace   *trace.Trace
	files   []identity // that the entry knows
	mu      sync.Mutex
	indexes map[int]*analysis.Index
	used    chan struct{} // closed by Index, when it is first asked
}

// Of returns a source of what was decoded.
func Of(s trace.Source) *Source {
	return &Source{from: s, trace: s.Trace(), indexes: make(map[int]*analysis.Index), used: make(chan struct{})}
}

// Trace returns the snapshot.
func (s *Source) Trace() *trace.Trace { return s.trace }

// Index returns the index of a device of the snapshot, made when it is first asked for.
// It must not be advanced.
func (s *Source) Index(device int) *analysis.Index {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.indexes[device]
	if x == nil {
		x = analysis.NewIndex(s.trace, s.trace.Device(device))
		s.indexes[device] = x
	}
	select {
	case <-s.used:
	default:
		close(s.used)
	}
	return x
}

// Used returns a channel that is closed when Index has returned an index.
func (s *Source) Used() <-chan struct{} { return s.used }

// Close closes what was decoded. What is mapped stays: traces that were handed out
// refer to it.
func (s *Source) Close() error {
	if s.from == nil {
		return nil
	}
	return s.from.Close()
}
