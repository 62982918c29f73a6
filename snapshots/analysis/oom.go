package analysis

import (
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Verdict says why memory ran out.
type Verdict uint8

// The causes of an out-of-memory event.
const (
	// Full: even with every cached byte back there was not enough.
	Full Verdict = iota
	// Fragmented: the free memory would have sufficed in one piece.
	Fragmented
	// Elsewhere: enough was free, in another pool, stream or size class.
	Elsewhere
	// PendingFrees: enough was freed, but other streams still held on to it.
	PendingFrees
	// Unexplained: the driver had enough, yet it refused.
	Unexplained
	// NotJudged: so many requests failed that only the first were looked into.
	NotJudged
)

// String returns the cause in a few words.
func (v Verdict) String() string {
	return [...]string{
		"memory was really in use", "fragmentation", "free memory in another pool or stream",
		"frees that waited for another stream", "not explained by the trace",
		"not looked into",
	}[v]
}

// OOM is one failed request and the state in which it failed. The JSON names are
// those of a report.
type OOM struct {
	Event      int           `json:"event"`
	Requested  int64         `json:"requested_bytes"`      // rounded, as the allocator requested it
	DeviceFree int64         `json:"device_free_bytes"`    // free bytes by the driver's word; −1 if not known
	Live       int64         `json:"live_requested_bytes"` // requested bytes held
	Reserved   int64         `json:"reserved_bytes"`
	Free       int64         `json:"-"` // cached by the allocator and in no block
	Largest    int64         `json:"-"` // largest cached block of the request's stream
	Verdict    Verdict       `json:"-"`
	Reason     string        `json:"-"` // one sentence with the numbers
	Holders    []Holder      `json:"-"`
	Stack      trace.StackID `json:"-"`
}

// judgedOOMs is how many out-of-memory events are judged: a program that keeps
// trying leaves thousands of equal events.
const judgedOOMs = 64

// OOMs returns the out-of-memory events. Each is judged by the state right after
// it, because in the events after that the program already unwinds.
func (x *Index) OOMs() []OOM {
	return x.kept.ooms.get(x, func(found []OOM) []OOM {
		for k := len(found); k < len(x.oomEvents); k++ {
			o := x.oomAt(int(x.oomEvents[k]))
			if k < judgedOOMs {
				x.judge(&o)
			}
			found = append(found, o)
		}
		return found
	})
}

// OOMEvents returns the out-of-memory events without judging them.
func (x *Index) OOMEvents() []OOM {
	found := make([]OOM, len(x.oomEvents))
	for k, i := range x.oomEvents {
		found[k] = x.oomAt(int(i))
	}
	return found
}

// SomeOOMs returns at most so many of all out-of-memory events: the first ones, and the
// last, which ended the job.
func SomeOOMs(all []OOM, most int) []OOM {
	if len(all) <= most {
		return all
	}
	return append(slices.Clone(all[:most-1]), all[len(all)-1])
}

// oomAt reads an out-of-memory event.
func (x *Index) oomAt(i int) OOM {
	e := x.events.At(i)
	o := OOM{
		Event: i, Requested: e.Size, DeviceFree: int64(e.Addr), Live: x.RequestedAt(i), Reserved: x.ReservedAt(i),
		Stack: e.Stack, Verdict: NotJudged,
	}
	if e.Absent&trace.NoAddr != 0 {
		o.DeviceFree = -1
	}
	return o
}

// judge finds out why the request failed.
func (x *Index) judge(o *OOM) {
	x.judgeBy(o, x.inferMap(o.Event), x.HoldersAt(o.Event))
}

func (x *Index) judgeBy(o *OOM, m *Map, holders []Holder) {
	o.Free, o.Holders = m.Free, holders[:min(len(holders), 10)]
	o.Verdict, o.Reason = x.oomCause(o, x.events.At(o.Event), m)
}

// oomCause compares the request with each kind of memory that might have
// served it.
func (x *Index) oomCause(o *OOM, e *trace.Event, m *Map) (Verdict, string) {
	driver := max(o.DeviceFree, 0)
	own := int64(0) // free in the request's stream, in its size class or in the default pool
	for i := range m.Fits {
		f := &m.Fits[i]
		if f.serves(o.Requested, e.Stream) {
			own += f.Free
			o.Largest = max(o.Largest, f.Largest)
		}
	}
	ask, need := quantity.Bytes(o.Requested), x.driverNeed(o.Requested)
	enough := func(cached int64) bool { return cached >= o.Requested || cached+driver >= need }
	if driver >= o.Requested && driver < need {
		ask += ", which takes a new segment of " + quantity.Bytes(need)
	}
	switch {
	case driver >= need && o.DeviceFree >= 0:
		return Unexplained, "asked for " + ask + " while the driver had " + quantity.Bytes(driver) +
			" free: " + x.refusedBy()
	case enough(own) && o.Largest < o.Requested:
		return Fragmented, "asked for " + ask + "; " + quantity.Bytes(own) + " was cached for this stream, but in pieces of at most " +
			quantity.Bytes(o.Largest) + ", and the driver had " + quantity.Bytes(driver)
	case enough(m.Free):
		return Elsewhere, "asked for " + ask + "; " + quantity.Bytes(m.Free) + " was cached, but only " + quantity.Bytes(own) +
			" of it for this stream and size class"
	case enough(m.Free + m.Pending):
		return PendingFrees, "asked for " + ask + "; " + quantity.Bytes(m.Pending) + " was freed but still in use by another stream"
	case x.uncached:
		return Full, "asked for " + ask + "; the device had " + quantity.Bytes(driver) + ", while " + quantity.Bytes(o.Live) + " was held"
	default:
		return Full, "asked for " + ask + "; only " + quantity.Bytes(m.Free) + " was cached and the driver had " + quantity.Bytes(driver) +
			", while " + quantity.Bytes(o.Live) + " was held"
	}
}

// refusedBy says what refuses a request that the device has memory for.
func (x *Index) refusedBy() string {
	for _, s := range x.trace.Settings {
		if text, ok := s.Value.(string); ok && strings.Contains(text, "expandable_segments_reserve") {
			return "expandable_segments_reserve lets no segment have that much, or a limit on this process's share"
		}
	}
	return "a limit on this process's share, or more was needed at once"
}

// serves reports whether the group's free memory may serve a request of a stream,
// as far as one can say without the request's pool.
func (f *Fit) serves(size int64, stream trace.StreamID) bool {
	return f.Stream == stream && (f.Type != "small") == (size > trace.SmallLimit)
}
